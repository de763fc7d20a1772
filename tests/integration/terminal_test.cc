// Peers cannot control the terminal of a reader. Each command that lists something asks a master
// that lies in every text, and every byte of its output is checked. Also, text of one user of a
// real cluster cannot control another user's terminal.

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/printable.h"
#include "common/text.h"
#include "net/router.h"
#include "proto/codec/codec.h"
#include "sdk/shell/master_call.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

// Sets a title, clears the screen in C0 and C1, changes the text direction, hides text, begins new
// lines, and leaves all of this open.
constexpr std::string_view kHostile =
    "\x1b]0;owned\x07\x1b[2J\xc2\x9b"
    "31m\xc2\x85\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c"
    "\xe2\x80\xa8\xe2\x80\x8b\xc2\xad\xf3\xa0\x81\x81\r\n  hint: rm -rf /\nerror: owned\x7f";

// Answers like a real master, with hostile bytes after each text that a user could have written.
class LyingMaster {
 public:
  explicit LyingMaster(const std::string& truth)
      : truth_(*parse_masters("the master", truth)), thread_([this] { serve(); }) {
    up_.get_future().wait();
  }
  ~LyingMaster() {
    loop_->post([this] { loop_->stop(); });
    thread_.join();
  }
  LyingMaster(const LyingMaster&) = delete;
  LyingMaster& operator=(const LyingMaster&) = delete;

  std::string socket() const { return home_ / "liar.sock"; }
  // True: after all texts. False: only after texts that are not enumerations for the reader, such
  // as a state, so that commands get further.
  void lie_about_everything(bool everything) { everything_ = everything; }
  void refuse(bool refuses) { refuses_ = refuses; }

 private:
  void serve() {
    Loop loop;
    loop_ = &loop;
    proto::Encoder encoder;
    std::unique_ptr<Router> router;
    auto bound = Router::bind(
        loop, "ipc://" + socket(), {.on_frame = [&](PeerId peer, ReceivedFrame received) {
          const std::span<const std::byte> bytes = received;
          const Result<proto::Envelope> envelope = proto::decode(bytes);
          if (!envelope) return;
          const auto* call = std::get_if<proto::Call>(&*envelope->message);
          if (call == nullptr) return;
          const auto frame =
              encoder.encode({.version = proto::kProtocolVersionMin, .message = answer_to(*call)});
          if (frame) router->send(peer, *frame);
        }});
    CHECK(bound.has_value()) << bound.error().message();
    router = *std::move(bound);
    up_.set_value();
    loop.run();
  }

  proto::Reply answer_to(const proto::Call& call) const {
    if (refuses_) {
      const std::string words = "it is wrong" + std::string(kHostile);
      return {.id = call.id,
              .error = proto::ErrorMessage{
                  .code = ErrorCode::kFailedPrecondition, .message = words, .hint = words}};
    }
    const auto told = sdk::call_master(truth_, std::nullopt, call.method, call.json, seconds(10));
    if (!told) {
      return {.id = call.id,
              .error = proto::ErrorMessage{.code = told.error().code(),
                                           .message = told.error().message(),
                                           .hint = told.error().hint()}};
    }
    nlohmann::json json = nlohmann::json::parse(told->json, nullptr, false);
    lie_in(json, "");
    return {.id = call.id, .json = json.dump(), .next = told->next};
  }

  void lie_in(nlohmann::json& value, const std::string& name) const {
    if (value.is_string()) {
      // Readers expect one of a few words, or a number, in these.
      static const std::set<std::string> kWords = {
          "state", "reason",    "level",    "severity", "kind",      "mode",         "phase",
          "band",  "at",        "time",     "since",    "from",      "until",        "key",
          "ports", "resources", "total",    "seq",      "placement", "http_address", "cluster",
          "epoch", "condition", "standing", "why_kind", "limit",     "verdict",      "remedy"};
      if (everything_ || kWords.count(name) == 0) {
        value = value.get<std::string>() + std::string(kHostile);
      }
    }
    if (value.is_array()) {
      for (nlohmann::json& one : value) lie_in(one, name);
    }
    if (value.is_object()) {
      for (auto& [key, one] : value.items()) lie_in(one, key);
    }
  }

  TemporaryDirectory home_;
  const Masters truth_;
  std::promise<void> up_;
  std::atomic<bool> everything_ = false;
  std::atomic<bool> refuses_ = false;
  Loop* loop_ = nullptr;
  std::thread thread_;
};

