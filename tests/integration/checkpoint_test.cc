// An agent that finds its checkpoint damaged, restored from an old copy, or duplicated: tasks that
// it still names run on, and no task runs twice.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/integration/processes.h"

namespace proffer::checkpoint_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class Checkpoints : public testing::Test {
 protected:
  Checkpoints() {
    EXPECT_TRUE(eventually([&] { return proffer({"status"}).code == 0; })) << master_.err();
    start_agent();
  }
  ~Checkpoints() override {
    for (Process* daemon : {agent_.get(), &master_}) {
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
  }
  Words agent_command(const std::string& work_dir) const {
    return {program("proffer-agent"), "--master=" + socket_,       "--name=a1",
            "--work_dir=" + work_dir, "--resources=" + resources_, "--tasks_on_exit=kill"};
  }
  void start_agent() {
    agent_ = std::make_unique<Process>(agent_command(work_dir_));
    EXPECT_TRUE(eventually([&] {
      const std::string all = proffer({"agents"}).out;
      return all.find("a1") != std::string::npos && all.find(" connected") != std::string::npos;
    })) << agent_->err();
  }
  void kill_agent() {
    agent_->kill(SIGKILL);
    agent_->wait();
  }
  Exit proffer(Words words) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", socket_}});
  }
  // A task that prints its pid, and records that it began.
  struct Task {
    std::unique_ptr<Process> client;
    pid_t pid = 0;
    // A zombie has no command line.
    bool lives() const { return !read_file("/proc/" + std::to_string(pid) + "/cmdline").empty(); }
  };
  Task start(const std::string& name) {
    Task task;
    task.client = std::make_unique<Process>(
        Words{program("proffer"), "run", "--name", name, "--",
              "echo " + name + " >> " + (home_ / "begun") + "; echo pid $$; exec sleep 1000"},
        std::map<std::string, std::string>{{"PROFFER_MASTER", socket_}});
    const std::optional<std::string> line = task.client->line_with("pid ");
    EXPECT_TRUE(line) << task.client->err();
    if (line) task.pid = std::stoi(line->substr(4));
    return task;
  }
  static Exit end(Task& task) {
    task.client->kill(SIGINT);
    return task.client->wait();
  }
  std::string begun() const { return read_file(home_ / "begun"); }

  TemporaryDirectory home_;
  const std::string socket_ = home_ / "run/master.sock";
  const std::string work_dir_ = home_ / "agent";
  std::string resources_ = "cpus:4;mem:512";
  const std::string log_ = work_dir_ + "/checkpoint.log";
  Process master_{Words{program("proffer-master"), "--data_dir=" + (home_ / "master"),
                        "--socket=" + socket_, "--heartbeat=1s"}};
  std::unique_ptr<Process> agent_;
};

TEST_F(Checkpoints, OneDamagedBitEndsOneTask) {
  Task one = start("one");
  Task two = start("two");
  Task three = start("three");
  kill_agent();
  // Flip a bit in the second task's command, which only that task's record contains.
  std::string bytes = read_file(log_);
  const size_t at = bytes.find("echo two");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(log_, std::ios::binary) << bytes;
  start_agent();
  EXPECT_THAT(two.client->wait().err, HasSubstr("lost"));
  EXPECT_TRUE(eventually([&] { return !two.lives(); }));
  EXPECT_TRUE(one.lives());
  EXPECT_TRUE(three.lives());
  EXPECT_EQ(proffer({"exec", "one", "--", "echo here"}).out, "here\n");
  for (Task* task : {&one, &three}) {
    end(*task);
    EXPECT_TRUE(eventually([&] { return !task->lives(); }));
  }
  EXPECT_EQ(begun(), "one\ntwo\nthree\n");
}

TEST_F(Checkpoints, PutBackToAnOlderStateRunNothingTwice) {
  Task one = start("one");
  fs::copy_file(log_, home_ / "older");
  Task two = start("two");
  kill_agent();
  fs::copy_file(home_ / "older", log_, fs::copy_options::overwrite_existing);
  start_agent();
  EXPECT_THAT(two.client->wait().err, HasSubstr("lost"));
  EXPECT_TRUE(eventually([&] { return !two.lives(); }));
  EXPECT_TRUE(one.lives());
  Task three = start("three");
  end(one);
  end(three);
  EXPECT_EQ(begun(), "one\ntwo\nthree\n");
}

// The first command's executor ran the second command, and runs the third. It no longer belongs to
// the first, although the checkpoint says so.
TEST_F(Checkpoints, OldCheckpointsRunNothingTwiceAfterAnExecutorWasReused) {
  resources_ = "cpus:0.1;mem:64";  // room for one command at a time
  kill_agent();
  start_agent();
  const std::string begun_file = home_ / "begun";
  write_file(home_ / "commands", "echo first >>" + begun_file + "; until test -e " +
                                     (home_ / "go") + "; do sleep 0.05; done\n" + "echo second >>" +
                                     begun_file + "\n" +  //
                                     "echo third >>" + begun_file + "; echo $$ >" +
                                     (home_ / "pid") + "; exec sleep 1000\n");
  Process framework(Words{program("examples/exactly_once_framework"), "--master=" + socket_,
                          "--commands=" + (home_ / "commands"),
                          "--session_file=" + (home_ / "session")});
  ASSERT_TRUE(eventually([&] { return begun() == "first\n"; })) << framework.err();
  fs::copy_file(log_, home_ / "older");
  write_file(home_ / "go", "");
  ASSERT_TRUE(eventually([&] { return read_file(home_ / "pid").ends_with("\n"); }));
  Task third;
  third.pid = std::stoi(read_file(home_ / "pid"));
  kill_agent();
  fs::copy_file(home_ / "older", log_, fs::copy_options::overwrite_existing);
  start_agent();
  const Exit end = framework.wait();
  EXPECT_THAT(end.out, HasSubstr("all 3 commands have ended")) << end.err;
  EXPECT_THAT(end.out, HasSubstr("lost"));
  EXPECT_FALSE(third.lives()) << "it was told to be lost";
  EXPECT_EQ(begun(), "first\nsecond\nthird\n");
}

TEST_F(Checkpoints, OfACopiedWorkDirectoryAreNotTaken) {
  Task one = start("one");
  const std::string copy = home_ / "copy";
  EXPECT_EQ(run({"/bin/cp", "-a", work_dir_, copy}).code, 0);
  Process second(agent_command(copy));
  const Exit refused = second.wait();
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("is a copy of the work directory of another agent"));
  EXPECT_TRUE(one.lives());
  end(one);
  EXPECT_EQ(begun(), "one\n");
}

}  // namespace
}  // namespace proffer::checkpoint_test
