// The supervisor, if its fork server ends at the worst time: after a fork that it has not reported.

#include "slave/shell/supervisor.h"

#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slave/shell/processes.h"
#include "tests/support/temporary_directory.h"

namespace proffer::agent {
namespace supervisor_test {
namespace {

namespace fs = std::filesystem;

std::string bin_dir() {
  return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin").string();
}

// Waits for the next stop or the end of a traced process.
int status_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, __WALL), pid);
  return status;
}

// Waits for the end, within a deadline.
bool has_ended(pid_t pid) {
  for (int i = 0; i < 10'000; ++i) {
    const std::optional<Process> process = find_process(pid);
    if (!process || process->zombie) return true;
    poll(nullptr, 0, 1);
  }
  return false;
}

// Kills a fork server after its next fork, before it can report it. The new process is stopped
// until release().
class Assassin {
 public:
  explicit Assassin(pid_t fork_server)
      : thread_([this, fork_server] {
          attached_.set_value(
              ptrace(PTRACE_SEIZE, fork_server, 0,
                     PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK) == 0);
          status_of(fork_server);  // it has forked
          unsigned long child = 0;
          ptrace(PTRACE_GETEVENTMSG, fork_server, 0, &child);
          status_of(static_cast<pid_t>(child));  // the child is stopped
          child_ = static_cast<pid_t>(child);
          kill(fork_server, SIGKILL);
          released_.get_future().wait();
          ptrace(PTRACE_DETACH, child_, 0, 0);  // or it is dead
        }) {}
  ~Assassin() {
    if (thread_.joinable()) release();
  }

  bool is_attached() { return attached_.get_future().get(); }
  // The new process, which continues if it still can.
  pid_t release() {
    released_.set_value();
    thread_.join();
    return child_;
  }

 private:
  std::promise<bool> attached_;
  std::promise<void> released_;
  pid_t child_ = 0;
  std::thread thread_;
};

// Otherwise two executors of one run would both get its tasks.
TEST(Supervisor, EndsTheForksOfAKilledForkServerBeforeItStartsAnother) {
  const test::TemporaryDirectory directory;
  const std::string& root = directory.path();
  Loop loop;
  const Sandboxes sandboxes(root);
  Isolator isolator("a test");
  Supervisor supervisor(loop, sandboxes, isolator,
                        {.agent = AgentId("a1"),
                         .user = "somebody",
                         .socket = root + "/nobody.sock",
                         .http_address = "127.0.0.1:1",
                         .bin_dir = bin_dir()},
                        {});
  const auto start = [&](uint64_t run) -> Result<ExecutorStarted> {
    Result<std::optional<ExecutorStarted>> started =
        supervisor.start({.framework = FrameworkId("f1"),
                          .executor = ExecutorId("e1"),
                          .run = run,
                          .program = std::string(proto::kCommandExecutor),
                          .token = Secret("0123456789abcdef0123456789abcdef")});
    if (!started) return std::move(started).error();
    return **std::move(started);
  };
  const Result<ExecutorStarted> first = start(1);
  ASSERT_TRUE(first) << first.error().message();
  pid_t fork_server = 0;
  for (const pid_t child : own_children()) {
    if (child != first->pid) fork_server = child;
  }
  ASSERT_GT(fork_server, 0);

  Assassin assassin(fork_server);
  ASSERT_TRUE(assassin.is_attached());
  const Result<ExecutorStarted> second = start(2);
  ASSERT_TRUE(second) << second.error().message();

  const pid_t stray = assassin.release();
  ASSERT_GT(stray, 0);
  EXPECT_NE(stray, second->pid);
  EXPECT_TRUE(has_ended(stray)) << "it lives beside the executor that was started for it";
  EXPECT_FALSE(find_process(second->pid)->zombie);

  for (const pid_t child : own_children()) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, __WALL);
  }
}

}  // namespace
}  // namespace supervisor_test
}  // namespace proffer::agent
