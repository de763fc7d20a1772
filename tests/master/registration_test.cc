// Who may register, and the treatment of misbehaving connections.

#include "tests/master/cluster.h"

namespace proffer::master::registration_test {
namespace {

using proto::AgentState;

proto::ErrorMessage refused(TestPeer& peer) {
  EXPECT_TRUE(peer.was_dropped());
  return peer.take_one<proto::ErrorMessage>();
}

TEST(AgentRegistration, AdmitsANewAgentAndWritesItDownBeforeItIsTold) {
  MasterScenario s;
  TestAgent& a = s.agent("a1", "cpus:4;mem:8GiB;ports:[31000-31009]");
  a.registers();

  const auto registered = a.take_one<proto::AgentRegistered>();
  EXPECT_EQ(registered.agent.str(), "a1");
  EXPECT_TRUE(registered.session);
  EXPECT_EQ(registered.heartbeat, s.options.heartbeat);
  EXPECT_EQ(registered.timeout, s.options.agent_timeout);
  ASSERT_EQ(s.records.size(), 1u);
  EXPECT_EQ(std::get<proto::AgentRecord>(s.records[0].row).agent.str(), "a1");
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
  EXPECT_EQ(to_text(s.agent_row("a1").total), "cpus:4;mem:8192;ports:[31000-31009]");
  EXPECT_EQ(s.traced("agent registered"), 1);
}

TEST(AgentRegistration, WritesNothingWhenItRegistersAgain) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  a.lose();
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kDisconnected);
  const SessionEpoch before = a.take_one<proto::AgentRegistered>().session;
  a.registers();
  EXPECT_EQ(s.records.size(), 1u);
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
  EXPECT_LT(before, a.take_one<proto::AgentRegistered>().session);
}

TEST(AgentRegistration, RefusesAKnownNameWithAnotherSecretForGood) {
  MasterScenario s;
  TestAgent& mine = s.registered_agent("a1");
  TestAgent& other = s.agent("a1");
  other.registers();

  const proto::ErrorMessage error = refused(other);
  EXPECT_EQ(error.code, ErrorCode::kAlreadyExists);
  EXPECT_FALSE(error.retry);
  EXPECT_TRUE(error.ends_session);
  EXPECT_THAT(error.hint, testing::HasSubstr("--name"));
  EXPECT_TRUE(mine.is_connected());
}

TEST(AgentRegistration, FreesTheNameOfAnAgentThatWasRemoved) {
  MasterScenario s;
  TestAgent& gone = s.registered_agent("a1");
  gone.sends(proto::UnregisterAgent{});
  EXPECT_FALSE(s.knows_agent("a1"));
  EXPECT_TRUE(s.records.back().erase);
  TestAgent& other = s.agent("a1");
  other.registers();
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
}

TEST(AgentRegistration, EndsTheOlderSessionOfTheSameAgent) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestAgent& twin = s.agent("a1");
  twin.secret = a.secret;
  twin.registers();

  const proto::ErrorMessage error = refused(a);
  EXPECT_FALSE(error.retry);
  EXPECT_THAT(error.message, testing::HasSubstr("newer session"));
  EXPECT_LT(a.take_one<proto::AgentRegistered>().session,
            twin.take_one<proto::AgentRegistered>().session);
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
}

