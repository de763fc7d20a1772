#pragma once

// The durable state as values: the master's registry and the agent's checkpoint. proto/codec
// encodes them; one function in each core applies them, both live and in replay.

#include <optional>
#include <set>
#include <variant>

#include "common/keys.h"
#include "common/roles.h"
#include "proto/masters.h"
#include "proto/messages.h"

namespace proffer::proto {

// --- the master's registry: rows that replace or erase each other by key -----------------------

// A framework with a failover timeout above zero. Key: its id.
struct FrameworkRecord {
  FrameworkId framework = {};
  std::string name = {};
  RoleName role = {};
  OfferMode mode = OfferMode::kAsks;
  Secret secret = {};
  Duration failover_timeout = {};
  std::string user = {};
  bool serves_users = false;
  std::set<std::string> users = {};  // the users that sent it requests, if it serves users
  bool remembers_tasks = false;
  // The key of the tickets of its tasks (Assignment::ticket). Empty: an older master made the
  // record, and its tasks may have none.
  Secret ticket_key = {};
  bool operator==(const FrameworkRecord&) const = default;
};

// An admitted agent. Key: its id.
struct AgentRecord {
  AgentId agent = {};
  Secret secret = {};
  bool unreachable = false;
  std::optional<Time> drained_by = {};  // it is drained; then its tasks are killed
  uint64_t admission = 0;               // differs for each admission; 0: admitted by an old master
  std::optional<Time> gone_at = {};     // an operator declared it gone; it is then unreachable too
  // Secrets of earlier agents of this name that were declared gone; newest last.
  std::vector<Secret> gone_secrets = {};
  bool operator==(const AgentRecord&) const = default;
};

// A role with its own settings. Key: its name.
struct RoleRecord {
  RoleName role = {};
  RoleSettings settings = {};
  std::set<std::string> users = {};  // the users that may start frameworks in it; none: all
  bool operator==(const RoleRecord&) const = default;
};

// A part of an agent that is reserved for a role, in addition to the agent's own reservations. Key:
// the agent's name, '/', and the role.
struct ReservationRecord {
  AgentId agent = {};
  RoleName role = {};
  Resources resources = {};  // without ports
  bool operator==(const ReservationRecord&) const = default;
};

// An entry of a framework's store. Key: the framework's id, '/', and the entry's key.
struct StoreRecord {
  FrameworkId framework = {};
  std::string key = {};
  std::string value = {};
  uint64_t version = 0;
  bool operator==(const StoreRecord&) const = default;
};

// The cluster of the registry, and those of its masters that have led. There is one record: "id".
struct ClusterRecord {
  ClusterId cluster = {};
  // In order of the last epoch of each; at most kLedMastersMax.
  std::vector<LedMaster> led = {};
  bool operator==(const ClusterRecord&) const = default;
};

// A secret of a user. Key: the owner, '/', and the name. The master's core never has the value: the
// shell encrypts it before it enters the core, and decrypts it after it leaves.
struct SecretRecord {
  std::string owner = {};
  std::string name = {};
  std::string sealed = {};  // the value, encrypted
  std::string key_id = {};  // id of the key file: 16 hexadecimal digits
  Time since = {};          // when this value was set
  bool operator==(const SecretRecord&) const = default;
};

// Keys and join tokens are rows too. Their key is the public half.
using RegistryRow = std::variant<FrameworkRecord, AgentRecord, RoleRecord, StoreRecord,
                                 ReservationRecord, KnownKey, ClusterRecord, SecretRecord>;

// Writes the row, or erases the one with its key.
struct RegistryWrite {
  RegistryRow row = {};
  bool erase = false;
  bool operator==(const RegistryWrite&) const = default;
};

// --- the agent's checkpoint: a log -------------------------------------------------------------

// The identity with which the agent registers, and the highest leader epoch that it has seen.
// How much of an earlier life's log an agent has.
enum class Remembered : uint8_t {
  kAll,
  kToItsEnd,  // the end of the log was cut, by a crash during a write or by another process
  kWithGaps,  // records within it are damaged, or the log is older than the sandboxes
};

struct AgentIdentity {
  AgentId agent = {};
  Secret secret = {};
  LeaderEpoch leader = {};
  std::string place = {};  // identifies its work directory in this boot; empty: unknown
  ClusterId cluster = {};  // the cluster with which it last registered; empty: its master gave none
  uint32_t memory = 0;     // changes when executors report state that was lost
  uint32_t records = 0;    // that follow in a compacted log; 0: unknown
  // What a life found of its log, until it has ended everything that the log may not name.
  Remembered remembered = Remembered::kAll;
  bool operator==(const AgentIdentity&) const = default;
};

// An executor that is about to be started (pid 0), or was started. The pid and the start time in
// clock ticks since boot identify the process until the reboot; `boot_id` identifies the boot.
struct ExecutorRecord {
  FrameworkId framework = {};
  ExecutorId executor = {};
  Secret token = {};
  uint64_t run = 0;  // numbers the executors' sandboxes on this agent
  int32_t pid = 0;
  uint64_t start_ticks = 0;
  std::string boot_id = {};
  std::string program = {};  // kCommandExecutor, kBatchExecutor or a shell command line
  bool own = false;          // for a single task
  // From a damaged checkpoint, which does not name all its tasks. The executor is to be ended, not
  // to be used again.
  bool leftover = false;
  std::string user = {};  // the user that it runs as; empty: the agent's
  bool fetching = false;  // files of its tasks are being fetched; it is not started yet
  bool operator==(const ExecutorRecord&) const = default;
};

struct ExecutorGone {
  FrameworkId framework = {};
  ExecutorId executor = {};
  bool operator==(const ExecutorGone&) const = default;
};

// A task was received; or, if the task is known, the next run of its executor has begun.
struct TaskRecord {
  FrameworkId framework = {};
  TaskSpec spec = {};
  Assignment assignment = {};
  ExecutorId executor = {};
  uint64_t run = 0;  // run of its executor; 0: the next one, which has not begun yet
  bool operator==(const TaskRecord&) const = default;
};

// An update was made and must be acknowledged.
struct UpdateRecord {
  FrameworkId framework = {};
  TaskStatus status = {};
  uint64_t executor_sequence = 0;  // the executor's own sequence, if it gave one
  bool operator==(const UpdateRecord&) const = default;
};

// All updates of a task up to `sequence` were acknowledged. The task is forgotten with its last
// one.
struct AcknowledgedRecord {
  FrameworkId framework = {};
  TaskId task = {};
  uint64_t sequence = 0;
  bool operator==(const AcknowledgedRecord&) const = default;
};

using CheckpointRecord = std::variant<AgentIdentity, ExecutorRecord, ExecutorGone, TaskRecord,
                                      UpdateRecord, AcknowledgedRecord>;

}  // namespace proffer::proto
