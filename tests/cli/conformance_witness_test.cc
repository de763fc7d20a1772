// The violations that a witness finds, and the messages that it excuses because they crossed.

#include "cli/conformance_witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::cli {
namespace conformance_witness_test {
namespace {

using proto::TaskState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using To = ConformanceProxy::To;

constexpr Duration kLease = seconds(5);

// A scheduler with one ask for three tasks, and one offer for two of them.
class Story {
 public:
  Story() {
    witness_.process_began();
    saw(proto::Subscribe{.name = "f"});
    told(proto::Subscribed{.framework = FrameworkId("f-1")});
    asks(3);
    offers(1);
  }

  void saw(const proto::Message& message) { witness_.see(To::kMaster, message, now_); }
  void told(const proto::Message& message) { witness_.see(To::kScheduler, message, now_); }
  void ends() { witness_.process_ended(now_); }
  void pass(Duration duration) { now_ = now_ + duration; }
  void asks(int64_t count) {
    saw(proto::DeclareAsks{.asks = {{.name = AskName("work"), .count = count}}});
  }
  void offers(uint64_t id) {
    told(proto::Offers{{{.id = OfferId(id),
                         .agent = AgentId("a1"),
                         .fills = {{.ask = AskName("work"), .count = 2}}}}});
  }
  void rescinds(uint64_t id) { told(proto::Rescind{{OfferId(id)}}); }
  void launches(uint64_t offer, const std::vector<std::string>& tasks,
                const std::string& ask = "work") {
    proto::Launch launch{.agent = AgentId("a1")};
    for (const std::string& task : tasks) {
      launch.tasks.push_back({.id = TaskId(task), .ask = AskName(ask)});
    }
    saw(proto::Accept{.offers = {OfferId(offer)}, .operations = {std::move(launch)}});
  }
  void update(const std::string& task, TaskState state,
              proto::TaskReason reason = proto::TaskReason::kNone) {
    told(proto::Update{.status = {.task = TaskId(task), .state = state, .reason = reason}});
  }
  std::vector<std::string> wrong() const { return witness_.complaints(now_); }
  const ConformanceWitness& witness() const { return witness_; }

