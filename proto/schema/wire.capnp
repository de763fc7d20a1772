@0xd2f3b8a1c6e94d57;

# The protocol of Proffer: the messages between masters, agents, schedulers, executors and the CLI,
# and the durable records of the master and the agents. This file is the specification;
# proto/messages.h and proto/records.h have the same as plain values.
#
# Frames. One ZeroMQ message part is one frame: an Envelope in Cap'n Proto's unpacked stream
# encoding (segment table and segments, at most 64), at most 1 MiB, a multiple of 8 bytes, nothing
# after it. Receivers copy frames that are not aligned to 8 bytes.
#
# Everything has a bound; the number is given here and its reason in common/limits.h. A receiver
# refuses a frame that breaks a bound, answers with `error`, and ends the session. Unless stated
# otherwise:
#
#   name       Text of 1 to 128 of A-Z a-z 0-9 . _ - and not "." or ".."
#   role       names joined by '/', at most 512 bytes
#   secret     32 of 0-9 a-f
#   nanos      Int64, a duration in nanoseconds, 0 to ten years
#   time       Int64, nanoseconds since 1970 UTC, not negative
#   amount     Int64, milli-units, 0 to 2^50: 1 CPU, 1 MiB and 1 GPU are 1000 each
#   words      Text for people, at most 4 KiB of any bytes; senders cut longer ones
#   optional   an empty Text or a zero number in place of a name, role or number: none
#   sorted     in strictly rising order of the named field, so that nothing is there twice
#
# Versions. `version` is the first field and never moves. A receiver refuses a version that it does
# not support with an `error` that names both. Within a version, fields and union members are only
# added at the end. A message that the receiver does not know is counted and ignored. An unknown
# enumerator, operation or record makes the frame invalid, because a guess would change its meaning:
# raise the version to add one.
#
# A version works with earlier ones. A connection uses the lower version of its two ends. The
# listening end answers in the version that it received. The connecting end begins with its own
# version; if that is refused as `unsupported`, it reconnects with the version of the refusal, or
# (an executor, whose agent refuses without an answer) with the previous one. In a lower version,
# missing enumerators are replaced by the nearest ones (proto/versions.h). Calls and replies are the
# same in all versions and are sent as version 1.
#
# Version 2 added: the task reasons from `revoked` on, the operations reserve and unreserve, the
# reservation record. Version 3 added: the task reasons from `outOfMemory` on, the error code
# permissionDenied. Some programs of version 2 know these too, and send them (docs/adr/0063).

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("proffer::wire");

struct Envelope {
  version @0 :UInt32;   # kProtocolVersion of the sender.
  # A master's own leader epoch, or the highest that the sender has seen; 0: none yet.
  leader @1 :UInt64;
  # Number of this frame on this connection and direction: 1, 2, … A gap ends the connection.
  sequence @2 :UInt64;

  union {
    none @3 :Void;  # Never sent; ignored like an unknown message.

    # Scheduler to master.
    subscribe @4 :Subscribe;
    declareAsks @5 :DeclareAsks;
    accept @6 :Accept;
    decline @7 :Decline;
    suppress @8 :Void;            # No offers until revive.
    revive @9 :Void;              # Offers again; clears all filters.
    killTask @10 :KillTask;       # Also master to agent, and agent to executor.
    acknowledge @11 :Acknowledge; # Also master to agent, and agent to executor.
    reconcile @12 :Reconcile;
    # Between scheduler, master, agent and executor, both ways.
    frameworkMessage @13 :FrameworkMessage;
    teardown @14 :Void;           # The framework ends; its tasks are killed.

    # Master to scheduler.
    subscribed @15 :Subscribed;
    offers @16 :Offers;
    rescind @17 :Rescind;
    update @18 :Update;           # Also agent to master.
    askReport @19 :AskReport;
    failure @20 :Failure;
    error @21 :ErrorMessage;      # To any peer.

    # Agent and master.
    registerAgent @22 :RegisterAgent;
    registerTasks @23 :RegisterTasks;
    unregisterAgent @24 :Void;    # The agent leaves permanently; it runs nothing.
    agentRegistered @25 :AgentRegistered;
    runTask @26 :RunTask;         # Also agent to executor.
    shutdownFramework @27 :ShutdownFramework;

    # Executor and agent.
    executorHello @28 :ExecutorHello;
    executorWelcome @29 :ExecutorWelcome;
    executorUpdate @30 :ExecutorUpdate;
    executorShutdown @31 :Void;   # The executor ends its tasks, with grace, and then itself.

    # All peers.
    heartbeat @32 :Void;          # Sent when there is no other message.
    call @33 :Call;
    reply @34 :Reply;

    # Scheduler and master.
    storeRequest @35 :StoreRequest;            # To the master;
    storeResult @36 :StoreResult;              # its answer.
    frameworkRequest @37 :FrameworkRequest;    # To the scheduler;
    frameworkResponse @38 :FrameworkResponse;  # its answer.

    revokeNotice @39 :RevokeNotice;            # Master to scheduler.
    agentTrouble @40 :AgentTrouble;            # Agent to master.
    reconciled @41 :Reconciled;                # Master to scheduler.
    notLeader @42 :NotLeader;                  # Master to any peer.
    releaseFiles @43 :ReleaseFiles;            # Scheduler to master, and master to agent.
    revokeWithdrawn @44 :RevokeWithdrawn;      # Master to scheduler.
  }
}

# --- resources ------------------------------------------------------------------------------------

enum ResourceKind { cpus @0; mem @1; disk @2; gpus @3; }

# Amounts of all kinds. An absent field of this type means all zero.
struct Amounts {
  cpus @0 :Int64;  # amount
  mem @1 :Int64;   # amount
  disk @2 :Int64;  # amount
  gpus @3 :Int64;  # amount
}

