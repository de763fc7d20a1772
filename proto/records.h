#pragma once

// What is durable, as values: the master's registry and the agent's checkpoint. proto/codec gives
// them bytes; one function in each core applies them, live and in replay.

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
  std::set<std::string> users = {};  // that sent it requests, if it serves users
  bool remembers_tasks = false;
  // Of the tickets of its tasks (Assignment::ticket). Empty: an older master made it, and its tasks
  // may have none.
  Secret ticket_key = {};
  bool operator==(const FrameworkRecord&) const = default;
};

// An agent that was admitted. Key: its id.
struct AgentRecord {
  AgentId agent = {};
  Secret secret = {};
  bool unreachable = false;
  std::optional<Time> drained_by = {};  // it is being emptied; then what is left is killed
  uint64_t admission = 0;            // another each time that it is admitted; 0: by an old master
  std::optional<Time> gone_at = {};  // an operator declared it gone; then it is unreachable, too
  // Of earlier agents of this name that were declared gone; the newest last.
  std::vector<Secret> gone_secrets = {};
  bool operator==(const AgentRecord&) const = default;
};

// A role with settings of its own. Key: its name.
struct RoleRecord {
  RoleName role = {};
  RoleSettings settings = {};
  std::set<std::string> users = {};  // that may begin frameworks in it; none: all
  bool operator==(const RoleRecord&) const = default;
};

// A part of an agent that is reserved for a role, beside what the agent reserves by itself. Key:
// the agent's name, '/', and the role.
struct ReservationRecord {
  AgentId agent = {};
  RoleName role = {};
  Resources resources = {};  // without ports
  bool operator==(const ReservationRecord&) const = default;
};

// An entry of a framework's store. Key: the framework's id, '/', and its own.
struct StoreRecord {
  FrameworkId framework = {};
  std::string key = {};
  std::string value = {};
  uint64_t version = 0;
  bool operator==(const StoreRecord&) const = default;
};

// Which cluster the registry is of, and which of its masters have led. There is one: "id".
struct ClusterRecord {
  ClusterId cluster = {};
  // In order of the epoch in which each led last; at most kLedMastersMax.
  std::vector<LedMaster> led = {};
  bool operator==(const ClusterRecord&) const = default;
};

// A secret of a user. Key: the owner, '/', and the name. The master's core never has the value: the
// shell encrypts it before and decrypts it behind the core.
struct SecretRecord {
  std::string owner = {};
  std::string name = {};
  std::string sealed = {};  // the value, encrypted
  std::string key_id = {};  // of the key file: 16 hexadecimal digits
  Time since = {};          // when this value was set
  bool operator==(const SecretRecord&) const = default;
};

// Keys and join tokens are rows, too. Key: the public half.
using RegistryRow = std::variant<FrameworkRecord, AgentRecord, RoleRecord, StoreRecord,
                                 ReservationRecord, KnownKey, ClusterRecord, SecretRecord>;

// Put the row, or erase the one with its key.
struct RegistryWrite {
  RegistryRow row = {};
  bool erase = false;
  bool operator==(const RegistryWrite&) const = default;
};

// --- the agent's checkpoint: a log -------------------------------------------------------------

// The identity under which the agent registers; the highest leader epoch that it has seen.
struct AgentIdentity {
  AgentId agent = {};
  Secret secret = {};
  LeaderEpoch leader = {};
  std::string place = {};  // of its work directory, in this boot; empty: not told
  ClusterId cluster = {};  // the one that it registered with last; empty: it named none
  uint32_t memory = 0;     // another each time that executors told what the checkpoint had lost
  uint32_t records = 0;    // that follow in a compacted log; with fewer it was cut; 0: not told
  bool operator==(const AgentIdentity&) const = default;
};

// An executor is about to be started (pid 0), or was (pid and start time in clock ticks since boot,
// which together name a process for good until the reboot; `boot_id` says which boot).
struct ExecutorRecord {
  FrameworkId framework = {};
  ExecutorId executor = {};
  Secret token = {};
  uint64_t run = 0;  // numbers the executors' sandboxes on this agent
  int32_t pid = 0;
  uint64_t start_ticks = 0;
  std::string boot_id = {};
  std::string program = {};  // kCommandExecutor, kBatchExecutor or a shell command line
  bool own = false;          // for one task only
  // Of a damaged checkpoint, which does not say all that it runs: to be ended, not to be taken
  // back.
  bool leftover = false;
  std::string user = {};  // that it runs as; empty: the agent's
  bool fetching = false;  // files of its tasks are fetched; it is not started yet
  bool operator==(const ExecutorRecord&) const = default;
};

struct ExecutorGone {
  FrameworkId framework = {};
  ExecutorId executor = {};
  bool operator==(const ExecutorGone&) const = default;
};

// A task was received; or, if it is known, its executor's next run has begun.
struct TaskRecord {
  FrameworkId framework = {};
  TaskSpec spec = {};
  Assignment assignment = {};
  ExecutorId executor = {};
  uint64_t run = 0;  // of its executor; 0: the next one, which has not begun yet
  bool operator==(const TaskRecord&) const = default;
};

// An update was made, and is to be acknowledged.
struct UpdateRecord {
  FrameworkId framework = {};
  TaskStatus status = {};
  uint64_t executor_sequence = 0;  // the executor's own count, if it told it
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
