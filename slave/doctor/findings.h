#pragma once

// The findings of `proffer doctor`: turns facts into text, with the effect and the fix of each
// problem. Pure: facts.h gets the facts.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/resources.h"
#include "slave/shell/cgroups.h"

namespace proffer::doctor {

enum class Verdict : uint8_t { kOk, kWarning, kFails };
std::string_view to_text(Verdict verdict);  // "ok", "warning", "fails"

struct Finding {
  std::string check = {};
  Verdict verdict = Verdict::kOk;
  std::string what = {};    // the finding
  std::string effect = {};  // what will not work; empty: everything works
  std::string fix = {};     // a command, or a file and its new content
  bool operator==(const Finding&) const = default;
};

// The limits that the agent would enforce, or why it enforces none.
Finding judge_limits(const Result<agent::Enforced>& enforced, bool is_root);

// The kernel's settings for user namespaces. None: there is no such file.
struct NamespaceFacts {
  std::optional<int64_t> most = {};          // user.max_user_namespaces
  std::optional<int64_t> unprivileged = {};  // kernel.unprivileged_userns_clone
};
Finding judge_namespaces(const NamespaceFacts& facts, bool is_root);

// The hard limit on open descriptors, up to which the agent raises its limit.
Finding judge_descriptors(uint64_t limit);

// The smallest limit on processes of this user and of the machine.
Finding judge_processes(uint64_t most);

struct ClockFacts {
  Time now = {};
  Time newest = {};  // of files written by the agent or the system, which cannot be in the future
};
Finding judge_clock(const ClockFacts& facts);

struct DiskFacts {
  std::string folder = {};  // the work directory, or its nearest existing parent
  int64_t free_bytes = 0;
  int64_t reserve_bytes = 0;  // below it the agent takes no tasks
  int64_t reserve_files = 0;  // the same for files
  int64_t free_files = 0;     // -1: the file system does not count them
  bool is_read_only = false;
  bool forbids_programs = false;  // mounted noexec
  bool is_writable = true;        // by this user
};
Finding judge_disk(const DiskFacts& facts);

struct PortFacts {
  PortSet range = {};
  PortSet in_use = {};
  // The first port that the kernel assigns to outgoing connections.
  int64_t outgoing_first = 0;
  int64_t outgoing_last = 0;
};
Finding judge_ports(const PortFacts& facts);

// Programs that are missing or cannot be run.
Finding judge_programs(const std::string& folder, const std::vector<std::string>& missing);

struct FolderFacts {
  std::string path = {};
  bool is_there = false;
  bool is_folder = true;
  uint32_t owner = 0;
  uint32_t mode = 0;
};
// The folder for the sockets of this machine's daemons.
Finding judge_run_folder(const FolderFacts& facts, uint32_t user);

struct MasterFacts {
  std::string address = {};
  std::optional<std::string> failed = {};  // why it cannot be reached
  std::optional<uint32_t> served_by = {};  // the user of the process at the other end
  uint32_t folder_owner = 0;               // of the socket's folder
};
Finding judge_master(const MasterFacts& facts, uint32_t user);

}  // namespace proffer::doctor