# A GPU device of an agent, or a part of one.
struct GpuDevice {
  index @0 :UInt8;   # 0 to 63, in the agent's numbering.
  milli @1 :UInt16;  # 1 to 1000 thousandths of it.
}

struct PortRange {
  first @0 :UInt16;  # 1 to 65535
  last @1 :UInt16;   # first to 65535; included
}

# Amounts with their devices and ports.
struct Resources {
  amounts @0 :Amounts;
  # At most 64, sorted by index. If there are any, they sum up to amounts.gpus.
  gpus @1 :List(GpuDevice);
  ports @2 :List(PortRange);  # At most 256, sorted, with a gap between any two.
}

# A part of one agent's resources with one reservation state.
struct Slice {
  resources @0 :Resources;
  reservedFor @1 :Text;  # optional role
  revocable @2 :Bool;    # May be preempted with a revoke notice.
}

# An entry of an agent's attributes.
struct Attribute {
  name @0 :Text;   # name; not "host", which is the agent's name
  value @1 :Text;  # 1 to 128 bytes without control characters
}

enum ConstraintOperator { equals @0; notEquals @1; in @2; notIn @3; matches @4; exists @5; }

struct Constraint {
  attribute @0 :Text;       # name; "host" is the agent's
  op @1 :ConstraintOperator;
  # equals, notEquals and matches (RE2, fully anchored): one; in and notIn: 1 to 64; exists: none.
  # Each 1 to 1024 bytes without control characters, no space at its ends; in a list, no ',', '[' or
  # ']'.
  values @2 :List(Text);
}

# At most `count` tasks of an ask on agents with the same value of an attribute.
struct MaxPer {
  attribute @0 :Text;  # name; "host" is the agent's
  count @1 :Int64;     # 1 to 10,000,000
}

# Preferred places of tasks: one of the hosts, else one of the racks, else after `wait` any agent.
struct Preference {
  hosts @0 :List(Text);    # At most 256 names of agents.
  racks @1 :List(Text);    # At most 256 values of the attribute "rack", as in Attribute.
  waitNanos @2 :Int64;     # nanos
}

# Counts across roles: tasks of a lower band are the first victims.
enum Band { free @0; batch @1; production @2; monitoring @3; }

# The framework could use `count` more tasks of one shape, beyond those launched.
struct Ask {
  name @0 :Text;      # name, unique within the framework
  shape @1 :Amounts;  # Of one task; gpus below 1000 or whole thousands.
  count @2 :Int64;    # 0 to 10,000,000
  constraints @3 :List(Constraint);  # At most 32; all must hold.
  ports @4 :UInt16;   # 0 to 64 dynamic ports of each task
  priority @5 :Int32; # Within the framework; higher first.
  role @6 :Text;      # optional role; the framework's own or below it. Absent: the framework's own.
  spread @7 :Text;    # optional name of an attribute over whose values tasks are spread; or "host"
  maxPer @8 :List(MaxPer);    # At most 8, sorted by attribute.
  prefer @9 :Preference;      # Absent: none.
  gang @10 :Int64 = 1;        # 1 to 1024 tasks together or none; the count is a multiple.
  band @11 :Band = batch;
  borrow @12 :Bool = true;    # False: only within the role's entitlement.
  revocableOk @13 :Bool;      # May use lent resources, or those only estimated to be free.
  expiryNanos @14 :Int64;     # nanos from the declaration; 0: the ask does not expire
  durationNanos @15 :Int64;   # nanos, the expected run time of each task; 0: unknown; ten years
                              # (the most): until it is killed. A receiver that does not know this
                              # field treats it as unknown.
  group @16 :Text;            # optional name: spread and maxPer count the tasks of all asks with it
  # nanos, the time limit of each task, up to ten years; 0: none. A receiver that does not know this
  # field sets no limit.
  maxRunNanos @17 :Int64;
  # At most 64, sorted, each from 1: ports with given numbers that each task needs, counted in
  # ports. A receiver that does not know this field offers agents without them.
  staticPorts @18 :List(UInt16);
}

# How a framework is offered resources: according to its asks, or as open offers.
enum OfferMode { asks @0; open @1; }

# An ask for which an offer was made, and the number of its tasks.
struct AskFill {
  ask @0 :Text;     # name
  count @1 :Int64;  # 0 to 10,000,000
}

# Slices of one agent proposed to one framework.
struct Offer {
  id @0 :UInt64;     # Not zero; unique within one leader epoch.
  agent @1 :Text;    # name
  attributes @2 :List(Attribute);  # At most 64, sorted by name.
  slices @3 :List(Slice);          # At most 64.
  fills @4 :List(AskFill);         # At most 256. None: an open offer.
  # The agent's free ports, for information: the 256 lowest ranges at most. Ports are taken at
  # launch.
  ports @5 :List(PortRange);
  leaseNanos @6 :Int64;            # nanos, from the time when the master sent it until it expires
  role @7 :Text;                   # optional role in which it counts; absent: the framework's own
  # Not zero: the offers with this number are a gang; they are accepted together or not at all.
  gang @8 :UInt64;
  # The address at which the agent serves the files of its tasks: host:port or a socket's path; at
  # most 264 bytes. Absent: it serves none.
  httpAddress @9 :Text;
  # The host of its tasks' ports, IPv6 in brackets; at most 264 bytes. Absent: unknown.
  host @10 :Text;
  # nanos; not zero: the resources are claimed for another ask; only tasks with at most this time
  # limit may use them.
  maxRunNanos @11 :Int64;
}

# Why a framework declines an offer, and for how long.
struct Refusal {
  # nanos; without a reason below: the agent is not offered for this time
  refuseNanos @0 :Int64;
  tooLittle @1 :List(ResourceKind);    # At most 4: not offered until the agent has more of these.
  wrongAgent @2 :Bool;                 # Until the agent registers with other attributes.
}

