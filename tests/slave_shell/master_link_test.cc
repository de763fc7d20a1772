// An agent's session with its masters, which are Routers in this process.

#include "slave/shell/master_link.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/router.h"
#include "proto/codec/codec.h"
#include "tests/net/peers.h"
#include "tests/support/log_lines.h"
#include "tests/support/with_directory.h"

namespace proffer::agent::master_link_test {
namespace {

using net_test::bytes;
using net_test::run_until;
using Master = net_test::Server<Router>;

std::string frame_of(proto::Message message) {
  proto::Encoder encoder;
  return net_test::text_of(*encoder.encode({.version = proto::kProtocolVersionMin,
                                            .leader = LeaderEpoch(1),
                                            .sequence = 1,
                                            .message = std::move(message)}));
}

class Link : public test::WithDirectory {
 protected:
  std::string socket(const std::string& name) const { return root_ / (name + ".sock"); }
  std::unique_ptr<Master> master(const std::string& name) {
    return std::make_unique<Master>(loop_, "ipc://" + socket(name));
  }
  // An agent with these masters, which sends a message when it has a session.
  void connects_to(const std::vector<std::string>& names) {
    MasterReach reach{.may_serve = [](uint32_t) { return true; }, .seed = 1};
    for (const std::string& name : names) reach.masters.push_back({.socket = socket(name)});
    link_ = std::make_unique<MasterLink>(
        loop_, reach,
        MasterLink::Handlers{.on_connected =
                                 [this] {
                                   ++connected_;
                                   link_->send(bytes(hello_));
                                 },
                             .on_message =
                                 [this](const proto::Envelope& envelope) {
                                   messages_.emplace_back(proto::message_name(*envelope.message));
                                 },
                             .on_disconnected = [this] { ++disconnected_; }});
  }
  size_t told() const {
    return static_cast<size_t>(std::count_if(
        log_.all.begin(), log_.all.end(),
        [](const std::string& line) { return line.starts_with("master not reached"); }));
  }

  test::LogLines log_;
  Loop loop_;
  const std::string hello_ = frame_of(proto::Heartbeat{});
  int connected_ = 0;
  int disconnected_ = 0;
  std::vector<std::string> messages_;
  std::unique_ptr<MasterLink> link_;
};

TEST_F(Link, AFrameIsAMessage) {
  const auto leader = master("a");
  leader->also = [&](PeerId peer, const std::string&) {
    leader->socket->send(peer, bytes(frame_of(proto::Heartbeat{})));
  };
  connects_to({"a"});
  EXPECT_TRUE(run_until(loop_, [&] { return messages_.size() == 1; }));
  EXPECT_EQ(messages_.at(0), proto::message_name(proto::Heartbeat{}));
  EXPECT_EQ(leader->frames.at(0).second, hello_);
}

TEST_F(Link, WhatNobodyUnderstandsEndsTheSessionAndAnotherFollows) {
  const auto leader = master("a");
  leader->also = [&](PeerId peer, const std::string&) {
    if (leader->frames.size() == 1) leader->socket->send(peer, bytes("no message"));
  };
  connects_to({"a"});
  EXPECT_TRUE(run_until(loop_, [&] { return connected_ == 2; }));
  EXPECT_EQ(disconnected_, 1);
  EXPECT_TRUE(messages_.empty());
}

TEST_F(Link, AStandbySendsItOnToTheLeader) {
  const auto standby = master("standby");
  const auto other = master("other");
  const auto leader = master("leader");
  standby->also = [&](PeerId peer, const std::string&) {
    standby->socket->send(peer, bytes(frame_of(proto::NotLeader{.leader = socket("leader")})));
  };
  connects_to({"standby", "other", "leader"});
  EXPECT_TRUE(run_until(loop_, [&] { return !leader->frames.empty(); }));
  EXPECT_TRUE(other->frames.empty()) << "the next in the list, which was not named";
  EXPECT_TRUE(messages_.empty());
}

// A master that is away for a night must not fill the log.
TEST_F(Link, AReasonIsToldOnceUntilThereIsASession) {
  connects_to({"a"});
  EXPECT_TRUE(run_until(loop_, [&] { return link_->attempts_failed() >= 4; }));
  EXPECT_EQ(told(), 1u);
  auto leader = master("a");
  EXPECT_TRUE(run_until(loop_, [&] { return connected_ == 1; }));
  leader.reset();
  const uint64_t failed = link_->attempts_failed();
  EXPECT_TRUE(run_until(loop_, [&] { return link_->attempts_failed() >= failed + 3; }));
  EXPECT_EQ(disconnected_, 1);
  EXPECT_EQ(told(), 2u);
}

}  // namespace
}  // namespace proffer::agent::master_link_test
