#pragma once

// A few MapReduce jobs and arrays on the production batch scheduler, store and all, and what their
// simulated mappers, reducers and elements do. Each input byte, each partition and each attempt of
// an element must be counted once, whatever was lost and computed again, and what was answered once
// stays so.

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

  // Whether the files of this job's tasks were released, in any life of the scheduler.
  bool has_released(const std::string& job) const { return released_.contains(job + "."); }
  // Torn down once its jobs have ended, but not before this time. Until then it says again what an
  // agent that was away, or a master that began anew, may have missed.
  void stay_until(Time time) { stays_until_ = time; }
  // What its jobs left behind is nobody's any more.
  bool has_left_early() const { return !stays_until_ || (refused_ && !is_torn_down_); }

 private:
  // What somebody wants, and how far that is.
  struct Wish {
    Time at = {};
    batch::JobOrder order = {};
    std::optional<Duration> cancel_after = {};  // it was answered
    std::optional<Time> cancel_at = {};
    bool wants_retry = false;     // once it was cancelled
    bool is_retry_asked = false;  // the answer may be lost
    bool is_given_up = false;     // what is kept for a retry is to be removed
    std::string job = {};         // its id, once that was answered
    bool is_cancel_answered = false;
    std::optional<proto::BatchJob> ended = {};  // as it was told first

    // Of a stage of a pipeline:
    std::optional<size_t> first = {};  // the wish of its first stage, which is asked for
    std::string pipeline = {};         // its id, of the first stage once that was answered
    batch::StageOrder stage = {};
    proto::BatchPhase expected = proto::BatchPhase::kFinished;  // how it ends at last
    bool is_flaky = false;        // it fails, until it is retried; also of an array
    bool may_wait_again = false;  // for such a one, or what does
    // Of an array: elements that will not be done, and how many of these because of the array
    // before.
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
  // What is to be asked of a stage now, if anything.
  std::optional<batch::Request> ask_of_stage(size_t number);
  void look_at_stage(Wish& wish, const std::map<std::string, proto::BatchJob>& told);
  static void note_retry(Wish& wish);

  BatchWorkloadOptions options_;
  std::vector<Wish> wishes_;
  std::unique_ptr<batch::Jobs> jobs_;  // of this life of the scheduler
  uint64_t relays_ = 0;
  std::map<uint64_t, size_t> asked_;  // wishes that wait for an answer in this life, by relay
  std::set<size_t> waiting_;          // the same wishes
  std::set<std::string> released_;    // beginnings of task ids
  std::optional<Time> look_at_;
  std::optional<Time> stays_until_;
  bool refused_ = false;
  bool is_torn_down_ = false;  // in this life: nobody may have heard of it
  std::vector<Violation> found_;
};

// The map outputs that lie on the agents.
struct Shuffle {
  std::function<void(const TaskKey& map, int64_t bytes)> write = {};  // for each reducer
  // Nothing if the agent with this address, or the output, cannot be reached.
  std::function<std::optional<int64_t>(const std::string& address, const TaskKey& map)> read = {};
};

// How elements of an array ended, as it lies in the output directory.
struct KeptElement {
  uint32_t attempt = 0;
  int32_t code = 0;
  // The range that it ended in, in the order of their launches: the life of the scheduler, and the
  // number in it.
  std::pair<uint32_t, uint32_t> range = {};
};
struct Results {
  // Of the job with this plan; by position.
  std::function<const std::multimap<uint32_t, KeptElement>&(const std::string& plan)> read = {};
  // So long after its start a task keeps this, if it still runs then. Of other jobs the parts of
  // the output are kept so, by number.
  std::function<void(const TaskKey& task, const std::string& plan, Duration after,
                     uint32_t position, KeptElement)>
      keep = {};
  // How many ranges of the same job run now, this one too; nothing if nobody can say so exactly.
  std::function<std::optional<int64_t>(const TaskKey& task)> running = {};
  std::function<void(const Violation&)> violated = {};
};

// Whether it was launched as a second attempt beside another one.
bool is_copy(const proto::TaskSpec& task);
// What a task of a job does on `machine`.
TaskScript batch_script(const proto::RunTask& run, const AgentId& machine, const Shuffle& shuffle,
                        const Results& results, Prng& chance);

}  // namespace proffer::sim