# --- tasks ----------------------------------------------------------------------------------------

enum TaskState {
  staging @0; running @1; killing @2; unreachable @3;
  finished @4; failed @5; killed @6; lost @7; gone @8; refused @9;  # These are terminal.
}

# Why a task is in its state; proto/task_state.h describes each reason.
enum TaskReason {
  none @0; commandExited @1; commandSignalled @2; killedByScheduler @3; killedByOperator @4;
  frameworkTornDown @5; launchFailed @6; executorEnded @7; executorTimeout @8; agentRestarted @9;
  agentUnreachable @10; agentReturned @11; agentRemoved @12; agentForgot @13; taskUnknown @14;
  duplicateTaskId @15; offerNotValid @16; resourcesExceeded @17; agentNotAvailable @18;
  portsNotAvailable @19; taskInvalid @20; agentFull @21;
  revoked @22; drained @23; gangIncomplete @24;  # Of version 2.
  outOfMemory @25; fetchFailed @26; ranTooLong @27; outOfDisk @28; notAsked @29;
  notStarted @30;  # Of version 3.
}

# The maker of an update.
enum UpdateSource { agent @0; master @1; }

# A variable of a task's environment.
struct Variable {
  name @0 :Text;   # At least one byte, without '=' and NUL.
  value @1 :Text;  # Without NUL.
}

# A label of a task, from the framework; it is returned with each status.
struct Label {
  name @0 :Text;   # name, at most 63 bytes
  value @1 :Text;  # At most 256 bytes of UTF-8 without control characters; may be empty.
}

struct TaskSpec {
  id @0 :Text;             # name, unique within the framework
  ask @1 :Text;            # optional name: the ask that it fills
  shape @2 :Amounts;       # The master chooses devices and ports.
  command @3 :Text;        # A shell command line for builtin:command; at most 64 KiB, without NUL.
  environment @4 :List(Variable);  # At most 1024 and 256 KiB in all, sorted by name.
  portNames @5 :List(Text);        # At most 64 names; each gets a free port, in $PORT_<name>.
  # "builtin:command", "builtin:batch" or a shell command line; 1 byte to 64 KiB, no NUL.
  executor @6 :Text;
  executorId @7 :Text;     # optional name: tasks with the same id share an executor
  killGraceNanos @8 :Int64;# nanos from the first signal of a kill to SIGKILL
  data @9 :Data;           # For the executor; at most 512 KiB.
  health @10 :HealthCheck; # Absent: there is no health check.
  # The user that it runs as; only from a framework that serves users. Empty: the framework's.
  user @11 :Text;
  fetch @12 :List(FetchedFile);  # At most 64; put into the sandbox before the task starts.
  maxRunNanos @13 :Int64;  # nanos from its start, then it is killed; 0: no limit
  killSignal @14 :Int32 = 15;    # The first signal of a kill: 1 to 31, neither SIGKILL nor SIGSTOP.
  readiness @15 :Readiness;      # For builtin:command. Absent: readiness is not tested.
  labels @16 :List(Label);       # At most 32 and 4 KiB together, sorted by name.
  # At most 32 of the task's user; only for builtin:command with its own executor. The master gives
  # them only to agents with takesSecrets.
  secrets @17 :List(SecretUse);
  staticPorts @18 :List(NamedPort);  # Ports of portNames with a given number; sorted by name.
}

# How a task gets a secret: one of the two is not empty.
struct SecretUse {
  name @0 :Text;      # name, at most 63 bytes; unique within a task
  variable @1 :Text;  # Environment variable; optional, at most 63 bytes.
  file @2 :Text;      # In memory, in `secrets` of the sandbox; optional name.
}

# From the master to the agent, and from there to the executor; never written to a disk.
struct SecretValue {
  name @0 :Text;   # name
  value @1 :Data;  # at most 16 KiB
}

# When a task is ready to do its work: it has run for this time, and its own processes listen on
# each of these ports.
struct Readiness {
  ports @0 :List(Text);   # At most 64 of TaskSpec.portNames; TCP, on any address.
  afterNanos @1 :Int64;   # nanos from the task's start
}

# A file that the agent puts into a task's sandbox.
struct FetchedFile {
  uri @0 :Text;         # 1 byte to 4 KiB, without NUL.
  sha256 @1 :Text;      # Empty, or 64 of 0-9 a-f: other content is refused.
  # In the sandbox, at most 255 bytes, without '/'. Empty: the last part of the URI.
  name @2 :Text;
  isExecutable @3 :Bool;
  isExtracted @4 :Bool; # An archive: its files are put there instead of itself.
  isCached @5 :Bool = true;  # The agent may keep it for other tasks.
}

enum HealthCheckKind { http @0; tcp @1; command @2; }

# The test by the executor whether a task does its work.
struct HealthCheck {
  kind @0 :HealthCheckKind;
  port @1 :Text;     # name, one of TaskSpec.portNames; for http and tcp
  path @2 :Text;     # For http: from '/', at most 1024 bytes without space and control characters.
  command @3 :Text;  # For command: as TaskSpec.command, not empty.
  intervalNanos @4 :Int64;  # nanos, not 0
  timeoutNanos @5 :Int64;   # nanos, not 0
  graceNanos @6 :Int64;     # nanos from the task's start
  failures @7 :Int64;       # 1 to 1000, consecutive
}

# A dynamic port, and the name under which the task asked for it.
struct NamedPort {
  name @0 :Text;    # name
  port @1 :UInt16;  # 1 to 65535
}

# The resources that a task takes from its agent, and the values that decide whether it may be
# preempted.
struct TaskClaim {
  slices @0 :List(Slice);  # At most 64, without ports.
  role @1 :Text;           # the role in which it counts
  priority @2 :Int32;      # Within its framework.
  band @3 :Band = batch;
  gang @4 :UInt64;         # Not zero: the tasks of its framework with this number are a gang.
  maxRunNanos @5 :Int64;   # nanos, then it is killed; 0: no limit
}