// Tools make URLs from the address.
TEST(AgentRegistration, TakesAnHttpAddressThatIsOneOrNone) {
  const struct {
    std::string address;
    bool is_taken;
  } rows[] = {
      {"", true},
      {"127.0.0.1:5081", true},
      {"[::1]:5081", true},
      {"node-7.example:1", true},
      {"127.0.0.1", false},
      {"/run/proffer/agent-http.sock", true},
      {"/tmp/a place/a.sock", true},
      {"/" + std::string(106, 'a'), true},
      {"/" + std::string(107, 'a'), false},
      {"/run/a\nb", false},
      {std::string("/run/\0b", 7), false},
      {"run/a.sock", false},
      {"127.0.0.1:", false},
      {"127.0.0.1:0", false},
      {"127.0.0.1:65536", false},
      {":5081", false},
      {"::1:5081", false},
      {"[]:5081", false},
      {"[::1]", false},
      {"http://127.0.0.1:5081", false},
      {"user@127.0.0.1:5081", false},
      {"127.0.0.1:5081/v1", false},
      {"127.0.0.1/?:5081", false},
      {"127.0.0.1:5081\r\nX:1", false},
      {"a b:5081", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.address);
    MasterScenario s;
    TestAgent& agent = s.agent("a1");
    proto::RegisterAgent message = agent.registration();
    message.http_address = row.address;
    agent.connect();
    agent.sends(message);
    if (row.is_taken) {
      EXPECT_TRUE(agent.is_connected());
      EXPECT_EQ(s.master->agents().size(), 1u);
      continue;
    }
    const proto::ErrorMessage error = refused(agent);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message.find("host:port"), std::string::npos) << error.message;
  }
}

// A path or a local address from an agent on another machine would be opened on the master's
// machine.
TEST(AgentAddresses, AnAgentByKeyStatesNoneOfTheMastersMachine) {
  for (const char* address :
       {"/run/docker.sock", "/run/proffer/agent-http.sock", "127.0.0.1:5081", "10.0.0.2:80"}) {
    SCOPED_TRACE(address);
    MasterScenario s;
    TestAgent& agent = s.agent("a1");
    Principal by{.user = "root",
                 .key = PublicKey(std::string(kPublicKeyBytes, 'k')),
                 .host = "10.0.0.2",
                 .agent = AgentId("a1")};
    agent.by = std::make_shared<Principal>(by);
    proto::RegisterAgent message = agent.registration();
    message.http_address = address;
    agent.connect();
    agent.sends(message);
    ASSERT_TRUE(agent.is_connected());
    EXPECT_EQ(s.agent_row("a1").http_address, "");
    // Offers have the host of its ports: the other machine.
    TestScheduler& f = s.subscribed("web");
    f.asks("cpus:1;mem:64", 1);
    s.settle();
    ASSERT_EQ(f.offers.size(), 1u);
    EXPECT_EQ(f.offers.front().http_address, "");
    EXPECT_EQ(f.offers.front().host, "10.0.0.2");
  }
}

// Clients and proxies connect to this address, so it must not point to their own machine.
TEST(AgentAddresses, AnAgentByKeyServesFilesWhereOthersMayReachIt) {
  const struct {
    std::string from;
    std::string address;
    bool is_taken;
  } rows[] = {
      {"10.0.0.2", "10.0.0.2:4711", true},
      {"10.0.0.2", "192.168.7.1:4711", true},  // it has several addresses
      {"10.0.0.2", "node-7.example:4711", true},
      {"fd00::2", "[fd00::2]:4711", true},
      {"10.0.0.2", "[2001:db8::7]:4711", true},
      {"10.0.0.2", "127.0.0.1:4711", false},
      {"10.0.0.2", "127.1:4711", false},
      {"10.0.0.2", "0x7f000001:4711", false},
      {"10.0.0.2", "2130706433:4711", false},
      {"10.0.0.2", "0177.0.0.1:4711", false},
      {"10.0.0.2", "0.0.0.0:4711", false},
      {"10.0.0.2", "169.254.169.254:80", false},
      {"10.0.0.2", "224.0.0.1:4711", false},
      {"10.0.0.2", "localhost:4711", false},
      {"10.0.0.2", "LocalHost.:4711", false},
      {"10.0.0.2", "a.localhost:4711", false},
      {"10.0.0.2", "[::1]:4711", false},
      {"10.0.0.2", "[::ffff:127.0.0.1]:4711", false},
      {"10.0.0.2", "[fe80::1]:4711", false},
      {"10.0.0.2", "[::]:4711", false},
      {"127.0.0.1", "127.0.0.1:4711", true},  // on the master's machine, with a key
      {"", "127.0.0.1:4711", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.from + " " + row.address);
    MasterScenario s;
    TestAgent& agent = s.agent("a1");
    agent.by =
        std::make_shared<Principal>(Principal{.user = "root",
                                              .key = PublicKey(std::string(kPublicKeyBytes, 'k')),
                                              .host = row.from,
                                              .agent = AgentId("a1")});
    agent.files = {.address = row.address,
                   .pin = std::string(kPinBytesMax, 'A'),
                   .token_key = Secret(std::string(32, 'e'))};
    agent.registers();
    if (row.is_taken) {
      EXPECT_TRUE(agent.is_connected());
      continue;
    }
    const proto::ErrorMessage error = refused(agent);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message.find(row.address), std::string::npos) << error.message;
    EXPECT_NE(error.hint.find("--https_host"), std::string::npos) << error.hint;
  }
}

