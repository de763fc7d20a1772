// A standby master, and the leader that calls it for its history: a real leader with its own
// registry, and real connections.

#include "master/shell/standby_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "master/shell/history_calls.h"
#include "master/shell/master_shell.h"
#include "proto/json/events_json.h"
#include "proto/json/history_json.h"
#include "proto/json/masters_json.h"
#include "tests/net/support.h"
#include "tests/store/support.h"

namespace proffer::master::standby_link_test {
namespace {

using proto::MasterId;
using proto::MasterRole;
using proto::MasterRow;
using store_test::TemporaryDirectory;
using testing::HasSubstr;

MasterId id(char letter) { return MasterId(std::string(32, letter)); }

// Writes the history of a master that led and ended cleanly.
void write_history(Loop& loop, const std::string& directory,
                   const std::vector<std::string>& tasks) {
  History history(loop, {.log = {.directory = directory}, .leader = LeaderEpoch(1)});
  std::vector<proto::HistoryRecord> records;
  for (const std::string& task : tasks) {
    records.emplace_back(proto::EndedTask{
        .framework = FrameworkId("f"),
        .role = RoleName("eng"),
        .user = "ada",
        .command = "secret",
        .status = {.task = TaskId(task), .state = proto::TaskState::kFinished, .at = loop.now()}});
  }
  records.emplace_back(proto::LifeEnded{.at = loop.now()});
  history.finish(std::move(records));
}

std::string names(const proto::HistoryPage& page) {
  std::string all;
  for (const proto::EndedTask& task : page.tasks) all += task.status.task.str() + " ";
  return all;
}

class StandbyOf : public testing::Test {
 protected:
  StandbyOf() {
    MasterShellOptions options{.socket = home_ / "m.sock", .data_dir = home_ / "leader"};
    options.core.policy.master_uid = geteuid();
    Result<std::unique_ptr<MasterShell>> started = MasterShell::start(loop_, std::move(options));
    EXPECT_TRUE(started) << started.error().message();
    if (started) leader_ = *std::move(started);
    write_history(loop_, home_ / "history", {"t1", "t2", "t3"});
  }
  StandbyLink::Options standby() const {
    return {.says = {.master = id('b'), .name = "m2:5050", .keeps_history = true},
            .history = {.directory = home_ / "history"},
            .events = HistoryLogOptions{.directory = home_ / "events"},
            .heartbeat = milliseconds(50)};
  }
  MasterPlace place() const { return {.address = home_ / "m.sock"}; }

  // Calls the leader once on a new connection.
  proto::Reply call(const std::string& method, const std::string& json = {}) {
    proto::Reply answer;
    proto::Encoder encoder;
    std::unique_ptr<Dealer> dealer;
    dealer = std::make_unique<Dealer>(
        loop_, Dealer::Options{.endpoint = "ipc://" + home_ / "m.sock"},
        Dealer::Handlers{
            .on_connected =
                [&] {
                  dealer->send(*encoder.encode(
                      {.version = proto::kProtocolVersionMin,
                       .message = proto::Call{.id = 1, .method = method, .json = json}}));
                },
            .on_frame =
                [&](std::span<const std::byte> frame) {
                  Result<proto::Envelope> envelope = proto::decode(frame);
                  if (auto* reply = std::get_if<proto::Reply>(&*envelope->message)) {
                    answer = std::move(*reply);
                    loop_.stop();
                  }
                }});
    dealer->connect();
    loop_.run();
    return answer;
  }
  // "leads m2:5050 standby"
  std::string masters() {
    const Result<std::vector<MasterRow>> rows = proto::parse_masters_list(call("masters").json);
    EXPECT_TRUE(rows);
    std::string all;
    for (size_t i = 0; rows && i < rows->size(); ++i) {
      const MasterRow& row = rows->at(i);
      all += i == 0 ? std::string(to_text(row.role)) : text(" ", row.name, " ", to_text(row.role));
    }
    return all;
  }
  // Repeats the call until the condition holds, each time on a new connection.
  template <class IsSo>
  void until(IsSo is_so) {
    const Time end = loop_.now() + net_test::kDeadline;
    while (!is_so()) ASSERT_LT(loop_.now(), end) << "it is not so";
  }
  void until_masters(const std::string& are) {
    until([&] { return masters() == are; });
    EXPECT_EQ(masters(), are);
  }

