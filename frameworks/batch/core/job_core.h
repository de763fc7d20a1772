#pragma once

// One MapReduce job from its splits to its last part: what to ask for, what to launch where, what
// to do about everything that fails. Pure; the shell (frameworks/batch/shell, sim) feeds it what
// the SDK hears and carries out its commands.
//
//   maps first → all maps done → reduces → all reduces done → finished
//                     ↑                        │ an agent was lost, or its files cannot be fetched
//                     └── maps computed again ─┘
//
// A task is pending, running (one attempt counts) or done (one attempt won, only its output is
// used). What failed is tried elsewhere first; what was lost through nobody's fault is not counted.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/trace.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/core/splits.h"
#include "frameworks/batch/core/work.h"
#include "sdk/notifications.h"

namespace proffer::batch {

struct JobOptions {
  JobSpec spec = {};               // CHECKed with check_job
  std::vector<Split> splits = {};  // at least one, at most kMapsMax
  // How long what failed waits for an agent on which it has not, before any agent will do.
  Duration elsewhere_wait = seconds(2);
  // A reduce that has been unable to fetch so often has failed.
  int32_t fetch_rounds = 8;
};

// --- events and actions ------------------------------------------------------------------------

struct Tick {};
using JobEvent = std::variant<sdk::Notification, Tick>;

struct JobOutbox {
  std::vector<sdk::Command> commands = {};  // in this order
  // Once: all parts are in place, or why there will be none. The shell ends the framework then.
  std::optional<Result<void>> finished = {};
  std::vector<TraceEvent> trace = {};

  void clear() {
    commands.clear();
    finished.reset();
    trace.clear();
  }
};

// --- status ------------------------------------------------------------------------------------

enum class JobPhase : uint8_t { kConnecting, kMap, kReduce, kFinished, kFailed };
std::string_view to_text(JobPhase phase);  // "connecting", "map", …

struct StageStatus {
  int64_t total = 0;
  int64_t done = 0;
  int64_t running = 0;
  int64_t failed = 0;      // attempts that failed so far
  int64_t recomputed = 0;  // tasks whose output was lost
  int64_t records_in = 0;  // these four of the tasks that are done
  int64_t bytes_in = 0;
  int64_t records_out = 0;
  int64_t bytes_out = 0;
  std::optional<Duration> eta = {};  // of this stage, once it can be told
  bool operator==(const StageStatus&) const = default;
};

struct JobStatus {
  JobPhase phase = JobPhase::kConnecting;
  bool connected = false;
  FrameworkId framework = {};
  StageStatus map = {};
  StageStatus reduce = {};
  int64_t input_bytes = 0;      // of all splits
  std::string cannot_fit = {};  // why no agent of the cluster could run a task, if so
  bool operator==(const JobStatus&) const = default;
};

// --- the core ----------------------------------------------------------------------------------

class Job {
 public:
  explicit Job(JobOptions options);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void handle(const JobEvent& event, Time now, JobOutbox& out);
  std::optional<Time> next_deadline() const;
  JobStatus status(Time now) const;
  bool over() const;
  // Broken invariants; O(tasks). For tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::batch