# The master's choices for a task.
struct Assignment {
  resources @0 :Resources;
  ports @1 :List(NamedPort);  # At most 64, sorted by name.
  # The agent keeps it and sends it when it registers. Absent: only the resources are known.
  claim @2 :TaskClaim;
  # The user that the task runs as; at most 128 bytes. Absent: older masters do not give it.
  user @3 :Text;
  launchedNanos @4 :Int64;  # time, by the master's clock; 0: not given
  # Proves to a later master that this agent received this task; at most 64 bytes. The agent keeps
  # it and sends it when it registers. Empty: the master made none.
  ticket @5 :Text;
}

# One update of a task. Sent until acknowledged; at least once and in order of `sequence` for each
# source.
struct TaskStatus {
  task @0 :Text;       # name
  agent @1 :Text;      # optional name; absent if the task was never sent to an agent
  state @2 :TaskState;
  reason @3 :TaskReason;
  source @4 :UpdateSource;
  # From the agent: 1, 2, … for each launch. From the master: rising over all its lives. From an
  # executor: its own count. 0: an answer to reconcile, which is not acknowledged.
  sequence @5 :UInt64;
  message @6 :Text;    # words
  data @7 :Data;       # From the executor to its scheduler; at most 16 KiB.
  hasExitCode @8 :Bool;
  exitCode @9 :Int32;  # Of the command; only with hasExitCode.
  hasSignal @10 :Bool;
  signal @11 :Int32;   # The signal that ended the command; only with hasSignal.
  atNanos @12 :Int64;  # time, by the clock of the source
  hasHealthy @13 :Bool;
  healthy @14 :Bool;   # From its health check; only with hasHealthy.
  usage @15 :TaskUsage;  # With a terminal update, from the agent. Absent: not counted.
  hasReady @16 :Bool;
  ready @17 :Bool;     # From TaskSpec.readiness; only with hasReady.
  labels @18 :List(Label);  # TaskSpec.labels, from the master; agents and executors leave them out
}

# The resources that a task used from its start to its end, counted by the kernel for the group of
# its executor. Each is 0 or more; -1: not counted.
struct TaskUsage {
  cpuNanos @0 :Int64 = -1;
  throttledNanos @1 :Int64 = -1;    # Time that it waited because of its CPU limit.
  memoryPeakBytes @2 :Int64 = -1;
  outOfMemory @3 :Int64 = -1;       # Processes that were killed for lack of memory.
  readBytes @4 :Int64 = -1;         # From block devices.
  writtenBytes @5 :Int64 = -1;      # To block devices.
}

# --- scheduler to master --------------------------------------------------------------------------

# First message of a session. With a framework id it fails over to this session; the secret must be
# that of the first session. Without an id, the same secret finds the framework that it made before.
struct Subscribe {
  framework @0 :Text;  # optional name
  name @1 :Text;       # name
  role @2 :Text;       # role
  mode @3 :OfferMode;
  secret @4 :Text;     # secret
  # nanos for which tasks survive without a scheduler; 0: they do not, and nothing is durable
  failoverNanos @5 :Int64;
  user @6 :Text;       # The user that runs it, for people; at most 128 bytes.
  # It runs tasks as the users that sent it requests. Operators only.
  servesUsers @7 :Bool;
  # Its store keeps an entry of each task that it launches; requires failoverNanos above 0.
  remembersTasks @8 :Bool;
  cluster @9 :Text;  # Of the framework, if it has been in one: 32 hexadecimal digits.
  # It takes over the framework of this name and user when that has no scheduler; requires
  # failoverNanos above 0.
  standsBy @10 :Bool;
}

# All asks of the framework; they replace the earlier ones.
struct DeclareAsks {
  generation @0 :UInt64;  # Rises within a framework's process.
  asks @1 :List(Ask);     # At most 256.
}

struct Launch {
  agent @0 :Text;            # name
  tasks @1 :List(TaskSpec);  # At most 1024.
}

# These amounts of the offers of this agent become reserved for this role, or unreserved.
struct Reserve {
  agent @0 :Text;       # name
  role @1 :Text;        # role, the framework's own or below it
  amounts @2 :Amounts;
}

struct Operation {
  union {
    launch @0 :Launch;
    none @1 :Void;  # Never sent.
    reserve @2 :Reserve;    # Of version 2.
    unreserve @3 :Reserve;  # Of version 2.
  }
}

# Uses offers of one agent or several; operations use the offers of their agent. The rest is
# declined.
struct Accept {
  offers @0 :List(UInt64);         # At most 1024, none zero.
  operations @1 :List(Operation);  # At most 1024.
  refusal @2 :Refusal;             # For the rest of the offers.
}

struct Decline {
  offers @0 :List(UInt64);  # At most 1024, none zero.
  refusal @1 :Refusal;
}

struct KillTask {
  framework @0 :Text;          # optional name; absent and ignored from a scheduler
  task @1 :Text;               # name
  graceNanos @2 :Int64 = -1;   # nanos; -1: the task's own
}

# Acknowledges the update (source, sequence) and all earlier ones of that source and task.
struct Acknowledge {
  framework @0 :Text;  # optional name; absent and ignored from a scheduler
  task @1 :Text;       # name
  agent @2 :Text;      # optional name, as in the update
  source @3 :UpdateSource;
  sequence @4 :UInt64;
}

# Explicit: asks for the states of these tasks. Without tasks: of all that the master knows. The
# answers are updates with sequence 0.
struct Reconcile {
  tasks @0 :List(Text);  # At most 1024 names.
  # None, or one for each task: the agent where the framework expects it; empty: unknown.
  agents @1 :List(Text);
}

