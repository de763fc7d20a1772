// The events of a master, recorded and replayed.

#include "master/recording/recording.h"

#include "common/prng.h"
#include "tests/master/cluster.h"
#include "tests/support/message_generator.h"

namespace proffer::master::recording_test {
namespace {

using proto::TaskState;
using testing::HasSubstr;

// Records the events of a scenario, from its beginning on.
class Recording {
 public:
  explicit Recording(MasterScenario& s) {
    records = writer.begin("1.2.3", s.options, s.master->snapshot());
    s.hears = [&](const MasterEvent& event) { writer.add(event, s.now, {}, records); };
    s.says = [&](const MasterOutbox& out) {
      hash.add(out);
      records.push_back(writer.sum(++steps, hash.value()));
    };
  }
  RecordingWriter writer;
  TraceHash hash;
  uint64_t steps = 0;
  std::vector<std::string> records = {};
};

// The number of equal sums before the first difference; all of them if there is none.
struct Outcome {
  uint64_t same = 0;
  bool differs = false;
  std::string version = {};
  std::string error = {};
};
Outcome replay(const std::vector<std::string>& records) {
  Outcome outcome;
  RecordingReader reader;
  std::unique_ptr<Master> core;
  TraceHash hash;
  MasterOutbox out;
  for (const std::string& record : records) {
    Result<std::optional<RecordedEntry>> read = reader.read(record);
    if (!read) {
      outcome.error = read.error().message();
      return outcome;
    }
    if (!*read) continue;
    if (const auto* begins = std::get_if<RecordingBegins>(&**read)) {
      outcome.version = begins->version;
      core = std::make_unique<Master>(begins->options, begins->snapshot);
    } else if (auto* recorded = std::get_if<RecordedEvent>(&**read)) {
      out.clear();
      core->handle(std::move(recorded->event), recorded->now, out);
      hash.add(out);
    } else if (const auto* sum = std::get_if<RecordedSum>(&**read)) {
      outcome.differs = sum->hash != hash.value();
      if (outcome.differs) return outcome;
      ++outcome.same;
    }
  }
  return outcome;
}

// Sends a master some events of every kind.
void live_through_much(MasterScenario& s) {
  TestAgent& a = s.registered_agent("a1");
  TestAgent& b = s.registered_agent("b1", "cpus:8;mem:8GiB;ports:[100-110]");
  TestScheduler& f = s.subscribed("f", "eng/ads");
  TestScheduler& g = s.subscribed("g", "ops");
  f.asks("cpus:1;mem:64", 20);
  g.asks("cpus:2;mem:64", 3);
  s.settle();
  int tasks = 0;
  for (int i = 0; i < 6; ++i) {
    for (TestScheduler* scheduler : {&f, &g}) {
      const std::vector<Offer> offers = scheduler->offers;
      for (const Offer& offer : offers) {
        if (i % 3 == 2) {
          scheduler->declines(offer, {.refuse_for = seconds(3)});
          continue;
        }
        scheduler->accepts(
            {offer}, {TestScheduler::spec(text("t", ++tasks),
                                          scheduler == &f ? "cpus:1;mem:64" : "cpus:2;mem:64")});
      }
    }
    s.advance(seconds(2));
  }
  for (TestAgent* agent : {&a, &b}) {
    for (const auto& [key, task] : std::map(agent->tasks)) {
      agent->updates(key.first, key.second.str(), TaskState::kRunning);
    }
  }
  EXPECT_TRUE(s.operates(SetRole{.role = RoleName("eng"), .weight = 3'000}));
  EXPECT_TRUE(s.operates(SetRole{.role = RoleName("ops"),
                                 .limit = parse_quota("cpus:4").value(),
                                 .users = std::vector<std::string>{"ada"}}));
  EXPECT_TRUE(s.operates(DrainAgent{.agent = AgentId("a1"), .grace = seconds(5)}));
  s.advance(seconds(20));
  EXPECT_TRUE(s.operates(UndrainAgent{.agent = AgentId("a1")}));
  EXPECT_FALSE(s.operates(DrainAgent{.agent = AgentId("nowhere")}));
  EXPECT_TRUE(s.operates(ReserveForRole{
      .agent = AgentId("b1"), .role = RoleName("ops"), .amounts = parse_shape("cpus:1").value()}));
  s.request("f", "request-1", "data");
  s.step(FrameMalformed{g.peer(), Error::invalid_argument("nonsense").with_hint("say sense")});
  g.subscribes();
  s.step(PeerShed{g.peer()});
  b.lose();
  s.advance(s.options.agent_timeout + seconds(5));
  EXPECT_TRUE(s.operates(DeclareGone{.agent = AgentId("b1")}));
  EXPECT_TRUE(s.operates(TearDownFramework{.framework = "f"}));
  s.advance(seconds(30));
}

TEST(Recording, IsReplayedToTheSame) {
  MasterScenario s;
  Recording recording(s);
  live_through_much(s);
  ASSERT_GT(recording.steps, 200u);
  const Outcome outcome = replay(recording.records);
  EXPECT_EQ(outcome.error, "");
  EXPECT_FALSE(outcome.differs) << "after " << outcome.same << " steps";
  EXPECT_EQ(outcome.same, recording.steps);
  EXPECT_EQ(outcome.version, "1.2.3");
}

TEST(Recording, BeginsWithWhatAnEarlierLifeKept) {
  MasterScenario s;
  live_through_much(s);
  s.restart_master();
  Recording recording(s);
  TestAgent& c = s.registered_agent("c1");
  TestScheduler& h = s.with_task("t1");
  c.updates(h.id, "t1", TaskState::kRunning);
  s.advance(seconds(60));
  const Outcome outcome = replay(recording.records);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.same, recording.steps);
}

TEST(Recording, WhereItDiffersIsTold) {
  MasterScenario s;
  Recording recording(s);
  live_through_much(s);
  // The last bytes of a sum are its hash.
  std::vector<std::string> records = recording.records;
  records.back().back() ^= 1;
  const Outcome outcome = replay(records);
  EXPECT_TRUE(outcome.differs);
  EXPECT_EQ(outcome.same + 1, recording.steps);
}

TEST(Recording, ARecordThatIsMissingIsNoticed) {
  MasterScenario s;
  Recording recording(s);
  live_through_much(s);
  for (size_t i = 1; i < recording.records.size(); i += 97) {
    std::vector<std::string> without = recording.records;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(replay(without).error, HasSubstr("records are missing here"));
  }
}

// All members of an event are read back.
TEST(Recording, EachEventIsReadBack) {
  proto::MessageGenerator generate(5);
  const auto by = std::make_shared<Principal>(Principal{
      .user = "ada", .uid = 7, .groups = {1, 2}, .key = PublicKey("k"), .is_master = true});
  const std::vector<MasterEvent> events = {
      FrameReceived{PeerId(3), generate.envelope(), by},
      FrameReceived{PeerId(4), generate.envelope(), nullptr},
      FrameMalformed{PeerId(1), Error::corruption("what").with_hint("hint")},
      PeerShed{PeerId(2), Error::resource_exhausted("much")},
      PeerLost{PeerId(~uint64_t{0})},
      OperatorKill{1, by, "f/t", seconds(3), "f"},
      FrameworkCall{2, "f", "id", by, seconds(1), std::string("a\0b", 3), RoleName("r")},
      Tick{},
      DrainAgent{3, by, AgentId("a"), std::nullopt},
      UndrainAgent{4, by, AgentId("a")},
      SetRole{5, by, RoleName("r"), 17, parse_quota("cpus:1;gpus:2").value(), Quota(),
              std::vector<std::string>{"", "ada"}, true},
      ReserveForRole{6, by, AgentId("a"), RoleName("r"), ResourceVector::of(1, -2, 3, 4), true},
      TearDownFramework{7, by, "f"},
      MakeJoinToken{8, by, PublicKey("key"), KeyKind::kAgent, "name", minutes(1)},
      JoinCluster{9, by, PublicKey("key"), "root"},
      RotateKey{10, by, PublicKey("key")},
      KeyUsed{PublicKey("key")},
      RevokeKey{11, by, "k", KeyKind::kUser, "n"},
      RevokeKey{12, by, "k", std::nullopt, "n"},
      DeclareGone{13, by, AgentId("a")},
      LiftBrake{14, by, seconds(4)},
      StandBy{15, PeerId(9), by, {.master = proto::MasterId("m"), .name = "n"}},
      SetSecret{16, by, "n", "sealed", "key"},
      RemoveSecret{17, by, "n", "owner"},
  };
  std::set<size_t> kinds;
  RecordingWriter writer;
  RecordingReader reader;
  const Time now = Time::from_nanos(-5);
  for (const MasterEvent& event : events) {
    kinds.insert(event.index());
    std::vector<std::string> records;
    writer.add(event, now, {}, records);
    std::optional<RecordedEntry> entry;
    for (const std::string& record : records) {
      Result<std::optional<RecordedEntry>> read = reader.read(record);
      ASSERT_TRUE(read) << read.error().message() << " index " << event.index();
      entry = *std::move(read);
    }
    ASSERT_TRUE(entry.has_value());
    const auto& recorded = std::get<RecordedEvent>(*entry);
    EXPECT_EQ(recorded.now, now);
    // A writer that has not written the principal yet writes the same bytes.
    RecordingWriter again;
    RecordingWriter first;
    std::vector<std::string> of_read;
    std::vector<std::string> of_event;
    again.add(recorded.event, now, {}, of_read);
    first.add(event, now, {}, of_event);
    EXPECT_EQ(of_read, of_event) << "index " << event.index();
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<MasterEvent>) << "an event is missing here";
}

TEST(Recording, DamageIsToldAndDoesNoHarm) {
  MasterScenario s;
  Recording recording(s);
  live_through_much(s);
  Prng prng(3);
  int refused = 0;
  int cut = 0;
  RecordingReader reader;
  for (const std::string& whole : recording.records) {
    for (int i = 0; i < 3; ++i) {
      std::string damaged = whole;
      const bool is_cut = i == 0;
      if (is_cut) {
        damaged.resize(prng.below(whole.size()));
      } else {
        damaged[prng.below(damaged.size())] ^= static_cast<char>(1 + prng.below(255));
      }
      RecordingReader as_it_was = reader;
      const Result<std::optional<RecordedEntry>> read = as_it_was.read(damaged);
      cut += is_cut ? 1 : 0;
      if (read) {
        EXPECT_FALSE(is_cut) << "a part of a record was taken for all of it";
        continue;
      }
      refused += is_cut ? 0 : 1;
      EXPECT_TRUE(read.error().code() == ErrorCode::kCorruption ||
                  read.error().code() == ErrorCode::kUnsupported)
          << read.error().message();
    }
    ASSERT_TRUE(reader.read(whole));
  }
  EXPECT_GT(cut, 400);
  EXPECT_GT(refused, 100) << "of those in which one byte is another";
  // An impossible length.
  const auto number = [](char value) { return value + std::string(7, '\0'); };
  constexpr char kFormat = static_cast<char>(kRecordingFormat);
  const std::string huge = "B" + number(0) + number(kFormat) + std::string(8, '\xff');
  EXPECT_THAT(RecordingReader().read(huge).error().message(), HasSubstr("damaged"));
  const std::string newer = "B" + number(0) + number(kFormat + 1);
  EXPECT_EQ(RecordingReader().read(newer).error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace proffer::master::recording_test
