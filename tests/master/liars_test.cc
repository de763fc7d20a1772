// An agent that lies about tasks when it registers: other peers are not affected, and it gains
// nothing that it was not given to run. Each lie is told to a master that knows all tasks, to a
// restarted one and to a new leader, before and after the scheduler reconnects.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/cluster.h"

namespace proffer::master::liars_test {
namespace {

using proto::TaskReason;
using proto::TaskState;
using testing::HasSubstr;

PrincipalPtr user(const std::string& name, uint32_t uid) {
  return std::make_shared<Principal>(Principal{.user = name, .uid = uid});
}
PrincipalPtr key_of(const std::string& agent, const std::string& runs_as = "root") {
  return std::make_shared<Principal>(Principal{.user = runs_as,
                                               .uid = runs_as == "root" ? 0u : 1009u,
                                               .key = PublicKey(std::string(kPublicKeyBytes, 'k')),
                                               .agent = AgentId(agent)});
}

// Agents `liar` and `honest`; frameworks of ada and of bob. ada's task "job.true" runs on `honest`
// and has written files.
class Cluster {
 public:
  Cluster() {
    honest.files = {.address = "10.0.0.2:4711",
                    .pin = std::string(kPinBytesMax, 'A'),
                    .token_key = Secret(std::string(32, 'e')),
                    .clock = s.now};
    honest.by = key_of("honest");
    liar.by = key_of("liar");
    honest.registers();
    for (TestScheduler* one : {&adas, &bobs}) {
      one->by = one == &adas ? user("ada", 1001) : user("bob", 1002);
      one->subscribes();
    }
    s.settle();
    launches("job.true");
    liar.registers();
    s.settle();
    heard();
  }
  void launches(const std::string& task) {
    adas.asks("cpus:1;mem:1GiB", 1);
    s.settle();
    ASSERT_EQ(adas.offers.size(), 1u);
    adas.accepts({adas.offers.front()}, {TestScheduler::spec(task, "cpus:1;mem:1GiB")});
    s.settle();
    honest.updates(adas.id, task, TaskState::kRunning);
    s.settle();
  }
  void restarts(bool another) {
    if (another) s.options.name = "m2";
    s.restart_master();
  }
  void subscribe_again() {
    for (TestScheduler* one : {&adas, &bobs}) one->subscribes();
    s.settle();
    // Like its driver: the scheduler launched this task on this agent.
    adas.sends(proto::Reconcile{.tasks = {TaskId("job.true")}, .agents = {AgentId("honest")}});
    s.settle();
  }
  void honest_again() {
    honest.registers();
    s.settle();
  }
  Result<FileGrant> grant(const std::string& by, const std::string& as,
                          const FrameworkId& framework, const std::string& task = "") {
    const PrincipalPtr key = key_of(by);
    return s.master->grant_files(
        {.agent = AgentId("honest"), .framework = framework, .user = as, .task = TaskId(task)},
        key.get(), s.now);
  }
  // All updates of schedulers that were not known to them before.
  Lines heard() {
    Lines lines;
    for (TestScheduler* one : {&adas, &bobs}) {
      for (const std::string& line : one->told()) {
        if (line != "job.true running") lines.push_back(line);
      }
    }
    return lines;
  }
  void expect_nobody_noticed() {
    EXPECT_THAT(heard(), testing::IsEmpty());
    for (const FrameworkId& framework : {adas.id, bobs.id}) {
      for (const char* as : {"ada", "bob", "root", "eve"}) {
        for (const char* task : {"", "made-up", "job.true", "job.made-up"}) {
          EXPECT_FALSE(grant("liar", as, framework, task))
              << as << " " << framework.str() << " " << task;
        }
      }
    }
    const Result<FileGrant> own = grant("honest", "ada", adas.id, "job.true");
    ASSERT_TRUE(own) << own.error().message();
    EXPECT_EQ(own->prefix, text("/v1/files/", adas.id.str(), "/job."));
    // The framework is not charged, and gets no smaller offers.
    EXPECT_EQ(to_text(s.role_row("default").allocated), "cpus:1;mem:1024");
    // The true task runs on.
    EXPECT_TRUE(honest.take<proto::KillTask>().empty());
    const auto row = s.task(adas.id, "job.true");
    ASSERT_TRUE(row);
    EXPECT_EQ(row->agent.str(), "honest");
    EXPECT_EQ(row->state, TaskState::kRunning);
    for (const proto::HistoryRecord& kept : s.history) {
      EXPECT_EQ(std::get_if<proto::EndedTask>(&kept), nullptr) << "in the history";
    }
  }

