#pragma once

// The parts of the agent's core (see agent.h), with a file per topic: recovery.cc, session.cc (the
// master), launch.cc, starting.cc, files.cc, executors.cc, spares.cc, runs.cc, kill.cc,
// releases.cc. agent.cc dispatches events to them.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/indexed_map.h"
#include "common/prng.h"
#include "common/trace.h"
#include "proto/channel.h"
#include "slave/core/agent.h"
#include "slave/core/deadlines.h"
#include "slave/core/ledger.h"
#include "slave/core/quarantine.h"

namespace proffer::agent {

// The time after a task's grace period when its executor is killed.
inline constexpr Duration kKillMargin = seconds(5);
// The time in which an idle executor must exit after it was asked to.
inline constexpr Duration kLeaveGrace = seconds(5);
// A finally refused registration is retried, since an operator may have corrected the cause: soon
// at first, then less and less often.
inline constexpr Duration kRefusedWaitFirst = seconds(2);
inline constexpr Duration kRefusedWaitMax = minutes(2);
// An executor is killed for silence only if a deadline this long before also found it silent.
inline constexpr Duration kLastLook = seconds(1);
// A tick this late means that the agent was stopped (SIGSTOP, a suspended or overloaded machine),
// and has not read the messages of executors yet.
inline constexpr Duration kLateTick = milliseconds(500);
// The interval of reports that a process of a damaged checkpoint cannot be killed.
inline constexpr Duration kLeftoversReport = seconds(30);

// One step: its time, and the records and actions of its handlers.
struct Step {
  Time now = {};
  AgentOutbox& out;
  bool late = false;  // a tick came more than kLateTick after its deadline

  void trace(TraceEvent happened) { out.trace.push_back(std::move(happened)); }
};

// A lost part of the log may have contained updates that the master has got. Their numbers must not
// be used again: the master would take the end of the task for an old update. So the next number is
// at least this far behind, and behind the present time in milliseconds: if two lives lose the same
// records, the second one does not use the numbers of the first.
inline constexpr uint64_t kUnsyncedMax = uint64_t{1} << 20;
constexpr uint64_t skipped_after(uint64_t sequence, Time now) {
  const auto begin = static_cast<uint64_t>(std::max<int64_t>(now.nanos() / 1'000'000, 0));
  return std::max(kUnsyncedMax, begin > sequence ? begin - sequence : 0);
}
// A log never loses this many numbers of one task.
inline constexpr uint64_t kNumbersLostMax = uint64_t{1} << 50;

// Whether an executor may report this state.
bool is_executors_word(proto::TaskState state);

// Why a launch is refused.
struct LaunchRefusal {
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::string message = {};
};

// "96.5 MiB".
std::string mebibytes(int64_t bytes);

class Agent::State {
 public:
  State(AgentOptions options, const AgentSnapshot& snapshot);

  void handle(const AgentEvent& event, Time now, AgentOutbox& out);
  std::optional<Time> next_deadline() const;
  proto::AgentStatus status() const;
  const std::string& trouble() const { return trouble_; }
  std::optional<ExecutorKey> executor_of(PeerId peer) const;
  Result<RunningTask> running_task(const FrameworkId& framework, const TaskId& id) const;
  AgentSnapshot snapshot() const { return {ledger_.records()}; }
  std::vector<Violation> violations() const;

