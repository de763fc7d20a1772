#pragma once

// Observes the messages to and from a scheduler, and finds the faults in them. The proxy passes it
// the messages; it has no part in making faults.

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
  // `lease`: of each offer. `delay`: of each frame, both ways.
  ConformanceWitness(Duration lease, Duration delay) : lease_(lease), delay_(delay) {}

  void see(ConformanceProxy::To to, const proto::Message& message, Time now);
  // The scheduler's process began, or ended.
  void process_began() { alive_ = true; }
  void process_ended(Time now);
  // True if it has made a permanent mistake already.
  bool is_wrong() const { return !wrong_.empty(); }
  // The problems so far, one line each.
  std::vector<std::string> complaints(Time now) const;

  // --- the session -------------------------------------------------------------------------------
  const FrameworkId& framework() const { return framework_; }
  size_t sessions() const { return sessions_; }
  bool torn_down() const { return torn_down_at_.has_value(); }
  bool remembers_tasks() const { return remembers_tasks_; }
  Duration failover_timeout() const { return failover_timeout_; }
  // The last time at which a frame other than a heartbeat passed.
  Time last_active() const { return last_active_; }

  // --- asks and offers ---------------------------------------------------------------------------
  size_t offers() const { return offers_told_; }
  // The tasks that it wants in addition to its launches. 0 with open offers.
  int64_t wanted() const;
  // The largest number of live and wanted tasks at one time. None with open offers.
  std::optional<int64_t> most_wanted() const;
  // Why declared asks fit no agent, from the master; empty: all could fit.
  const std::string& never_fits() const { return never_fits_; }

  // --- tasks -------------------------------------------------------------------------------------
  size_t launches() const { return launches_; }
  size_t tasks() const { return tasks_.size(); }
  // Launched, and their ends were not reported to it.
  std::vector<TaskId> open_tasks() const;
  size_t told(proto::TaskState state) const;
  // Reported ends that it did not want: failed, killed, lost or gone.
  size_t bad_ends() const { return bad_ends_; }
  // The text of the update for the last task that failed by itself.
  const std::string& last_failure() const { return last_failure_; }
  // Revoke notices that it received.
  size_t notices() const { return notices_; }
  // The executor that it named for a task, or else the task's own.
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
    std::optional<proto::TaskState> state = {};  // as last reported to it
    AskName ask = {};
    ExecutorId executor = {};
  };
  // One declared ask, less the launches since.
  struct Wanted {
    int64_t count = 0;
    int64_t refused = 0;  // since its declaration
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
  // Each text is reported only once.
  void wrong(std::string what);
  std::string unacknowledged(Time now, bool again) const;
  // An update shortly before the scheduler's end may have been lost unread.
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
  std::set<AskName> declared_names_;  // in all sessions
  bool wanted_before_ = false;        // when the previous connection ended
  bool declared_ = false;             // in this session
  int64_t most_wanted_ = 0;
  std::string never_fits_;
  // In this session: offers that are open, answered, and void.
  std::map<OfferId, Held> offers_;
  std::set<OfferId> answered_;
  std::map<OfferId, Time> rescinded_;
  size_t offers_told_ = 0;

  std::map<TaskId, Task> tasks_;
  size_t open_ = 0;  // of these, launched and without a reported end
  size_t launches_ = 0;
  size_t bad_ends_ = 0;
  size_t notices_ = 0;
  std::string last_failure_;
  std::map<UpdateKey, Heard> heard_;
  size_t heard_twice_ = 0;
  std::vector<std::string> wrong_;
};

}  // namespace proffer::cli