  MasterScenario s;
  TestAgent& honest = s.agent("honest");
  TestAgent& liar = s.agent("liar");
  TestScheduler& adas = s.scheduler("adas");
  TestScheduler& bobs = s.scheduler("bobs");
};

struct Lie {
  const char* name;
  std::function<void(const Cluster&, proto::AgentTask&)> changes;
};

proto::TaskStatus update(TaskState state, uint64_t sequence) {
  return {.task = {}, .state = state, .sequence = sequence, .data = "made up"};
}

const Lie kLies[] = {
    {"a made-up task", [](const Cluster&, proto::AgentTask&) {}},
    {"of the job of a true one",
     [](const Cluster&, proto::AgentTask& t) { t.task = TaskId("job.made-up"); }},
    {"as another user", [](const Cluster&, proto::AgentTask& t) { t.user = "bob"; }},
    {"as a user that nobody knows", [](const Cluster&, proto::AgentTask& t) { t.user = "eve"; }},
    {"as root", [](const Cluster&, proto::AgentTask& t) { t.user = "root"; }},
    {"as nobody in particular", [](const Cluster&, proto::AgentTask& t) { t.user = ""; }},
    {"of a framework of another user",
     [](const Cluster& c, proto::AgentTask& t) { t.framework = c.bobs.id; }},
    {"of a framework that there never was",
     [](const Cluster&, proto::AgentTask& t) { t.framework = FrameworkId("x-1-9"); }},
    {"what runs on another agent",
     [](const Cluster&, proto::AgentTask& t) { t.task = TaskId("job.true"); }},
    {"what runs on another agent, with its ticket",
     [](const Cluster& c, proto::AgentTask& t) {
       t = c.honest.tasks.at({c.adas.id, TaskId("job.true")});
     }},
    {"with the ticket of another task",
     [](const Cluster& c, proto::AgentTask& t) {
       t.ticket = c.honest.tasks.at({c.adas.id, TaskId("job.true")}).ticket;
     }},
    {"with a ticket of its own",
     [](const Cluster&, proto::AgentTask& t) { t.ticket = std::string(32, '0'); }},
    {"an end of what runs on another agent",
     [](const Cluster&, proto::AgentTask& t) {
       t.task = TaskId("job.true");
       t.state = TaskState::kFinished;
       t.unacknowledged = {update(TaskState::kFinished, 1)};
     }},
    {"an end of what never was",
     [](const Cluster&, proto::AgentTask& t) {
       t.state = TaskState::kFailed;
       t.sequence = 2;
       t.unacknowledged = {update(TaskState::kRunning, 1), update(TaskState::kFailed, 2)};
     }},
    {"a refusal of what runs on another agent",
     [](const Cluster&, proto::AgentTask& t) {
       t.task = TaskId("job.true");
       t.state = TaskState::kRefused;
       t.unacknowledged = {update(TaskState::kRefused, 1)};
     }},
    {"updates that nobody has heard",
     [](const Cluster&, proto::AgentTask& t) {
       t.unacknowledged = {update(TaskState::kRunning, 1)};
     }},
    {"more than it has",
     [](const Cluster&, proto::AgentTask& t) {
       t.resources.amounts = ResourceVector::of(400'000, 400'000);
     }},
    {"ports that it does not have",
     [](const Cluster&, proto::AgentTask& t) {
       t.resources.ports = PortSet({{80, 443}});
     }},
    {"in a role above all",
     [](const Cluster&, proto::AgentTask& t) {
       t.claim = {.slices = {Slice{.resources = t.resources, .reserved_for = RoleName("other")}},
                  .role = RoleName("other"),
                  .priority = 1'000};
     }},
    {"long ago", [](const Cluster&, proto::AgentTask& t) { t.launched_at = Time::from_nanos(1); }},
    {"in an executor that tasks share",
     [](const Cluster&, proto::AgentTask& t) { t.executor = ExecutorId("shared"); }},
    {"of a gang",
     [](const Cluster&, proto::AgentTask& t) {
       t.claim = {
           .slices = {Slice{.resources = t.resources}}, .role = RoleName("default"), .gang = 1};
     }},
    {"that starts",
     [](const Cluster&, proto::AgentTask& t) {
       t.state = TaskState::kStaging;
       t.sequence = 0;
     }},
};

void tell(Cluster& c, const Lie& lie) {
  proto::AgentTask told{.framework = c.adas.id,
                        .task = TaskId("made-up"),
                        .state = TaskState::kRunning,
                        .sequence = 1,
                        .resources = {.amounts = ResourceVector::of(2'000, 1'024'000)},
                        .user = "ada",
                        .command = "made up",
                        .launched_at = c.s.now};
  lie.changes(c, told);
  for (proto::TaskStatus& status : told.unacknowledged) status.task = told.task;
  c.liar.tasks = {{{told.framework, told.task}, told}};
  c.liar.registers();
  c.s.settle();
  EXPECT_TRUE(c.liar.is_connected());
}

TEST(Liars, GetNothingAndNobodyNotices) {
  for (const Lie& lie : kLies) {
    for (const char* when :
         {"to a master that knows all", "after a restart", "to another master"}) {
      for (const bool is_first : {true, false}) {
        SCOPED_TRACE(text(lie.name, ", ", when, is_first ? ", before" : ", after", " all others"));
        Cluster c;
        const bool is_known = std::string_view(when).starts_with("to a master");
        if (!is_known) c.restarts(std::string_view(when) == "to another master");
        if (is_first) tell(c, lie);
        if (!is_known) {
          c.subscribe_again();
          c.honest_again();
        }
        if (!is_first) tell(c, lie);
        c.expect_nobody_noticed();
        // The agent repeats the lie, and sends messages to the scheduler.
        for (auto& [key, task] : std::map(c.liar.tasks)) {
          c.liar.sends(proto::FrameworkMessage{
              .framework = key.first, .executor = ExecutorId("shared"), .data = "made up"});
        }
        EXPECT_TRUE(c.adas.take<proto::FrameworkMessage>().empty());
        EXPECT_TRUE(c.bobs.take<proto::FrameworkMessage>().empty());
        c.s.advance(minutes(2));
        c.expect_nobody_noticed();
        // The reported tasks were killed, and end.
        const std::vector<proto::KillTask> kills = c.liar.take<proto::KillTask>();
        const std::vector<proto::ShutdownFramework> shutdowns =
            c.liar.take<proto::ShutdownFramework>();
        for (auto& [key, task] : std::map(c.liar.tasks)) {
          if (proto::is_terminal(task.state)) continue;
          EXPECT_FALSE(kills.empty() && shutdowns.empty());
          c.liar.updates(key.first, key.second.str(), TaskState::kKilled);
        }
        c.s.settle();
        c.expect_nobody_noticed();
        EXPECT_EQ(c.s.allocated(), "cpus:1;mem:1024");
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Liars, AreCalledSo) {
  Cluster c;
  c.restarts(false);
  tell(c, kLies[4]);  // as root
  EXPECT_EQ(c.s.traced("task disbelieved"), 1);
  EXPECT_EQ(c.s.traced("task adopted"), 0);
}

TEST(Liars, AnAgentThatIsNotRootRunsTasksOfItsOwnUserOnly) {
  Cluster c;
  c.liar.by = key_of("liar", "eve");
  c.restarts(false);
  tell(c, kLies[0]);
  EXPECT_EQ(c.s.traced("task disbelieved"), 1);
}

TEST(Liars, CannotTakeAnIdFromALaunch) {
  Cluster c;
  c.restarts(false);
  tell(c, {"", [](const Cluster&, proto::AgentTask& t) { t.task = TaskId("job.next"); }});
  c.subscribe_again();
  c.honest_again();
  // The rest of the liar's resources can also be used.
  c.adas.asks("cpus:3;mem:1GiB", 1);
  c.s.settle();
  ASSERT_EQ(c.adas.offers.size(), 1u);
  c.adas.accepts({c.adas.offers.front()}, {TestScheduler::spec("job.next", "cpus:3;mem:1GiB")});
  c.s.settle();
  EXPECT_THAT(c.heard(), testing::IsEmpty());
  EXPECT_TRUE(c.honest.has(c.adas.id, "job.next"));
}

TEST(Liars, AreNotBelievedOfATaskThatTheyRun) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  proto::AgentTask& told = a.tasks.at({f.id, TaskId("t1")});
  told.resources.amounts = ResourceVector::of(400'000, 400'000);
  told.user = "root";
  a.registers();
  s.settle();
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  EXPECT_EQ(s.task(f.id, "t1")->user, "ada");
  // A master that did not launch the task does not believe it either: the ticket is for another
  // task.
  s.restart_master();
  f.subscribes();
  a.registers();
  s.settle();
  EXPECT_EQ(to_text(s.role_row("default").allocated), "");
}

TEST(Liars, DoNotFillTheTableOfFrameworks) {
  MasterScenario s;
  TestAgent& a = s.agent("a1");
  for (size_t i = 0; i < kFrameworksMax; ++i) {
    const FrameworkId framework(text("x-1-", i));
    a.tasks[{framework, TaskId("t")}] = {
        .framework = framework, .task = TaskId("t"), .state = TaskState::kRunning, .sequence = 1};
    if (a.tasks.size() == 1'000) break;
  }
  a.registers();
  s.settle();
  TestScheduler& f = s.subscribed("f");
  EXPECT_TRUE(f.is_connected());
}

// --- true tasks ----------------------------------------------------------------------------------

TEST(TrueTasks, OpenFilesRightAfterAFailOver) {
  for (const bool another : {false, true}) {
    Cluster c;
    c.restarts(another);
    c.honest_again();  // its scheduler is not back yet
    const Result<FileGrant> own = c.grant("honest", "ada", c.adas.id, "job.true");
    ASSERT_TRUE(own) << own.error().message();
    EXPECT_EQ(own->prefix, text("/v1/files/", c.adas.id.str(), "/job."));
    c.s.advance(minutes(30));  // a scheduler may be away for long
    EXPECT_TRUE(c.grant("honest", "ada", c.adas.id, "job.true"));
    EXPECT_TRUE(c.honest.take<proto::KillTask>().empty());
    EXPECT_EQ(to_text(c.s.role_row("default").allocated), "cpus:1;mem:1024");
  }
}

// An agent of an earlier version keeps no tickets.
TEST(TrueTasks, WithoutATicketAreHiddenUntilTheirSchedulerNamesThem) {
  for (const bool is_first : {true, false}) {
    SCOPED_TRACE(is_first);
    Cluster c;
    c.honest.tasks.begin()->second.ticket.clear();
    c.restarts(false);
    if (is_first) c.honest_again();
    EXPECT_FALSE(c.grant("honest", "ada", c.adas.id, "job.true"));
    c.subscribe_again();
    if (!is_first) c.honest_again();
    EXPECT_TRUE(c.grant("honest", "ada", c.adas.id, "job.true"));
    EXPECT_EQ(to_text(c.s.role_row("default").allocated), "cpus:1;mem:1024");
    EXPECT_EQ(c.s.traced("task confirmed"), is_first ? 1 : 0);
    c.s.advance(minutes(5));
    EXPECT_TRUE(c.honest.take<proto::KillTask>().empty());
    // The end of such a task is also accepted.
    c.honest.updates(c.adas.id, "job.true", TaskState::kFinished);
    c.s.settle();
    EXPECT_EQ(c.heard(), Lines{"job.true finished"});
    EXPECT_EQ(std::count_if(c.s.history.begin(), c.s.history.end(),
                            [](const proto::HistoryRecord& kept) {
                              return std::holds_alternative<proto::EndedTask>(kept);
                            }),
              1);
  }
}

TEST(TrueTasks, AreNamedWithTheAgentOrNotAtAll) {
  Cluster c;
  c.honest.tasks.begin()->second.ticket.clear();
  c.restarts(false);
  c.honest_again();
  for (TestScheduler* one : {&c.adas, &c.bobs}) one->subscribes();
  c.adas.sends(proto::Reconcile{.tasks = {TaskId("job.true")}, .agents = {AgentId("liar")}});
  c.adas.sends(proto::Reconcile{.tasks = {TaskId("job.true")}, .agents = {}});
  c.adas.sends(proto::Reconcile{});
  c.bobs.sends(proto::Reconcile{.tasks = {TaskId("job.true")}, .agents = {AgentId("honest")}});
  c.s.settle();
  EXPECT_FALSE(c.grant("honest", "ada", c.adas.id, "job.true"));
  EXPECT_THAT(c.heard(), testing::IsEmpty());
}

// An earlier master made the framework: its tasks may have no ticket, and are reported.
TEST(TrueTasks, OfAnEarlierVersionAreToldButOpenNoFiles) {
  Cluster c;
  c.honest.tasks.begin()->second.ticket.clear();
  MasterSnapshot durable = c.s.master->snapshot();
  for (proto::RegistryRow& row : durable.rows) {
    if (auto* framework = std::get_if<proto::FrameworkRecord>(&row)) framework->ticket_key = {};
  }
  c.s.options.leader = LeaderEpoch(c.s.options.leader.value() + 1);
  c.s.restart_with(durable);
  c.honest_again();
  EXPECT_FALSE(c.grant("honest", "ada", c.adas.id, "job.true"));
  EXPECT_EQ(to_text(c.s.role_row("default").allocated), "cpus:1;mem:1024");
  for (TestScheduler* one : {&c.adas, &c.bobs}) one->subscribes();
  c.adas.sends(proto::Reconcile{});
  c.s.settle();
  EXPECT_EQ(c.adas.told(), Lines{"job.true running"});
  // Schedulers of that version do not send the agents.
  c.adas.sends(proto::Reconcile{.tasks = {TaskId("job.true")}});
  c.s.settle();
  EXPECT_TRUE(c.grant("honest", "ada", c.adas.id, "job.true"));
}

}  // namespace
}  // namespace proffer::master::liars_test
