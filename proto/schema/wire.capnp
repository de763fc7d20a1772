@0xd2f3b8a1c6e94d57;

# The protocol of Proffer: what masters, agents, schedulers, executors and the CLI say to each
# other, and the durable records in which the master and the agents say things to their later
# selves. This file is the specification; proto/messages.h and proto/records.h are the same as plain
# values.
#
# Frames. One ZeroMQ message part is one frame: an Envelope in Cap'n Proto's unpacked stream
# encoding (segment table and segments, at most 64), at most 1 MiB, a multiple of 8 bytes, nothing
# after it. Receivers copy frames that are not aligned to 8 bytes.
#
# Everything has a bound; the number is given here and its reason in common/limits.h. A receiver
# refuses a frame that breaks one, answers with `error`, and ends the session. Where nothing else is
# said:
#
#   name       Text of 1 to 128 of A-Z a-z 0-9 . _ - and not "." or ".."
#   role       names joined by '/', at most 512 bytes
#   secret     32 of 0-9 a-f
#   nanos      Int64, a span of time in nanoseconds, 0 to ten years
#   time       Int64, nanoseconds since 1970 UTC, not negative
#   amount     Int64, milli-units, 0 to 2^50: 1 CPU, 1 MiB and 1 GPU are 1000 each
#   words      Text for people, at most 4 KiB of any bytes; senders cut longer ones
#   optional   an empty Text or a zero number where a name, role or number is meant: there is none
#   sorted     in strictly rising order of the named field, so that nothing is there twice
#
# Versions. `version` comes first and stays where it is. A receiver refuses a version that it does
# not speak with an `error` that names both. Within a version, fields and union members are only
# added at the end. A message that the receiver does not know is counted and ignored. An enumerator,
# an operation or a record that it does not know makes the frame wrong, because guessing would
# change its meaning: raise the version to add one.
#
# A version works with those before it. A connection speaks the lower one of its two ends: the end
# that was dialled answers in the version that it heard; the end that dialled begins with its own
# and, if that is refused as `unsupported`, connects again in the version of the refusal, or (an
# executor, whose agent refuses with silence) with the one before. In a lower version, words that it
# lacks are replaced by the nearest that it has (proto/versions.h). Calls and replies are the same
# in all versions and go as the first.
#
# Version 2 added: the task reasons from `revoked` on, the operations reserve and unreserve, the
# reservation record. Version 3 added: the task reasons from `outOfMemory` on, the error code
# permissionDenied. Some programs of version 2 know these, too, and say them (docs/adr/0063).

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("proffer::wire");

struct Envelope {
  version @0 :UInt32;   # kProtocolVersion of the sender.
  # Leader epoch: a master's own, or the highest that the sender has seen; 0: none yet.
  leader @1 :UInt64;
  # Of this frame on this connection and direction: 1, 2, … A gap ends the connection.
  sequence @2 :UInt64;

  union {
    none @3 :Void;  # Never sent; ignored like a message that is not known.

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
    teardown @14 :Void;           # The framework ends: its tasks are killed, its id is forgotten.

    # Master to scheduler.
    subscribed @15 :Subscribed;
    offers @16 :Offers;
    rescind @17 :Rescind;
    update @18 :Update;           # Also agent to master.
    askReport @19 :AskReport;
    failure @20 :Failure;
    error @21 :ErrorMessage;      # To anybody.

    # Agent and master.
    registerAgent @22 :RegisterAgent;
    registerTasks @23 :RegisterTasks;
    unregisterAgent @24 :Void;    # The agent leaves for good; it runs nothing.
    agentRegistered @25 :AgentRegistered;
    runTask @26 :RunTask;         # Also agent to executor.
    shutdownFramework @27 :ShutdownFramework;

    # Executor and agent.
    executorHello @28 :ExecutorHello;
    executorWelcome @29 :ExecutorWelcome;
    executorUpdate @30 :ExecutorUpdate;
    executorShutdown @31 :Void;   # The executor ends its tasks, with grace, and itself.

    # Everybody.
    heartbeat @32 :Void;          # Sent when there is nothing else to say. Any message shows life.
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
    notLeader @42 :NotLeader;                  # Master to anybody.
    releaseFiles @43 :ReleaseFiles;            # Scheduler to master, and master to agent.
    revokeWithdrawn @44 :RevokeWithdrawn;      # Master to scheduler.
  }
}

# --- resources ------------------------------------------------------------------------------------

enum ResourceKind { cpus @0; mem @1; disk @2; gpus @3; }