 private:
  struct Kill {
    Duration grace = {};
    proto::TaskReason reason = proto::TaskReason::kNone;
    std::string words = {};  // for people, if the reason is not enough
  };
  // The state of a live task that is not durable.
  struct LiveTask {
    Secret token = {};               // for its executor, if a new one is started
    bool delivered = false;          // sent to its executor
    uint64_t executor_sequence = 0;  // the last update accepted from the executor
    std::optional<Kill> kill = {};
    uint64_t skipped = 0;  // update numbers that an earlier life may have used
    // The newest update of its executor for which there is no room among the unacknowledged ones.
    // The executor keeps it too.
    std::optional<proto::TaskStatus> held = {};
    // The values of its secrets, until its executor has started it. They are in no record, so a
    // task that was not delivered before a restart fails.
    std::vector<proto::SecretValue> secrets = {};
  };
  // One run of an executor, until its process is gone.
  struct LiveExecutor {
    uint64_t run = 0;
    Secret token = {};
    std::string program = {};
    std::string user = {};
    bool own = false;                  // for one task only
    std::set<TaskId> tasks = {};       // live tasks of this run
    std::vector<TaskId> waiting = {};  // for the next run, because this one is leaving
    bool leaving = false;              // takes no more tasks
    bool shutdown = false;             // was asked to end
    bool killed = false;
    // The files of its tasks are being fetched; it has no process yet.
    bool fetching = false;
    // The fetched files that it was started with. None: it is of an earlier life, and no task with
    // such files is left.
    std::optional<std::vector<proto::FetchedFile>> fetch = {};
    bool overdue = false;  // the deadline before the last one found it silent
    // Of an earlier life, and not back yet. If it ends now, its tasks are lost.
    bool away = false;
    bool adopted = false;  // of an earlier life, whether back or not
    int32_t pid = 0;       // 0: its process is not confirmed yet
    uint64_t start_ticks = 0;
    // Its process is in a later run without a record, and is being killed.
    bool is_forgotten = false;
    std::set<TaskId> forgotten = {};  // tasks in it without a record, which are being killed
    bool spare = false;               // leaving, unless another task comes soon
    bool moving = false;              // a former spare whose process is being prepared
    std::string sandbox = {};         // its path, once the process exists
    std::optional<PeerId> peer = {};  // while it has a session
    proto::Channel channel = {};
    uint64_t sessions = 0;
    Time last_sent = {};
    Time last_heard = {};
  };
  using Executors = IndexedMap<ExecutorKey, LiveExecutor, ExecutorKeyHash>;
  struct Ending {
    std::optional<int32_t> exit_code = {};
    std::optional<int32_t> signal = {};
    std::optional<proto::TaskUsage> usage = {};
    std::string stderr_tail = {};
    bool had_process = false;
  };

  // agent.cc
  void on(const Tick&, Step& step);
  void on_deadline(const Deadline& due, Step& step);
  void record(proto::CheckpointRecord record, Step& step);
  // `skipped`: numbers that may have been used already.
  bool make_update(const TaskKey& key, proto::TaskStatus status, Step& step,
                   uint64_t executor_sequence = 0, uint64_t skipped = 0);
  void check_executor(const ExecutorKey& key, const LiveExecutor& executor,
                      std::vector<Violation>& found) const;

  // recovery.cc
  void begin(Step& step);
  void leave_out_ports(Step& step);
  void cover_what_runs();
  void offer_less(Step& step);
  void close_gaps(Step& step);
  void skip_numbers(const TaskKey& key, const TaskEntry& task, Step& step);
  void adopt(const ExecutorKey& key, const proto::ExecutorRecord& executor, Step& step);
  void place(const TaskKey& key, const TaskEntry& task, Step& step);
  void executor_is_back(const ExecutorKey& key, Step& step);
  proto::TaskStatus lost_with(const ExecutorKey& key, const LiveExecutor& executor,
                              bool had_process) const;
  void on(const LeftoverEnded& ended, Step& step);
  void report_leftovers(Step& step);
  void finish_recovery(Step& step);

  // session.cc
  void on(const MasterConnected&, Step& step);
  void on(const MasterDisconnected&, Step& step);
  void on(const MasterFrame& frame, Step& step);
  void on_master_message(const MasterFrame& frame, Step& step);
  bool admit_leader(const proto::Envelope& envelope, Step& step);
  // Including executors, and tasks whose end is not acknowledged.
  bool has_tasks() const { return !ledger_.tasks().empty() || !ledger_.executors().empty(); }
  void begin_session(Step& step);
  void register_agent(Step& step);
  void on_registered(const proto::AgentRegistered& registered, Step& step);
  void on_error(const proto::ErrorMessage& error, Step& step);
  void end_for_good(const proto::ErrorMessage& error, Step& step);
  void on_acknowledge(const proto::Acknowledge& acknowledge, Step& step);
  void number_behind(const TaskKey& key, uint64_t given, Step& step);
  void reset_master(std::string_view reason, Step& step);
  void end_session();
  void send_to_master(proto::BoxedMessage message, Step& step);
  void master_pulse(Step& step);