TEST(AgentRegistration, RefusesWhatDoesNotAddUpAndDisturbsNobody) {
  struct Row {
    std::string_view what;
    void (*spoil)(proto::RegisterAgent&);
  };
  const Row rows[] = {
      {"no name", [](proto::RegisterAgent& r) { r.agent = AgentId(""); }},
      {"a wrong name", [](proto::RegisterAgent& r) { r.agent = AgentId("a/b"); }},
      {"no secret", [](proto::RegisterAgent& r) { r.secret = Secret(""); }},
      {"a short secret", [](proto::RegisterAgent& r) { r.secret = Secret("abc"); }},
      {"nothing", [](proto::RegisterAgent& r) { r.slices.clear(); }},
      {"less than nothing",
       [](proto::RegisterAgent& r) { r.slices[0].resources.amounts[ResourceKind::kCpus] = -1; }},
      {"too much",
       [](proto::RegisterAgent& r) {
         r.slices[0].resources.amounts[ResourceKind::kMem] = kAmountMax + 1;
       }},
      {"too much in all",
       [](proto::RegisterAgent& r) {
         r.slices[0].resources.amounts[ResourceKind::kMem] = kAgentAmountMax;
         r.slices.push_back(r.slices[0]);
       }},
      {"more than a machine has",
       [](proto::RegisterAgent& r) {
         r.slices[0].resources.amounts[ResourceKind::kCpus] = kAgentAmountMax + 1;
       }},
      {"gpus without devices",
       [](proto::RegisterAgent& r) { r.slices[0].resources.amounts[ResourceKind::kGpus] = 1000; }},
      {"a device twice",
       [](proto::RegisterAgent& r) {
         r.slices[0].resources.amounts[ResourceKind::kGpus] = 1000;
         r.slices[0].resources.gpus = {{0, 1000}};
         r.slices.push_back(r.slices[0]);
       }},
      {"devices out of order",
       [](proto::RegisterAgent& r) {
         r.slices[0].resources.amounts[ResourceKind::kGpus] = 2000;
         r.slices[0].resources.gpus = {{1, 1000}, {0, 1000}};
       }},
      {"the attribute host", [](proto::RegisterAgent& r) { r.attributes["host"] = "x"; }},
      {"a wrong attribute", [](proto::RegisterAgent& r) { r.attributes["a b"] = "x"; }},
      {"a wrong role",
       [](proto::RegisterAgent& r) { r.slices[0].reserved_for = RoleName("a//b"); }},
      {"endless tasks", [](proto::RegisterAgent& r) { r.tasks_follow = 4'000'000'000; }},
  };
  MasterScenario s;
  TestAgent& good = s.registered_agent("good");
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    TestAgent& bad = s.agent("bad");
    proto::RegisterAgent message = bad.registration();
    row.spoil(message);
    bad.connect();
    bad.sends(message);
    const proto::ErrorMessage error = refused(bad);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(error.retry);
  }
  EXPECT_EQ(s.master->agents().size(), 1u);
  EXPECT_TRUE(good.is_connected());
}

TEST(AgentRegistration, RefusesTasksThatDoNotAddUp) {
  struct Row {
    std::string_view what;
    void (*spoil)(std::vector<proto::AgentTask>&);
  };
  const Row rows[] = {
      {"listed twice", [](std::vector<proto::AgentTask>& t) { t.push_back(t[0]); }},
      {"no id", [](std::vector<proto::AgentTask>& t) { t[0].task = TaskId(""); }},
      {"no framework", [](std::vector<proto::AgentTask>& t) { t[0].framework = {}; }},
      {"unreachable",
       [](std::vector<proto::AgentTask>& t) { t[0].state = proto::TaskState::kUnreachable; }},
      {"more than there can be",
       [](std::vector<proto::AgentTask>& t) {
         t[0].resources.amounts[ResourceKind::kCpus] = kAgentAmountMax;
         t.push_back(t[0]);
         t[1].task = TaskId("other");
       }},
      {"a port twice",
       [](std::vector<proto::AgentTask>& t) {
         t[0].resources.ports = PortSet({{31000, 31001}});
         t.push_back(t[0]);
         t[1].task = TaskId("other");
       }},
      {"a device twice",
       [](std::vector<proto::AgentTask>& t) {
         t[0].resources.amounts[ResourceKind::kGpus] = 600;
         t[0].resources.gpus = {{0, 600}};
         t.push_back(t[0]);
         t[1].task = TaskId("other");
       }},
      {"updates out of order",
       [](std::vector<proto::AgentTask>& t) {
         proto::TaskStatus status;
         status.sequence = 7;
         t[0].unacknowledged = {status};
       }},
  };
  MasterScenario s;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    proto::AgentTask task;
    task.framework = FrameworkId("f-1-1");
    task.task = TaskId("t");
    task.state = proto::TaskState::kRunning;
    task.resources.amounts = ResourceVector::of(1000, 1000);
    std::vector<proto::AgentTask> tasks = {task};
    row.spoil(tasks);
    TestAgent& bad = s.agent("bad");
    bad.connect();
    proto::RegisterAgent message = bad.registration();
    message.tasks_follow = 1;
    bad.sends(message);
    EXPECT_TRUE(bad.is_connected());
    bad.sends(proto::RegisterTasks{tasks});
    EXPECT_EQ(refused(bad).code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(s.master->agents().empty());
}

TEST(AgentRegistration, StopsWhereTheClusterCouldNotBeCounted) {
  MasterScenario s;
  std::vector<TestAgent*> all;
  for (int64_t i = 0; i < kAmountMax / kAgentAmountMax; ++i) {
    TestAgent& huge = *all.emplace_back(&s.agent(text("huge-", i)));
    huge.slices[0].resources.amounts = ResourceVector::of(kAgentAmountMax, 1000);
    huge.registers();
    ASSERT_TRUE(huge.is_connected());
  }
  TestAgent& one_more = s.agent("one-more");
  one_more.registers();
  EXPECT_EQ(refused(one_more).code, ErrorCode::kResourceExhausted);
  all[7]->sends(proto::UnregisterAgent{});
  one_more.registers();
  EXPECT_TRUE(one_more.is_connected());
}

TEST(AgentRegistration, ServesTheAgentOnlyWhenAllItsTasksAreThere) {
  MasterScenario s;
  TestAgent& a = s.agent("a1");
  a.connect();
  proto::RegisterAgent message = a.registration();
  message.tasks_follow = 2;
  a.sends(message);
  a.sends(proto::RegisterTasks{});
  EXPECT_TRUE(a.take<proto::AgentRegistered>().empty());
  EXPECT_FALSE(s.knows_agent("a1"));
  a.sends(proto::Heartbeat{});
  a.sends(proto::RegisterTasks{});
  EXPECT_EQ(a.take<proto::AgentRegistered>().size(), 1u);
}

TEST(Subscription, GivesAnIdMadeOfNameAndEpoch) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("batch");
  const auto told = f.take_one<proto::Subscribed>();
  EXPECT_EQ(told.framework.str(), "batch-1-1");
  EXPECT_FALSE(told.failed_over);
  EXPECT_EQ(s.subscribed("batch").id.str(), "batch-1-2");
}

TEST(Subscription, IsDurableOnlyWithAFailoverTimeout) {
  MasterScenario s;
  TestScheduler& brief = s.scheduler("brief");
  brief.subscribe.failover_timeout = Duration();
  brief.subscribes();
  EXPECT_TRUE(s.records.empty());
  s.subscribed("lasting");
  ASSERT_EQ(s.records.size(), 1u);
  EXPECT_EQ(std::get<proto::FrameworkRecord>(s.records[0].row).name, "lasting");
}

TEST(Subscription, FindsTheFrameworkOfAKnownSecret) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  const FrameworkId id = f.id;
  f.take<proto::Subscribed>();
  f.lose();
  f.id = FrameworkId();  // the answer was lost
  f.subscribes();
  EXPECT_EQ(f.id, id);
  EXPECT_TRUE(f.take_one<proto::Subscribed>().failed_over);
}