# Amounts of all kinds. Absent where a field of this type is not set: all zero.
struct Amounts {
  cpus @0 :Int64;  # amount
  mem @1 :Int64;   # amount
  disk @2 :Int64;  # amount
  gpus @3 :Int64;  # amount
}

# A GPU device of an agent, or a part of one.
struct GpuDevice {
  index @0 :UInt8;   # 0 to 63, as the agent counts them.
  milli @1 :UInt16;  # 1 to 1000 thousandths of it.
}

struct PortRange {
  first @0 :UInt16;  # 1 to 65535
  last @1 :UInt16;   # first to 65535; included
}

# Amounts with the devices and ports that they stand for.
struct Resources {
  amounts @0 :Amounts;
  # At most 64, sorted by index. If there are any, they sum up to amounts.gpus.
  gpus @1 :List(GpuDevice);
  ports @2 :List(PortRange);  # At most 256, sorted, with a gap between each two.
}

# A part of one agent's resources with one reservation state.
struct Slice {
  resources @0 :Resources;
  reservedFor @1 :Text;  # optional role
  revocable @2 :Bool;    # May be taken back with a revoke notice.
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

# At most so many tasks of an ask on agents with the same value of an attribute.
struct MaxPer {
  attribute @0 :Text;  # name; "host" is the agent's
  count @1 :Int64;     # 1 to 10,000,000
}

# Where tasks would like to run: on one of the hosts, else on one of the racks, else after `wait`
# anywhere.
struct Preference {
  hosts @0 :List(Text);    # At most 256 names of agents.
  racks @1 :List(Text);    # At most 256 values of the attribute "rack", as in Attribute.
  waitNanos @2 :Int64;     # nanos
}

# Across roles: tasks of a lower band are victims first.
enum Band { free @0; batch @1; production @2; monitoring @3; }

# What a framework could use: `count` further tasks of one shape, beyond those launched.
struct Ask {
  name @0 :Text;      # name, unique within the framework
  shape @1 :Amounts;  # Of one task; gpus below 1000 or whole thousands.
  count @2 :Int64;    # 0 to 10,000,000
  constraints @3 :List(Constraint);  # At most 32; all must hold.
  ports @4 :UInt16;   # 0 to 64 dynamic ports that each task will want
  priority @5 :Int32; # Within the framework; higher first.
  role @6 :Text;      # optional role; the framework's own or below it. Absent: the framework's own.
  spread @7 :Text;    # optional name of an attribute over whose values tasks are spread; or "host"
  maxPer @8 :List(MaxPer);    # At most 8, sorted by attribute.
  prefer @9 :Preference;      # Absent: none.
  gang @10 :Int64 = 1;        # 1 to 1024 tasks at a time or none; the count is a multiple of it.
  band @11 :Band = batch;
  borrow @12 :Bool = true;    # Not: only from within what its role is entitled to.
  revocableOk @13 :Bool;      # Also from what is set aside for others or only estimated to be free.
  expiryNanos @14 :Int64;     # nanos from the declaration; 0: wanted for ever
  durationNanos @15 :Int64;   # nanos that each task is expected to run; 0: unknown; ten years (the
                              # most): until somebody ends it. A receiver that does not know this
                              # field takes it as unknown.
  group @16 :Text;            # optional name: spread and maxPer count the tasks of all asks with it
  # nanos that each task runs at most, up to ten years; 0: no bound. A receiver that does not know
  # this field bounds nothing by it.
  maxRunNanos @17 :Int64;
  # At most 64, sorted, each from 1: ports by number that each task will want, counted in ports. A
  # receiver that does not know this field offers agents without them.
  staticPorts @18 :List(UInt16);
}

# How a framework takes resources: to the measure of its asks, or as open offers.
enum OfferMode { asks @0; open @1; }

# How many tasks of which ask an offer was made for.
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
  leaseNanos @6 :Int64;            # nanos, from when the master sent it until it expires
  role @7 :Text;                   # optional role that it counts in; absent: the framework's own
  # Not zero: one of the offers of this gang, which are accepted together or not at all.
  gang @8 :UInt64;
  # Where the agent serves the files of its tasks: host:port or a socket's path; at most 264 bytes.
  # Absent: it serves none.
  httpAddress @9 :Text;
  # Where the ports of its tasks are reached: a host, IPv6 in brackets; at most 264 bytes.
  # Absent: unknown.
  host @10 :Text;
  # nanos; not zero: it is claimed for another ask, and is for tasks that run no longer than this.
  maxRunNanos @11 :Int64;
}