# The known states of all tasks of a Reconcile have been reported.
struct Reconciled {
  # Admitted agents that have not registered with this master yet, and may have further tasks. If
  # there are any, the rest is reported later, followed by another message with 0.
  missingAgents @0 :UInt32;
}

# A standby's answer to any message; its leader epoch is 0. It ends the session.
struct NotLeader {
  # The leader's address, as the leader gives it, at most 264 bytes; empty: unknown.
  leader @0 :Text;
}

# Bytes between a scheduler and its executor, best effort.
struct FrameworkMessage {
  framework @0 :Text;    # optional name; absent and ignored from a scheduler
  agent @1 :Text;        # optional name; absent from an executor, whose agent adds it
  executor @2 :Text;     # name
  toScheduler @3 :Bool;
  data @4 :Data;         # At most 512 KiB.
}

enum StoreOperationKind { get @0; put @1; delete @2; list @3; }

struct StoreOperation {
  kind @0 :StoreOperationKind;
  # Names joined by '/', at most 512 bytes. For list: the prefix of keys, at most 512 bytes of any
  # kind.
  key @1 :Text;
  value @2 :Data;          # For put; at most 256 KiB.
  hasExpected @3 :Bool;
  expected @4 :UInt64;     # For put and delete; only with hasExpected.
  after @5 :Text;          # For list; at most 512 bytes.
}

# All operations are done, or none.
struct StoreRequest {
  id @0 :UInt64;                         # Returned in the result.
  operations @1 :List(StoreOperation);   # 1 to 256, and at most 512 KiB of keys and values.
}

struct FrameworkResponse {
  relay @0 :UInt64;        # Of the request.
  data @1 :Data;           # At most 256 KiB.
  error @2 :ErrorMessage;  # Absent: success.
}

# --- master to scheduler --------------------------------------------------------------------------

# A request of a user to the framework.
struct FrameworkRequest {
  relay @0 :UInt64;        # The master's number for it.
  id @1 :Text;             # name, chosen by the caller; an id is done only once
  principal @2 :Text;      # The user that sent it, for people; at most 128 bytes.
  data @3 :Data;           # At most 256 KiB.
  timeoutNanos @4 :Int64;  # nanos
  isOperator @5 :Bool;     # The user is an operator and may do everything.
  role @6 :Text;           # role that the caller named, and may use; empty: none
}

struct StoreResult {
  id @0 :UInt64;
  outcomes @1 :List(Outcome);  # At most 256: one for each operation, or none with an error.
  error @2 :ErrorMessage;      # Nothing was done.

  struct Outcome {
    version @0 :UInt64;        # Of the entry now; 0: there is none.
    value @1 :Data;            # For get; at most 256 KiB.
    entries @2 :List(Entry);   # For list; at most 1024, sorted by key.
    more @3 :Bool;             # For list: more keys follow.
  }
  struct Entry {
    key @0 :Text;              # As in StoreOperation.
    version @1 :UInt64;
  }
}

struct Subscribed {
  framework @0 :Text;        # name
  session @1 :UInt64;        # Counts the sessions of this framework.
  failedOver @2 :Bool;       # The framework was known; it reconciles.
  heartbeatNanos @3 :Int64;  # nanos, the longest time between two messages
  timeoutNanos @4 :Int64;    # nanos; after this silence a peer counts as lost
  missingAgents @5 :UInt32;  # As in Reconciled.
  cluster @6 :Text;          # As in Subscribe; empty: the master gives none.
}

struct Offers {
  offers @0 :List(Offer);  # At most 256.
}

# These offers are no longer valid.
struct Rescind {
  offers @0 :List(UInt64);  # At most 1024, none zero.
}

enum RevokeReason { reclaimed @0; draining @1; lent @2; estimate @3; }

# These tasks must end; those that have not at the deadline are killed.
struct RevokeNotice {
  tasks @0 :List(Text);     # 1 to 1024 names
  agent @1 :Text;           # name of the agent on which they run
  reason @2 :RevokeReason;
  beneficiary @3 :Text;     # optional role that waits for their resources
  graceNanos @4 :Int64;     # nanos, from the time when the master sent it
}

# These tasks need not end any more: their revoke notice is cancelled.
struct RevokeWithdrawn {
  tasks @0 :List(Text);     # 1 to 1024 names
  agent @1 :Text;           # name of the agent on which they run
}

struct Update {
  framework @0 :Text;       # name
  status @1 :TaskStatus;
}

# The asks that no agent could ever meet; sent when this changes.
struct AskReport {
  generation @0 :UInt64;  # Of the declaration with these asks.
  rows @1 :List(Row);     # At most 256.

  struct Row {
    ask @0 :Text;             # name
    couldEverFit @1 :Bool;
    why @2 :Text;             # words, if it could not be declared
  }
}

# An agent or an executor of this framework has ended. Its tasks have their own updates.
struct Failure {
  agent @0 :Text;     # name
  executor @1 :Text;  # optional name; absent: the whole agent
  message @2 :Text;   # words
}

enum ErrorCode {
  invalidArgument @0; notFound @1; alreadyExists @2; failedPrecondition @3; resourceExhausted @4;
  unavailable @5; timeout @6; corruption @7; unsupported @8; internal @9;
  permissionDenied @10;  # Of version 3.
}

# The typed refusal of the last message, or of the session.
struct ErrorMessage {
  code @0 :ErrorCode;
  message @1 :Text;      # words
  hint @2 :Text;         # words: the remedy; may be empty
  endsSession @3 :Bool;  # The sender reads nothing more from this connection.
  retry @4 :Bool;        # Whether a new session can help.
  # To an agent: all of its tasks were reported as ended. It ends them, and does not come back with
  # this work directory.
  endsTasks @5 :Bool;
}

# --- agent and master -----------------------------------------------------------------------------

