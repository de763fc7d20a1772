#pragma once

// The messages of docs/PROTOCOL.md as plain values. proto/schema/wire.capnp specifies them;
// proto/codec translates. common/limits.h has the bounds of every text and list.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/boxed.h"
#include "common/ids.h"
#include "common/offers.h"
#include "common/resources.h"
#include "common/time.h"
#include "proto/task_state.h"

namespace proffer::proto {

// Raised when a message changes its meaning or an enumeration grows. A version works with the
// earlier ones down to kProtocolVersionMin.
inline constexpr uint32_t kProtocolVersion = 3;
inline constexpr uint32_t kProtocolVersionMin = 1;

using Environment = std::map<std::string, std::string>;

// --- tasks and their updates -------------------------------------------------------------------

// Texts by name that a framework receives with each update of a task. Proffer does not interpret
// them.
using Labels = std::map<std::string, std::string>;
// At most 32 labels, 4 KiB together. A name has the form of an ask's name, at most 63 bytes; a
// value is UTF-8 without control characters, at most 256 bytes, and may be empty. Errors:
// kInvalidArgument names the label that is wrong and what is allowed.
Result<void> check_labels(const Labels& labels);

// The executors that are installed with the agent. Any other text is a shell command line.
inline constexpr std::string_view kCommandExecutor = "builtin:command";
inline constexpr std::string_view kBatchExecutor = "builtin:batch";

// A test by the executor whether a task does its work: every `interval`, from `grace` after its
// start on. HTTP: a GET of `path` answers 200 to 399. TCP: the port accepts a connection. Command:
// a shell command line exits with 0 in the task's sandbox and environment.
struct HealthCheck {
  enum class Kind : uint8_t { kHttp, kTcp, kCommand };
  Kind kind = Kind::kTcp;
  std::string port = {};     // one of TaskSpec::port_names; for http and tcp
  std::string path = "/";    // for http
  std::string command = {};  // for command
  Duration interval = seconds(10);
  Duration timeout = seconds(5);  // of one test; a longer one is a failure
  Duration grace = seconds(10);   // failures before its end do not count; a success ends it
  int64_t failures = 3;           // consecutive failures until the task is reported as unhealthy

  bool operator==(const HealthCheck&) const = default;
};
inline constexpr size_t kHealthCheckKindCount = 3;
// Errors: kInvalidArgument names the value that is wrong and what is allowed. `port_names` are the
// task's.
Result<void> check_health_check(const HealthCheck& check,
                                const std::vector<std::string>& port_names);

// The test by the executor whether a task is ready to do its work: it has run for `after`, and its
// own processes listen on each of `ports` (TCP, any address).
struct Readiness {
  std::vector<std::string> ports = {};  // from TaskSpec::port_names
  Duration after = {};

  bool operator==(const Readiness&) const = default;
};
// Checks the ports that a task wants with a given number. Errors: kInvalidArgument names the value
// that is wrong and what is allowed.
Result<void> check_static_ports(const std::map<std::string, uint16_t>& static_ports,
                                const std::vector<std::string>& port_names);

// Errors: kInvalidArgument names the value that is wrong and what is allowed. `port_names` are the
// task's.
Result<void> check_readiness(const Readiness& readiness,
                             const std::vector<std::string>& port_names);

// A file that the agent puts into a task's sandbox before the task starts.
struct FetchedFile {
  std::string uri = {};
  std::string sha256 = {};  // 64 digits of 0-9 a-f: other content is refused; empty: any content
  std::string name = {};    // in the sandbox; empty: the last part of the URI
  bool is_executable = false;
  bool is_extracted = false;  // an archive: its files are put there instead of itself
  bool is_cached = true;      // the agent may keep it for other tasks

  bool operator==(const FetchedFile&) const = default;
};
// Errors: kInvalidArgument names the value that is wrong and what is allowed.
Result<void> check_fetched_file(const FetchedFile& file);

// A secret of the task's user that the task gets when it starts: as an environment variable, as a
// file in memory (tmpfs) in `secrets` of its sandbox, or as both.
struct SecretUse {
  std::string name = {};
  std::string variable = {};
  std::string file = {};

