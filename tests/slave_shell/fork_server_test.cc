// The fork server: executors that are forked from one process are children of the caller, each with
// its own session, directory, output and environment.

#include "slave/shell/fork_server.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "slave/executor/launch_request.h"
#include "slave/shell/processes.h"
#include "tests/support/temporary_directory.h"

namespace proffer::agent {
namespace fork_server_test {
namespace {

namespace fs = std::filesystem;

std::string program_path() {
  return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/proffer-executor")
      .string();
}

// Its exit status, within a deadline.
std::optional<int> wait_for(pid_t pid) {
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd ready{.fd = ended, .events = POLLIN, .revents = 0};
  const bool has_ended = poll(&ready, 1, 60'000) == 1;
  close(ended);
  int status = 0;
  if (!has_ended || waitpid(pid, &status, 0) != pid) return std::nullopt;
  return status;
}

class Forked : public testing::Test {
 protected:
  ~Forked() override {
    for (const pid_t pid : started_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    const pid_t fork_server = fork_server_ == nullptr ? 0 : fork_server_->pid();
    fork_server_.reset();
    if (fork_server != 0) {
      EXPECT_TRUE(kill(fork_server, 0) == -1 && errno == ESRCH)
          << "the fork server outlives its agent";
    }
  }

  // The environment from an agent; no process listens at its socket, so the executor waits.
  std::map<std::string, std::string> environment(const std::string& sandbox) const {
    return {{"HOME", sandbox},
            {"PATH", "/usr/bin:/bin"},
            {"PROFFER_AGENT", "a1"},
            {"PROFFER_AGENT_SOCKET", (root_ / "no-agent.sock").string()},
            {"PROFFER_EXECUTOR_ID", "e1"},
            {"PROFFER_EXECUTOR_TOKEN", "0123456789abcdef0123456789abcdef"},
            {"PROFFER_FRAMEWORK_ID", "f1"},
            {"PROFFER_SANDBOX", sandbox},
            {"USER", "ada"}};
  }
  Result<pid_t> fork(const std::map<std::string, std::string>& variables) {
    std::vector<std::string> list;
    for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
    Result<pid_t> pid = fork_server_->fork({.environment = list});
    if (pid) started_.push_back(*pid);
    return pid;
  }
  std::string sandbox(const std::string& name) const {
    fs::create_directories(root_ / name);
    return (root_ / name).string();
  }
  // The pid is known slightly before the executor has its session, output and environment.
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 60'000; ++i) {
      if (holds()) return true;
      poll(nullptr, 0, 1);
    }
    return false;
  }

  const test::TemporaryDirectory directory_;
  const fs::path root_ = directory_.path();
  std::unique_ptr<ForkServer> fork_server_ = std::make_unique<ForkServer>(program_path());
  std::vector<pid_t> started_;
};

TEST_F(Forked, ExecutorsAreOurChildrenWithWhatTheyWereGiven) {
  for (const std::string name : {"one", "two"}) {
    const std::string box = sandbox(name);
    const Result<pid_t> pid = fork(environment(box));
    ASSERT_TRUE(pid) << pid.error().message();
    ASSERT_TRUE(eventually([&] { return started_with(*pid, "PROFFER_SANDBOX") == box; }));
    const std::optional<Process> process = find_process(*pid);
    ASSERT_TRUE(process.has_value());
    EXPECT_EQ(process->parent, getpid());
    EXPECT_EQ(process->session, *pid);
    for (const auto& [variable, value] : environment(box)) {
      EXPECT_EQ(started_with(*pid, variable), value) << variable;
    }
    EXPECT_EQ(started_with(*pid, "PROFFER_ROOM"), "");
    const fs::path proc = fs::path("/proc") / std::to_string(*pid);
    EXPECT_EQ(fs::read_symlink(proc / "cwd"), fs::path(box));
    EXPECT_EQ(fs::read_symlink(proc / "fd/0"), fs::path("/dev/null"));
    EXPECT_EQ(fs::read_symlink(proc / "fd/1"), fs::path(box) / "stdout");
    EXPECT_EQ(fs::read_symlink(proc / "fd/2"), fs::path(box) / "stderr");
  }
}

// The shell program prints its identity; the sandbox belongs to nobody, so only root or nobody can
// open its output.
TEST_F(Forked, AProgramRunsAsItsUserWithItsGroupsAndNothingElse) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const executor::RunAs nobody{.uid = 65534, .gid = 65534, .groups = {65534, 4'711}};
  const std::string box = sandbox("one");
  ASSERT_EQ(chmod(root_.c_str(), 0711), 0);
  ASSERT_EQ(chown(box.c_str(), nobody.uid, nobody.gid), 0);
  const Result<pid_t> pid = fork_server_->fork(
      {.environment = {"PATH=/usr/bin:/bin", "PROFFER_SANDBOX=" + box},
       .arguments = {"/bin/sh", "-c", "id -u; id -g; id -G; pwd; cat /etc/shadow"},
       .run_as = nobody});
  ASSERT_TRUE(pid) << pid.error().message();
  EXPECT_NE(wait_for(*pid), 0) << "nobody may not read /etc/shadow";
  std::ifstream file(root_ / "one/stdout");
  const std::string out((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(out, "65534\n65534\n65534 4711\n" + box + "\n");
  struct stat status = {};
  ASSERT_EQ(stat((root_ / "one/stdout").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, nobody.uid);
}

// A user cannot gain access with a file in the place of its output: neither with a link nor with a
// file of root.
TEST_F(Forked, OutputIsOpenedAsTheUserMay) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const executor::RunAs nobody{.uid = 65534, .gid = 65534};
  ASSERT_EQ(chmod(root_.c_str(), 0711), 0);
  std::ofstream(root_ / "secret") << "of root";
  for (const bool link : {true, false}) {
    const std::string box = sandbox(link ? "link" : "hard");
    if (link) {
      fs::create_symlink(root_ / "secret", box + "/stdout");
    } else {
      fs::create_hard_link(root_ / "secret", box + "/stdout");
      ASSERT_EQ(chmod((box + "/stdout").c_str(), 0600), 0);
    }
    ASSERT_EQ(chown(box.c_str(), nobody.uid, nobody.gid), 0);
    const Result<pid_t> pid = fork_server_->fork(
        {.environment = {"PROFFER_SANDBOX=" + box}, .arguments = {"/bin/true"}, .run_as = nobody});
    EXPECT_FALSE(pid) << box;
  }
}

TEST_F(Forked, WhatCannotJoinItsGroupDoesNotRun) {
  const std::string box = sandbox("one");
  const Result<pid_t> pid =
      fork_server_->fork({.environment = {"PROFFER_SANDBOX=" + box},
                          .arguments = {"/bin/echo", "ran"},
                          .joins = {(root_ / "no-group/cgroup.procs").string()}});
  ASSERT_TRUE(pid);
  const std::optional<int> status = wait_for(*pid);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 126);
  EXPECT_EQ(fs::file_size(root_ / "one/stdout"), 0u);
}

TEST_F(Forked, ItsEndIsHeardByUs) {
  const Result<pid_t> pid = fork(environment(sandbox("one")));
  ASSERT_TRUE(pid);
  kill(*pid, SIGKILL);
  const std::optional<int> status = wait_for(*pid);
  started_.clear();
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), SIGKILL);
}

TEST_F(Forked, AnExecutorThatLacksAVariableSaysSoInItsSandbox) {
  auto variables = environment(sandbox("one"));
  variables.erase("PROFFER_EXECUTOR_TOKEN");
  const Result<pid_t> pid = fork(variables);
  ASSERT_TRUE(pid);
  const std::optional<int> status = wait_for(*pid);
  started_.clear();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 2);
  std::ifstream file(root_ / "one/stderr");
  std::string line;
  std::getline(file, line);
  EXPECT_NE(line.find("PROFFER_EXECUTOR_TOKEN"), std::string::npos) << line;
}

TEST_F(Forked, WhatCannotBeStartedIsRefusedWithItsReasonAndTheNextOneStarts) {
  const Result<pid_t> nowhere = fork(environment((root_ / "nowhere").string()));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(nowhere.error().message().find("No such file"), std::string::npos);

  auto with_nul = environment(sandbox("one"));
  with_nul["PATH"] = std::string("a\0b", 3);
  EXPECT_EQ(fork(with_nul).error().code(), ErrorCode::kInvalidArgument);
  auto large = environment(sandbox("one"));
  large["PATH"] = std::string(executor::kEnvironmentRoom, 'x');
  EXPECT_EQ(fork(large).error().code(), ErrorCode::kResourceExhausted);

  const pid_t fork_server = fork_server_->pid();
  EXPECT_TRUE(fork(environment(sandbox("one"))));
  EXPECT_EQ(fork_server_->pid(), fork_server);
}

TEST_F(Forked, AForkServerThatWasKilledIsReplaced) {
  ASSERT_TRUE(fork(environment(sandbox("one"))));
  const pid_t first = fork_server_->pid();
  kill(first, SIGKILL);
  ASSERT_TRUE(wait_for(first).has_value());
  // A call before the end of the fork server is known fails with a timeout, since the fork server
  // may have forked.
  const Result<pid_t> unknown = fork(environment(sandbox("two")));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::kTimeout);
  EXPECT_EQ(fork_server_->pid(), 0);
  const Result<pid_t> second = fork(environment(sandbox("two")));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_NE(fork_server_->pid(), first);
  // Children of the first fork server live on.
  EXPECT_EQ(kill(started_[0], 0), 0);
  EXPECT_FALSE(find_process(started_[0])->zombie);
}

TEST_F(Forked, AForkServerThatWasStoppedIsReplacedAfterAWhile) {
  ASSERT_TRUE(fork(environment(sandbox("one"))));
  const pid_t first = fork_server_->pid();
  kill(first, SIGSTOP);
  EXPECT_EQ(fork(environment(sandbox("two"))).error().code(), ErrorCode::kTimeout);
  EXPECT_TRUE(wait_for(first).has_value());
  ASSERT_TRUE(fork(environment(sandbox("two"))));
  EXPECT_NE(fork_server_->pid(), first);
}

TEST_F(Forked, WithoutTheProgramNothingStarts) {
  fork_server_ = std::make_unique<ForkServer>((root_ / "no-such-program").string());
  const Result<pid_t> refused = fork(environment(sandbox("one")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(fork_server_->pid(), 0);
}

// --- the request -------------------------------------------------------------------------------

using Texts = std::vector<std::string>;

TEST(LaunchRequest, CarriesAllThatIsInIt) {
  const Texts variables = {"A=1", "EMPTY=", "TWO=a=b"};
  const executor::RunAs user{.uid = 1'000, .gid = 1'001, .groups = {1'001, 27}};
  const Result<std::string> bytes = executor::encode_launch({.environment = variables,
                                                             .arguments = {"/bin/sh", "-c", ""},
                                                             .run_as = user,
                                                             .joins = {"/sys/fs/cgroup/procs"}});
  ASSERT_TRUE(bytes);
  const auto decoded = executor::decode_launch(*bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(Texts(decoded->variables.begin(), decoded->variables.end()), variables);
  EXPECT_EQ(decoded->environment, std::string_view("A=1\0EMPTY=\0TWO=a=b\0", 19));
  EXPECT_EQ(Texts(decoded->arguments.begin(), decoded->arguments.end()),
            (Texts{"/bin/sh", "-c", ""}));
  EXPECT_EQ(Texts(decoded->joins.begin(), decoded->joins.end()), Texts{"/sys/fs/cgroup/procs"});
  EXPECT_EQ(decoded->run_as, user);

  const Result<std::string> least = executor::encode_launch({.environment = {"A=1"}});
  ASSERT_TRUE(least);
  EXPECT_EQ(executor::decode_launch(*least)->run_as, std::nullopt);
}

TEST(LaunchRequest, IsRefusedIfItIsCutOrDamaged) {
  const std::string bytes = *executor::encode_launch({.environment = {"A=1"},
                                                      .arguments = {"/bin/true"},
                                                      .run_as = executor::RunAs{1, 2, {3, 4}},
                                                      .joins = {"/x"}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(executor::decode_launch(std::string_view(bytes).substr(0, size))) << size;
  }
  // Counts that exceed the data.
  for (size_t at = 0; at < 6 * sizeof(uint32_t); ++at) {
    std::string wrong = bytes;
    wrong[at] = static_cast<char>(0x7f);
    (void)executor::decode_launch(wrong);  // all results must lie within the bytes (ASan)
  }
  EXPECT_FALSE(executor::encode_launch({}));
  EXPECT_FALSE(executor::encode_launch({.environment = {"NONE"}}));
  EXPECT_FALSE(executor::encode_launch({.environment = {"=x"}}));
  EXPECT_FALSE(
      executor::encode_launch({.environment = {"A=1"}, .arguments = {std::string("a\0b", 3)}}));
  EXPECT_EQ(executor::encode_launch({.environment = {"A=1"},
                                     .arguments = {std::string(executor::kLaunchBytesMax, 'x')}})
                .error()
                .code(),
            ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace fork_server_test
}  // namespace proffer::agent