  // launch.cc
  void on_run_task(const proto::RunTask& run, const MasterFrame& frame, Step& step);
  std::optional<LaunchRefusal> launch_refusal(const proto::RunTask& run,
                                              const ExecutorId& executor) const;
  void refuse_launch(const proto::RunTask& run, const LaunchRefusal& refusal, Step& step);
  void assign(const TaskKey& task, const ExecutorKey& executor, Step& step);
  std::optional<LaunchRefusal> files_refusal(const proto::RunTask& run,
                                             const ExecutorId& executor) const;
  void start_executor(const ExecutorKey& key, std::vector<TaskId> tasks, Step& step);
  void start_process(const ExecutorKey& key, LiveExecutor& executor,
                     std::optional<SpareExecutor> spare, std::optional<SpareExecutor> in_place_of,
                     Step& step);
  ResourceVector used_by(const ExecutorKey& key, const LiveExecutor& executor) const;
  std::vector<GpuDevice> devices_of(const ExecutorKey& key, const LiveExecutor& executor) const;
  void limit(const ExecutorKey& key, const LiveExecutor& executor, Step& step);

  // starting.cc
  void watch_starting(Step& step);
  void tell_starting(Step& step);
  std::string what_it_waits_for(const TaskKey& key, const LiveTask& live) const;

  // files.cc
  void fetch_files(const ExecutorKey& key, const LiveExecutor& executor, Step& step);
  void fetch_overdue(const ExecutorKey& key, Step& step);
  void fetch_again(const ExecutorKey& key, const proto::ExecutorRecord& executor);
  void fetch_all_again(Step& step);
  void on(const FilesFetched& fetched, Step& step);

  // executors.cc
  void on(const ExecutorStarted& started, Step& step);
  bool is_recorded(const ExecutorKey& key, const LiveExecutor& executor) const;
  void record_process(const ExecutorKey& key, const LiveExecutor& executor, Step& step);
  void on(const SpareRefused& refused, Step& step);
  void on(const ExecutorStartFailed& failed, Step& step);
  void on(const ExecutorExited& exited, Step& step);
  void on(const ExecutorFrame& frame, Step& step);
  void on(const ExecutorPeerLost& lost, Step& step);
  void on_hello(const ExecutorFrame& frame, Step& step);
  bool is_same_user(const std::string& one, const std::string& other) const;
  void on_executor_message(const ExecutorKey& key, const ExecutorFrame& frame, Step& step);
  void on_executor_update(const ExecutorKey& key, const proto::ExecutorUpdate& update,
                          const ExecutorFrame& frame, Step& step);
  void own_task_ended(const ExecutorKey& key, bool takes_another, Step& step);
  void tell_held(const TaskKey& key, Step& step);
  void refuse_peer(PeerId peer, ErrorCode code, std::string message, bool retry, Step& step);
  void forget_peer(const ExecutorKey& key, Step& step);
  void drop_peer(const ExecutorKey& key, Step& step);
  void send_to_executor(LiveExecutor& executor, proto::BoxedMessage message, Step& step);
  // `becomes`: a spare that does not know yet that it is this executor.
  void deliver(const ExecutorKey& key, LiveExecutor& executor, const TaskId& task, Step& step,
               bool becomes = false);
  void executor_pulse(const ExecutorKey& key, Step& step);
  void await_hello(const ExecutorKey& key, LiveExecutor& executor, Step& step);
  Duration hello_timeout(const LiveExecutor& executor) const;
  void session_overdue(const ExecutorKey& key, Step& step);
  void executor_gone(const ExecutorKey& key, proto::TaskReason reason, const std::string& message,
                     const Ending& ending, Step& step);
  LiveExecutor* find_run(const FrameworkId& framework, const ExecutorId& executor, uint64_t run);

  // spares.cc
  void keep_as_spare(const ExecutorKey& key, Step& step);
  void end_spare(const ExecutorKey& key, Step& step);
  void forget_spare(const ExecutorKey& key);
  std::optional<ExecutorKey> spare_for(const FrameworkId& framework,
                                       const LiveExecutor& executor) const;
  proto::ExecutorRecord take_over(const ExecutorKey& spare, const ExecutorKey& key,
                                  LiveExecutor& executor, Step& step);
  void moved(const ExecutorKey& key, bool is_same_process, Step& step);
  std::optional<ExecutorKey> executor_with_token(const FrameworkId& framework,
                                                 const Secret& token) const;