  bool operator==(const SecretUse&) const = default;
};
// Errors: kInvalidArgument names the value that is wrong and what is allowed.
Result<void> check_secret_uses(const std::vector<SecretUse>& secrets);
// Checks the name of a secret. Errors: kInvalidArgument.
Result<void> check_secret_name(std::string_view name);

// The value of a secret. It is encrypted between the master's core and its shell; the shell
// decrypts it when it sends it to an agent.
struct SecretValue {
  std::string name = {};
  std::string value = {};

  bool operator==(const SecretValue&) const = default;
};

inline constexpr int32_t kKillSignal = 15;  // SIGTERM
// Errors: kInvalidArgument for a number that is not a signal from 1 to 31, and for SIGKILL and
// SIGSTOP.
Result<void> check_kill_signal(int32_t number);
// "SIGINT", "INT" or "2". Errors: kInvalidArgument.
Result<int32_t> parse_kill_signal(std::string_view text);

// A task that a framework launches.
struct TaskSpec {
  TaskId id = {};
  AskName ask = {};           // the ask that it fills; empty: none
  ResourceVector shape = {};  // the master chooses devices and ports
  std::string command = {};   // a shell command line; for the command executor
  Environment environment = {};
  std::vector<std::string> port_names = {};  // each gets a free port, in $PORT_<name>
  std::string executor = std::string(kCommandExecutor);
  ExecutorId executor_id = {};  // tasks with the same id share an executor; empty: its own executor
  Duration kill_grace = kKillGrace;
  std::string data = {};                   // for the executor; opaque to all others
  std::optional<HealthCheck> health = {};  // for the command executor
  // The user that it runs as: one whose request was relayed to the framework, if the framework
  // serves users. Empty: the framework's user.
  std::string user = {};
  std::vector<FetchedFile> fetch = {};
  Duration max_run_time = {};         // from its start, then it is killed; zero: no limit
  int32_t kill_signal = kKillSignal;  // the first signal of a kill; not SIGKILL or SIGSTOP
  // For the command executor, which reports it as TaskStatus::ready. None: readiness is not tested.
  std::optional<Readiness> readiness = {};
  Labels labels = {};  // returned with each TaskStatus
  // For the command executor and a task with its own executor. The values are in RunTask.
  std::vector<SecretUse> secrets = {};
  std::map<std::string, uint16_t> static_ports = {};  // ports of port_names with a given number

  bool operator==(const TaskSpec&) const = default;
};

// The master's choices for a task.
struct Assignment {
  Resources resources = {};                    // with gpu devices and ports
  std::map<std::string, uint16_t> ports = {};  // by port name
  // Its slices are `resources` without ports. Its role is empty if the master did not give one.
  TaskClaim claim = {};
  std::string user = {};  // the user that it runs as; empty if the master did not give one
  Time launched_at = {};  // by the master's clock; zero if the master did not give it
  // Proves to a later master that this agent received this task, with this user and these
  // resources. It is opaque to the agent, which sends it when it registers. Empty: its master made
  // none.
  std::string ticket = {};

