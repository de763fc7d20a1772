#pragma once

// The agent's core: the tasks and executors of one machine. Pure: the shell starts and kills
// processes, sends and receives messages of the master and of executors, and writes the checkpoint.
//
// The records of a step are written before its actions are carried out, so a kill -9 at any time
// loses nothing that a peer was informed of.

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

using proto::Remembered;

struct AgentOptions {
  AgentId name = {};
  // The user that the agent runs as. As root it runs tasks of every user, else only of its own.
  // Empty: users are ignored, for simulations only.
  std::string user = {};
  bool is_root = false;
  Secret fresh_secret = {};  // random; used if the snapshot has no identity
  Attributes attributes = {};
  Resources total = {};
  ReservedByRole reserved = {};  // parts of `total`
  // The ports of `total` that cannot be bound now, including those of adopted tasks.
  PortSet ports_in_use = {};
  std::string http_address = {};
  proto::FileService files = {};  // for other machines; its clock is set with each registration
  std::string limits = {};   // the limits that are enforced here and those that are not, for people
  std::string boot_id = {};  // identifies a boot of the machine; unique over all machines
  uint32_t checkpoint = 0;   // identifies the log of the snapshot; changes after a loss
  Remembered remembered = Remembered::kAll;
  std::string place = {};   // of its work directory in this boot; stored with the identity
  uint64_t newest_run = 0;  // the highest run number on the disk; new runs get higher numbers
  Duration heartbeat = kHeartbeatInterval;  // until the master sends another value
  // Silence after which a new session begins, until the master sends another value.
  Duration master_timeout = kAgentTimeout;
  // The time within which an executor must send its hello, after its start and after a lost
  // connection.
  Duration executor_start_timeout = minutes(1);
  // The time within which an executor of an earlier life must be back after the agent's start.
  Duration executor_reregister_timeout = kExecutorReregisterTimeout;
  Duration executor_heartbeat = kHeartbeatInterval;
  Duration executor_timeout = kAgentTimeout;
  // Whether a command executor may run the next task of its framework and user.
  bool reuses_executors = true;
  Duration fetch_timeout = hours(1);  // for the files of tasks, before their executor is started
  // Further executors are not started, since each needs descriptors of this process.
  size_t executors_max = kTasksPerAgentMax;
  uint64_t seed = 0;  // for jitter
};

// --- events ------------------------------------------------------------------------------------

// A new connection.
struct MasterConnected {
  std::string files_address = {};  // AgentOptions::files.address from now on
};
struct MasterDisconnected {};
struct MasterFrame {
  proto::Envelope envelope = {};
  // A random token for an executor that this frame may start. Empty: it is made from the seed, for
  // simulations only.
  Secret spare_token = {};
  // The ports assigned by a launch in this frame that cannot be bound now.
  PortSet busy_ports = {};
};
// The kernel killed processes of an executor's run because of its memory limit.
struct OutOfMemory {
  int64_t limit_bytes = 0;
  int64_t peak_bytes = 0;
};
struct ExecutorFrame {
  PeerId peer = {};
  proto::Envelope envelope = {};
  std::string user = {};  // the user of its process, from the kernel; only set for ExecutorHello
  // In its run so far; only set if the frame reports that a task failed.
  std::optional<OutOfMemory> out_of_memory = {};
  // The use of its run so far; only set if the frame reports that a task ended.
  std::optional<proto::TaskUsage> usage = {};
};
// Its connection is lost, or its frames were malformed.
struct ExecutorPeerLost {
  PeerId peer = {};
};
// Its process exists: it was started, was a spare, or was found again.
struct ExecutorStarted {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  int32_t pid = 0;
  uint64_t start_ticks = 0;
  std::string sandbox = {};  // its path
};
// A command executor whose task has ended and which waits for another task.
struct SpareExecutor {
  ExecutorId executor = {};
  uint64_t run = 0;
};
// The spare in StartExecutor cannot become this run, and is unchanged.
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
// A FetchFiles has ended; the executor has no process yet.
struct FilesFetched {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string problem = {};  // the missing file and the reason; empty: all files are there
};
// The process has ended, or was not found after a restart, and all processes of its session were
// killed. The exit status is known only if this life started the process.
struct ExecutorExited {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::optional<int32_t> exit_code = {};
  std::optional<int32_t> signal = {};
  std::optional<OutOfMemory> out_of_memory = {};
  std::optional<proto::TaskUsage> usage = {};
  // Set if it failed; at most kStderrTailBytesMax.
  std::string stderr_tail = {};
  // For an earlier life: there was a process, because its output files exist.
  bool had_process = false;
};
inline constexpr size_t kStderrTailBytesMax = 2 * 1024;
// An EndLeftover is done: the process and its session have ended.
struct LeftoverEnded {
  FrameworkId framework = {};
  ExecutorId executor = {};
};
// The free space for files of tasks and for the checkpoint.
struct DiskSpace {
  bool is_low = false;
  int64_t free_bytes = 0;
  int64_t reserve_bytes = 0;  // minimum of free bytes
  bool is_low_on_files = false;
  int64_t free_files = 0;     // files that can still be created
  int64_t reserve_files = 0;  // minimum of these
};
// The sandbox of a task's own executor holds more than the task's `disk`.
struct OutOfDisk {
  FrameworkId framework = {};
  TaskId task = {};
  uint64_t run = 0;
  int64_t bytes = 0;  // at least
  int64_t limit_bytes = 0;
};
// SIGTERM. With `kill_tasks`, all tasks end first and the agent unregisters.
struct StopAsked {
  bool kill_tasks = false;
};
struct Tick {};

