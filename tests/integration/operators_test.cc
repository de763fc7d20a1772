// Changes by operators, on real processes: settings survive a kill -9 of the master, and a drained
// agent becomes empty.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Operators : public testing::Test {
 protected:
  Exit proffer(Words words) const { return cluster_.proffer(std::move(words)); }

  // Kills it as a power failure would, and restarts it on its registry.
  void restart_master(const Words& more = {}) {
    const pid_t old = cluster_.pid_of("master");
    kill(old, SIGKILL);
    ASSERT_TRUE(eventually([&] { return !is_alive(old); }));
    const std::string& master = cluster_.master();
    Words words = {program("proffer-master"), "--data_dir=" + cluster_.dir() + "/master",
                   "--socket=" + master, "--heartbeat=1s", "--agent_timeout=5s"};
    words.insert(words.end(), more.begin(), more.end());
    master_ = std::make_unique<Process>(words);
    ASSERT_TRUE(eventually([&] { return proffer({"status"}).code == 0; }));
  }

  std::optional<proto::AgentRow> agent(const std::string& name) const {
    const auto rows = proto::parse_agents(proffer({"agents", "--json"}).out);
    if (!rows) return std::nullopt;
    for (const proto::AgentRow& row : *rows) {
      if (row.agent.str() == name && row.state == proto::AgentState::kConnected) return row;
    }
    return std::nullopt;
  }

  const Cluster cluster_{{.agents = 2, .resources = "cpus:2;mem:1024"}};
  std::unique_ptr<Process> master_;
};

TEST_F(Operators, SetRolesWhichAKilledMasterRemembers) {
  EXPECT_EQ(proffer({"role", "set", "eng", "--weight", "3", "--guarantee", "cpus:2;mem:512",
                     "--limit", "cpus:4"})
                .code,
            0);
  EXPECT_EQ(proffer({"role", "set", "eng/ads", "--guarantee", "cpus:1"}).code, 0);
  const Exit refused = proffer({"role", "set", "eng/ml", "--guarantee", "cpus:1.5"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("add up to cpus:2.5, more than its own guarantee of cpus:2"));
  restart_master();
  const Exit tree = proffer({"role", "tree"});
  EXPECT_EQ(tree.code, 0) << tree.err;
  EXPECT_THAT(tree.out, HasSubstr("\n  ads"));
  const auto rows = proto::parse_roles(proffer({"role", "list", "eng", "--json"}).out);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).weight, 3'000);
  EXPECT_EQ(to_text(rows->at(0).guarantee), "cpus:2;mem:512");
  EXPECT_EQ(to_text(rows->at(0).limit), "cpus:4");
  EXPECT_EQ(proffer({"role", "unset", "eng/ads"}).code, 0);
  EXPECT_EQ(proffer({"role", "list", "eng/ads"}).code, 1);
}

// Its task was reported as gone, and may run elsewhere by now.
TEST_F(Operators, DeclareAnAgentGoneWhichEndsItsTasksWhenItComesBack) {
  const TemporaryDirectory told;
  const std::string pid_file = told / "pid";
  const auto sleeper = cluster_.start({"run", "--cpus", "0.5", "--name", "sleeper", "--constraint",
                                       "host == agent-1", "--grace", "1s", "--",
                                       "echo $$ > " + pid_file + "; exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("sleeper") == 1; }));
  ASSERT_TRUE(eventually([&] { return read_file(pid_file).ends_with('\n'); }));
  const pid_t task = std::stoi(read_file(pid_file));
  const pid_t agent = cluster_.pid_of("agent-1");

  const Exit asked = proffer({"agent", "gone", "agent-1"});
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("proffer agent gone agent-1 --yes"));
  const Exit there = proffer({"agent", "gone", "agent-1", "--yes"});
  EXPECT_EQ(there.code, 1);
  EXPECT_THAT(there.err, HasSubstr("agent 'agent-1' is connected, so its machine is running"));
  EXPECT_THAT(proffer({"agent", "gone", "agent-11", "--yes"}).err,
              HasSubstr("did you mean 'agent-1'?"));

  kill(agent, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return proffer({"agent", "gone", "agent-1", "--yes"}).code == 0; }));
  EXPECT_THAT(proffer({"agents"}).out, HasSubstr("agent-1  gone"));
  EXPECT_THAT(proffer({"status"}).out, HasSubstr(" 1 gone"));
  EXPECT_THAT(proffer({"tasks", "--all"}).out, HasSubstr("gone"));
  EXPECT_TRUE(is_alive(task));
  kill(agent, SIGCONT);
  EXPECT_TRUE(eventually([&] { return !is_alive(task); }));
  EXPECT_TRUE(eventually([&] { return !is_alive(agent); }));
  EXPECT_THAT(proffer({"agents"}).out, HasSubstr("agent-1  gone"));
  sleeper->kill(SIGINT);
  sleeper->wait();
}