  TemporaryDirectory home_;
  Loop loop_;
  std::unique_ptr<MasterShell> leader_;
};

TEST_F(StandbyOf, ALeaderIsListedAndTellsWhatItSaw) {
  EXPECT_EQ(masters(), "leads");
  StandbyLink link(loop_, standby());
  link.follow(place());
  until_masters("leads m2:5050 standby");

  const proto::Reply newest =
      call("history", proto::history_query_json({.master = id('b'), .limit = 2}));
  ASSERT_FALSE(newest.error) << newest.error->message;
  EXPECT_EQ(names(*proto::parse_history_page(newest.json)), "t3 t2 ") << newest.json;
  const proto::Reply oldest = call(
      "history", proto::history_query_json({.master = id('b'), .before = newest.next, .limit = 2}));
  EXPECT_EQ(names(*proto::parse_history_page(oldest.json)), "t1 ");
  const proto::Reply own = call("history");
  EXPECT_EQ(names(*proto::parse_history_page(own.json)), "");
  const proto::Reply wrong =
      call("history", proto::history_query_json({.master = id('b'), .before = "x"}));
  ASSERT_TRUE(wrong.error);
  EXPECT_EQ(wrong.error->code, ErrorCode::kInvalidArgument);

  link.follow(std::nullopt);
  until_masters("leads");
  const proto::Reply away = call("history", proto::history_query_json({.master = id('b')}));
  ASSERT_TRUE(away.error);
  EXPECT_EQ(away.error->code, ErrorCode::kNotFound);  // it never led
}

// The number of the leader's events that the standby lacks.
TEST_F(StandbyOf, ALeaderFollowsItsEventsOnTheConnectionOnWhichItStandsBy) {
  const std::string from = proto::follow_call_json({.from = {LeaderEpoch(1), 1}});
  const proto::Reply stranger = call("follow_events", from);
  ASSERT_TRUE(stranger.error);
  EXPECT_EQ(stranger.error->code, ErrorCode::kPermissionDenied);

  StandbyLink link(loop_, standby());
  link.follow(place());
  const auto behind = [&]() -> std::optional<int64_t> {
    const auto rows = proto::parse_masters_list(call("masters").json);
    return rows && rows->size() == 2 ? rows->at(1).events_behind : std::nullopt;
  };
  // The events: "master leads", the refusal above, its permission, and "master stands by".
  ASSERT_TRUE(net_test::run_until(loop_, [&] { return link.events()->written() >= 4; }));
  until([&] { return behind() == 0; });
  EXPECT_EQ(link.events()->written(), 4u);
  leader_->end();
  // Wait until the standby has the last event: the master no longer leads.
  EXPECT_TRUE(net_test::run_until(loop_, [&] { return link.events()->written() >= 5; }));
}

TEST_F(StandbyOf, ALeaderThatIsStartedLaterIsFound) {
  leader_.reset();
  StandbyLink link(loop_, standby());
  link.follow(place());
  MasterShellOptions options{.socket = home_ / "m.sock", .data_dir = home_ / "leader"};
  options.core.policy.master_uid = geteuid();
  Result<std::unique_ptr<MasterShell>> started = MasterShell::start(loop_, std::move(options));
  ASSERT_TRUE(started) << started.error().message();
  leader_ = *std::move(started);
  until_masters("leads m2:5050 standby");
}

// An answer of a standby belongs to one call, and is accepted only from that standby.
class Asked : public testing::Test {
 protected:
  Asked()
      : calls_(loop_, [this](PeerId peer, proto::Call call) {
          sent_.emplace_back(peer, std::move(call));
        }) {
    MasterOptions options{.leader = LeaderEpoch(1), .keeps_history = true, .master = id('a')};
    core_ = std::make_unique<Master>(options, MasterSnapshot{});
    MasterOutbox out;
    const auto root = std::make_shared<Principal>(Principal{.user = "root", .uid = 0});
    core_->handle(StandBy{.call = 1,
                          .peer = kStandby,
                          .by = root,
                          .standby = {.master = id('b'), .name = "m2", .keeps_history = true}},
                  Time() + seconds(1), out);
    EXPECT_TRUE(core_->is_standby(kStandby));
  }
  void ask(const std::string& user) {
    calls_.read(*core_, nullptr, proto::history_query_json({.master = id('b')}),
                std::make_shared<Principal>(Principal{.user = user, .uid = 1'001}),
                [this](Result<Page> page) {
                  answers_.push_back(std::move(page));
                  loop_.stop();
                });
  }
  static std::string page() {
    proto::HistoryPage page;
    page.tasks.push_back({.framework = FrameworkId("f"),
                          .user = "ada",
                          .command = "secret",
                          .status = {.task = TaskId("t1")}});
    return proto::history_page_json(page);
  }

  static constexpr PeerId kStandby{7};
  Loop loop_;
  std::unique_ptr<Master> core_;
  std::vector<std::pair<PeerId, proto::Call>> sent_;
  std::vector<Result<Page>> answers_;
  HistoryCalls calls_;
};

TEST_F(Asked, AStandbysPageIsWithoutWhatTheAskerMayNotSee) {
  for (const char* user : {"ada", "bob"}) {
    ask(user);
    calls_.on_reply(kStandby, {.id = sent_.back().second.id, .json = page(), .next = "1.2"});
    loop_.run();
    ASSERT_TRUE(answers_.back()) << answers_.back().error().message();
    EXPECT_EQ(answers_.back()->next, "1.2");
    EXPECT_EQ(answers_.back()->json.find("secret") != std::string::npos,
              user == std::string("ada"));
  }
}

TEST_F(Asked, OnlyTheStandbyItselfAnswers) {
  ask("ada");
  const uint64_t number = sent_.back().second.id;
  calls_.on_reply(PeerId(8), {.id = number, .json = page()});
  calls_.on_reply(kStandby, {.id = number + 1, .json = page()});
  calls_.on_lost(PeerId(8));
  EXPECT_TRUE(answers_.empty());
  calls_.on_reply(kStandby, {.id = number, .json = "no page"});
  loop_.run();
  EXPECT_THAT(answers_.at(0).error().message(), HasSubstr("the answer of a standby"));
}

TEST_F(Asked, WhoWaitsHearsThatTheConnectionEndedAndTooManyAreRefused) {
  const auto is_refused = [&](const std::string& user) {
    answers_.clear();
    ask(user);
    return !answers_.empty() && answers_[0].error().code() == ErrorCode::kResourceExhausted;
  };
  for (const char* user : {"ada", "bob"}) {
    for (size_t i = 0; i < kStandbyPagesPerUserMax; ++i) EXPECT_FALSE(is_refused(user)) << user;
    EXPECT_TRUE(is_refused(user));
  }
  EXPECT_TRUE(is_refused("eve"));
  answers_.clear();
  calls_.on_lost(kStandby);
  ASSERT_EQ(answers_.size(), kStandbyPagesMax);
  EXPECT_EQ(answers_.back().error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace proffer::master::standby_link_test