// The problem with a line of output; empty if there is none.
std::string steers(const std::string& output) {
  size_t begin = 0;
  while (begin < output.size()) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    if (!is_printable(line)) return quoted(line);
    begin = end + 1;
  }
  return {};
}

void expect_harmless(const Words& words, const Exit& done) {
  std::string command;
  for (const std::string& word : words) command += " " + word;
  EXPECT_EQ(steers(done.out), "") << command;
  EXPECT_EQ(steers(done.err), "") << command;
  size_t hints = 0;
  size_t errors = 0;
  for (size_t at = 0; at < done.err.size();
       at = std::min(done.err.find('\n', at), done.err.size() - 1) + 1) {
    hints += done.err.compare(at, 8, "  hint: ") == 0;
    errors += done.err.compare(at, 7, "error: ") == 0;
  }
  EXPECT_LE(hints, 1u) << command << "\n" << done.err;
  EXPECT_LE(errors, 1u) << command << "\n" << done.err;
}

const Words kLists[] = {{"status"},
                        {"agents"},
                        {"frameworks"},
                        {"tasks", "--all"},
                        {"tasks", "--pending"},
                        {"history"},
                        {"events"},
                        {"offers"},
                        {"role", "list"},
                        {"role", "tree"},
                        {"keys", "list"},
                        {"secret", "list"},
                        {"snapshot"},
                        {"top"},
                        {"blame", "role", "default"},
                        {"explain", "role", "default"},
                        {"explain", "framework", "waiter"},
                        {"usage", "default"},
                        {"accounting", "2026-11"}};

TEST(Terminal, NoListHasAControlCharacterWhateverItsMasterSays) {
  const Cluster cluster;
  ASSERT_EQ(cluster.proffer({"run", "--name", "ended", "--", "false"}).code, 1);
  const auto waiter = cluster.start({"run", "--name", "waiter", "--cpus", "3000", "--", "true"});
  const auto runner = cluster.start({"run", "--name", "runner", "--", "sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("runner") == 1; }));
  LyingMaster liar(cluster.master());

  size_t lists_with_lies = 0;
  const auto ask = [&](Words words) {
    words.insert(words.begin(), {program("proffer"), "--master=" + liar.socket()});
    const Exit done = run(words);
    expect_harmless(words, done);
    // The hostile text was printed, in escaped form.
    lists_with_lies += (done.out + done.err).find("owned") != std::string::npos;
    return done;
  };
  const auto has_json = [](const Words& words) {
    return words[0] != "snapshot" && words[0] != "top";
  };
  size_t lists = 0;
  for (const Words& words : kLists) {
    for (const bool as_json : {false, true}) {
      if (as_json && !has_json(words)) continue;
      Words asked = words;
      if (as_json) asked.push_back("--json");
      ++lists;
      const Exit done = ask(asked);
      if (as_json && done.code == 0) {
        for (size_t at = 0; at < done.out.size();) {
          const size_t end = std::min(done.out.find('\n', at), done.out.size());
          EXPECT_TRUE(nlohmann::json::accept(done.out.substr(at, end - at))) << words[0];
          at = end + 1;
        }
      }
    }
  }
  // Some commands have nothing to list here: no key, no secret, no offer.
  EXPECT_GE(lists_with_lies, lists * 2 / 3) << "of " << lists;

  liar.lie_about_everything(true);
  for (const Words& words : kLists) ask(words);
  for (const Words& words : {Words{"kill", "x"},
                             {"drain", "agent-1"},
                             {"teardown", "x"},
                             {"logs", "runner"},
                             {"exec", "runner", "--", "true"}}) {
    ask(words);
  }
  liar.refuse(true);
  for (const Words& words : kLists) ask(words);
}

// The texts of a task that a user may choose.
TEST(Terminal, WhatOneUserWritesReachesNoOthersTerminal) {
  const Cluster cluster;
  const std::string hostile(kHostile);
  const auto task = cluster.start({"run", "--name", "t", "--", "sleep 1000 # " + hostile});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("t") == 1; }));
  for (const Words& words : kLists) expect_harmless(words, cluster.proffer(words));
  for (const Words& words : {Words{"kill", hostile},
                             {"role", "list", hostile},
                             {hostile},
                             {"tasks", "--" + hostile},
                             {"explain", "task", hostile}}) {
    const Exit done = cluster.proffer(words);
    EXPECT_NE(done.code, 0);
    expect_harmless(words, done);
  }
  EXPECT_EQ(cluster.proffer({"run", "--", "printf '\\033[0m'"}).out, "\x1b[0m")
      << "the output of a task is its user's";
}

}  // namespace
}  // namespace proffer::test