# What a framework does not want of what it was offered.
struct Refusal {
  # nanos; without a reason below: no offers of this agent for so long
  refuseNanos @0 :Int64;
  tooLittle @1 :List(ResourceKind);    # At most 4: not until the agent has more of these.
  wrongAgent @2 :Bool;                 # Not until the agent registers with other attributes.
}

# --- tasks ----------------------------------------------------------------------------------------

enum TaskState {
  staging @0; running @1; killing @2; unreachable @3;
  finished @4; failed @5; killed @6; lost @7; gone @8; refused @9;  # These are terminal.
}

# Why a task is in its state; proto/task_state.h says more of each.
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

# Who made an update.
enum UpdateSource { agent @0; master @1; }

# A variable of a task's environment.
struct Variable {
  name @0 :Text;   # At least one byte, without '=' and NUL.
  value @1 :Text;  # Without NUL.
}

# A label of a task: the framework's own, which comes back with each status.
struct Label {
  name @0 :Text;   # name, at most 63 bytes
  value @1 :Text;  # At most 256 bytes of UTF-8 without control characters; may be empty.
}

struct TaskSpec {
  id @0 :Text;             # name, unique within the framework
  ask @1 :Text;            # optional name: the ask that it fills
  shape @2 :Amounts;       # Devices and ports are chosen by the master.
  command @3 :Text;        # A shell command line for builtin:command; at most 64 KiB, without NUL.
  environment @4 :List(Variable);  # At most 1024 and 128 KiB in all, sorted by name.
  portNames @5 :List(Text);        # At most 64 names; each gets a free port, told as $PORT_<name>.
  # "builtin:command", "builtin:batch" or a shell command line; 1 byte to 64 KiB, no NUL.
  executor @6 :Text;
  executorId @7 :Text;     # optional name: tasks with the same one share an executor
  killGraceNanos @8 :Int64;# nanos from the polite signal to the other one
  data @9 :Data;           # For the executor; at most 512 KiB.
  health @10 :HealthCheck; # Absent: it is not looked after.
  # That it runs as; only of a framework that serves users, else empty: the framework's.
  user @11 :Text;
  fetch @12 :List(FetchedFile);  # At most 64; are in the sandbox before it starts.
  maxRunNanos @13 :Int64;  # nanos from its start, then it is killed; 0: no bound
  killSignal @14 :Int32 = 15;    # The polite signal: 1 to 31, neither SIGKILL nor SIGSTOP.
  readiness @15 :Readiness;      # For builtin:command. Absent: nobody asks when it is ready.
  labels @16 :List(Label);       # At most 32 and 4 KiB together, sorted by name.
  # At most 32 of the task's user; only for builtin:command with an executor of its own. The master
  # gives them only to agents that say takesSecrets.
  secrets @17 :List(SecretUse);
  staticPorts @18 :List(NamedPort);  # Of portNames, those with a given number; sorted by name.
}

# How a task is given a secret: one of the two is not empty.
struct SecretUse {
  name @0 :Text;      # name, at most 63 bytes; unique within a task
  variable @1 :Text;  # Of its environment; optional, at most 63 bytes.
  file @2 :Text;      # In memory, in `secrets` of the sandbox; optional name.
}

# From the master to the agent, and from there to the executor; nobody writes it to a disk.
struct SecretValue {
  name @0 :Text;   # name
  value @1 :Data;  # at most 16 KiB
}

# When a task is ready to do its work: it has run for so long, and its own processes listen on each
# of these ports.
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
  isExtracted @4 :Bool; # An archive: its files are put there.
  isCached @5 :Bool = true;  # The agent may keep it for other tasks.
}

enum HealthCheckKind { http @0; tcp @1; command @2; }

# Whether a task does its work, looked at by its executor.
struct HealthCheck {
  kind @0 :HealthCheckKind;
  port @1 :Text;     # name, one of TaskSpec.portNames; http and tcp
  path @2 :Text;     # Of http: from '/', at most 1024 bytes without space and control characters.
  command @3 :Text;  # Of command: as TaskSpec.command, not empty.
  intervalNanos @4 :Int64;  # nanos, not 0
  timeoutNanos @5 :Int64;   # nanos, not 0
  graceNanos @6 :Int64;     # nanos from the task's start
  failures @7 :Int64;       # 1 to 1000, in a row
}

