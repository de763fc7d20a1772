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
  // `lease`: of each offer. `delay`: of each frame, each way.
  ConformanceWitness(Duration lease, Duration delay) : lease_(lease), delay_(delay) {}

  void see(ConformanceProxy::To to, const proto::Message& message, Time now);
  // The scheduler's process began, or ended.
  void process_began() { alive_ = true; }
  void process_ended(Time now);
  // It did something wrong already, which no time mends.
  bool is_wrong() const { return !wrong_.empty(); }
  // What is wrong by now, one line each.
  std::vector<std::string> complaints(Time now) const;

  // --- the session -------------------------------------------------------------------------------
  const FrameworkId& framework() const { return framework_; }
  size_t sessions() const { return sessions_; }
  bool torn_down() const { return torn_down_at_.has_value(); }
  bool remembers_tasks() const { return remembers_tasks_; }
  Duration failover_timeout() const { return failover_timeout_; }
  // Something other than heartbeats passed last.
  Time last_active() const { return last_active_; }

  // --- asks and offers ---------------------------------------------------------------------------
  size_t offers() const { return offers_told_; }
  // Tasks that it wants beside those that it has launched. 0 with open offers.
  int64_t wanted() const;
  // The largest number of tasks that lived or were wanted at one time. None with open offers.
  std::optional<int64_t> most_wanted() const;
  // Why asks that are declared fit no agent, as the master said; empty: none is so.
  const std::string& never_fits() const { return never_fits_; }

  // --- tasks -------------------------------------------------------------------------------------
  size_t launches() const { return launches_; }
  size_t tasks() const { return tasks_.size(); }
  // Launched, and not told how they ended.
  std::vector<TaskId> open_tasks() const;
  size_t told(proto::TaskState state) const;
  // Ends that it was told and did not want: failed, killed, lost or gone.
  size_t bad_ends() const { return bad_ends_; }
  // Of the last task that failed by itself, what its update said.
  const std::string& last_failure() const { return last_failure_; }
  // Revoke notices that it was told.
  size_t notices() const { return notices_; }
  // The executor that it named for a task, or the task's own.
  ExecutorId executor_of(const TaskId& task) const;

  // --- updates -----------------------------------------------------------------------------------
  size_t updates() const { return heard_.size(); }
  size_t heard_twice() const { return heard_twice_; }

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
  struct Task {
    std::optional<proto::TaskState> state = {};  // as it was told last
    AskName ask = {};
    ExecutorId executor = {};
  };
  // One ask as it was declared, less what was launched since.
  struct Wanted {
    int64_t count = 0;
    int64_t refused = 0;  // since it was declared
  };

  void to_master(const proto::Message& message, Time now);
  void to_scheduler(const proto::Message& message, Time now);
  void on_subscribe(const proto::Subscribe& subscribe);
  void on_accept(const proto::Accept& accept, Time now);
  void on_launch(const proto::TaskSpec& task);
  void on_acknowledge(const proto::Acknowledge& done);
  void on_rescind(const proto::Rescind& gone, Time now);
  void on_update(const proto::TaskStatus& status, Time now);
  void forget_offers();
  void forget_framework();
  void note_wanted();
  // Once, however often it happens.
  void wrong(std::string what);
  std::string unacknowledged(Time now, bool again) const;
  // An update that came shortly before the scheduler ended may be unread on its way.
  void excuse_last_updates(Time now);

  Duration lease_;
  Duration delay_;
  bool alive_ = false;
  FrameworkId framework_;
  OfferMode mode_ = OfferMode::kAsks;
  bool remembers_tasks_ = false;
  size_t sessions_ = 0;
  Time subscribed_at_;
  bool is_subscribed_ = false;
  Duration failover_timeout_;
  std::optional<Time> torn_down_at_;
  Time last_active_;

  std::map<AskName, Wanted> wanted_;
  std::set<AskName> declared_names_;  // ever
  bool wanted_before_ = false;        // when the connection before ended
  bool declared_ = false;             // in this session
  int64_t most_wanted_ = 0;
  std::string never_fits_;
  // Of this session: offers that it has, has answered, and was told are void.
  std::map<OfferId, Held> offers_;
  std::set<OfferId> answered_;
  std::map<OfferId, Time> rescinded_;
  size_t offers_told_ = 0;

  std::map<TaskId, Task> tasks_;
  size_t open_ = 0;  // of these, launched and not told how they ended
  size_t launches_ = 0;
  size_t bad_ends_ = 0;
  size_t notices_ = 0;
  std::string last_failure_;
  std::map<UpdateKey, Heard> heard_;
  size_t heard_twice_ = 0;
  std::vector<std::string> wrong_;
};

}  // namespace proffer::cli