# A task as its agent knows it.
struct AgentTask {
  framework @0 :Text;   # name
  task @1 :Text;        # name
  ask @2 :Text;         # optional name
  executor @3 :Text;    # optional name
  state @4 :TaskState;  # From the last update that was made, acknowledged or not,
  sequence @5 :UInt64;  # and its number.
  resources @6 :Resources;
  unacknowledged @7 :List(TaskStatus);  # At most 64.
  claim @8 :TaskClaim;  # As the master assigned it; absent: the master gave none.
  user @9 :Text;        # The user that it runs as; empty: its master did not give it.
  command @10 :Text;    # Its beginning, at most 200 bytes.
  launchedNanos @11 :Int64;  # As in Assignment.
  labels @12 :List(Label);   # TaskSpec.labels
  ticket @13 :Text;          # As in Assignment.
}

# First message of an agent's session. The agent is served when its tasks have arrived too.
struct RegisterAgent {
  agent @0 :Text;                  # name
  secret @1 :Text;                 # secret
  attributes @2 :List(Attribute);  # At most 64, sorted by name.
  slices @3 :List(Slice);          # At most 64.
  ports @4 :List(PortRange);       # As in Resources.
  httpAddress @5 :Text;            # of its files: host:port or a socket's path; at most 264 bytes
  tasksFollow @6 :UInt32;          # 0 to 10,000 registerTasks messages
  # If it differs from the last registration, the agent may have forgotten what it received, because
  # of a reboot or a damaged checkpoint. 0: unknown.
  memory @7 :UInt32;
  limits @8 :Text;  # Limits that it enforces for tasks, and which not; for people; at most 512
                    # bytes.
  trouble @9 :Text;  # As AgentTrouble.why.
  cluster @10 :Text;  # The cluster whose tasks it has, as in Subscribe; empty: it has none.
  files @11 :FileService;  # For other machines. Absent: only for its own machine.
  boot @12 :UInt64;  # Differs for each boot of each machine; 0: unknown.
  takesSecrets @13 :Bool;  # It supports TaskSpec.secrets.
  keepsTickets @14 :Bool;  # It supports Assignment.ticket.
}

# The address at which an agent serves the files of its tasks to other machines: over TLS, to
# clients with a token that the master makes.
struct FileService {
  address @0 :Text;   # host:port, at most 264 bytes
  # SHA-256 of the public key of its certificate (SubjectPublicKeyInfo), in base64: 44 characters.
  # Clients accept no other key.
  pin @1 :Text;
  tokenKey @2 :Text;  # secret with which this life of the agent checks the master's tokens
  clock @3 :Int64;    # the agent's clock now; tokens give their end by this clock
}

# Whether the agent takes new tasks. Running tasks continue.
struct AgentTrouble {
  why @0 :Text;  # The reason why it takes none; at most 512 bytes. Empty: it takes tasks.
}

struct RegisterTasks {
  tasks @0 :List(AgentTask);  # At most 1024.
}

struct AgentRegistered {
  agent @0 :Text;            # name
  session @1 :UInt64;        # Counts the sessions of this agent.
  heartbeatNanos @2 :Int64;  # As in Subscribed.
  timeoutNanos @3 :Int64;
  cluster @4 :Text;          # As in Subscribed.
}

struct RunTask {
  framework @0 :Text;         # name
  spec @1 :TaskSpec;
  assignment @2 :Assignment;
  becomes @3 :ExecutorPlace;  # agent to executor only; null: the executor stays as it is
  # The values of spec.secrets, at most 32. A restarted agent has none.
  secrets @4 :List(SecretValue);
  # Agent to executor only: the run to which the task belongs; 0: an agent of the previous version.
  run @5 :UInt64;
}

# An executor of commands whose task has ended may run the next one of the same framework and user.
struct ExecutorPlace {
  executor @0 :Text;  # name
  sandbox @1 :Text;   # a path
}

# All executors and tasks of this framework end, with grace.
struct ShutdownFramework {
  framework @0 :Text;  # name
}

# The framework no longer needs the files of tasks and executors whose ids begin with one of these
# texts, and will not launch such tasks again. Agents remove their sandboxes when all of them there
# have ended and their ends are acknowledged, except the output of failed tasks.
struct ReleaseFiles {
  framework @0 :Text;     # optional name; absent and ignored from a scheduler
  begins @1 :List(Text);  # 1 to 64 names
  agents @2 :List(Text);  # At most 1024 names: where they were launched; none: all agents.
}

# --- executor and agent ---------------------------------------------------------------------------

# First message of an executor's session.
struct ExecutorHello {
  framework @0 :Text;  # name
  executor @1 :Text;   # name
  token @2 :Text;      # secret, from the executor's environment
  run @3 :UInt64;      # Its run: of its last task, else of its start; 0: unknown.
  # `runs` are all tasks that run in it, and the last ones that have ended. False from executors of
  # the previous version, and if there are more than 1024.
  tellsRuns @4 :Bool;
  runs @5 :List(ExecutorRun);  # At most 1024; only with tellsRuns.
}

# A task that runs in an executor, or has ended there.
struct ExecutorRun {
  task @0 :Text;            # name
  run @1 :UInt64;           # As RunTask.run.
  ended @2 :Bool;
  acknowledged @3 :UInt64;  # Number of the last update that an agent acknowledged; 0: none.
  status @4 :TaskStatus;    # That update; null if there is no room for it.
}

struct ExecutorWelcome {
  session @0 :UInt64;        # Counts the sessions of this executor.
  heartbeatNanos @1 :Int64;  # As in Subscribed.
  timeoutNanos @2 :Int64;
}

# An update of a task. The agent adds source and sequence, and acknowledges the executor's own
# sequence.
struct ExecutorUpdate {
  status @0 :TaskStatus;
  takesAnother @1 :Bool;  # with the end of its only task: it waits for the next one
}

# --- all peers ------------------------------------------------------------------------------------

