// The wall clock of a machine moves forward or back by a day: running tasks continue, new work is
// done, and everything is reported in order. libfaketime moves the clock for the master and the
// agent; the kernel's monotonic clock does not move, as on a real machine.

#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Debian keeps it below the directory of the machine's architecture.
std::string faketime_library() {
  for (const auto& folder : fs::directory_iterator("/usr/lib")) {
    const fs::path library = folder.path() / "faketime" / "libfaketime.so.1";
    if (folder.is_directory() && fs::exists(library)) return library;
  }
  return "";
}

class StepsOfTheClock : public testing::Test {
 protected:
  void SetUp() override {
    const std::string library = faketime_library();
    ASSERT_FALSE(library.empty()) << "libfaketime is not installed; tools/setup.sh --test does it";
    environment_ = {{"LD_PRELOAD", library},
                    {"FAKETIME_TIMESTAMP_FILE", home_ / "clock"},
                    {"FAKETIME_NO_CACHE", "1"},
                    {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
                    {"NO_FAKE_STAT", "1"}};
    set_clock("+0");
    start_master();
    agent_ = std::make_unique<Process>(
        Words{program("proffer-agent"), "--master=" + socket(), "--name=a1",
              "--work_dir=" + (home_ / "agent"), "--resources=cpus:2;mem:512",
              "--tasks_on_exit=kill", "--heartbeat=1s"},
        environment_);
    ASSERT_TRUE(eventually([&] { return is_agent_connected(); })) << agent_->err();
  }
  void TearDown() override {
    for (std::unique_ptr<Process>* process : {&agent_, &master_}) {
      if (*process == nullptr) continue;
      (*process)->kill(SIGTERM);
      EXPECT_EQ((*process)->wait().code, 0) << (*process)->err();
    }
  }

  // Sets the offset to the real time in seconds, as in "+86400".
  void set_clock(const std::string& by) { write_file(home_ / "clock", by + "\n"); }
  void start_master() {
    master_ = std::make_unique<Process>(
        Words{program("proffer-master"), "--data_dir=" + (home_ / "master"), "--socket=" + socket(),
              "--heartbeat=1s"},
        environment_);
    ASSERT_TRUE(eventually([&] { return proffer({"status"}).code == 0; })) << master_->err();
  }
  void kill_master() {
    master_->kill(SIGKILL);
    master_->wait();
  }
  std::string socket() const { return home_ / "master.sock"; }
  Exit proffer(Words words) const {
    words.insert(words.begin(), {program("proffer"), "--master=" + socket()});
    return run(words);
  }
  bool is_agent_connected() const {
    return proffer({"agents"}).out.find(" connected") != std::string::npos;
  }
  int64_t metric(const std::string& name) const {
    std::istringstream lines(get_http(home_ / "master-http.sock", "/metrics"));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) {
        return static_cast<int64_t>(std::stod(line.substr(name.size() + 1)));
      }
    }
    return 0;
  }
  // A task that is launched now finishes, and waits only briefly.
  void expect_work_goes_on(const std::string& what) {
    const Exit done = proffer({"run", "--name", what, "--", "echo done"});
    EXPECT_EQ(done.code, 0) << what << ": " << done.err;
    EXPECT_TRUE(eventually([&] { return is_agent_connected(); })) << what;
    // The log is written asynchronously: events that a kill -9 loses are reported as a gap.
    EXPECT_TRUE(eventually([&] {
      return proffer({"events", "--last", "1000"})
                 .out.find("task=" + what + "-1 agent=a1 state=f") != std::string::npos;
    })) << what;
  }

  TemporaryDirectory home_;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

constexpr int64_t kDay = 86'400;

TEST_F(StepsOfTheClock, LeaveTasksAndTheOrderOfEventsAlone) {
  ASSERT_EQ(run({"mkfifo", "-m", "666", home_ / "fifo"}).code, 0);
  Process longer(Words{program("proffer"), "--master=" + socket(), "run", "--name", "longer", "--",
                       "echo begun; read -r line < " + (home_ / "fifo")});
  ASSERT_TRUE(longer.line_with("begun")) << longer.err();
  for (const int64_t step : {kDay, -kDay}) {
    set_clock(text(step < 0 ? "" : "+", step));
    EXPECT_TRUE(eventually([&] {
      const int64_t told = metric("proffer_clock_step_seconds");
      return told >= step - 10 && told <= step + 10;
    })) << metric("proffer_clock_step_seconds");
    expect_work_goes_on(step < 0 ? "moved-back" : "moved-on");
  }
  // A restart uses the wall clock as it is: one day after the last run, then two days before it.
  for (const int64_t step : {kDay, -kDay}) {
    set_clock(text(step < 0 ? "" : "+", step));
    kill_master();
    start_master();
    EXPECT_EQ(metric("proffer_clock_step_seconds"), 0);
    expect_work_goes_on(step < 0 ? "begun-before" : "begun-after");
  }

  write_file(home_ / "fifo", "go\n");
  EXPECT_EQ(longer.wait().code, 0) << longer.err();
  const Exit history = proffer({"history", "--json"});
  ASSERT_EQ(history.code, 0) << history.err;
  for (const Json& task : Json::parse(history.out).at("tasks")) {
    EXPECT_EQ(task.at("state"), "finished") << task;
    EXPECT_LT(task.at("waited").at("total_s"), kDay / 2) << task;
  }

  const Exit told = proffer({"events", "--last", "1000", "--json"});
  ASSERT_EQ(told.code, 0) << told.err;
  std::istringstream lines(told.out);
  int begun = 0;
  std::pair<int64_t, int64_t> last;
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line);
    if (event.at("event") == "gap") continue;
    const std::string seq = event.at("seq");
    const size_t point = seq.find('.');
    ASSERT_NE(point, std::string::npos) << line;
    const std::pair<int64_t, int64_t> at(std::stoll(seq.substr(0, point)),
                                         std::stoll(seq.substr(point + 1)));
    EXPECT_GT(at, last) << line;
    last = at;
    begun += event.at("event") == "task launched" ? 1 : 0;
  }
  EXPECT_EQ(begun, 5);
}

}  // namespace
}  // namespace proffer::test
