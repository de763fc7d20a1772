#pragma once

// The agent's core: what one machine runs. Pure: the shell starts and kills processes,
// talks to the master and to executors, and writes the checkpoint.
//
// Records are written before the actions of the same step are carried out, so that a kill -9 at any
// instant loses nothing that was told.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/trace.h"
#include "proto/messages.h"
#include "proto/records.h"
#include "proto/status.h"
#include "slave/core/reserved.h"

namespace proffer::agent {

// How much of what an earlier life wrote down is in a snapshot.
enum class Remembered : uint8_t {
  kAll,
  kToItsEnd,  // the end of the log was cut: by a crash amid a write, or by others
  kWithGaps,  // records amid it were damaged, or it is of an older state than the sandboxes
};

struct AgentOptions {
  AgentId name = {};
  // The user that the agent runs as. It runs tasks of every user if it is root, else only its own.
  // Empty: users are not looked at, which is for simulations only.
  std::string user = {};
  bool is_root = false;
  Secret fresh_secret = {};  // from the system's randomness; used if the snapshot has no identity
  Attributes attributes = {};
  Resources total = {};
  ReservedByRole reserved = {};  // of these; fits in them
  // Of `total`, those that cannot be bound now. Ports of tasks that are found again are among them.
  PortSet ports_in_use = {};
  std::string http_address = {};
  proto::FileService files = {};  // to other machines; its clock is told with each registration
  std::string limits = {};        // what tasks are held to here, and what not, for people
  std::string boot_id = {};  // which boot of the machine this is; no two machines have the same
  uint32_t checkpoint = 0;   // which log the snapshot is of: another after a loss
  Remembered remembered = Remembered::kAll;
  std::string place = {};   // of its work directory, in this boot; is kept with the identity
  uint64_t newest_run = 0;  // of the sandboxes on the disk; none of a new run has its number
  Duration heartbeat = kHeartbeatInterval;  // until the master says another
  Duration master_timeout = kAgentTimeout;  // silence after which a new session is begun; likewise
  // Until an executor says hello, after its start and after its connection was lost.
  Duration executor_start_timeout = minutes(1);
  // Until an executor of an earlier life is back, after this one began.
  Duration executor_reregister_timeout = kExecutorReregisterTimeout;
  Duration executor_heartbeat = kHeartbeatInterval;
  Duration executor_timeout = kAgentTimeout;
  // An executor of commands may run the next task of its framework and user.
  bool reuses_executors = true;
  Duration fetch_timeout = hours(1);  // for the files of tasks, before their executor is started
  // More are not started: each takes descriptors, and a process may have only so many.
  size_t executors_max = kTasksPerAgentMax;
  uint64_t seed = 0;  // for jitter
};

// --- events ------------------------------------------------------------------------------------

// A fresh connection.
struct MasterConnected {
  std::string files_address = {};  // AgentOptions::files.address from now on
};
struct MasterDisconnected {};
struct MasterFrame {
  proto::Envelope envelope = {};
  // From the system's randomness, for the executor that this frame may make necessary. Empty: one
  // is made from the seed, which is for simulations only.
  Secret spare_token = {};
  // Of the ports that a launch in this frame assigns, those that cannot be bound now.
  PortSet busy_ports = {};
};
// The kernel ended processes of an executor's run since they needed more memory than its limit.
struct OutOfMemory {
  int64_t limit_bytes = 0;
  int64_t peak_bytes = 0;
};
struct ExecutorFrame {
  PeerId peer = {};
  proto::Envelope envelope = {};
  std::string user = {};  // of its process, by the kernel; filled in for ExecutorHello
  // So far, in its run; asked when the frame says that a task failed.
  std::optional<OutOfMemory> out_of_memory = {};
  // The same of all that its run used; asked when the frame says that a task ended.
  std::optional<proto::TaskUsage> usage = {};
};
// Its connection is gone or its frames were malformed.
struct ExecutorPeerLost {
  PeerId peer = {};
};
// Its process is there: it was started, was a spare before, or was found again.
struct ExecutorStarted {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  int32_t pid = 0;
  uint64_t start_ticks = 0;
  std::string sandbox = {};  // its path
};
// An executor of commands whose task has ended, and which waits.
struct SpareExecutor {
  ExecutorId executor = {};
  uint64_t run = 0;
};
// The spare that StartExecutor named cannot become this run. It is as it was.
struct SpareRefused {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  SpareExecutor spare = {};
};
struct ExecutorStartFailed {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  Error error = Error::internal("");
};
// What FetchFiles asked is over; the executor has no process yet.
struct FilesFetched {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string problem = {};  // which file is not there, and why; empty: all are
};
// The process ended, or was not found again; all that it left in its session was killed. How it
// ended is known of those that this life started.
struct ExecutorExited {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::optional<int32_t> exit_code = {};
  std::optional<int32_t> signal = {};
  std::optional<OutOfMemory> out_of_memory = {};
  std::optional<proto::TaskUsage> usage = {};
  // Of one that did not end well, at most kStderrTailBytesMax.
  std::string stderr_tail = {};
  // Of an earlier life: there was a process, for it has written its output's files.
  bool had_process = false;
};
inline constexpr size_t kStderrTailBytesMax = 2 * 1024;
// What EndLeftover asked is done: the process and its session are no more.
struct LeftoverEnded {
  FrameworkId framework = {};
  ExecutorId executor = {};
};
// Whether there is room on the disk for what tasks write and what is written of them.
struct DiskSpace {
  bool is_low = false;
  int64_t free_bytes = 0;
  int64_t reserve_bytes = 0;  // least number of free bytes
  bool is_low_on_files = false;
  int64_t free_files = 0;     // that can still be created
  int64_t reserve_files = 0;  // least number of them
};
// The sandbox of a task's own executor holds more than the task's `disk`.
struct OutOfDisk {
  FrameworkId framework = {};
  TaskId task = {};
  uint64_t run = 0;
  int64_t bytes = 0;  // at least
  int64_t limit_bytes = 0;
};
// SIGTERM. With `kill_tasks` all tasks end first and the agent unregisters.
struct StopAsked {
  bool kill_tasks = false;
};
struct Tick {};

using AgentEvent =
    std::variant<MasterConnected, MasterDisconnected, MasterFrame, ExecutorFrame, ExecutorPeerLost,
                 ExecutorStarted, SpareRefused, ExecutorStartFailed, FilesFetched, ExecutorExited,
                 LeftoverEnded, DiskSpace, OutOfDisk, StopAsked, Tick>;

// --- what a step says --------------------------------------------------------------------------

struct SendToMaster {
  proto::Envelope envelope = {};
};
struct ResetMaster {};  // end this connection and make a fresh one, with back-off
struct SendToExecutor {
  PeerId peer = {};
  proto::Envelope envelope = {};
};
struct DropExecutorPeer {
  PeerId peer = {};
};
// Start it as `user` (empty: the agent's), in its own session, in sandbox
// <framework>/<executor>/<run> (made first), with stdout and stderr there. `program` is
// kCommandExecutor, kBatchExecutor or a shell command line.
struct StartExecutor {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string program = {};
  std::string user = {};
  Secret token = {};
  proto::Environment environment = {};  // of the executor, beside what every one gets
  ResourceVector resources = {};        // of its tasks: what it may use
  std::vector<GpuDevice> gpus = {};     // of the tasks that it starts with
  bool has_secret_files = false;        // it gets a directory in memory for them
  // Of the same framework: its process and its group become this run's. SpareRefused follows if
  // they cannot.
  std::optional<SpareExecutor> spare = {};
  // A spare that was refused; it is killed before.
  std::optional<SpareExecutor> in_place_of = {};
};
// Put these files into the executor's sandbox (made first), with the rights of `user` and within
// `resources`. FilesFetched follows, or ExecutorExited if it is killed before.
struct FetchFiles {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string user = {};
  std::vector<proto::FetchedFile> files = {};
  ResourceVector resources = {};
};
// The tasks of an executor are others now: it may use so much.
struct LimitExecutor {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  ResourceVector resources = {};
};
// An executor that an earlier life of this agent started: look for its process, by pid and start
// time, or by sandbox and token if the pid was not written down. ExecutorStarted follows if it is
// there; from then on it is like one that this life started. If it is not, what it left is ended
// and ExecutorExited follows.
struct AdoptExecutor {
  proto::ExecutorRecord executor = {};
};
// Remove the sandboxes of executors of this framework whose ids begin with one of these texts.
// Nothing there is in use. Of tasks that have failed, the end of their output stays.
struct RemoveSandboxes {
  FrameworkId framework = {};
  std::vector<std::string> begins = {};
};
// SIGKILL to its whole session, or to what fetches its files. ExecutorExited follows.
struct KillExecutor {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
};
// An executor of a damaged checkpoint: end it and its session, if pid and start time are still its.
// LeftoverEnded follows.
struct EndLeftover {
  proto::ExecutorRecord executor = {};
};
// The process may end now. A reason: it ends because it cannot do its work, and an operator must
// act.
struct Exit {
  std::string reason = {};
};

using AgentAction = std::variant<SendToMaster, ResetMaster, SendToExecutor, DropExecutorPeer,
                                 FetchFiles, StartExecutor, LimitExecutor, AdoptExecutor,
                                 RemoveSandboxes, KillExecutor, EndLeftover, Exit>;

struct AgentOutbox {
  std::vector<proto::CheckpointRecord> records = {};
  bool sync = false;  // the records must survive a reboot (identity)
  std::vector<AgentAction> actions = {};
  std::vector<TraceEvent> trace = {};