# CLI to master: a method of the API.
struct Call {
  id @0 :UInt64;    # Chosen by the caller, returned in the reply.
  method @1 :Text;  # name
  json @2 :Text;    # Its arguments; at most 768 KiB.
}

struct Reply {
  id @0 :UInt64;
  json @1 :Text;            # At most 768 KiB; empty with an error.
  # The beginning of the next page, at most 512 bytes; empty: this was the last.
  next @2 :Text;
  error @3 :ErrorMessage;   # Absent: success.
}

# --- the master's registry ------------------------------------------------------------------------

# A row of the registry, under its table and key. A later row of the same key replaces it.
struct RegistryRow {
  union {
    framework @0 :FrameworkRecord;
    agent @1 :AgentRecord;
    role @2 :RoleRecord;
    store @3 :StoreRecord;
    reservation @4 :ReservationRecord;  # Of version 2.
    key @5 :KeyRecord;
    cluster @6 :ClusterRecord;
    secret @7 :SecretRecord;
  }
}

# A secret of a user, encrypted by the master. In "secrets", by its owner, '/', and its name.
struct SecretRecord {
  owner @0 :Text;       # A user; 1 to 128 bytes, without '/'.
  name @1 :Text;        # name, at most 63 bytes
  # XChaCha20-Poly1305: a nonce of 24 bytes, then the value and its authentication code, which also
  # covers owner and name.
  sealed @2 :Data;
  keyId @3 :Text;       # Id of the key file: 16 hexadecimal digits.
  sinceNanos @4 :Int64; # time when this value was set
}

enum KeyKind {
  agent @0;
  user @1;
}

# A key of an agent or a user on another machine, or a join token. In "keys", by its public half.
struct KeyRecord {
  key @0 :Text;              # The public half: 40 characters of Z85.
  kind @1 :KeyKind;
  name @2 :Text;             # name of the agent or user
  sinceNanos @3 :Int64;      # time
  by @4 :Text;               # The user that made the token; at most 128 bytes.
  token @5 :Bool;            # A join token: it may be used once to register a key.
  tokenUntilNanos @6 :Int64; # time; only with token
  runsAs @7 :Text;           # For an agent: the user that it runs as; at most 128 bytes.
  # The key that becomes invalid when this one is first used: 40 characters of Z85; optional, never
  # with token.
  replaces @8 :Text;
}

# The cluster of this registry, and those of its masters that have led. In "cluster", by "id".
struct ClusterRecord {
  cluster @0 :Text;  # 32 hexadecimal digits
  # At most 16, in order of lastEpoch. Older masters leave it unchanged.
  led @1 :List(LedMaster);
}

# A master that has led; its history covers that time.
struct LedMaster {
  master @0 :Text;       # 32 hexadecimal digits, from its data directory
  name @1 :Text;         # Its address; at most 264 bytes.
  firstEpoch @2 :UInt64; # Above 0.
  lastEpoch @3 :UInt64;  # Not below firstEpoch.
  sinceNanos @4 :Int64;  # time; the beginning of firstEpoch, by its own clock
  over @5 :Bool;         # Another master has led since.
  untilNanos @6 :Int64;  # time; only with over: when the next master led, by that one's clock
}

# A part of an agent that is reserved for a role, in addition to the agent's own reservations. In
# "reservations", by the agent's name, '/', and the role.
struct ReservationRecord {
  agent @0 :Text;           # name
  role @1 :Text;            # role
  resources @2 :Resources;  # Without ports.
}

# An entry of a framework's store. In "store", by its framework's id, '/', and its key.
struct StoreRecord {
  framework @0 :Text;  # name
  key @1 :Text;        # As in StoreOperation.
  value @2 :Data;      # At most 256 KiB.
  version @3 :UInt64;
}

# A framework with a failover timeout above zero. In "frameworks", by its id. Fields as in
# Subscribe.
struct FrameworkRecord {
  framework @0 :Text;  # name
  name @1 :Text;
  role @2 :Text;
  mode @3 :OfferMode;
  secret @4 :Text;
  failoverNanos @5 :Int64;
  user @6 :Text;
  servesUsers @7 :Bool;
  users @8 :List(Text);  # Users that sent it requests, if it serves users; at most 1024, sorted.
  remembersTasks @9 :Bool;
  ticketKey @10 :Text;  # secret; empty: an older master made it
}

# An admitted agent. In "agents", by its name.
struct AgentRecord {
  agent @0 :Text;        # name
  secret @1 :Text;       # secret
  unreachable @2 :Bool;  # It was past its timeout and has not come back.
  # It is drained: it is not offered, and its tasks are killed at this time.
  draining @3 :Bool;
  drainedByNanos @4 :Int64;  # time; only with draining
  # Differs for each admission of the agent, also after a removal; 0: admitted by an old master.
  admission @5 :UInt64;
  # An operator declared it gone. Masters of the previous version treat it as unreachable.
  gone @6 :Bool;
  goneAtNanos @7 :Int64;  # time; only with gone
  # Secrets of earlier agents of this name that were declared gone; at most 8, newest last.
  goneSecrets @8 :List(Text);
}

# An amount of one kind.
struct KindAmount {
  kind @0 :ResourceKind;
  milli @1 :Int64;  # amount
}

# A role with its own settings. In "roles", by its name.
struct RoleRecord {
  role @0 :Text;     # role
  weight @1 :Int64;  # 1 to 1,000,000 milli-weights
  # Each at most 4, sorted by kind. A kind that is not named is not bounded.
  guarantee @2 :List(KindAmount);
  limit @3 :List(KindAmount);
  users @4 :List(Text);  # Users that may start frameworks in it; at most 256, sorted. None: all.
}

# --- the master's history -------------------------------------------------------------------------