TEST(Subscription, EndsTheOlderSessionEvenWithoutAFailoverTimeout) {
  MasterScenario s;
  TestScheduler& f = s.scheduler("f");
  f.subscribe.failover_timeout = Duration();
  f.subscribes();
  TestScheduler& newer = s.scheduler("f");
  newer.subscribe = f.subscribe;
  newer.id = f.id;
  newer.subscribes();
  EXPECT_FALSE(refused(f).retry);
  EXPECT_EQ(newer.id, f.id);
  EXPECT_LT(f.take_one<proto::Subscribed>().session, newer.take_one<proto::Subscribed>().session);
}

TEST(Subscription, RefusesForGoodWhatCannotBecomeRight) {
  MasterScenario s;
  TestScheduler& known = s.subscribed("known");
  struct Row {
    std::string_view what;
    ErrorCode code;
    void (*spoil)(proto::Subscribe&, const TestScheduler&);
  };
  const Row rows[] = {
      {"wrong secret", ErrorCode::kAlreadyExists,
       [](proto::Subscribe& m, const TestScheduler& k) { m.framework = k.id; }},
      {"unknown id", ErrorCode::kNotFound,
       [](proto::Subscribe& m, const TestScheduler&) { m.framework = FrameworkId("x-1-9"); }},
      {"bad role", ErrorCode::kInvalidArgument,
       [](proto::Subscribe& m, const TestScheduler&) { m.role = RoleName("a//b"); }},
      {"no role", ErrorCode::kInvalidArgument,
       [](proto::Subscribe& m, const TestScheduler&) { m.role = RoleName(""); }},
      {"bad name", ErrorCode::kInvalidArgument,
       [](proto::Subscribe& m, const TestScheduler&) { m.name = "a b"; }},
      {"no secret", ErrorCode::kInvalidArgument,
       [](proto::Subscribe& m, const TestScheduler&) { m.secret = Secret(); }},
      {"another role than before", ErrorCode::kInvalidArgument,
       [](proto::Subscribe& m, const TestScheduler& k) {
         m.secret = k.subscribe.secret;
         m.role = RoleName("other");
       }},
      {"another mode than before", ErrorCode::kInvalidArgument,
       [](proto::Subscribe& m, const TestScheduler& k) {
         m.secret = k.subscribe.secret;
         m.mode = OfferMode::kOpen;
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    TestScheduler& f = s.scheduler("f");
    proto::Subscribe message = f.subscribe;
    row.spoil(message, known);
    f.connect();
    f.sends(message);
    const proto::ErrorMessage error = refused(f);
    EXPECT_EQ(error.code, row.code);
    EXPECT_FALSE(error.retry);
  }
  EXPECT_TRUE(known.is_connected());
  EXPECT_EQ(s.master->frameworks().size(), 1u);
}

TEST(Subscription, SurvivesWildDurationsAndLongNames) {
  MasterScenario s;
  TestScheduler& f = s.scheduler(std::string(128, 'n'));
  f.subscribe.failover_timeout = Duration::nanos(std::numeric_limits<int64_t>::max());
  f.subscribes();
  EXPECT_TRUE(is_valid_name(f.id.str()));
  f.lose();
  s.advance(seconds(1));
  f.subscribe.failover_timeout = Duration::nanos(std::numeric_limits<int64_t>::min());
  f.subscribes();
  EXPECT_TRUE(f.is_connected());
}

TEST(Connection, DropsDuplicatesAndEndsAtAGap) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.sends_frame({.leader = {}, .sequence = 1, .message = f.subscribe});
  EXPECT_TRUE(f.is_connected());
  EXPECT_EQ(s.traced("duplicate frame dropped"), 1);
  f.sends_frame({.leader = {}, .sequence = 7, .message = proto::Heartbeat{}});
  const proto::ErrorMessage error = refused(f);
  EXPECT_TRUE(error.retry);
  EXPECT_EQ(s.master->frameworks().front().state, proto::FrameworkState::kDisconnected);
}

TEST(Connection, IgnoresLateFramesOfOneThatEnded) {
  MasterScenario s;
  TestScheduler& f = s.subscribed("f");
  f.lose();
  f.sends_frame({.leader = {}, .sequence = 1, .message = f.subscribe});
  EXPECT_EQ(s.traced("late frame ignored"), 1);
  EXPECT_EQ(s.master->frameworks().front().state, proto::FrameworkState::kDisconnected);
}

TEST(Connection, IsRefusedByAPeerThatKnowsANewerLeader) {
  MasterScenario s;
  TestAgent& a = s.agent("a1");
  a.connect();
  a.sends_frame({.leader = LeaderEpoch(2), .sequence = 1, .message = a.registration()});
  EXPECT_TRUE(refused(a).retry);
  EXPECT_EQ(s.trace.front().level(), TraceLevel::kOperator);
  EXPECT_FALSE(s.knows_agent("a1"));
}

TEST(Connection, MustRegisterInTime) {
  MasterScenario s;
  TestScheduler& f = s.scheduler("f");
  f.connect();
  f.sends_frame({.leader = {}, .sequence = 1, .message = proto::Unknown{99}});
  EXPECT_TRUE(f.is_connected());
  s.advance(s.options.agent_timeout);
  EXPECT_EQ(refused(f).code, ErrorCode::kTimeout);
}

TEST(Connection, EndsWhenAFrameIsMalformed) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  s.step(FrameMalformed{f.peer(), Error::invalid_argument("the frame is garbage")});
  EXPECT_EQ(refused(f).message, "the frame is garbage");
  TestScheduler& stranger = s.scheduler("stranger");
  stranger.connect();
  s.step(FrameMalformed{stranger.peer(), Error::unsupported("protocol version 7")});
  EXPECT_EQ(refused(stranger).code, ErrorCode::kUnsupported);
  EXPECT_TRUE(a.is_connected());
}

TEST(Connection, EndsWhenTooMuchOfItWaitsAndMayComeAgain) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  s.step(PeerShed{f.peer(), Error::resource_exhausted("too much waits; try again in 1s")});
  const proto::ErrorMessage told = refused(f);
  EXPECT_EQ(told.code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(told.retry);
  EXPECT_TRUE(a.is_connected());
  f.subscribes();
  s.settle();
  EXPECT_TRUE(f.is_connected());
}

TEST(Connection, GetsHeartbeatsWhenNothingElseIsSaid) {
  MasterScenario s;
  TestAgent& a = s.agent("a1");
  a.registers();
  MasterOutbox out;
  s.settle();
  s.now = s.now + s.options.heartbeat;
  s.master->handle(MasterEvent(Tick{}), s.now, out);
  const auto sends =
      std::count_if(out.actions.begin(), out.actions.end(), [&](const MasterAction& action) {
        const auto* send = std::get_if<Send>(&action);
        return send != nullptr && send->peer == a.peer() &&
               std::holds_alternative<proto::Heartbeat>(*send->envelope.message);
      });
  EXPECT_EQ(sends, 1);
}

}  // namespace
}  // namespace proffer::master::registration_test
