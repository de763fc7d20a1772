// --log_format=json: each line of a real run is one JSON object with the documented names, for any
// names of frameworks, files and commands.

#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/integration/processes.h"

namespace proffer::operations_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using nlohmann::json;
using testing::HasSubstr;

// All lines, parsed.
std::vector<json> lines_of(const std::string& log) {
  std::vector<json> all;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const json parsed = json::parse(line, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << line;
    if (!parsed.is_object()) continue;
    for (const char* key : {"time_s", "level", "program", "pid", "message"}) {
      EXPECT_TRUE(parsed.contains(key)) << key << " is not in " << line;
    }
    all.push_back(parsed);
  }
  return all;
}

// The first line with that message; null if there is none.
json line_of(const std::vector<json>& lines, const std::string& message) {
  for (const json& line : lines) {
    if (line.value("message", "") == message) return line;
  }
  return {};
}

TEST(JsonLog, EachLineOfARealRunParses) {
  const TemporaryDirectory home;
  const std::string socket = home / "master.sock";
  Process master({program("proffer-master"), "--data_dir=" + (home / "master"),
                  "--socket=" + socket, "--log_format=json", "--v=2"});
  ASSERT_TRUE(eventually([&] {
    return run({program("proffer"), "--master=" + socket, "status"}).code == 0;
  })) << master.err();
  Process agent({program("proffer-agent"), "--master=" + socket, "--name=a1",
                 "--work_dir=" + (home / "agent"), "--resources=cpus:2;mem:512",
                 "--tasks_on_exit=kill", "--log_format=json", "--v=2"});
  const auto proffer = [&](Words words) {
    words.insert(words.begin(), {program("proffer"), "--master=" + socket});
    return run(words);
  };
  ASSERT_TRUE(
      eventually([&] { return proffer({"agents"}).out.find(" connected") != std::string::npos; }));
  EXPECT_EQ(proffer({"run", "--name", "job", "--", "echo '\"}'; printf '\\377\\n'"}).code, 0);
  for (const char* hostile : {"\"}{\"level\":\"error", "line\nbreak", "\xff\xfe", "\x1b[31m"}) {
    EXPECT_NE(proffer({"kill", hostile}).code, 0);
    EXPECT_NE(proffer({"teardown", hostile}).code, 0);
    EXPECT_NE(proffer({"role", "set", hostile, "--weight", "2"}).code, 0);
    EXPECT_NE(proffer({"drain", hostile}).code, 0);
  }
  for (Process* daemon : {&agent, &master}) {
    daemon->kill(SIGTERM);
    EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
  }

  const std::vector<json> of_master = lines_of(master.err());
  EXPECT_GT(of_master.size(), 8u);
  const json registered = line_of(of_master, "agent registered");
  EXPECT_EQ(registered.value("agent", ""), "a1") << master.err();
  EXPECT_EQ(registered.value("level", ""), "info");
  EXPECT_EQ(registered.value("program", ""), "proffer-master");
  EXPECT_EQ(registered.value("pid", 0), master.pid());
  const json launched = line_of(of_master, "task launched");
  EXPECT_EQ(launched.value("level", ""), "detail");
  EXPECT_EQ(launched.value("agent", ""), "a1");
  EXPECT_TRUE(line_of(of_master, "master ends").contains("source"));
  const std::vector<json> of_agent = lines_of(agent.err());
  EXPECT_GT(of_agent.size(), 3u);
}

TEST(JsonLog, AnotherFormatIsRefused) {
  const TemporaryDirectory home;
  const Exit wrong = run({program("proffer-master"), "--data_dir=" + (home / "m"),
                          "--socket=" + (home / "m.sock"), "--log_format=xml"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--log_format: the format of the log must be text or json, "
                                   "not 'xml'"));
}

}  // namespace
}  // namespace proffer::operations_test