# An entry of the master's history, in the order in which they were written.
struct HistoryRecord {
  union {
    task @0 :EndedTask;
    roleUse @1 :RoleUse;
    lifeBegan @2 :LifeBegan;
    lifeEnded @3 :LifeEnded;
    gap @4 :HistoryGap;
    roleWait @5 :RoleWait;
  }
}

# A task that has ended and whose end its scheduler knows, or a launch that was refused.
struct EndedTask {
  framework @0 :Text;       # name
  frameworkName @1 :Text;   # At most 128 bytes. Absent: unknown to the master.
  role @2 :Text;            # optional role
  user @3 :Text;            # At most 128 bytes.
  command @4 :Text;         # At most 4 KiB; masters cut it to the part that they show.
  ask @5 :Text;             # optional name
  amounts @6 :Amounts;
  launchedNanos @7 :Int64;  # time
  status @8 :TaskStatus;    # Of its end, without data.
  waited @9 :List(WaitSpan);  # Each reason at most once, in order; at most 64.
}

# The use of a role's tasks in a period.
struct RoleUse {
  role @0 :Text;          # role
  fromNanos @1 :Int64;    # time
  untilNanos @2 :Int64;   # time, not before
  seconds @3 :Amounts;   # Milli-units times seconds: 1000 of cpus are one CPU for a second.
}

# How long a task waited for this reason.
struct WaitSpan {
  reason @0 :WaitReason;
  nanos @1 :Int64;       # More than 0.
}

# How long the tasks of a role waited in a period, summed by reason.
struct RoleWait {
  role @0 :Text;         # role
  fromNanos @1 :Int64;   # time
  untilNanos @2 :Int64;  # time, not before
  waited @3 :List(WaitSum);  # Each reason at most once, in order; at most 64.
}

struct WaitSum {
  reason @0 :WaitReason;
  millis @1 :Int64;      # Of all tasks together; not less than 0.
  tasks @2 :Int64;       # Tasks that waited for it at the end of the period; not less than 0.
}

# In the order of common/wait_reason.h.
enum WaitReason {
  start @0;
  scheduler @1;
  decision @2;
  suppressed @3;
  backOff @4;
  impossible @5;
  agentMissing @6;
  recovering @7;
  limit @8;
  guarantees @9;
  entitlement @10;
  declined @11;
  locality @12;
  spread @13;
  ports @14;
  gang @15;
  turn @16;
  owed @17;
  claim @18;
  offers @19;
  fragmentation @20;
  borrowed @21;
  share @22;
}

struct LifeBegan {
  leader @0 :UInt64;   # Its leader epoch.
  atNanos @1 :Int64;   # time
}

# The master ended in order, so nothing is missing before this entry.
struct LifeEnded {
  atNanos @0 :Int64;   # time
}

# Tasks that ended in this period may be missing.
struct HistoryGap {
  fromNanos @0 :Int64;    # time
  untilNanos @1 :Int64;   # time, not before
  lost @2 :UInt64;        # Number of entries known to be lost; 0: unknown.
}

# --- the agent's checkpoint -----------------------------------------------------------------------

# An entry of the agent's log; entries are in the order of events.
struct CheckpointRecord {
  union {
    identity @0 :AgentIdentity;
    executor @1 :ExecutorRecord;
    executorGone @2 :ExecutorGone;
    task @3 :TaskRecord;
    update @4 :UpdateRecord;
    acknowledged @5 :AcknowledgedRecord;
  }
}

# The identity with which the agent registers.
struct AgentIdentity {
  agent @0 :Text;     # name
  secret @1 :Text;    # secret
  leader @2 :UInt64;  # The highest leader epoch that it has seen; older ones are refused.
  place @3 :Text;     # Boot and inode of its work directory; a copy has others. At most 128 bytes.
  cluster @4 :Text;   # As in RegisterAgent.
  # A new random number each time that an executor reported state that this log had lost; 0: never.
  # It is a part of RegisterAgent.memory.
  memory @5 :UInt32;
  # In a compacted log: the number of records that follow; fewer: it was cut. 0: unknown.
  records @6 :UInt32;
  # The log lost its end (1) or has gaps (2), and the agent has not yet ended everything that the
  # log may not name. 0: nothing is lost.
  remembered @7 :UInt8;
}

# An executor is about to be started, or was started.
struct ExecutorRecord {
  framework @0 :Text;     # name
  executor @1 :Text;      # name
  token @2 :Text;         # secret
  run @3 :UInt64;         # Numbers the executors' sandboxes on this agent.
  pid @4 :Int32;          # 0: not started yet.
  startTicks @5 :UInt64;  # Clock ticks from boot to the start of pid; both identify a process.
  bootId @6 :Text;        # Id of the boot; at most 128 bytes.
  program @7 :Text;       # As TaskSpec.executor.
  own @8 :Bool;           # For a single task.
  # From a damaged checkpoint, which does not name all its tasks. The executor is to be ended, not
  # to be used again.
  leftover @9 :Bool;
  user @10 :Text;  # As Assignment.user.
  fetching @11 :Bool;  # Files of its tasks are being fetched; it is not started yet.
}

struct ExecutorGone {
  framework @0 :Text;  # name
  executor @1 :Text;   # name
}

# A task was received.
struct TaskRecord {
  framework @0 :Text;  # name
  spec @1 :TaskSpec;
  assignment @2 :Assignment;
  executor @3 :Text;   # name of the executor that runs it
  run @4 :UInt64;      # The run of its executor; 0: the next one, which has not begun yet.
}

# An update was made and must be acknowledged.
struct UpdateRecord {
  framework @0 :Text;  # name
  status @1 :TaskStatus;
  executorSequence @2 :UInt64;  # The executor's own count, if it gave one.
}

# All updates of a task up to `sequence` were acknowledged. The task is forgotten with its last one.
struct AcknowledgedRecord {
  framework @0 :Text;  # name
  task @1 :Text;       # name
  sequence @2 :UInt64;
}
