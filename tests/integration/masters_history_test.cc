// The merged history of several real masters, and missing masters in it.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/master_client.h"
#include "common/text.h"
#include "proto/json/history_json.h"
#include "proto/json/json.h"
#include "proto/json/masters_json.h"
#include "tests/integration/leaders.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uid_t kNobody = 65'534;

class HistoryOfLeaders : public Leaders {
 protected:
  std::string all() const { return socket(1) + "," + socket(2); }
  Exit proffer(Words words) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", all()}});
  }
  void start_agent() {
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + all(),
                                             "--name=a1", "--work_dir=" + (home_ / "a1"),
                                             "--resources=cpus:4;mem:512", "--tasks_on_exit=kill"});
  }
  // Runs a task with this exit code, when its agent is connected.
  void runs(int code) const {
    EXPECT_EQ(proffer({"run", "--cpus=1", "--mem=64", "--", "sh", "-c", text("exit ", code)}).code,
              code);
  }
  proto::HistoryPage history() const {
    const Exit exit = proffer({"history", "--json"});
    EXPECT_EQ(exit.code, 0) << exit.err;
    const auto page = proto::parse_history_page(exit.out);
    EXPECT_TRUE(page) << exit.out;
    return page ? *page : proto::HistoryPage();
  }
  std::vector<int> codes() const {
    std::vector<int> codes;
    for (const proto::EndedTask& task : history().tasks) {
      codes.push_back(task.status.exit_code.value_or(-1));
    }
    return codes;
  }
  void kill_master(int i) {
    masters_[i]->kill(SIGKILL);
    masters_[i]->wait();
  }

  std::unique_ptr<Process> agent_;
};

TEST_F(HistoryOfLeaders, IsWhatAllOfThemSawAndNamesTheOneThatIsAway) {
  start(1);
  ASSERT_EQ(leader(), 1);
  start(2);
  start_agent();
  runs(11);
  runs(12);
  ASSERT_TRUE(eventually([&] { return codes() == std::vector<int>{11, 12}; }));
  EXPECT_TRUE(history().missing.empty());
  ASSERT_TRUE(eventually(
      [&] { return proffer({"status"}).out.find(socket(2) + " stands by") != std::string::npos; }));

  kill_master(1);
  ASSERT_EQ(leader(), 2);
  runs(21);
  ASSERT_TRUE(eventually([&] { return codes() == std::vector<int>{21}; }));
  ASSERT_EQ(history().missing.size(), 1u);
  EXPECT_EQ(history().missing[0].name, socket(1));
  EXPECT_EQ(history().missing[0].role, proto::MasterRole::kAway);
  EXPECT_THAT(proffer({"history"}).out, HasSubstr("the master " + socket(1) + " led from "));
  EXPECT_THAT(proffer({"status"}).out, HasSubstr(socket(1) + " is away; it led in epoch 1"));
  // No entries after its lead are missing.
  EXPECT_THAT(proffer({"history", "--since=0s"}).out, Not(HasSubstr("is missing")));
  const std::string http = get_http(dir(2) + "-http.sock", "/v1/masters");
  EXPECT_THAT(http, HasSubstr(R"("role":"away")"));

  start(1);
  ASSERT_TRUE(eventually([&] { return codes() == (std::vector<int>{11, 12, 21}); }));
  const proto::HistoryPage merged = history();
  EXPECT_TRUE(merged.missing.empty());
  // The killed run may lack its last entries, but none from after the next master's election.
  ASSERT_EQ(merged.gaps.size(), 1u);
  EXPECT_LE(merged.gaps[0].until, merged.tasks[2].launched_at);
  EXPECT_GE(merged.gaps[0].from, merged.tasks[1].status.at);
  // Its becoming a standby is an event too, which the log lacks for a moment.
  EXPECT_TRUE(eventually([&] {
    return proffer({"status"}).out.find(socket(1) + " stands by; it led in epoch 1") !=
           std::string::npos;
  }));
  const proto::HistoryPage newest =
      *proto::parse_history_page(proffer({"history", "--limit=1", "--json"}).out);
  ASSERT_EQ(newest.tasks.size(), 1u);
  EXPECT_EQ(newest.tasks[0].status.exit_code, 21);

  // The same holds after they change roles, with one more run.
  masters_[2]->kill(SIGTERM);
  EXPECT_EQ(masters_[2]->wait().code, 0);
  ASSERT_EQ(leader(), 1);
  start(2);
  runs(31);
  ASSERT_TRUE(eventually([&] { return codes() == (std::vector<int>{11, 12, 21, 31}); }));
  EXPECT_EQ(history().gaps, merged.gaps);
}

// The error of a call by this user, made in a separate process; empty if it worked.
std::string call_as(uid_t uid, const std::string& socket, const std::string& method,
                    const std::string& json) {
  int pipe_fds[2] = {};
  EXPECT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0) _exit(1);
    const Result<cli::CallResult> answer =
        cli::call({Address{.socket = socket}}, std::nullopt, method, json);
    const std::string told = answer ? "" : answer.error().message();
    const ssize_t written = ::write(pipe_fds[1], told.data(), told.size());
    _exit(written < 0 ? 1 : 0);
  }
  ::close(pipe_fds[1]);
  std::string told;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(pipe_fds[0], buffer, sizeof buffer)) > 0;) {
    told.append(buffer, static_cast<size_t>(got));
  }
  ::close(pipe_fds[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return told;
}

TEST_F(HistoryOfLeaders, AUserIsNoMasterAndAStandbyTellsUsersNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can be another user";
  std::filesystem::permissions(
      home_.path(), std::filesystem::perms::owner_all | std::filesystem::perms::others_exec);
  start(1);
  ASSERT_EQ(leader(), 1);
  start(2);
  ASSERT_TRUE(eventually(
      [&] { return proffer({"status"}).out.find(socket(2) + " stands by") != std::string::npos; }));
  const std::string call = proto::standby_call_json(
      {.master = proto::MasterId(std::string(32, 'f')), .name = "me", .keeps_history = true});
  EXPECT_THAT(call_as(kNobody, socket(1), "standby", call),
              HasSubstr("user 'nobody' may not stand by as a master"));
  EXPECT_TRUE(masters_[1]->complains("stand by as a master"));
  EXPECT_THAT(proffer({"status"}).out, Not(HasSubstr("me stands by")));
  EXPECT_THAT(call_as(kNobody, socket(2), "history", "{}"), HasSubstr("this master is a standby"));
}

}  // namespace
}  // namespace proffer::test