# A dynamic port and the name under which the task asked for it.
struct NamedPort {
  name @0 :Text;    # name
  port @1 :UInt16;  # 1 to 65535
}

# What a task takes from its agent, and what decides whether it may be taken back.
struct TaskClaim {
  slices @0 :List(Slice);  # At most 64, without ports.
  role @1 :Text;           # role that it counts in
  priority @2 :Int32;      # Within its framework.
  band @3 :Band = batch;
  gang @4 :UInt64;         # Not zero: with those of its framework that have the same number.
  maxRunNanos @5 :Int64;   # nanos after which it is ended; 0: no bound
}

# What the master chose for a task.
struct Assignment {
  resources @0 :Resources;
  ports @1 :List(NamedPort);  # At most 64, sorted by name.
  # Kept by the agent and told when it registers. Absent: no more than the resources is known.
  claim @2 :TaskClaim;
  # The user that the task runs as; at most 128 bytes. Absent: the master does not say, as those
  # before it did not.
  user @3 :Text;
  launchedNanos @4 :Int64;  # time, by the master's clock; 0: it does not say
  # By which a later master knows that this agent was given this task; at most 64 bytes. Kept by the
  # agent and told when it registers. Empty: the master made none.
  ticket @5 :Text;
}

# One update of a task. Sent until acknowledged; at least once and in order of `sequence` for each
# source.
struct TaskStatus {
  task @0 :Text;       # name
  agent @1 :Text;      # optional name; absent if the task was never sent to one
  state @2 :TaskState;
  reason @3 :TaskReason;
  source @4 :UpdateSource;
  # From the agent: 1, 2, … for each launch. From the master: rising over all its lives. From an
  # executor: its own count. 0: an answer to reconcile, not to be acknowledged.
  sequence @5 :UInt64;
  message @6 :Text;    # words
  data @7 :Data;       # From the executor to its scheduler; at most 16 KiB.
  hasExitCode @8 :Bool;
  exitCode @9 :Int32;  # Of the command; only with hasExitCode.
  hasSignal @10 :Bool;
  signal @11 :Int32;   # That ended the command; only with hasSignal.
  atNanos @12 :Int64;  # time, by the clock of the source
  hasHealthy @13 :Bool;
  healthy @14 :Bool;   # By its health check; only with hasHealthy.
  usage @15 :TaskUsage;  # With an end, from the agent. Absent: it was not counted.
  hasReady @16 :Bool;
  ready @17 :Bool;     # By TaskSpec.readiness; only with hasReady.
  labels @18 :List(Label);  # TaskSpec.labels, from the master; agents and executors leave them out
}

# What a task used from its start to its end, counted by the kernel for the group of its executor.
# Each 0 or more; -1: it was not counted.
struct TaskUsage {
  cpuNanos @0 :Int64 = -1;
  throttledNanos @1 :Int64 = -1;    # That it waited because of its limit of CPUs.
  memoryPeakBytes @2 :Int64 = -1;
  outOfMemory @3 :Int64 = -1;       # Processes that were ended because memory was used up.
  readBytes @4 :Int64 = -1;         # From block devices,
  writtenBytes @5 :Int64 = -1;      # and to them.
}

# --- scheduler to master --------------------------------------------------------------------------

# First message of a session. With a framework id it fails over to this session; the secret must be
# the first one's. Without, the same secret finds the framework that it made before.
struct Subscribe {
  framework @0 :Text;  # optional name
  name @1 :Text;       # name
  role @2 :Text;       # role
  mode @3 :OfferMode;
  secret @4 :Text;     # secret
  # nanos that the tasks outlive a lost scheduler; 0: not at all, and nothing is durable
  failoverNanos @5 :Int64;
  user @6 :Text;       # Who runs it, for people; at most 128 bytes.
  # It runs tasks as the users that sent it requests. Operators only.
  servesUsers @7 :Bool;
  # Its store keeps an entry of each task that it launches; needs failoverNanos above 0.
  remembersTasks @8 :Bool;
  cluster @9 :Text;  # Of the framework, if it has been in one: 32 hexadecimal digits.
  # It takes over the framework of this name and user once that has no scheduler; needs
  # failoverNanos above 0.
  standsBy @10 :Bool;
}

# All asks of the framework; replaces those before.
struct DeclareAsks {
  generation @0 :UInt64;  # Rises within a framework's process.
  asks @1 :List(Ask);     # At most 256.
}

struct Launch {
  agent @0 :Text;            # name
  tasks @1 :List(TaskSpec);  # At most 1024.
}

