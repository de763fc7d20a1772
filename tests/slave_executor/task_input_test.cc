// The streamed input of real commands, and their terminals. The test is their scheduler.

#include "slave/executor/task_input.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/net/support.h"

namespace proffer::executor::task_input_test {
namespace {

using net_test::run_for;
using net_test::run_until;
using testing::Contains;
using testing::HasSubstr;

proto::RunTask run_task(const std::string& command, const std::string& input) {
  proto::RunTask run;
  run.spec.id = TaskId("a-1");
  run.spec.command = command;
  run.spec.environment[std::string(proto::kStdinVariable)] = input;
  return run;
}

class TaskInputTest : public testing::Test {
 protected:
  ~TaskInputTest() override {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  void start(const std::string& command, const std::string& asked = "terminal:24x80") {
    to_ = Fd(::open((home_ / "stdout").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
    const proto::RunTask run = run_task(command, asked);
    auto made = TaskInput::make(loop_, run, to_.get(),
                                [this](std::string message) { told_.push_back(message); });
    ASSERT_TRUE(made) << made.error().message();
    input_ = *std::move(made);
    Surroundings around;
    around.sandbox = home_.path();
    around.path = "/usr/bin:/bin";
    const Result<pid_t> pid = input_->start(run, around);
    ASSERT_TRUE(pid) << pid.error().message();
    pid_ = *pid;
  }
  void type(const std::string& keys) {
    input_->take(proto::StdinPart{TaskId("a-1"), typed_, keys, false});
    typed_ += keys.size();
  }
  void view(uint64_t shown, proto::TerminalSize size = {24, 80}) {
    input_->take(proto::TerminalView{TaskId("a-1"), shown, size});
  }
  std::string out() const {
    std::ifstream file(home_ / "stdout");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  uint64_t size() const { return std::filesystem::file_size(home_ / "stdout"); }
  bool shows(const std::string& words) {
    return run_until(loop_, [&] { return out().find(words) != std::string::npos; });
  }
  // The wait status.
  int end() {
    int status = 0;
    EXPECT_TRUE(run_until(loop_, [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }));
    pid_ = 0;
    input_->finish();
    return status;
  }
  size_t rooms() const {
    size_t count = 0;
    for (const std::string& message : told_) {
      count += proto::decode_stdin_room(message).has_value() ? 1 : 0;
    }
    return count;
  }

  test::TemporaryDirectory home_;
  Loop loop_;
  Fd to_;
  std::vector<std::string> told_;
  std::unique_ptr<TaskInput> input_;
  pid_t pid_ = 0;
  uint64_t typed_ = 0;
};

TEST_F(TaskInputTest, TheTerminalIsInputOutputAndControlsTheSession) {
  start(
      "for fd in 0 1 2; do test -t $fd || echo no $fd; done; ps -o tty= -p $$ | grep -q pts/ && "
      "stty size && echo $PROFFER_TERMINAL; exit 3");
  EXPECT_EQ(WEXITSTATUS(end()), 3);
  EXPECT_EQ(out(), "24 80\r\n1\r\n");
}

TEST_F(TaskInputTest, KeysAndTheSizeReachTheCommand) {
  start(
      "trap 'echo size; stty size' WINCH; trap 'echo interrupted' INT; trap 'echo quit' QUIT; "
      "echo up; while :; do read word && echo got $word; done");
  ASSERT_TRUE(shows("up"));
  type("word\r");
  ASSERT_TRUE(shows("got word")) << out();
  type("\x03");
  ASSERT_TRUE(shows("interrupted")) << out();
  type("\x1c");
  ASSERT_TRUE(shows("quit")) << out();
  view(0, {50, 132});
  ASSERT_TRUE(shows("50 132")) << out();
  // The answer.
  EXPECT_THAT(told_, Contains(proto::encode(proto::TerminalView{TaskId("a-1"), 0, {50, 132}})));
}

TEST_F(TaskInputTest, PartsContinueTheFile) {
  start("echo first; read word; echo second");
  ASSERT_TRUE(shows("first"));
  run_for(loop_, milliseconds(100));
  type("\r");
  end();
  std::string parts;
  for (const std::string& message : told_) {
    const auto part = proto::decode_terminal_part(message);
    if (!part) continue;
    EXPECT_EQ(part->offset, parts.size());
    parts += part->bytes;
  }
  EXPECT_EQ(parts, out());
  EXPECT_THAT(parts, HasSubstr("second"));
}

TEST_F(TaskInputTest, OutputWaitsForItsUserAndNothingIsLost) {
  start("seq 200000");
  EXPECT_TRUE(run_until(loop_, [&] { return size() >= proto::kTerminalWindow; }));
  run_for(loop_, milliseconds(200));
  EXPECT_LT(size(), proto::kTerminalWindow + 64 * 1024);
  // Parts are few, however large the output is.
  EXPECT_LT(told_.size(), 200u);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    view(size());
    run_for(loop_, milliseconds(5));
  }
  pid_ = 0;
  input_->finish();
  std::string wanted;
  for (int i = 1; i <= 200'000; ++i) wanted += text(i, "\r\n");
  EXPECT_TRUE(out() == wanted) << out().size();
}

TEST_F(TaskInputTest, TheEndOfTheInputIsAKey) {
  start("cat; echo ended");
  input_->take(proto::StdinPart{TaskId("a-1"), 0, "some\r", true});
  ASSERT_TRUE(shows("ended")) << out();
  EXPECT_EQ(end(), 0);
}

TEST_F(TaskInputTest, SaysWhereItIsUntilItIsAnswered) {
  start("cat >/dev/null", std::string(proto::kStdinStreamed));
  ASSERT_TRUE(run_until(loop_, [&] { return rooms() == 2; }));
  input_->take(proto::StdinPart{TaskId("a-1"), 0, "", false});
  run_for(loop_, milliseconds(1'200));
  EXPECT_EQ(rooms(), 2u);
  input_->take(proto::StdinPart{TaskId("a-1"), 0, "x", true});
  EXPECT_EQ(end(), 0);
}

TEST(TaskInput, SeveralCommandsCannotShareATerminal) {
  const proto::RunTask asks = run_task("true", "terminal:24x80");
  EXPECT_TRUE(TaskInput::check(asks, true));
  EXPECT_FALSE(TaskInput::check(asks, false));
  EXPECT_TRUE(TaskInput::check(run_task("true", "streamed"), false));
  EXPECT_TRUE(TaskInput::check(run_task("true", ""), false));
  EXPECT_FALSE(TaskInput::check(run_task("true", "terminal:24"), true));
}

}  // namespace
}  // namespace proffer::executor::task_input_test
