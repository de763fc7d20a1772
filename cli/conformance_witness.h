#pragma once

// What a scheduler was told and what it said, and what is wrong with that. Fed by the proxy;
// decides nothing about how the faults are made.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/conformance_proxy.h"

namespace proffer::cli {

class ConformanceWitness {
 public:
  // `lease`: of each offer.
  explicit ConformanceWitness(Duration lease) : lease_(lease) {}

  void see(ConformanceProxy::To to, const proto::Message& message, Time now);
  // The scheduler's process began, or ended.
  void process_began() { alive_ = true; }
  void process_ended(Time now);
  // It did something wrong already, which no time mends.
  bool is_wrong() const { return !wrong_.empty(); }
  // What is wrong by now, one line each.
  std::vector<std::string> complaints(Time now) const;

  const FrameworkId& framework() const { return framework_; }
  size_t sessions() const { return sessions_; }
  size_t tasks() const { return tasks_.size(); }
  // Launched, and not told how they ended.
  std::vector<TaskId> open_tasks() const;
  const std::set<FrameworkId>& frameworks() const { return frameworks_; }
  bool torn_down() const { return torn_down_at_.has_value(); }
  Duration failover_timeout() const { return failover_timeout_; }
  size_t heard_twice() const { return heard_twice_; }
  size_t updates() const { return heard_.size(); }
  size_t unacknowledged() const;
  size_t told(proto::TaskState state) const;
  // Something other than signs of life passed last.
  Time last_active() const { return last_active_; }

 private:
  using UpdateKey = std::tuple<TaskId, proto::UpdateSource, uint64_t>;
  struct Heard {
    Time at = {};
    int times = 0;
    bool acknowledged = false;
  };
  struct Held {
    Offer offer = {};
    Time since = {};
  };

  void to_master(const proto::Message& message, Time now);
  void to_scheduler(const proto::Message& message, Time now);
  void answered(const std::vector<OfferId>& offers) {
    for (const OfferId offer : offers) offers_.erase(offer);
  }
  bool wants_more() const;

  Duration lease_;
  bool alive_ = false;
  FrameworkId framework_;
  std::set<FrameworkId> frameworks_;
  size_t sessions_ = 0;
  Time subscribed_at_;
  bool is_subscribed_ = false;
  Duration failover_timeout_;
  std::map<AskName, int64_t> wanted_;  // as declared, less what was launched
  bool wanted_before_ = false;         // when the connection before ended
  bool declared_ = false;              // in this session
  std::map<TaskId, std::optional<proto::TaskState>> tasks_;
  std::map<TaskId, AskName> asks_;
  std::map<UpdateKey, Heard> heard_;
  std::map<OfferId, Held> offers_;
  std::vector<std::string> wrong_;
  std::optional<Time> torn_down_at_;
  size_t heard_twice_ = 0;
  Time last_active_;
};

}  // namespace proffer::cli
