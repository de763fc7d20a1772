// Secrets end to end: a task gets its value as a variable and as a file in memory. A scan of
// everything that remains after the task does not find it.

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::secrets_test {
namespace {

using namespace test;
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// The value itself, and the digits in which it is sent to the master.
const std::string kValue = "Zq7-correct-horse-battery-staple-Wk4";
std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    out += kDigits[static_cast<unsigned char>(byte) >> 4];
    out += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return out;
}

bool holds(const std::string& bytes, const std::string& what) {
  return bytes.find(what) != std::string::npos || bytes.find(hex(what)) != std::string::npos;
}

// Files below the directory that contain the text; links are not followed.
std::vector<std::string> files_with(const std::string& directory, const std::string& what) {
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& entry : fs::recursive_directory_iterator(directory, failed)) {
    std::error_code gone;
    if (!entry.is_regular_file(gone) || entry.is_symlink(gone)) continue;
    if (holds(read_file(entry.path()), what)) found.push_back(entry.path());
  }
  EXPECT_FALSE(failed) << failed.message();
  return found;
}

class Secrets : public testing::Test {
 protected:
  Secrets() {
    write_file(home_ / "value", kValue);
    write_file(home_ / "app.yaml",
               "name: db\n"
               "resources: 'cpus:0.1;mem:64'\n"
               "command: |\n"
               "  test \"$DB_PASSWORD\" = \"$(cat secrets/password.txt)\" || exit 9\n"
               "  test \"$(printf %s \"$DB_PASSWORD\" | wc -c)\" = " +
                   std::to_string(kValue.size()) +
                   " || exit 8\n"
                   "  exec tail -f /dev/null\n"
                   "health: {command: 'test -n \"$DB_PASSWORD\"', interval: 200ms}\n"
                   "secrets:\n"
                   "  password: {env: DB_PASSWORD, file: password.txt}\n");
  }
  void set_secret() {
    const Exit set = cluster_.proffer({"secret", "set", "password", "--file", home_ / "value"});
    ASSERT_EQ(set.code, 0) << set.err;
  }
  void apply() {
    const Exit applied =
        cluster_.proffer({"service", "apply", home_ / "app.yaml", "--wait"}, Seconds(120));
    ASSERT_EQ(applied.code, 0) << applied.err << cluster_.proffer({"service", "logs", "db"}).out;
  }
  std::string task() const {
    const auto page =
        proto::parse_service_status(cluster_.proffer({"service", "status", "db", "--json"}).out);
    return page && !page->instances.empty() ? page->instances[0].task.str() : "";
  }
  // The in-memory directory of the running instance, by the link in its sandbox.
  std::string folder() const {
    std::error_code failed;
    for (const auto& entry : fs::recursive_directory_iterator(cluster_.dir(), failed)) {
      std::error_code gone;
      if (entry.path().filename() != "secrets" || !entry.is_symlink(gone)) continue;
      const std::string folder = fs::read_symlink(entry.path(), gone);
      if (fs::exists(folder)) return folder;
    }
    return {};
  }
  void expect_nothing_on_disk() {
    EXPECT_EQ(files_with(cluster_.dir(), kValue), std::vector<std::string>());
  }
  void expect_nothing_told() {
    for (const Words& words :
         {Words{"tasks", "--all", "--json"}, Words{"service", "status", "db", "--json"},
          Words{"service", "history", "db", "--json"}, Words{"service", "logs", "db"},
          Words{"history", "--json"}, Words{"explain", "service", "--json"},
          Words{"secret", "list", "--json"}, Words{"snapshot"}, Words{"frameworks", "--json"}}) {
      const Exit told = cluster_.proffer(words);
      EXPECT_FALSE(holds(told.out + told.err, kValue)) << words[0];
    }
    for (const char* page : {"/v1/tasks", "/v1/secrets", "/v1/services", "/metrics"}) {
      const std::string told = get_http(cluster_.http(), page);
      EXPECT_THAT(told, HasSubstr("200 OK")) << page;
      EXPECT_FALSE(holds(told, kValue)) << page;
    }
    const Exit backup = cluster_.proffer(
        {"backup", home_ / "backup.db", "--data-dir=" + cluster_.dir() + "/master"});
    ASSERT_EQ(backup.code, 0) << backup.err;
    const std::string copy = read_file(home_ / "backup.db");
    EXPECT_THAT(copy, HasSubstr("password"));
    EXPECT_FALSE(holds(copy, kValue));
    const std::string key = read_file(cluster_.dir() + "/master/secrets.key");
    ASSERT_GT(key.size(), 64u);
    EXPECT_EQ(copy.find(key.substr(key.size() - 65, 64)), std::string::npos);
    EXPECT_FALSE(holds(cluster_.dev().out() + cluster_.dev().err(), kValue));
  }