# Of what the offers of this agent hold, so much becomes reserved for this role, or is so no longer.
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

# Uses offers, of one agent or several; operations use the offers of their agent. The rest is
# declined.
struct Accept {
  offers @0 :List(UInt64);         # At most 1024, none zero.
  operations @1 :List(Operation);  # At most 1024.
  refusal @2 :Refusal;             # Of what is left.
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

# Of the update (source, sequence) and all before it of that source and task.
struct Acknowledge {
  framework @0 :Text;  # optional name; absent and ignored from a scheduler
  task @1 :Text;       # name
  agent @2 :Text;      # optional name, as in the update
  source @3 :UpdateSource;
  sequence @4 :UInt64;
}

# Explicit: the truth about these tasks. Without any: about all that the master knows. Answered by
# updates of sequence 0.
struct Reconcile {
  tasks @0 :List(Text);  # At most 1024 names.
  # None, or one for each task: the agent on which the framework knows it to be; an empty one: it
  # does not know.
  agents @1 :List(Text);
}

# All that is known now of the tasks of a Reconcile has been told.
struct Reconciled {
  # Admitted agents that this master has not heard of yet, and that may bring further tasks. If
  # there are any, the rest is told later, and then another message with 0.
  missingAgents @0 :UInt32;
}

# A standby master's answer to whatever it is sent; its leader epoch is 0. It ends the session.
struct NotLeader {
  # Where the leader may be reached, as it says itself, at most 264 bytes; empty: unknown.
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
  # Names joined by '/', at most 512 bytes. Of list: what keys begin with, at most 512 bytes of any.
  key @1 :Text;
  value @2 :Data;          # Of put; at most 256 KiB.
  hasExpected @3 :Bool;
  expected @4 :UInt64;     # Of put and delete; only with hasExpected.
  after @5 :Text;          # Of list; at most 512 bytes.
}

# All of it or nothing.
struct StoreRequest {
  id @0 :UInt64;                         # Repeated in the result.
  operations @1 :List(StoreOperation);   # 1 to 256, and at most 512 KiB of keys and values.
}

struct FrameworkResponse {
  relay @0 :UInt64;        # Of the request.
  data @1 :Data;           # At most 256 KiB.
  error @2 :ErrorMessage;  # Absent: it worked.
}

# --- master to scheduler --------------------------------------------------------------------------

# A request of a user to the framework itself.
struct FrameworkRequest {
  relay @0 :UInt64;        # The master's number of it.
  id @1 :Text;             # name, that the caller chose; one heard before is not done again
  principal @2 :Text;      # Who asks, for people; at most 128 bytes.
  data @3 :Data;           # At most 256 KiB.
  timeoutNanos @4 :Int64;  # nanos
  isOperator @5 :Bool;     # Of the cluster: it may do everything.
  role @6 :Text;           # role; that the caller named, and may use; empty: none
}

struct StoreResult {
  id @0 :UInt64;
  outcomes @1 :List(Outcome);  # At most 256: one for each operation, or none with an error.
  error @2 :ErrorMessage;      # Nothing was done.

  struct Outcome {
    version @0 :UInt64;        # Of the entry now; 0: there is none.
    value @1 :Data;            # Of get; at most 256 KiB.
    entries @2 :List(Entry);   # Of list; at most 1024, sorted by key.
    more @3 :Bool;             # Of list: further keys follow.
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
  heartbeatNanos @3 :Int64;  # nanos between two messages at most
  timeoutNanos @4 :Int64;    # nanos of silence after which a peer is taken for lost
  missingAgents @5 :UInt32;  # As in Reconciled.
  cluster @6 :Text;          # As in Subscribe; empty: the master names none.
}

struct Offers {
  offers @0 :List(Offer);  # At most 256.
}

# These are no longer valid.
struct Rescind {
  offers @0 :List(UInt64);  # At most 1024, none zero.
}

enum RevokeReason { reclaimed @0; draining @1; lent @2; estimate @3; }

# These tasks are to end: what has not when the time is over is killed.
struct RevokeNotice {
  tasks @0 :List(Text);     # 1 to 1024 names
  agent @1 :Text;           # name of the one that they run on
  reason @2 :RevokeReason;
  beneficiary @3 :Text;     # optional role that waits for what they hold
  graceNanos @4 :Int64;     # nanos, from when the master sent it
}

# These tasks need not end any more: what a revoke notice said of them is over.
struct RevokeWithdrawn {
  tasks @0 :List(Text);     # 1 to 1024 names
  agent @1 :Text;           # name of the one that they run on
}

struct Update {
  framework @0 :Text;       # name
  status @1 :TaskStatus;
}

# Which asks no agent could ever meet; told when that changes.
struct AskReport {
  generation @0 :UInt64;  # Of the declaration that it is about.
  rows @1 :List(Row);     # At most 256.