using AgentEvent =
    std::variant<MasterConnected, MasterDisconnected, MasterFrame, ExecutorFrame, ExecutorPeerLost,
                 ExecutorStarted, SpareRefused, ExecutorStartFailed, FilesFetched, ExecutorExited,
                 LeftoverEnded, DiskSpace, OutOfDisk, StopAsked, Tick>;

// --- the output of a step ------------------------------------------------------------------------

struct SendToMaster {
  proto::Envelope envelope = {};
};
struct ResetMaster {};  // ends this connection and begins another, with back-off
struct SendToExecutor {
  PeerId peer = {};
  proto::Envelope envelope = {};
};
struct DropExecutorPeer {
  PeerId peer = {};
};
// Starts an executor as `user` (empty: the agent's), in its own session, in the new sandbox
// <framework>/<executor>/<run>, with stdout and stderr there. `program` is kCommandExecutor,
// kBatchExecutor or a shell command line.
struct StartExecutor {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string program = {};
  std::string user = {};
  Secret token = {};
  proto::Environment environment = {};  // of the executor, in addition to the common variables
  ResourceVector resources = {};        // of its tasks: its limits
  std::vector<GpuDevice> gpus = {};     // of its first tasks
  bool has_secret_files = false;        // it gets a directory in memory for secrets
  bool has_private_tmp = false;         // a directory of its sandbox is its /tmp
  // Of the same framework: its process and its group become those of this run. SpareRefused follows
  // if that is impossible.
  std::optional<SpareExecutor> spare = {};
  // A refused spare, which is killed first.
  std::optional<SpareExecutor> in_place_of = {};
};
// Puts these files into the new sandbox of the executor, with the rights of `user` and within
// `resources`. FilesFetched follows, or ExecutorExited if it is killed first.
struct FetchFiles {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string user = {};
  std::vector<proto::FetchedFile> files = {};
  ResourceVector resources = {};
};
// The limits of an executor whose tasks have changed.
struct LimitExecutor {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  ResourceVector resources = {};
  std::vector<GpuDevice> gpus = {};
};
// Finds the process of an executor that an earlier life of this agent started, by pid and start
// time, or by sandbox and token if the pid is not recorded. If the process exists, ExecutorStarted
// follows, and the executor is like one of this life. If not, its remaining processes are killed
// and ExecutorExited follows.
struct AdoptExecutor {
  proto::ExecutorRecord executor = {};
};
// Removes the sandboxes of this framework's executors whose ids begin with one of these texts. None
// of them is in use. The end of the output of failed tasks is kept.
struct RemoveSandboxes {
  FrameworkId framework = {};
  std::vector<std::string> begins = {};
};
// Sends SIGKILL to its whole session, or to its fetch process. ExecutorExited follows.
struct KillExecutor {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
};
// Kills an executor of a damaged checkpoint and its session, if pid and start time still match.
// LeftoverEnded follows.
struct EndLeftover {
  proto::ExecutorRecord executor = {};
};
// The process may end now. With a reason: it cannot do its work, and an operator must act.
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

// The records of all durable state; a replay restores the same core.
struct AgentSnapshot {
  std::vector<proto::CheckpointRecord> records = {};
};

// Describes the missing part of a log that was read to its end: records of its compacted part, or
// the newest run that has a sandbox. Empty: no part is known to be missing. Resets the counts of
// the identities to 0, since they are valid for that log only. O(records).
std::string take_gap(AgentSnapshot& snapshot, uint64_t newest_run);

// The worse of `found` and of the loss that its identity notes: an earlier life may have ended
// before it had acted on a loss. The identity notes the result. O(records).
Remembered note_loss(AgentSnapshot& snapshot, Remembered found);

// A running task, with its executor and the executor's run number.
struct RunningTask {
  FrameworkId framework = {};
  proto::TaskSpec spec = {};
  proto::Assignment assignment = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string user = {};  // the user that it runs as; empty: the agent's
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
      const;  // the first is at once: executors are looked for, then the agent registers
  proto::AgentStatus status() const;
  const std::string& trouble() const;  // why it takes no tasks, for people; empty: it does
  // The executor with this connection.
  std::optional<std::pair<FrameworkId, ExecutorId>> executor_of(PeerId peer) const;
  // Errors: kNotFound, kFailedPrecondition (it does not run yet, or has ended).
  Result<RunningTask> running_task(const FrameworkId& framework, const TaskId& task) const;
  AgentSnapshot snapshot() const;  // compact
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::agent