  TemporaryDirectory home_;
  Cluster cluster_{{.agents = 1, .resources = "cpus:4;mem:2048", .service = true}};
};

TEST_F(Secrets, ATaskHasItsValueAndNothingThatOutlivesItDoes) {
  set_secret();
  struct stat found = {};
  ASSERT_EQ(stat((cluster_.dir() + "/master/secrets.key").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  apply();
  const std::string memory = folder();
  ASSERT_NE(memory, "") << "no link to the directory in memory";
  EXPECT_TRUE(memory.starts_with("/dev/shm/proffer-"));
  EXPECT_EQ(read_file(memory + "/password.txt"), kValue);
  ASSERT_EQ(stat((memory + "/password.txt").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0400u);
  if (geteuid() == 0) {
    for (const char* path : {"/password.txt", ""}) {
      const Exit other = run({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534",
                              "--clear-groups", "ls", memory + path});
      EXPECT_NE(other.code, 0) << other.out;
    }
  }
  expect_nothing_on_disk();
  expect_nothing_told();

  // A killed agent removes nothing itself.
  const std::string first = task();
  for (const pid_t pid : processes_of(memory)) ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !fs::exists(memory); }));
  ASSERT_TRUE(eventually([&] {
    const auto page =
        proto::parse_service_status(cluster_.proffer({"service", "status", "db", "--json"}).out);
    return page && page->app.ready == 1 && page->instances.at(0).task.str() != first;
  }));

  const std::string second = folder();
  ASSERT_EQ(cluster_.proffer({"service", "stop", "db", "--wait"}).code, 0);
  ASSERT_TRUE(eventually([&] { return !fs::exists(second); }));
  expect_nothing_on_disk();
}

TEST_F(Secrets, ArePutBackByAMasterWithTheirKeyFileAndRefusedByOneWithout) {
  set_secret();
  apply();
  const std::string key = cluster_.dir() + "/master/secrets.key";
  fs::rename(key, home_ / "kept.key");
  auto master = cluster_.restart_master();
  const Exit listed = cluster_.proffer({"secret", "list"});
  EXPECT_THAT(listed.out, HasSubstr("the master has no key file"));
  const Exit set = cluster_.proffer({"secret", "set", "other", "--file", home_ / "value"});
  EXPECT_EQ(set.code, 1);
  EXPECT_THAT(set.err, HasSubstr("which encrypted the secrets"));
  EXPECT_FALSE(fs::exists(key));
  ASSERT_TRUE(eventually([&] {
    return cluster_.proffer({"service", "scale", "db", "2"}).code == 0;
  }));
  ASSERT_TRUE(eventually([&] {
    return cluster_.proffer({"service", "status", "db"}).out.find("secrets.key") !=
           std::string::npos;
  })) << cluster_.proffer({"service", "status", "db"}).out;

  fs::rename(home_ / "kept.key", key);
  master->kill(SIGKILL);
  master->wait();
  master = std::make_unique<Process>(Words{program("proffer-master"),
                                           "--data_dir=" + cluster_.dir() + "/master",
                                           "--socket=" + cluster_.master(), "--heartbeat=1s"});
  ASSERT_TRUE(eventually([&] {
    return cluster_.proffer({"service", "status", "db"}).out.find("2 of 2 ready") !=
           std::string::npos;
  })) << cluster_.proffer({"service", "status", "db"}).out;
}