  struct Row {
    ask @0 :Text;             # name
    couldEverFit @1 :Bool;
    why @2 :Text;             # words, if it could not
  }
}

# An agent or an executor of this framework is no more. Its tasks have updates of their own.
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
  hint @2 :Text;         # words: what to do instead; may be empty
  endsSession @3 :Bool;  # Nothing further is heard on this connection.
  retry @4 :Bool;        # Whether a new session can help.
  # To an agent: all tasks that it runs were told as ended. It ends them, and does not come back
  # with this work directory.
  endsTasks @5 :Bool;
}

# --- agent and master -----------------------------------------------------------------------------

# A task as its agent knows it.
struct AgentTask {
  framework @0 :Text;   # name
  task @1 :Text;        # name
  ask @2 :Text;         # optional name
  executor @3 :Text;    # optional name
  state @4 :TaskState;  # As of the last update made, acknowledged or not,
  sequence @5 :UInt64;  # which has this number.
  resources @6 :Resources;
  unacknowledged @7 :List(TaskStatus);  # At most 64.
  claim @8 :TaskClaim;  # As the master assigned it; absent: it said none.
  user @9 :Text;        # That it runs as; empty: its master did not say.
  command @10 :Text;    # The beginning of it, at most 200 bytes.
  launchedNanos @11 :Int64;  # As in Assignment.
  labels @12 :List(Label);   # TaskSpec.labels
  ticket @13 :Text;          # As in Assignment.
}

# First message of an agent's session. The agent is served when its tasks are there too.
struct RegisterAgent {
  agent @0 :Text;                  # name
  secret @1 :Text;                 # secret
  attributes @2 :List(Attribute);  # At most 64, sorted by name.
  slices @3 :List(Slice);          # At most 64.
  ports @4 :List(PortRange);       # As in Resources.
  httpAddress @5 :Text;            # of its files: host:port or a socket's path; at most 264 bytes
  tasksFollow @6 :UInt32;          # 0 to 10,000 registerTasks messages
  # Another number than in its last registration: the agent may have forgotten what it was told, by
  # a reboot or with a damaged checkpoint. 0: it does not say.
  memory @7 :UInt32;
  limits @8 :Text;  # What it holds tasks to, and what not, for people; at most 512 bytes.
  trouble @9 :Text;  # As AgentTrouble.why.
  cluster @10 :Text;  # Whose tasks it has, as in Subscribe; empty: it has none.
  files @11 :FileService;  # To other machines. Absent: it serves its files on its own machine only.
  boot @12 :UInt64;  # Another for each boot of each machine; 0: it does not say.
  takesSecrets @13 :Bool;  # It knows TaskSpec.secrets.
  keepsTickets @14 :Bool;  # It knows Assignment.ticket.
}

# Where an agent serves the files of its tasks to other machines: by TLS, to bearers of a token that
# the master makes.
struct FileService {
  address @0 :Text;   # host:port, at most 264 bytes
  # SHA-256 of the public key of its certificate (SubjectPublicKeyInfo), in base64: 44 characters.
  # Clients accept no other.
  pin @1 :Text;
  tokenKey @2 :Text;  # secret by which the agent knows the master's tokens; of this life of it
  clock @3 :Int64;    # time now by the clock of the agent, in which tokens say when they end
}

# Whether it takes tasks now. Those that it has run on.
struct AgentTrouble {
  why @0 :Text;  # Why it takes none; at most 512 bytes. Empty: it does.
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
  becomes @3 :ExecutorPlace;  # agent to executor only; null: it stays what it is
  # The values of spec.secrets, at most 32. An agent that was started again has none.
  secrets @4 :List(SecretValue);
  # Agent to executor only: the run that the task is of; 0: an agent of the version before.
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

# The framework needs the files of tasks and executors whose ids begin with one of these texts no
# more, and will not launch further ones. Agents remove their sandboxes when all of them there have
# ended and their ends are acknowledged, but for the output of tasks that have failed.
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
  token @2 :Text;      # secret; came with the executor's environment
  run @3 :UInt64;      # In which it is: of its last task, else of its start; 0: it does not know.
  # Below are all tasks that live in it, and the last ones that have ended. False from executors of
  # the version before, and if there are more than 1024.
  tellsRuns @4 :Bool;
  runs @5 :List(ExecutorRun);  # At most 1024; only with tellsRuns.
}

# A task that lives in an executor, or has ended there.
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

# What became of a task. The agent gives it source and sequence and acknowledges the executor's own
# sequence.
struct ExecutorUpdate {
  status @0 :TaskStatus;
  takesAnother @1 :Bool;  # with the end of its own task: it waits for the next one
}

# --- everybody ------------------------------------------------------------------------------------

# CLI to master: a method of the API.
struct Call {
  id @0 :UInt64;    # Chosen by the caller, repeated in the reply.
  method @1 :Text;  # name
  json @2 :Text;    # Its arguments; at most 768 KiB.
}

struct Reply {
  id @0 :UInt64;
  json @1 :Text;            # At most 768 KiB; empty with an error.
  # Where the next page begins, at most 512 bytes; empty: this was the last.
  next @2 :Text;
  error @3 :ErrorMessage;   # Absent: it worked.
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
  # XChaCha20-Poly1305: a nonce of 24 bytes, then the value and its authentication code, which is
  # of owner and name, too.
  sealed @2 :Data;
  keyId @3 :Text;       # Of the key file: 16 hexadecimal digits.
  sinceNanos @4 :Int64; # time that this value was set
}

enum KeyKind {
  agent @0;
  user @1;
}

# A key of an agent or a user beyond the host, or a join token. In "keys", by its public half.
struct KeyRecord {
  key @0 :Text;              # The public half: 40 characters of Z85.
  kind @1 :KeyKind;
  name @2 :Text;             # name; of the agent or user
  sinceNanos @3 :Int64;      # time
  by @4 :Text;               # The user that made the token; at most 128 bytes.
  token @5 :Bool;            # A join token: it may be used once to register a key.
  tokenUntilNanos @6 :Int64; # time; only with token
  runsAs @7 :Text;           # Of an agent: the user that it runs as; at most 128 bytes.
  # The key that ends when this one is first used: 40 characters of Z85; optional, never with token.
  replaces @8 :Text;
}

# Which cluster this registry is of, and which of its masters have led. In "cluster", by "id".
struct ClusterRecord {
  cluster @0 :Text;  # 32 hexadecimal digits
  # At most 16, in order of lastEpoch. Masters of before it leave it as it is.
  led @1 :List(LedMaster);
}

# A master that has led, and whose history has what happened then.
struct LedMaster {
  master @0 :Text;       # 32 hexadecimal digits; of its data directory
  name @1 :Text;         # Where it was reached; at most 264 bytes.
  firstEpoch @2 :UInt64; # Above 0.
  lastEpoch @3 :UInt64;  # Not below firstEpoch.
  sinceNanos @4 :Int64;  # time; the beginning of firstEpoch, by its own clock
  over @5 :Bool;         # Another has led since.
  untilNanos @6 :Int64;  # time; only with over: when the next one led, by that one's clock
}

# A part of an agent that is reserved for a role, beside what the agent reserves by itself. In
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
  users @8 :List(Text);  # That sent it requests, if it serves users; at most 1024, sorted.
  remembersTasks @9 :Bool;
  ticketKey @10 :Text;  # secret; empty: an older master made it
}