  void clear() {
    records.clear();
    sync = false;
    actions.clear();
    trace.clear();
  }
};

// The records that say all that is durable; replaying them gives the same core.
struct AgentSnapshot {
  std::vector<proto::CheckpointRecord> records = {};
};

// Describes the missing part of a log that was read to its end: records of its compacted part, or
// the newest run that has a sandbox. Empty: no part is known to be missing. The function sets the
// counts of the identities to 0, because they are true of that log only. O(records).
std::string take_gap(AgentSnapshot& snapshot, uint64_t newest_run);

// A running task, with its executor and the number of that one's run.
struct RunningTask {
  FrameworkId framework = {};
  proto::TaskSpec spec = {};
  proto::Assignment assignment = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string user = {};  // that it runs as; empty: the agent's
};

// --- the core ----------------------------------------------------------------------------------

class Agent {
 public:
  Agent(AgentOptions options, const AgentSnapshot& snapshot);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void handle(const AgentEvent& event, Time now, AgentOutbox& out);
  std::optional<Time> next_deadline()
      const;  // the first is at once: executors are looked for, then it registers
  proto::AgentStatus status() const;
  const std::string& trouble() const;  // why it takes no tasks, for people; empty: it does
  // The executor that has this connection.
  std::optional<std::pair<FrameworkId, ExecutorId>> executor_of(PeerId peer) const;
  // Errors: kNotFound, kFailedPrecondition (it does not run yet, or no longer).
  Result<RunningTask> running_task(const FrameworkId& framework, const TaskId& task) const;
  AgentSnapshot snapshot() const;  // compact
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::agent