  // runs.cc The run of a process compared with the run in the record: the same, an earlier one,
  // because the process does not know the new one yet, or a later one.
  enum class Standing : uint8_t { kSame, kBehind, kBeyond };
  Standing standing_of(const ExecutorKey& key, const LiveExecutor& executor,
                       const proto::ExecutorHello& hello) const;
  void note_loss(Step& step);
  void told_of_loss(const ExecutorKey& key, Step& step);
  uint32_t fresh_memory(uint32_t before) const;
  void end_forgotten_run(const ExecutorKey& key, const proto::ExecutorHello& hello, Step& step);
  void take_end(const ExecutorKey& key, const TaskId& task, proto::TaskStatus status,
                uint64_t executor_sequence, Step& step);
  static proto::TaskStatus what_is_told(const proto::TaskStatus& told);
  void take_forgotten_updates(const ExecutorKey& key, const proto::ExecutorHello& hello,
                              Step& step);
  void end_forgotten_tasks(const ExecutorKey& key, const proto::ExecutorHello& hello, Step& step);
  void forgotten_task_ended(const ExecutorKey& key, const TaskId& task, Step& step);
  void forget_earlier_runs(Step& step);

  // releases.cc
  void on_release_files(const proto::ReleaseFiles& message, Step& step);
  void look_at_releases(const FrameworkId& framework, std::string_view left, Step& step);
  bool is_in_use(const FrameworkId& framework, const std::string& begin) const;

  // trouble.cc
  void on(const DiskSpace& space, Step& step);
  void start_worked(const LiveExecutor& executor, Step& step);
  void start_failed(const ExecutorKey& key, const LiveExecutor& executor, bool is_machines,
                    const std::string& why, Step& step);
  bool is_on_its_way(const LiveExecutor& executor) const;
  bool is_tried_by_another() const;
  void quarantine_over(Step& step);
  void set_trouble(Step& step);
  void tell_trouble(Step& step);

  // kill.cc
  void on(const OutOfDisk& over, Step& step);
  void on(const StopAsked& stop, Step& step);
  void end_all_tasks(Step& step);
  void on_kill_task(const proto::KillTask& kill, Step& step);
  void on_shutdown_framework(const FrameworkId& framework, Step& step);
  void kill_task(const TaskKey& key, Kill kill, Step& step);
  void kill_overdue(const TaskKey& key, Step& step);
  void bound_run(const TaskKey& key, const TaskEntry& task);
  void bound_start(const TaskKey& key, const TaskEntry& task, Step& step);
  void run_overdue(const TaskKey& key, Step& step);
  void say_why_killed(const TaskKey& key, proto::TaskStatus& status) const;
  void shut_down(const ExecutorKey& key, Duration grace, Step& step);
  void kill_executor(const ExecutorKey& key, Step& step);
  void task_ended(const TaskKey& key, Step& step);
  std::vector<ExecutorKey> executors_without_tasks() const;
  void finish_leaving(Step& step);
  void finish_stop(Step& step);

  AgentOptions options_;  // its total is at least the use of running tasks
  Resources given_;       // the configured total of this life
  Prng prng_;
  Ledger ledger_;
  Deadlines deadlines_;

  bool begun_ = false;
  bool recovered_ = false;
  std::set<ExecutorKey> awaited_;                           // may come back, or are being killed
  bool has_noted_loss_ = false;                             // in this life
  std::map<ExecutorKey, proto::ExecutorRecord> leftovers_;  // not killed yet

  // The session with the master.
  enum class Session : uint8_t { kNone, kConnected, kRegistering, kRegistered };
  Session session_ = Session::kNone;
  proto::Channel channel_;
  Duration heartbeat_;
  Duration master_timeout_;
  Time last_sent_;
  Time last_heard_;
  bool ever_registered_ = false;
  Duration refused_wait_ = {};  // the last wait without its jitter; zero: not refused since
  std::vector<std::pair<TaskKey, uint64_t>> untold_;  // updates made while registering

  std::map<TaskKey, LiveTask> live_;  // keys are those of the ledger's live tasks
  Executors executors_;               // the ledger's executors without the leftovers
  std::vector<ExecutorKey> spares_;   // spare executors, newest last
  IndexedMap<PeerId, ExecutorKey> peers_;

  // Released files of tasks that have not ended yet, by prefixes of their ids; at most
  // kReleasesWaitingMax. Not durable: the master repeats them at each registration.
  std::map<FrameworkId, std::set<std::string>> releases_;
  size_t releases_waiting_ = 0;

  std::string disk_trouble_;  // empty: there is enough room
  Quarantine quarantine_;
  std::string trouble_;       // why the agent takes no tasks; empty: it takes tasks
  std::string told_trouble_;  // as last reported to the master

  bool leaving_ = false;         // stops, while its tasks continue
  bool stopping_ = false;        // stops, and kills its tasks
  std::string ends_since_ = {};  // the reason, if it was not requested on this machine
  bool ended_ = false;
};

}  // namespace proffer::agent