# An agent that was admitted. In "agents", by its name.
struct AgentRecord {
  agent @0 :Text;        # name
  secret @1 :Text;       # secret
  unreachable @2 :Bool;  # It was past its timeout and has not come back.
  # It is being emptied: nothing is offered of it, and what runs there ends by this time.
  draining @3 :Bool;
  drainedByNanos @4 :Int64;  # time; only with draining
  # Another each time that the agent is admitted, also after it was removed; 0: by an old master.
  admission @5 :UInt64;
  # An operator declared it gone. Masters of the version before take it for unreachable.
  gone @6 :Bool;
  goneAtNanos @7 :Int64;  # time; only with gone
  # Secrets of earlier agents of this name that were declared gone; at most 8, the newest last.
  goneSecrets @8 :List(Text);
}

# An amount of one kind.
struct KindAmount {
  kind @0 :ResourceKind;
  milli @1 :Int64;  # amount
}

# A role with settings of its own. In "roles", by its name.
struct RoleRecord {
  role @0 :Text;     # role
  weight @1 :Int64;  # 1 to 1,000,000 milli-weights
  # Each at most 4, sorted by kind. A kind that is not named is not bounded.
  guarantee @2 :List(KindAmount);
  limit @3 :List(KindAmount);
  users @4 :List(Text);  # That may begin frameworks in it; at most 256, sorted. None: all.
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

# A task that has ended, and whose scheduler knows it; or a launch that was refused.
struct EndedTask {
  framework @0 :Text;       # name
  frameworkName @1 :Text;   # At most 128 bytes. Absent: the master did not know it.
  role @2 :Text;            # optional role
  user @3 :Text;            # At most 128 bytes.
  command @4 :Text;         # At most 4 KiB; masters cut it to what they show.
  ask @5 :Text;             # optional name
  amounts @6 :Amounts;
  launchedNanos @7 :Int64;  # time
  status @8 :TaskStatus;    # Of its end, without data.
  waited @9 :List(WaitSpan);  # Each reason at most once, in their order; at most 64.
}

# What the tasks of a role took in a span of time.
struct RoleUse {
  role @0 :Text;          # role
  fromNanos @1 :Int64;    # time
  untilNanos @2 :Int64;   # time, not before
  seconds @3 :Amounts;   # Milli-units times seconds: 1000 of cpus are a CPU for a second.
}

# So long a task waited for this reason.
struct WaitSpan {
  reason @0 :WaitReason;
  nanos @1 :Int64;       # More than 0.
}

# How long a role's tasks waited for what in a span of time, together.
struct RoleWait {
  role @0 :Text;         # role
  fromNanos @1 :Int64;   # time
  untilNanos @2 :Int64;  # time, not before
  waited @3 :List(WaitSum);  # Each reason at most once, in their order; at most 64.
}

struct WaitSum {
  reason @0 :WaitReason;
  millis @1 :Int64;      # Of all tasks together; not less than 0.
  tasks @2 :Int64;       # That waited for it at the end of the span; not less than 0.
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

# The master ended in order: nothing is missing before this.
struct LifeEnded {
  atNanos @0 :Int64;   # time
}

# What ended in a span of time may be missing here.
struct HistoryGap {
  fromNanos @0 :Int64;    # time
  untilNanos @1 :Int64;   # time, not before
  lost @2 :UInt64;        # Entries that are known to be lost; 0: not known.
}

# --- the agent's checkpoint -----------------------------------------------------------------------

# An entry of the agent's log, in the order in which things happened.
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

# Under which the agent registers.
struct AgentIdentity {
  agent @0 :Text;     # name
  secret @1 :Text;    # secret
  leader @2 :UInt64;  # The highest leader epoch that it has seen; older ones are refused.
  place @3 :Text;     # Boot and inode of its work directory: a copy has others. At most 128 bytes.
  cluster @4 :Text;   # As in RegisterAgent.
  # Another one, by chance, each time that an executor told what this log had lost; 0: never. It is
  # a part of RegisterAgent.memory.
  memory @5 :UInt32;
  # In a compacted log: how many records follow in it; with fewer it was cut. 0: not told.
  records @6 :UInt32;
}

# An executor is about to be started, or was.
struct ExecutorRecord {
  framework @0 :Text;     # name
  executor @1 :Text;      # name
  token @2 :Text;         # secret
  run @3 :UInt64;         # Numbers the executors' sandboxes on this agent.
  pid @4 :Int32;          # 0: not started yet.
  startTicks @5 :UInt64;  # Clock ticks from boot to the start of pid: together they name a process.
  bootId @6 :Text;        # Which boot; at most 128 bytes.
  program @7 :Text;       # As TaskSpec.executor.
  own @8 :Bool;           # For one task only.
  # Of a damaged checkpoint, which does not say all that it runs: to be ended, not to be taken back.
  leftover @9 :Bool;
  user @10 :Text;  # As Assignment.user.
  fetching @11 :Bool;  # Files of its tasks are fetched; it is not started yet.
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
  executor @3 :Text;   # name of the one that runs it
  run @4 :UInt64;      # The executor's run that it is part of; 0: of its next one, not begun yet.
}

# An update was made, and is to be acknowledged.
struct UpdateRecord {
  framework @0 :Text;  # name
  status @1 :TaskStatus;
  executorSequence @2 :UInt64;  # The executor's own count, if it told it.
}

# All updates of a task up to `sequence` were acknowledged. The task is forgotten with its last one.
struct AcknowledgedRecord {
  framework @0 :Text;  # name
  task @1 :Text;       # name
  sequence @2 :UInt64;
}