TEST_F(Operators, LiftTheBrakeOnLostAgentsForAWhile) {
  EXPECT_EQ(proffer({"agent", "lift-brake", "--for", "2m"}).code, 0);
  EXPECT_THAT(proffer({"status"}).out, HasSubstr("brake       lifted for "));
  EXPECT_EQ(proffer({"agent", "lift-brake", "--for", "0s"}).code, 0);
  EXPECT_THAT(proffer({"status"}).out, Not(HasSubstr("brake")));
  EXPECT_EQ(proffer({"agent", "lift-brake", "--for", "soon"}).code, 2);
  EXPECT_EQ(proffer({"agent", "begone"}).code, 2);
}

TEST_F(Operators, DrainAnAgentWhichEndsEmptyAndGetsNothing) {
  const auto sleepers =
      cluster_.start({"run", "--count", "2", "--cpus", "0.5", "--name", "sleepers", "--constraint",
                      "host == agent-1", "--grace", "1s", "--", "exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("sleepers") == 2; }));
  const Exit drained = proffer({"drain", "agent-1", "--grace", "1s", "--wait"});
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_EQ(agent("agent-1")->tasks, 0);
  EXPECT_THAT(proffer({"agents"}).out, HasSubstr("connected, drained"));
  EXPECT_THAT(sleepers->wait().err, HasSubstr("killed: drained: agent agent-1 was drained"));
  const Exit elsewhere = proffer({"run", "--", "echo $PROFFER_AGENT"});
  EXPECT_EQ(elsewhere.out, "agent-2\n") << elsewhere.err;
  EXPECT_EQ(proffer({"undrain", "agent-1"}).code, 0);
  EXPECT_EQ(proffer({"run", "--constraint", "host == agent-1", "--", "true"}).code, 0);
}

TEST_F(Operators, GuaranteeWhatIsLentMeanwhileAndComesBack) {
  restart_master({"--minimum_runtime=1s", "--revoke_grace=2s"});
  ASSERT_TRUE(eventually([&] { return agent("agent-1") && agent("agent-2"); }));
  ASSERT_EQ(proffer({"role", "set", "eng", "--guarantee", "cpus:2"}).code, 0);
  // Half of the tasks end on SIGTERM, the others ignore it.
  const auto borrowers =
      cluster_.start({"run", "--role", "lent", "--count", "4", "--cpus", "1", "--name", "borrowers",
                      "--grace", "1s", "--",
                      "case $PROFFER_TASK_ID in *[13]) exec sleep 1000;; esac; trap '' TERM; "
                      "while true; do sleep 1000; done"});
  ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("borrowers") == 4; }));
  const Exit owner = proffer({"run", "--role", "eng", "--cpus", "2", "--", "echo mine"});
  EXPECT_EQ(owner.code, 0) << owner.err;
  EXPECT_EQ(owner.out, "mine\n");
  // No more than needed were preempted: the tasks of one agent.
  EXPECT_EQ(cluster_.running_tasks("borrowers"), 2);
  borrowers->kill(SIGINT);
  const Exit ended = borrowers->wait();
  EXPECT_THAT(ended.err,
              HasSubstr("resources that its role had borrowed were reclaimed for role 'eng'"));
}

TEST_F(Operators, ReserveWhichHoldsOverRestartsOfMasterAndAgent) {
  EXPECT_EQ(proffer({"reserve", "agent-1", "eng", "cpus:1;mem:256"}).code, 0);
  EXPECT_EQ(proffer({"drain", "agent-2", "--grace", "1m"}).code, 0);
  restart_master();
  ASSERT_TRUE(eventually([&] { return agent("agent-1") && agent("agent-2"); }));
  const proto::AgentRow row = *agent("agent-1");
  ASSERT_EQ(row.reserved.size(), 1u);
  EXPECT_EQ(row.reserved[0].role, RoleName("eng"));
  EXPECT_EQ(to_text(row.reserved[0].amounts), "cpus:1;mem:256");
  EXPECT_EQ(to_text(row.total.amounts), "cpus:2;mem:1024");
  EXPECT_TRUE(agent("agent-2")->drained_by.has_value());
  const Exit nothing = proffer({"unreserve", "agent-1", "eng", ""});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("RESOURCES is empty"));
  EXPECT_FALSE(agent("agent-1")->reserved.empty());
  EXPECT_EQ(proffer({"unreserve", "agent-1", "eng"}).code, 0);
  EXPECT_TRUE(agent("agent-1")->reserved.empty());
  const Exit more = proffer({"reserve", "agent-1", "eng", "cpus:3"});
  EXPECT_EQ(more.code, 1);
  EXPECT_THAT(more.err, HasSubstr("neither reserved nor in use, not cpus:3"));
}

}  // namespace
}  // namespace proffer::test
