// Calls each method of a master as each kind of principal, and compares with the table in
// docs/concepts/security.md.

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "net/curve_keys.h"
#include "net/membership.h"
#include "proto/json/json.h"
#include "sdk/shell/master_call.h"
#include "tests/integration/processes.h"

namespace proffer::callers_test {
namespace {

namespace fs = std::filesystem;
using namespace test;

constexpr unsigned kNobody = 65'534;

struct Documented {
  std::vector<std::string> kinds = {};
  // Cells by method, one for each kind: "yes", "own" or "no".
  std::map<std::string, std::vector<std::string>> methods = {};
};

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (const std::string_view cell : split(line, '|')) cells.emplace_back(trimmed(cell));
  if (cells.size() < 3) return {};
  return {cells.begin() + 1, cells.end() - 1};
}

Documented documented() {
  std::ifstream file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/security.md");
  Documented table;
  std::string line;
  while (std::getline(file, line)) {
    std::vector<std::string> cells = cells_of(line);
    if (cells.empty()) continue;
    const std::string first = cells.front();
    cells.erase(cells.begin());
    if (first == "method") table.kinds = cells;
    if (!table.kinds.empty() && first.starts_with('`')) {
      table.methods[std::string(first.substr(1, first.size() - 2))] = cells;
    }
  }
  return table;
}

class Callers : public testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(home_.path(), fs::perms::owner_all | fs::perms::others_exec);
    ASSERT_EQ(run({program("proffer"), "keys", "init", "--data-dir=" + (home_ / "master")}).code,
              0);
    master_ = std::make_unique<Process>(
        Words{program("proffer-master"), "--data_dir=" + (home_ / "master"), "--socket=" + socket(),
              "--bind=127.0.0.1", "--port=0"});
    ASSERT_TRUE(eventually([&] { return operates({"status"}).code == 0; })) << master_->err();
    const auto address = proto::parse_json_line(trimmed(read_file(home_ / "master/address.json")));
    ASSERT_TRUE(address);
    const std::string line = operates({"join-token", "--user", "nobody"}).out;
    const Result<JoinToken> token = parse_join_token(trimmed(line));
    ASSERT_TRUE(token) << token.error().message();
    by_key_ = token->masters;
    server_ = token->master_key;
  }
  void TearDown() override {
    if (master_ == nullptr) return;
    master_->kill(SIGTERM);
    EXPECT_EQ(master_->wait().code, 0) << master_->err();
  }

  std::string socket() const { return home_ / "run/master.sock"; }
  Exit operates(Words words) const {
    words.insert(words.begin(), program("proffer"));
    words.push_back("--master=" + socket());
    return run(words);
  }
  // The secret key in a join token for an agent or user.
  KeyPair token(const std::string& whom) const {
    const std::string line = operates({"join-token", whom, "nobody"}).out;
    return *key_pair_of(parse_join_token(trimmed(line))->secret_key);
  }
  // A key that has joined.
  KeyPair member(const std::string& whom) const {
    const KeyPair own = make_key_pair();
    const auto joined = sdk::call_master(
        by_key_, ClientKeys{.own = token(whom), .server = server_}, "join",
        proto::json_line({{"key", own.public_key.str()}, {"runs_as", "root"}}), seconds(10));
    EXPECT_TRUE(joined) << joined.error().message();
    return own;
  }
  // "" if the master executes the call or rejects its arguments; else why the caller may not make
  // it.
  static std::string refusal(const Masters& masters, const std::optional<ClientKeys>& keys,
                             const std::string& method) {
    const auto answer = sdk::call_master(masters, keys, method, "{}", seconds(10));
    if (answer) return "";
    const Error& error = answer.error();
    if (error.code() == ErrorCode::kUnavailable) return "not reached: " + error.message();
    const bool is_refused = error.code() == ErrorCode::kPermissionDenied &&
                            error.message().find("may not") != std::string::npos;
    return is_refused ? error.message() : "";
  }
  // Call it before this process has opened a connection: a fork must not share its threads.
  std::map<std::string, std::string> refusals_of_nobody(const std::vector<std::string>& methods) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(1);
      std::string lines;
      for (const std::string& method : methods) {
        lines += refusal({{.socket = socket()}}, std::nullopt, method) + "\n";
      }
      const bool is_written =
          write(ends[1], lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
      _exit(is_written ? 0 : 1);
    }
    close(ends[1]);
    std::string told;
    char bytes[4'096];
    while (true) {
      const ssize_t got = read(ends[0], bytes, sizeof bytes);
      if (got <= 0) break;
      told.append(bytes, static_cast<size_t>(got));
    }
    close(ends[0]);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    std::map<std::string, std::string> found;
    const std::vector<std::string_view> lines = split(told, '\n');
    for (size_t at = 0; at < methods.size() && at < lines.size(); ++at) {
      found[methods[at]] = lines[at];
    }
    return found;
  }

  TemporaryDirectory home_;
  std::unique_ptr<Process> master_;
  Masters by_key_ = {};
  PublicKey server_ = {};
};

TEST_F(Callers, EachMethodIsForTheKindsThatTheDocumentNames) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can call as another user";
  const Documented table = documented();
  ASSERT_EQ(table.kinds.size(), 7u);
  ASSERT_GE(table.methods.size(), 30u);
  std::vector<std::string> methods;
  for (const auto& [method, cells] : table.methods) {
    if (method != "services") methods.push_back(method);  // over HTTP only
  }
  const auto by_nobody = refusals_of_nobody(methods);
  ASSERT_EQ(by_nobody.size(), methods.size());

  const Result<KeyPair> masters_key = read_key_file(home_ / "master/master.key");
  ASSERT_TRUE(masters_key);
  std::map<std::string, std::optional<ClientKeys>> keys;
  keys["operators"] = std::nullopt;
  keys["users with a key"] = {.own = member("--user"), .server = server_};
  keys["the key of an agent"] = {.own = member("--agent"), .server = server_};
  keys["a join token"] = {.own = token("--user"), .server = server_};
  keys["the key of the masters"] = {.own = *masters_key, .server = server_};
  size_t compared = 0;
  for (const std::string& method : methods) {
    for (size_t at = 0; at < table.kinds.size(); ++at) {
      const std::string& kind = table.kinds[at];
      if (kind == "an unknown user") continue;  // no connection of this machine is one
      std::string why;
      if (kind == "users of this machine") {
        why = by_nobody.at(method);
      } else {
        ASSERT_TRUE(keys.contains(kind)) << kind;
        const std::optional<ClientKeys>& own = keys.at(kind);
        why = refusal(own ? by_key_ : Masters{{.socket = socket()}}, own, method);
      }
      const std::string& documented = table.methods.at(method).at(at);
      EXPECT_EQ(!why.empty(), documented == "no")
          << method << " by " << kind << ", documented: " << documented << ", is: " << why;
      ++compared;
    }
  }
  EXPECT_EQ(compared, methods.size() * 6);
  EXPECT_TRUE(master_->complains("audit: refused user=agent:nobody"));
}

}  // namespace
}  // namespace proffer::callers_test