  bool operator==(const Assignment&) const = default;
};

// The resources that a task used from its start to its end. None: not counted.
struct TaskUsage {
  std::optional<int64_t> cpu_nanos = {};
  std::optional<int64_t> throttled_nanos = {};  // time that it waited because of its CPU limit
  std::optional<int64_t> memory_peak_bytes = {};
  std::optional<int64_t> out_of_memory = {};  // processes that were killed for lack of memory
  std::optional<int64_t> read_bytes = {};     // from block devices
  std::optional<int64_t> written_bytes = {};
  bool operator==(const TaskUsage&) const = default;
};

// One update of a task. It is sent until acknowledged, at least once, and in order of `sequence`
// for each source of a task.
struct TaskStatus {
  TaskId task = {};
  AgentId agent = {};  // empty if it was never sent to an agent
  TaskState state = TaskState::kStaging;
  TaskReason reason = TaskReason::kNone;
  UpdateSource source = UpdateSource::kAgent;
  // From the agent: 1, 2, … for each launch. From the master: rising, also over restarts. Zero: an
  // answer to reconcile, which is not acknowledged.
  uint64_t sequence = 0;
  std::string message = {};  // for people
  // From the executor to its scheduler. If the executor ended and had no other task: the end of its
  // standard error.
  std::string data = {};
  std::optional<int32_t> exit_code = {};
  std::optional<int32_t> signal = {};
  std::optional<bool> healthy = {};  // by its health check; none: it has none, or no result yet
  Time at = {};
  std::optional<TaskUsage> usage = {};  // with a terminal update, from its agent
  // The result of TaskSpec::readiness. Empty: there is none, or its executor's version does not
  // support it.
  std::optional<bool> ready = {};
  // The master adds TaskSpec::labels. Empty: it was launched without labels, or the task is no
  // longer known.
  Labels labels = {};

  bool operator==(const TaskStatus&) const = default;
};

// The typed refusal of the last message, of the session, or of one request.
struct ErrorMessage {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message = {};
  std::string hint = {};
  bool ends_session = false;  // the sender reads nothing more from this connection
  bool retry = true;          // whether a new session can help
  // To an agent: all of its tasks were reported as ended. The agent ends them, and does not come
  // back with this work directory.
  bool ends_tasks = false;
  bool operator==(const ErrorMessage&) const = default;
};

// --- scheduler to master -----------------------------------------------------------------------

// The first message of a session. With a framework id the framework fails over to this session; the
// secret must be that of the first session. Without an id, the same secret finds the framework that
// it made before.
struct Subscribe {
  FrameworkId framework = {};
  std::string name = {};
  RoleName role = {};
  OfferMode mode = OfferMode::kAsks;
  Secret secret = {};
  Duration failover_timeout = {};
  std::string user = {};  // runs the scheduler; for people

