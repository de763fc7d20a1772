// Task files across machines: output and logs, a batch job whose reducers read map outputs on other
// machines, and refused readers.

#include <algorithm>
#include <set>

#include <sys/syscall.h>

#include "common/check.h"
#include "common/limits.h"
#include "net/file_token.h"
#include "net/http_get.h"
#include "net/tls_identity.h"
#include "proto/json/json.h"
#include "tests/machines/joined.h"

namespace proffer::files_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

constexpr unsigned kDaemon = 1;

class Files : public ThreeAgents {
 protected:
  std::string https_of(const std::string& agent) const {
    const auto rows = proto::parse_agents(operates({"agents", "--json"}).out);
    CHECK(rows);
    for (const proto::AgentRow& row : *rows) {
      if (row.agent.str() == agent) return row.https_address;
    }
    return "";
  }
  proto::TaskRow task_named(const std::string& task) const {
    const auto rows = proto::parse_tasks(operates({"tasks", "--all", "--json"}).out);
    CHECK(rows);
    for (const proto::TaskRow& row : *rows) {
      if (row.task.str() == task) return row;
    }
    return {};
  }
};

TEST_F(Files, OutputAndLogsComeFromAnotherMachine) {
  join_agent("a2");
  start_agent();
  join_user("nobody");
  const Exit ran =
      user_runs({"run", "--name", "hello", "--", "echo to the user; echo and this >&2"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "to the user\n");
  EXPECT_EQ(ran.err, "and this\n");
  const Exit many = user_runs({"run", "--name", "many", "--count", "5", "--", "seq 1 20000"});
  EXPECT_EQ(many.code, 0) << many.err;
  EXPECT_EQ(std::count(many.out.begin(), many.out.end(), '\n'), 100'000) << many.err;

  EXPECT_EQ(user_runs({"logs", "hello-1"}).out, "to the user\n");
  EXPECT_EQ(user_runs({"logs", "hello-1", "--stderr"}).out, "and this\n");
  // The kernel identifies an operator beside the master, who reads them; the agent logs it.
  EXPECT_EQ(operates({"logs", "hello-1"}).out, "to the user\n");
  EXPECT_TRUE(agent_->complains("audit: done user=root action=\"read files of a task of another"))
      << agent_->err();
  EXPECT_THAT(user_runs({"logs", "hello-1", "--file", "nothing"}).err, HasSubstr("has no file"));

  // A user cannot read files of another user.
  const Exit stranger = master_machine_->runs_as(
      kDaemon, {home_ / "proffer", "logs", "hello-1", "--master=" + socket_path()});
  EXPECT_EQ(stranger.code, 1) << stranger.out;
  EXPECT_EQ(stranger.out, "");
  EXPECT_THAT(stranger.err, HasSubstr("user 'daemon' may not read files of a task of another"));
  EXPECT_TRUE(agent_->complains("audit: refused user=daemon")) << agent_->err();
}

TEST_F(Files, LogsAreFollowedThroughARestartOfTheAgent) {
  join_agent("a2");
  start_agent();
  join_user("nobody");
  const std::string go = home_ / "go";
  Process task(user_machine_->command(
                   {"setpriv", text("--reuid=", kNobody), text("--regid=", kNobody),
                    "--clear-groups", home_ / "proffer", "run", "--name", "long", "--",
                    text("echo one; while ! test -e ", go, "; do sleep 0.1; done; echo two")}),
               user_machine_->environment());
  ASSERT_TRUE(task.line_with("one").has_value()) << task.err();
  Process logs(
      user_machine_->command({"setpriv", text("--reuid=", kNobody), text("--regid=", kNobody),
                              "--clear-groups", home_ / "proffer", "logs", "-f", "long-1"}),
      user_machine_->environment());
  ASSERT_TRUE(logs.line_with("one").has_value()) << logs.err();
  const std::string before = https_of("a2");
  agent_->kill(SIGKILL);
  agent_->wait();
  logs.wait();
  // The restarted agent has a new port, key and tokens; its tasks are the same.
  start_agent();
  ASSERT_TRUE(eventually([&] { return https_of("a2") != before; }));
  write_file(go, "");
  EXPECT_TRUE(task.line_with("two").has_value()) << task.err();
  EXPECT_EQ(task.wait().code, 0) << task.err();
}

TEST_F(Files, ReducersReadMapsOnOtherMachinesAlsoWhenOneIsLost) {
  start_three_agents();
  fs::create_directory(home_ / "in");
  std::string all;
  for (int file = 0; file < 12; ++file) {
    std::string content;
    for (int line = 0; line < 2'000; ++line) {
      content += text("word", (line * 7 + file) % 301, "\n");
    }
    write_file(home_ / text("in/f", file), content);
  }
  const Exit pipeline =
      run({"bash", "-c", "cat in/* | LC_ALL=C sort | uniq -c | awk '{ print $2 \"\\t\" $1 }'"}, {},
          home_.path());
  ASSERT_GT(pipeline.out.size(), 1'000u);
  const auto job = [&](const std::string& out, const std::string& map) {
    return Words{
        home_ / "proffer",
        "batch",
        "run",
        "--master=" + socket_path(),
        "--name",
        "wc",
        "--map",
        map,
        "--reduce",
        "awk -F'\t' '{ n[$1] += $2 } END { for (w in n) print w \"\\t\" n[w] }' | LC_ALL=C "
        "sort",
        "--input",
        home_ / "in",
        "--output",
        home_ / out,
        "--reducers",
        "3",
        "--split",
        "8KiB",
        "--resources",
        "cpus:1;mem:64"};
  };
  const auto counted = [&](const std::string& out) {
    return run({"bash", "-c", text("cat ", out, "/part-* | LC_ALL=C sort")}, {}, home_.path()).out;
  };
  const std::string map = "awk '{ print $1 \"\\t1\" }'";
  const auto scheduler = start_batch();
  const Exit done = master_machine_->runs(job("out", map), Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_TRUE(counted("out") == pipeline.out) << done.err;
  const auto maps = [&] {
    std::vector<proto::TaskRow> rows =
        *proto::parse_tasks(operates({"tasks", "--all", "--json"}).out);
    std::erase_if(
        rows, [](const auto& row) { return row.task.str().find(".map-") == std::string::npos; });
    return rows;
  };
  std::set<std::string> agents;
  for (const proto::TaskRow& row : maps()) agents.insert(row.agent.str());
  EXPECT_EQ(agents, (std::set<std::string>{"a1", "a2", "a3"}));

  // One machine is lost with its map outputs: the maps run again elsewhere.
  const auto running = master_machine_->starts(job("again", text("sleep 0.3; ", map)));
  ASSERT_TRUE(eventually([&] {
    const std::vector<proto::TaskRow> rows = maps();
    return std::any_of(rows.begin(), rows.end(), [&](const proto::TaskRow& row) {
      return row.task.str().starts_with("wc-2") && row.agent.str() == "a3" &&
             row.state == proto::TaskState::kFinished;
    });
  })) << running->err();
  third_->kill(SIGKILL);
  third_->wait();
  user_machine_->cut("10.231.2");
  const Exit second = running->wait(Seconds(180));
  EXPECT_EQ(second.code, 0) << second.err << second.out;
  EXPECT_TRUE(counted("again") == pipeline.out) << second.err;
  user_machine_->mend("10.231.2");
  user_machine_->route("10.231.1", "10.231.2.1");
  start_third();
}

TEST_F(Files, WhoHasNoRightToThemIsRefused) {
  start_three_agents();
  join_user("nobody");
  const auto run_on_a2 = [&](const std::string& name) {
    return Words{"run", "--name", name, "--constraint", "host == a2", "--", "echo secret"};
  };
  ASSERT_EQ(operates(run_on_a2("of-root")).out, "secret\n");
  ASSERT_EQ(user_runs(run_on_a2("of-nobody")).out, "secret\n");
  const proto::TaskRow of_root = task_named("of-root-1");
  const proto::TaskRow of_nobody = task_named("of-nobody-1");
  ASSERT_EQ(of_root.agent.str(), "a2");
  const auto path_of = [](const proto::TaskRow& row) {
    return text("/v1/files/", row.framework.str(), "/", row.task.str(), "/stdout");
  };
  // Like a task beside the master: from a1, as a user that the kernel identifies.
  const std::string socket =
      proto::parse_agents(operates({"agents", "--json"}).out)->front().http_address;
  const auto place_for = [&](const proto::TaskRow& row, const std::string& agent, unsigned uid) {
    HttpPlace place;
    master_machine_->within([&] {
      CHECK_EQ(syscall(SYS_setgroups, 0, nullptr), 0);
      CHECK_EQ(syscall(SYS_setresgid, uid, uid, uid), 0);
      CHECK_EQ(syscall(SYS_setresuid, uid, uid, uid), 0);
      std::string body;
      const Result<HttpAnswer> answer = http_get(
          {.address = socket}, text("/v1/access/", row.framework.str(), "/", agent, "?fresh=1"),
          [&body](std::string_view bytes) { body += bytes; }, {});
      CHECK(answer && answer->status == 200)
          << (answer ? answer->reason : answer.error().message());
      const std::vector<std::string_view> lines = split(body, '\n');
      place = {.address = std::string(lines.at(0)),
               .pin = std::string(lines.at(1)),
               .token = std::string(lines.at(2))};
    });
    return place;
  };
  const HttpPlace nobodys = place_for(of_nobody, "a2", kNobody);
  EXPECT_EQ(nobodys.address, https_of("a2"));
  const auto status = [&](const HttpPlace& place, const std::string& path) {
    int found = 0;
    user_machine_->within([&] {
      const Result<HttpAnswer> answer = http_get(place, path, [](std::string_view) {}, {});
      found = answer ? answer->status : -static_cast<int>(answer.error().code());
    });
    return found;
  };
  EXPECT_EQ(status(nobodys, path_of(of_nobody)), 200);

  HttpPlace attack = nobodys;
  attack.token.clear();
  EXPECT_EQ(status(attack, path_of(of_nobody)), 401) << "no token";
  attack.token = seal({.until = Time::from_nanos(int64_t{1} << 62),
                       .user = "root",
                       .is_operator = true,
                       .prefix = "/"},
                      Secret(std::string(32, 'a')));
  EXPECT_EQ(status(attack, path_of(of_nobody)), 401) << "forged";
  EXPECT_TRUE(agent_->complains("audit: refused user=?")) << agent_->err();
  EXPECT_EQ(status(nobodys, path_of(of_root)), 403) << "another framework";
  EXPECT_EQ(status(place_for(of_root, "a2", kNobody), path_of(of_root)), 403) << "another user";
  EXPECT_TRUE(agent_->complains("audit: refused user=nobody")) << agent_->err();
  EXPECT_EQ(status(nobodys, text("/v1/files/", of_nobody.framework.str(), "/../",
                                 of_root.framework.str(), "/", of_root.task.str(), "/stdout")),
            400)
      << "a path that climbs";
  attack = place_for(of_nobody, "a3", kNobody);
  attack.token = nobodys.token;
  EXPECT_EQ(status(attack, path_of(of_nobody)), 401) << "a token for another agent";

  // A process that takes the agent's address does not get the token.
  attack = nobodys;
  attack.pin = make_tls_identity("a2")->pin;
  EXPECT_EQ(status(attack, path_of(of_nobody)), -static_cast<int>(ErrorCode::kPermissionDenied));
  user_machine_->within([&] {
    EXPECT_EQ(get_http(nobodys.address, path_of(of_nobody)).find("HTTP/"), std::string::npos)
        << "plain";
  });
  // A token is valid only for one run of the agent.
  agent_->kill(SIGTERM);
  agent_->wait();
  start_agent();
  ASSERT_TRUE(eventually([&] { return https_of("a2") != nobodys.address; }));
  HttpPlace earlier = place_for(of_nobody, "a2", kNobody);
  EXPECT_EQ(status(earlier, path_of(of_nobody)), 200);
  earlier.token = nobodys.token;
  EXPECT_EQ(status(earlier, path_of(of_nobody)), 401) << "of an earlier life";
  EXPECT_EQ(user_runs({"logs", "of-nobody-1"}).out, "secret\n");
}

TEST_F(Files, AnAgentThatServesItsOwnMachineOnlySaysSo) {
  join_agent("a2");
  agent_ = agent_machine_->starts(agent_command("agent", {"--https_port=-1"}));
  ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  const Exit ran = operates({"run", "--name", "hidden", "--", "echo hello"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err,
              HasSubstr("agent 'a2' serves the files of its tasks only on its own machine"));
  EXPECT_THAT(operates({"logs", "hidden-1"}).err, HasSubstr("--https_port=0"));
}

}  // namespace
}  // namespace proffer::files_test