// Its master and its agent run as another user, without root's rights.
TEST(SecretsOfAUser, AreGivenByAnAgentThatIsNotRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: needs root, to be somebody else";
  const TemporaryDirectory home;
  constexpr uid_t kUser = 65'534;
  ASSERT_EQ(chown(home.path().c_str(), kUser, kUser), 0);
  write_file(home / "value", kValue);
  write_file(home / "app.yaml",
             text("name: db\nresources: 'cpus:0.1;mem:64'\ncommand: '[ \"$P\" = \"$(cat "
                  "secrets/p.txt)\" ] && id -u > ",
                  home / "uid", "; [ \"$(printf %s \"$P\" | wc -c)\" = ", kValue.size(),
                  " ] && exec sleep 1000'\nsecrets: {password: {env: P, file: p.txt}}\n"));
  const auto as_user = [&](Words words) {
    Words all = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                 program_for_all("proffer")};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  };
  const std::string dir = home / "cluster";
  Process dev(as_user({"dev", "--json", "--dir", dir, "--resources", "cpus:4;mem:2048", "--agents",
                       "1", "--no-batch"}),
              {{"HOME", home.path()}});
  ASSERT_TRUE(dev.line_with("\"ready\"").has_value()) << dev.err();
  const std::map<std::string, std::string> environment = {{"PROFFER_MASTER", dir + "/master.sock"},
                                                          {"HOME", home.path()}};
  const auto proffer = [&](const Words& words) {
    const Exit done = run(as_user(words), environment, {}, Seconds(120));
    EXPECT_EQ(done.code, 0) << words[0] << ": " << done.err;
  };
  proffer({"secret", "set", "password", "--file", home / "value"});
  proffer({"service", "apply", home / "app.yaml", "--wait"});
  EXPECT_EQ(read_file(home / "uid"), "65534\n");
  EXPECT_EQ(files_with(dir, kValue), std::vector<std::string>());
  proffer({"service", "stop", "db", "--wait"});
  dev.kill(SIGINT);
  EXPECT_EQ(dev.wait().code, 0);
}

TEST_F(Secrets, ValuesComeFromInputOrAFileAndFromNoArgument) {
  EXPECT_EQ(cluster_.proffer({"secret", "set", "password", kValue}).code, 2);
  EXPECT_EQ(cluster_.proffer({"secret", "set", "a/b", "--file", home_ / "value"}).code, 2);
  write_file(home_ / "empty", "");
  const Exit empty = cluster_.proffer({"secret", "set", "password", "--file", home_ / "empty"});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("cannot be empty"));
  write_file(home_ / "large", std::string(16'385, 'x'));
  const Exit large = cluster_.proffer({"secret", "set", "password", "--file", home_ / "large"});
  EXPECT_THAT(large.err, HasSubstr("at most 16384 bytes"));
  EXPECT_EQ(cluster_.proffer({"secret", "list"}).out.find("password"), std::string::npos);

  const Exit piped = run({"sh", "-c", "echo hunter2 | exec \"$@\"", "sh", program("proffer"),
                          "secret", "set", "password", "--master=" + cluster_.master()});
  ASSERT_EQ(piped.code, 0) << piped.err;
  write_file(home_ / "app.yaml",
             "name: db\ncommand: 'test \"$P\" = hunter2 && exec tail -f /dev/null'\n"
             "resources: 'cpus:0.1;mem:64'\nsecrets: {password: {env: P}}\n");
  apply();
  // An app whose secret is removed runs on, but starts no new instance.
  ASSERT_EQ(cluster_.proffer({"secret", "remove", "password"}).code, 0);
  EXPECT_EQ(cluster_.proffer({"secret", "remove", "password"}).code, 1);
  ASSERT_EQ(cluster_.proffer({"service", "scale", "db", "2"}).code, 0);
  ASSERT_TRUE(eventually([&] {
    return cluster_.proffer({"service", "status", "db"}).out.find("has no secret 'password'") !=
           std::string::npos;
  })) << cluster_.proffer({"service", "status", "db"}).out;
}

}  // namespace
}  // namespace proffer::secrets_test