  // The framework runs tasks as the users that sent it requests (TaskSpec::user); operators only.
  bool serves_users = false;
  // The framework's store keeps an entry for each task, from before the launch until the framework
  // erases the entry; meanwhile the task id is not free. Needs a failover timeout.
  bool remembers_tasks = false;
  ClusterId cluster = {};  // of the framework, if it has been in one
  // Without an id and with a new secret: it takes over the framework of this name and user, if
  // there is one, after the scheduler of that framework has been disconnected for kStandbyPatience;
  // then this secret replaces the old one. Until then it is refused and may try again. Needs a
  // failover timeout.
  bool stands_by = false;
  bool operator==(const Subscribe&) const = default;
};

// All asks of the framework; they replace the earlier set. Generations rise within a framework's
// process.
struct DeclareAsks {
  uint64_t generation = 0;
  std::vector<Ask> asks = {};
  bool operator==(const DeclareAsks&) const = default;
};

struct Launch {
  AgentId agent = {};
  std::vector<TaskSpec> tasks = {};
  bool operator==(const Launch&) const = default;
};
// Reserves these amounts of this agent's offers for the role, or ends their reservation.
struct Reserve {
  AgentId agent = {};
  RoleName role = {};
  ResourceVector amounts = {};
  bool operator==(const Reserve&) const = default;
};
struct Unreserve {
  AgentId agent = {};
  RoleName role = {};
  ResourceVector amounts = {};
  bool operator==(const Unreserve&) const = default;
};
using Operation = std::variant<Launch, Reserve, Unreserve>;
// The tasks that an operation launches; empty for other operations.
const std::vector<TaskSpec>& launched_by(const Operation& operation);

// Uses offers of one or several agents; an operation uses the offers of its agent. Unused resources
// are declined.
struct Accept {
  std::vector<OfferId> offers = {};
  std::vector<Operation> operations = {};
  Refusal refusal = {};
  bool operator==(const Accept&) const = default;
};

struct Decline {
  std::vector<OfferId> offers = {};
  Refusal refusal = {};
  bool operator==(const Decline&) const = default;
};

struct Suppress {
  bool operator==(const Suppress&) const = default;
};
struct Revive {
  bool operator==(const Revive&) const = default;
};

// Goes from a scheduler to the master, then to the agent and the executor.
struct KillTask {
  FrameworkId framework = {};  // ignored from a scheduler
  TaskId task = {};
  std::optional<Duration> grace = {};  // none: the task's own
  bool operator==(const KillTask&) const = default;
};

// Acknowledges the update (source, sequence) and all earlier updates of that source and task. Goes
// from the scheduler over the master and the agent to the executor.
struct Acknowledge {
  FrameworkId framework = {};  // ignored from a scheduler
  TaskId task = {};
  AgentId agent = {};
  UpdateSource source = UpdateSource::kAgent;
  uint64_t sequence = 0;
  bool operator==(const Acknowledge&) const = default;
};

// Explicit: asks for the states of these tasks. Implicit (no tasks): of all tasks that the master
// knows. The answers are updates with sequence 0.
struct Reconcile {
  std::vector<TaskId> tasks = {};
  // For each task the agent where the framework expects it; empty: it does not know. An empty list:
  // the scheduler gives no agents.
  std::vector<AgentId> agents = {};
  bool operator==(const Reconcile&) const = default;
};

// All tasks of a Reconcile that are known now have been reported.
struct Reconciled {
  // The number of admitted agents that have not yet registered with this master. If it is not 0,
  // their tasks are reported later, and another message with 0 follows.
  uint32_t missing_agents = 0;
  bool operator==(const Reconciled&) const = default;
};

// The answer of a standby to any message. It ends the session.
struct NotLeader {
  std::string leader = {};  // where the leader may be reached: host:port or a path; empty: unknown
  bool operator==(const NotLeader&) const = default;
};

// Bytes between a scheduler and its executor, in both directions, best effort.
struct FrameworkMessage {
  FrameworkId framework = {};  // ignored from a scheduler
  AgentId agent = {};
  ExecutorId executor = {};
  bool to_scheduler = false;
  std::string data = {};
  bool operator==(const FrameworkMessage&) const = default;
};

// An operation on the framework's store: a small durable map that the master keeps in its registry.
// Each entry has a version that rises with each put of its key and is never used twice in one
// store.
struct StoreOperation {
  enum class Kind : uint8_t { kGet, kPut, kDelete, kList };
  Kind kind = Kind::kGet;
  std::string key = {};    // names joined by '/'; list: the prefix of the wanted keys, or empty
  std::string value = {};  // for put
  // For put and delete: done only if the entry has this version; 0: only if there is none.
  std::optional<uint64_t> expected = {};
  std::string after = {};  // list: from the first key after this one
  bool operator==(const StoreOperation&) const = default;
};
inline constexpr size_t kStoreOperationKindCount = 4;
// Errors: kInvalidArgument, or kResourceExhausted for a value that is too large; names the value.
Result<void> check_store_operation(const StoreOperation& operation);

// All operations are done in order, or none of them.
struct StoreRequest {
  uint64_t id = 0;  // returned in the result
  std::vector<StoreOperation> operations = {};
  bool operator==(const StoreRequest&) const = default;
};

// The answer to a request that was relayed to the scheduler.
struct FrameworkResponse {
  uint64_t relay = 0;  // of the request
  std::string data = {};
  std::optional<ErrorMessage> error = {};
  bool operator==(const FrameworkResponse&) const = default;
};

// The framework no longer needs the files of tasks and executors whose ids begin with one of these
// texts, and launches no such tasks again. Sent by a scheduler to the master, and by the master to
// agents, best effort: files of a lost message are removed when they are old. An agent removes
// these sandboxes when all of them have ended there and their ends are acknowledged. For failed
// tasks it keeps the end of their output.
struct ReleaseFiles {
  FrameworkId framework = {};  // ignored from a scheduler
  std::vector<std::string> begins = {};
  std::vector<AgentId> agents = {};  // agents on which they were launched; none: all agents
  bool operator==(const ReleaseFiles&) const = default;
};

// The framework ends: its tasks are killed and its id is forgotten.
struct Teardown {
  bool operator==(const Teardown&) const = default;
};

// --- master to scheduler -----------------------------------------------------------------------

struct Subscribed {
  FrameworkId framework = {};
  SessionEpoch session = {};
  bool failed_over = false;  // the id was known; reconcile follows
  Duration heartbeat = {};
  Duration timeout = {};        // after this silence a peer counts as lost
  uint32_t missing_agents = 0;  // as in Reconciled
  ClusterId cluster = {};       // empty: the master gives none
  bool operator==(const Subscribed&) const = default;
};

struct Offers {
  std::vector<Offer> offers = {};
  bool operator==(const Offers&) const = default;
};

struct Rescind {
  std::vector<OfferId> offers = {};
  bool operator==(const Rescind&) const = default;
};

// These tasks must end; those that have not after `grace` are killed. Sent again to a scheduler
// that reconnects, with the rest of the grace.
struct RevokeNotice {
  std::vector<TaskId> tasks = {};
  AgentId agent = {};  // the agent on which they run
  RevokeReason reason = RevokeReason::kReclaimed;
  RoleName beneficiary = {};  // the role that waits for their resources; empty: none
  Duration grace = {};        // from the time when the master sent it
  bool operator==(const RevokeNotice&) const = default;
};

// These tasks need not end any more: their revoke notice is cancelled.
struct RevokeWithdrawn {
  std::vector<TaskId> tasks = {};
  AgentId agent = {};  // the agent on which they run
  bool operator==(const RevokeWithdrawn&) const = default;
};

struct Update {
  FrameworkId framework = {};
  TaskStatus status = {};
  bool operator==(const Update&) const = default;
};

// Sent when the set of asks that no agent could ever meet changes.
struct AskReport {
  struct Row {
    AskName ask = {};
    bool could_ever_fit = true;
    std::string why = {};  // for people, if it could not be declared
    bool operator==(const Row&) const = default;
  };
  uint64_t generation = 0;
  std::vector<Row> rows = {};
  bool operator==(const AskReport&) const = default;
};

// An agent or an executor of this framework has ended. Its tasks have their own updates.
struct Failure {
  AgentId agent = {};
  ExecutorId executor = {};  // empty: the agent
  std::string message = {};
  bool operator==(const Failure&) const = default;
};

// A request of a user to the framework, relayed by the master.
struct FrameworkRequest {
  uint64_t relay = 0;          // the master's number for it, returned in the response
  std::string id = {};         // chosen by its caller; done once for each id
  std::string principal = {};  // the user that sent it, for people
  std::string data = {};
  Duration timeout = {};     // after it the caller no longer waits for the response
  bool is_operator = false;  // the principal is an operator and may do everything
  // The role that the caller wants to be charged: the framework's or one below it. The master has
  // checked that the principal may use it. Empty: the caller named none.
  RoleName role = {};
  bool operator==(const FrameworkRequest&) const = default;
};

// The result of a StoreRequest.
struct StoreResult {
  struct Entry {
    std::string key = {};
    uint64_t version = 0;
    bool operator==(const Entry&) const = default;
  };
  struct Outcome {
    uint64_t version = 0;             // of the entry now; 0: there is none
    std::string value = {};           // for get
    std::vector<Entry> entries = {};  // for list, sorted by key
    bool more = false;                // for list: more keys follow
    bool operator==(const Outcome&) const = default;
  };
  uint64_t id = 0;
  std::vector<Outcome> outcomes = {};  // one for each operation; none with an error
  // Nothing was done. kFailedPrecondition: another version than expected.
  std::optional<ErrorMessage> error = {};
  bool operator==(const StoreResult&) const = default;
};

// --- agent and master --------------------------------------------------------------------------

// A task as its agent knows it.
struct AgentTask {
  FrameworkId framework = {};
  TaskId task = {};
  AskName ask = {};
  ExecutorId executor = {};
  TaskState state = TaskState::kStaging;  // as of its last update, acknowledged or not
  uint64_t sequence = 0;                  // of that update
  Resources resources = {};
  std::vector<TaskStatus> unacknowledged = {};
  TaskClaim claim = {};      // as it was assigned; its role is empty if its master gave none
  std::string user = {};     // the user that it runs as; empty if its master gave none
  std::string command = {};  // its beginning, at most kCommandShownBytes
  Time launched_at = {};     // as it was assigned
  Labels labels = {};        // TaskSpec::labels
  std::string ticket = {};   // Assignment::ticket
  bool operator==(const AgentTask&) const = default;
};

// The address at which an agent serves files to other machines.
struct FileService {
  std::string address = {};  // host:port; empty: it serves none
  std::string pin = {};      // of its certificate's key
  Secret token_key = {};     // key with which it checks the master's tokens
  Time clock = {};           // its own clock, now
  bool operator==(const FileService&) const = default;
};

struct RegisterAgent {
  AgentId agent = {};
  Secret secret = {};
  Attributes attributes = {};
  std::vector<Slice> slices = {};
  PortSet ports = {};
  std::string http_address = {};  // of its files: host:port, or the path of a Unix socket
  uint32_t tasks_follow = 0;
  // If the number differs from before, the agent may have forgotten what it received. 0: unknown.
  uint32_t memory = 0;
  std::string limits = {};     // which limits it enforces for tasks, and which not; for people
  std::string trouble = {};    // as AgentTrouble::why
  ClusterId cluster = {};      // the cluster whose tasks it has; empty: it has none
  FileService files = {};      // for other machines
  uint64_t boot = 0;           // differs for each boot of each machine; 0: unknown
  bool takes_secrets = false;  // it supports TaskSpec::secrets
  bool keeps_tickets = false;  // it supports Assignment::ticket
  bool operator==(const RegisterAgent&) const = default;
};

// Whether the agent takes new tasks. Running tasks continue.
struct AgentTrouble {
  std::string why = {};  // the reason why it takes none; empty: it takes tasks
  bool operator==(const AgentTrouble&) const = default;
};

struct RegisterTasks {
  std::vector<AgentTask> tasks = {};
  bool operator==(const RegisterTasks&) const = default;
};

// The agent leaves permanently; it runs nothing.
struct UnregisterAgent {
  bool operator==(const UnregisterAgent&) const = default;
};

struct AgentRegistered {
  AgentId agent = {};
  SessionEpoch session = {};
  Duration heartbeat = {};
  Duration timeout = {};
  ClusterId cluster = {};  // as in Subscribed
  bool operator==(const AgentRegistered&) const = default;
};

// Sent to the agent, and by the agent to the executor.
struct ExecutorPlace {
  ExecutorId executor = {};
  std::string sandbox = {};
  bool operator==(const ExecutorPlace&) const = default;
};
struct RunTask {
  FrameworkId framework = {};
  TaskSpec spec = {};
  Assignment assignment = {};
  // For an executor that ran a single task before, and nothing else: from now on it is this
  // executor, and works in this sandbox.
  std::optional<ExecutorPlace> becomes = {};
  // The values of TaskSpec::secrets. They are never written to a disk, so a restarted agent has
  // none.
  std::vector<SecretValue> secrets = {};
  // From the agent to an executor: the run to which the task belongs. 0: unknown.
  uint64_t run = 0;
  bool operator==(const RunTask&) const = default;
};

// All executors and tasks of this framework end, with grace.
struct ShutdownFramework {
  FrameworkId framework = {};
  bool operator==(const ShutdownFramework&) const = default;
};

// --- executor and agent ------------------------------------------------------------------------

// A task that runs in an executor, or has ended there.
struct ExecutorRun {
  TaskId task = {};
  uint64_t run = 0;  // as RunTask::run
  bool ended = false;
  uint64_t acknowledged = 0;              // number of the last update that an agent acknowledged
  std::optional<TaskStatus> status = {};  // that update, if there is room for it
  bool operator==(const ExecutorRun&) const = default;
};

// First message of an executor's session. The token is from its environment.
struct ExecutorHello {
  FrameworkId framework = {};
  ExecutorId executor = {};
  Secret token = {};
  uint64_t run = 0;  // its run: of its last task, else of its start; 0: unknown
  // `runs` are all tasks that run in it, and the last ones that have ended. False: the executor is
  // of the version before, or has more than kExecutorRunsMax.
  bool tells_runs = false;
  std::vector<ExecutorRun> runs = {};
  bool operator==(const ExecutorHello&) const = default;
};

struct ExecutorWelcome {
  SessionEpoch session = {};
  Duration heartbeat = {};
  Duration timeout = {};
  bool operator==(const ExecutorWelcome&) const = default;
};

// An update of a task. The agent adds source and sequence. The answer is Acknowledge with the
// executor's own `sequence`.
struct ExecutorUpdate {
  TaskStatus status = {};
  // The status ends the only task of the executor. The executor left nothing behind, and waits for
  // the next task or for ExecutorShutdown.
  bool takes_another = false;
  bool operator==(const ExecutorUpdate&) const = default;
};

// The executor ends its tasks, with grace, and then itself.
struct ExecutorShutdown {
  bool operator==(const ExecutorShutdown&) const = default;
};

// --- all peers ---------------------------------------------------------------------------------

// Any message counts as a heartbeat; this one is sent when there is no other.
struct Heartbeat {
  bool operator==(const Heartbeat&) const = default;
};

// CLI to master: a method of the API with its arguments as JSON.
struct Call {
  uint64_t id = 0;
  std::string method = {};
  std::string json = {};
  bool operator==(const Call&) const = default;
};

struct Reply {
  uint64_t id = 0;
  std::string json = {};
  std::string next = {};  // the beginning of the next page; empty: this was the last
  std::optional<ErrorMessage> error = {};
  bool operator==(const Reply&) const = default;
};

// A union member that this version does not know. It is counted and ignored.
struct Unknown {
  uint32_t tag = 0;
  bool operator==(const Unknown&) const = default;
};

using Message =
    std::variant<Unknown, Subscribe, DeclareAsks, Accept, Decline, Suppress, Revive, KillTask,
                 Acknowledge, Reconcile, FrameworkMessage, Teardown, Subscribed, Offers, Rescind,
                 Update, AskReport, Failure, ErrorMessage, RegisterAgent, RegisterTasks,
                 UnregisterAgent, AgentRegistered, RunTask, ShutdownFramework, ExecutorHello,
                 ExecutorWelcome, ExecutorUpdate, ExecutorShutdown, Heartbeat, Call, Reply,
                 StoreRequest, StoreResult, FrameworkRequest, FrameworkResponse, RevokeNotice,
                 AgentTrouble, Reconciled, NotLeader, ReleaseFiles, RevokeWithdrawn>;

// "subscribe", "declare_asks", …, for traces and errors.
std::string_view message_name(const Message& message);

// A message is as large as its largest alternative. Code that passes messages on moves this box.
using BoxedMessage = Boxed<Message>;

// One frame.
struct Envelope {
  uint32_t version = kProtocolVersion;
  LeaderEpoch leader = {};  // the sender's epoch, or the highest that it has seen
  uint64_t sequence = 0;    // from 1 on each connection, each way
  BoxedMessage message = {};
  bool operator==(const Envelope&) const = default;
};

}  // namespace proffer::proto
