// Read examine first: it has one line per check.

#include "slave/doctor/facts.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <utility>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "slave/shell/cgroups.h"
#include "slave/shell/disk_reserve.h"
#include "slave/shell/machine.h"

namespace proffer::doctor {
namespace {

namespace fs = std::filesystem;
using agent::cgroups::read_number;
using agent::cgroups::read_value;

// As the agent does, in a separate directory that is removed again.
Result<agent::Enforced> look_at_limits(const std::string& root) {
  const std::optional<std::string> mounts = read_value(root + "/proc/self/mountinfo");
  const auto chosen = agent::choose_cgroups(
      agent::parse_cgroup_mounts(mounts.value_or("")),
      {.agent = text("doctor-", static_cast<int64_t>(getpid())), .agent_cpus_milli = 1000});
  if (!chosen) return chosen.error();
  return (*chosen)->enforced();
}

uint64_t look_at_descriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_max;
}

// The newest file of the system or an agent.
ClockFacts look_at_clock(const DoctorOptions& options) {
  constexpr int64_t kNanosPerSecond = 1'000'000'000;
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  ClockFacts facts{.now = Time::from_nanos(now.tv_sec * kNanosPerSecond + now.tv_nsec)};
  for (const std::string& path :
       {options.work_dir + "/identity", options.work_dir + "/lock", std::string("/var/log/wtmp"),
        std::string("/var/lib/dpkg/status"), std::string("/etc/resolv.conf")}) {
    struct stat file = {};
    if (stat(path.c_str(), &file) != 0) continue;
    facts.newest = std::max(facts.newest, Time::from_nanos(file.st_mtim.tv_sec * kNanosPerSecond +
                                                           file.st_mtim.tv_nsec));
  }
  return facts;
}

PortFacts look_at_ports(const DoctorOptions& options) {
  PortFacts facts{.range = options.ports, .in_use = agent::ports_in_use(options.ports)};
  std::istringstream numbers(
      read_value(options.root + "/proc/sys/net/ipv4/ip_local_port_range").value_or(""));
  if (!(numbers >> facts.outgoing_first >> facts.outgoing_last)) {
    facts.outgoing_first = 0;
    facts.outgoing_last = 0;
  }
  // The kernel does not assign reserved ports.
  const std::string reserved = std::string(trimmed(
      read_value(options.root + "/proc/sys/net/ipv4/ip_local_reserved_ports").value_or("")));
  const Result<Resources> parsed = parse_resources(text("ports:[", reserved, "]"));
  if (!reserved.empty() && parsed && parsed->ports.contains(options.ports)) {
    facts.outgoing_first = facts.outgoing_last = 0;
  }
  return facts;
}

// The folder itself, or its nearest existing parent.
std::string nearest_folder(const std::string& path) {
  fs::path folder = fs::absolute(path);
  std::error_code ignored;
  while (folder.has_relative_path() && !fs::is_directory(folder, ignored)) {
    folder = folder.parent_path();
  }
  return folder.string();
}

}  // namespace

NamespaceFacts look_at_namespaces(const std::string& root) {
  return {.most = read_number(root + "/proc/sys/user/max_user_namespaces"),
          .unprivileged = read_number(root + "/proc/sys/kernel/unprivileged_userns_clone")};
}

uint64_t look_at_processes(const std::string& root) {
  uint64_t most = UINT64_MAX;
  rlimit limit = {};
  if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0) most = limit.rlim_max;
  for (const char* file : {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"}) {
    const std::optional<int64_t> bound = read_number(root + file);
    if (bound && *bound > 0) most = std::min(most, static_cast<uint64_t>(*bound));
  }
  return most;
}

DiskFacts look_at_disk(const std::string& work_dir, int64_t reserve_bytes) {
  DiskFacts facts{.folder = nearest_folder(work_dir)};
  const agent::DiskReserve reserve(facts.folder, reserve_bytes);
  facts.reserve_bytes = reserve.to_stay_free();
  facts.reserve_files = reserve.files_to_stay_free();
  struct statvfs disk = {};
  if (statvfs(facts.folder.c_str(), &disk) != 0) return facts;
  facts.free_bytes = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  facts.free_files = disk.f_files == 0 ? -1 : static_cast<int64_t>(disk.f_favail);
  facts.is_read_only = (disk.f_flag & ST_RDONLY) != 0;
  facts.forbids_programs = (disk.f_flag & ST_NOEXEC) != 0;
  facts.is_writable = access(facts.folder.c_str(), W_OK) == 0;
  return facts;
}

FolderFacts look_at_folder(const std::string& path) {
  FolderFacts facts{.path = path};
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return facts;
  facts.is_there = true;
  facts.is_folder = S_ISDIR(status.st_mode);
  facts.owner = status.st_uid;
  facts.mode = status.st_mode & 07777;
  return facts;
}

std::vector<std::string> missing_programs(const std::string& bin_dir) {
  std::vector<std::string> missing;
  for (const char* name :
       {"proffer-master", "proffer-agent", "proffer-executor", "proffer-fetch"}) {
    if (access((fs::path(bin_dir) / name).c_str(), X_OK) != 0) missing.emplace_back(name);
  }
  if (access("/bin/sh", X_OK) != 0) missing.emplace_back("/bin/sh");
  return missing;
}

// Connects to find the process at the other end; sends nothing.
MasterFacts look_at_master(const Address& address) {
  MasterFacts facts{.address = to_text(address)};
  if (address.socket.empty()) {
    facts.failed = "only sockets of this machine are checked";
    return facts;
  }
  const FolderFacts folder = look_at_folder(fs::path(address.socket).parent_path().string());
  facts.folder_owner = folder.owner;
  const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un place = {};
  place.sun_family = AF_UNIX;
  std::strncpy(place.sun_path, address.socket.c_str(), sizeof place.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
    facts.failed = std::strerror(errno);
    return facts;
  }
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) facts.served_by = peer.uid;
  return facts;
}

std::vector<Finding> examine(const DoctorOptions& options) {
  const uint32_t user = geteuid();
  const bool is_root = user == 0;
  const std::string socket = options.masters.empty() ? "" : options.masters.front().socket;
  const std::string run_folder =
      socket.empty() ? "/run/proffer" : fs::path(socket).parent_path().string();
  std::vector<Finding> findings = {
      judge_limits(look_at_limits(options.root), is_root),
      judge_namespaces(look_at_namespaces(options.root), is_root),
      judge_descriptors(look_at_descriptors()),
      judge_processes(look_at_processes(options.root)),
      judge_clock(look_at_clock(options)),
      judge_disk(look_at_disk(options.work_dir, options.reserve_bytes)),
      judge_ports(look_at_ports(options)),
      judge_programs(options.bin_dir, missing_programs(options.bin_dir)),
      judge_run_folder(look_at_folder(run_folder), user)};
  for (const Address& master : options.masters) {
    findings.push_back(judge_master(look_at_master(master), user));
  }
  return findings;
}

}  // namespace proffer::doctor