 private:
  ConformanceWitness witness_{kLease, Duration()};
  Time now_ = Time() + seconds(100);
};

TEST(ConformanceWitness, FindsNothingWrongWithLaunchesOfWhatWasAskedForAndOffered) {
  Story s;
  s.launches(1, {"t1", "t2"});
  s.offers(2);
  s.launches(2, {"t3"});
  EXPECT_THAT(s.wrong(), IsEmpty());
  EXPECT_EQ(s.witness().wanted(), 0);
  EXPECT_EQ(s.witness().most_wanted(), 3);
}

TEST(ConformanceWitness, CountsLaunchesAgainstTheirAsk) {
  Story s;
  s.launches(1, {"t1", "t2", "t3", "t4"});
  EXPECT_THAT(s.wrong(),
              ElementsAre(HasSubstr("more tasks of the ask 'work' than the ask wanted")));
  // A refused task is still wanted, whether the ask is declared again or not.
  Story again;
  again.launches(1, {"t1", "t2", "t3"});
  again.update("t3", TaskState::kRefused, proto::TaskReason::kOfferNotValid);
  again.offers(2);
  again.launches(2, {"t4"});
  EXPECT_THAT(again.wrong(), IsEmpty());
  EXPECT_EQ(again.witness().most_wanted(), 3);
}

TEST(ConformanceWitness, WantsTheAskOfATaskToBeDeclared) {
  Story s;
  s.launches(1, {"t1"}, "play");
  EXPECT_THAT(s.wrong(), ElementsAre(HasSubstr("of the ask 'play', which it never declared")));
}

TEST(ConformanceWitness, KnowsWhichOffersMayBeAccepted) {
  Story answered;
  answered.launches(1, {"t1"});
  answered.launches(1, {"t2"});
  EXPECT_THAT(answered.wrong(), ElementsAre(HasSubstr("which it had already answered")));
  Story unknown;
  unknown.launches(7, {"t1"});
  EXPECT_THAT(unknown.wrong(), ElementsAre(HasSubstr("did not receive in this session")));
  // An accept may cross with the rescind, but only for a short time.
  Story crossing;
  crossing.rescinds(1);
  crossing.pass(seconds(1));
  crossing.launches(1, {"t1"});
  EXPECT_THAT(crossing.wrong(), IsEmpty());
  Story late;
  late.rescinds(1);
  late.pass(seconds(4));
  late.launches(1, {"t1"});
  EXPECT_THAT(late.wrong(), ElementsAre(HasSubstr("which was rescinded 4s before")));
}

TEST(ConformanceWitness, FindsOffersThatAreHeldForTheirWholeLease) {
  Story s;
  s.pass(kLease);
  s.rescinds(1);
  EXPECT_THAT(s.wrong(), ElementsAre(HasSubstr("held an offer of a1 for its whole lease, 5s")));
  Story early;
  early.pass(seconds(2));
  early.rescinds(1);
  EXPECT_THAT(early.wrong(), IsEmpty());
}

TEST(ConformanceWitness, LetsATaskIdBeUsedAgainOnlyIfItsTaskNeverBeganOrIsLost) {
  struct Case {
    TaskState first;
    bool is_wrong;
  };
  for (const Case& c : {Case{TaskState::kRunning, true}, Case{TaskState::kFinished, true},
                        Case{TaskState::kFailed, true}, Case{TaskState::kKilled, true},
                        Case{TaskState::kRefused, false}, Case{TaskState::kLost, false},
                        Case{TaskState::kGone, false}}) {
    Story s;
    s.launches(1, {"t1"});
    s.update("t1", c.first);
    s.offers(2);
    s.launches(2, {"t1"});
    EXPECT_EQ(!s.wrong().empty(), c.is_wrong) << proto::to_text(c.first);
  }
}

TEST(ConformanceWitness, TellsUpdatesThatCameOnceFromThoseThatCameAgain) {
  const auto running = [](uint64_t sequence) {
    return proto::Update{
        .status = {.task = TaskId("t1"), .state = TaskState::kRunning, .sequence = sequence}};
  };
  Story s;
  s.launches(1, {"t1"});
  s.told(running(1));
  s.saw(proto::Acknowledge{.task = TaskId("t1"), .sequence = 1});
  s.told(running(1));
  EXPECT_THAT(s.wrong(), IsEmpty());  // within the allowed time
  s.pass(seconds(4));
  EXPECT_THAT(s.wrong(),
              ElementsAre("never acknowledged 1 update that arrived again (t1 sequence 1)"));
  s.saw(proto::Acknowledge{.task = TaskId("t1"), .sequence = 1});
  EXPECT_THAT(s.wrong(), IsEmpty());
  EXPECT_EQ(s.witness().heard_twice(), 1u);
}

TEST(ConformanceWitness, ExcusesUpdatesThatCameShortlyBeforeTheSchedulerLeft) {
  for (const bool is_teardown : {false, true}) {
    for (const bool is_late : {false, true}) {
      SCOPED_TRACE(is_teardown ? "teardown" : "end of the process");
      Story s;
      s.launches(1, {"t1"});
      s.told(proto::Update{
          .status = {.task = TaskId("t1"), .state = TaskState::kFinished, .sequence = 1}});
      s.pass(is_late ? seconds(4) : seconds(2));
      if (is_teardown) {
        s.saw(proto::Teardown{});
      } else {
        s.ends();
      }
      s.pass(seconds(10));
      if (is_late) {
        EXPECT_THAT(s.wrong(), ElementsAre("never acknowledged 1 update (t1 sequence 1)"));
      } else {
        EXPECT_THAT(s.wrong(), IsEmpty());
      }
    }
  }
}

}  // namespace
}  // namespace conformance_witness_test
}  // namespace proffer::cli
