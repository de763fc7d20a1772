#pragma once

// Some MapReduce jobs and arrays on the production batch scheduler with its store, and the scripts
// of their mappers, reducers and elements. Each input byte, each partition and each attempt of an
// element must be counted once, even if some are lost and computed again, and an answer must not
// change later.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/prng.h"
#include "frameworks/batch/core/jobs.h"
#include "sim/host.h"
#include "sim/workload.h"

namespace proffer::sim {

struct BatchWorkloadOptions {
  std::string name = {};
  RoleName role = RoleName("default");
  uint64_t seed = 0;
  int64_t jobs = 1;
  size_t maps = 20;  // of each job, at most
  int64_t reducers = 4;
  Duration every = seconds(20);  // between submissions, on average
};

class BatchWorkload final : public Workload {
 public:
  explicit BatchWorkload(BatchWorkloadOptions options);

  sdk::DriverOptions options() const override;
  void begin(Time now) override;
  void hear(const sdk::Notification& notification, Time now, Commands& out) override;
  void tick(Time now, Commands& out) override;
  std::optional<Time> next_deadline() const override;
  bool is_done() const override { return refused_ || is_torn_down_; }
  std::vector<Violation> violations() const override;
  std::string progress() const override;

  // True if the files of this job's tasks were released, in any life of the scheduler.
  bool has_released(const std::string& job) const { return released_.contains(job + "."); }
  // Tears the framework down when its jobs have ended, but not before this time. Until then it
  // repeats releases that an absent agent, or a restarted master, may have missed.
  void stay_until(Time time) { stays_until_ = time; }
  // The files of its jobs have no owner any more.
  bool has_left_early() const { return !stays_until_ || (refused_ && !is_torn_down_); }

 private:
  // A wanted job, and its progress.
  struct Wish {
    Time at = {};
    batch::JobOrder order = {};
    std::optional<Duration> cancel_after = {};  // it was answered
    std::optional<Time> cancel_at = {};
    bool wants_retry = false;     // after it was cancelled
    bool is_retry_asked = false;  // the answer may be lost
    bool is_given_up = false;     // its files for a retry must be removed
    std::string job = {};         // its id, once it is known from the answer
    bool is_cancel_answered = false;
    std::optional<proto::BatchJob> ended = {};  // its first status after the end

    // For a stage of a pipeline:
    std::optional<size_t> first = {};  // the wish of its first stage, which is submitted
    std::string pipeline = {};         // its id; for the first stage known from the answer
    batch::StageOrder stage = {};
    proto::BatchPhase expected = proto::BatchPhase::kFinished;  // its final phase
    bool is_flaky = false;        // it fails until it is retried; also for an array
    bool may_wait_again = false;  // it waits for such a job, or for a stage that does
    // For an array: elements that will not be done, and the number of these that are skipped
    // because of the array before.
    std::set<uint32_t> unfinished = {};
    int64_t skipped = 0;
  };

  void handle(const batch::JobsEvent& event, Time now, Commands& out);
  void check_released(const proto::ReleaseFiles& released, Time now);
  void check_copies(const proto::Accept& accept, Time now);
  void on_answer(const batch::Answer& answer);
  void go_on(Time now, Commands& out);
  void look(Time now);
  void check_ended(const Wish& wish, const proto::BatchJob& job);
  void wish_for_pipeline(Prng& chance, Time at);
  void wish_for_arrays(Prng& chance, Time at);
  static bool is_met_now(const batch::StageDependency& one, const proto::BatchJob& other);
  void check_arrays(const Wish& wish, const proto::BatchJob& job);
  batch::Submission submission(size_t first) const;
  // The request that is due for a stage now, if any.
  std::optional<batch::Request> ask_of_stage(size_t number);
  void look_at_stage(Wish& wish, const std::map<std::string, proto::BatchJob>& told);
  static void note_retry(Wish& wish);

  BatchWorkloadOptions options_;
  std::vector<Wish> wishes_;
  std::unique_ptr<batch::Jobs> jobs_;  // of this life of the scheduler
  uint64_t relays_ = 0;
  std::map<uint64_t, size_t> asked_;  // wishes that wait for an answer in this life, by relay
  std::set<size_t> waiting_;          // the same wishes
  std::set<std::string> released_;    // prefixes of task ids
  std::optional<Time> look_at_;
  std::optional<Time> stays_until_;
  bool refused_ = false;
  bool is_torn_down_ = false;  // in this life; the master may not have received it
  std::vector<Violation> found_;
};

// The map outputs on the agents.
struct Shuffle {
  std::function<void(const TaskKey& map, int64_t bytes)> write = {};  // for each reducer
  // None if the agent with this address, or the output, cannot be reached.
  std::function<std::optional<int64_t>(const std::string& address, const TaskKey& map)> read = {};
};

// The end of an element of an array, as in the output directory.
struct KeptElement {
  uint32_t attempt = 0;
  int32_t code = 0;
  // The range in which it ended, in the order of launches: the life of the scheduler, and the
  // range's number in it.
  std::pair<uint32_t, uint32_t> range = {};
};
struct Results {
  // The ends of the job with this plan, by position.
  std::function<const std::multimap<uint32_t, KeptElement>&(const std::string& plan)> read = {};
  // Stores this for a task at this time after its start, if it still runs then. Other jobs store
  // the parts of their output this way, by number.
  std::function<void(const TaskKey& task, const std::string& plan, Duration after,
                     uint32_t position, KeptElement)>
      keep = {};
  // The number of running ranges of the same job, including this one; none if it is not known
  // exactly.
  std::function<std::optional<int64_t>(const TaskKey& task)> running = {};
  std::function<void(const Violation&)> violated = {};
};

// True if it was launched as a second attempt beside another one.
bool is_copy(const proto::TaskSpec& task);
// The script of a job's task on `machine`.
TaskScript batch_script(const proto::RunTask& run, const AgentId& machine, const Shuffle& shuffle,
                        const Results& results, Prng& chance);

}  // namespace proffer::sim
