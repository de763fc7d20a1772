#include "slave/shell/machine.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/fd.h"
#include "slave/shell/cgroups.h"

namespace proffer::agent {
namespace {

using cgroups::read_number;

constexpr int64_t kBytesPerMib = int64_t{1} << 20;
// Memory for the system and the agent itself: a tenth, at most 1 GiB.
constexpr int64_t kReserveMaxMib = 1024;

std::optional<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

// The directory of this process's cgroup under `mount`, in version 2 or for one controller of
// version 1.
std::string cgroup_of(const std::string& mount, const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool found = controller.empty() ? names == ",,"
                                          : names.find("," + controller + ",") != std::string::npos;
    if (found) return mount + line.substr(second + 1);
  }
  return mount;
}

int64_t milli_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int64_t milli = 1000;
  if (sched_getaffinity(0, sizeof set, &set) == 0) milli = int64_t{1000} * CPU_COUNT(&set);
  // Version 2: "max 100000" or "150000 100000".
  if (const auto line = read_line(cgroup_of("/sys/fs/cgroup", "") + "/cpu.max")) {
    std::istringstream words(*line);
    int64_t quota = 0;
    int64_t period = 0;
    if (words >> quota >> period && quota > 0 && period > 0) {
      milli = std::min(milli, quota * 1000 / period);
    }
  }
  const std::string old = cgroup_of("/sys/fs/cgroup/cpu", "cpu");
  const std::optional<int64_t> quota = read_number(old + "/cpu.cfs_quota_us");
  const std::optional<int64_t> period = read_number(old + "/cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0) {
    milli = std::min(milli, *quota * 1000 / *period);
  }
  return std::max<int64_t>(milli, 1);
}

int64_t mib_of_memory() {
  int64_t mib = 0;
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    if (word == "MemTotal:") {
      file >> mib;
      mib /= 1024;
      break;
    }
  }
  for (const std::string& path :
       {cgroup_of("/sys/fs/cgroup", "") + "/memory.max",
        cgroup_of("/sys/fs/cgroup/memory", "memory") + "/memory.limit_in_bytes"}) {
    const std::optional<int64_t> limit = read_number(path);
    if (limit && *limit > 0) mib = std::min(mib, *limit / kBytesPerMib);
  }
  return mib;
}

int64_t mib_of_disk(const std::string& directory) {
  struct statvfs disk = {};
  if (statvfs(directory.c_str(), &disk) != 0) return 0;
  const auto free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  return free / kBytesPerMib * 9 / 10;
}

constexpr mode_t kPass = S_IXUSR | S_IXGRP | S_IXOTH;

Result<void> make_folder(const std::string& folder, mode_t mode) {
  if (mkdir(folder.c_str(), mode) == 0 || errno == EEXIST) return {};
  return Error::unavailable(text("cannot make ", quoted(folder), ": ", std::strerror(errno)));
}

Result<std::string> folder_of_root() {
  for (const char* folder : {"/run/proffer", "/run/proffer/agent"}) {
    if (Result<void> made = make_folder(folder, 0755); !made) return std::move(made).error();
  }
  return std::string("/run/proffer/agent");
}

std::string name_of_users_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code ignored;
  const std::string base = runtime != nullptr && *runtime == '/'
                               ? runtime
                               : std::filesystem::temp_directory_path(ignored).string();
  return text(base, "/proffer-", geteuid());
}

Result<std::string> folder_of_user() {
  std::string folder = name_of_users_folder();
  if (Result<void> made = make_folder(folder, 0700); !made) {
    return std::move(made).error().with_hint(
        "set $XDG_RUNTIME_DIR or $TMPDIR to use another directory");
  }
  struct stat status = {};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return Error::failed_precondition(
               text(quoted(folder), " must be a directory that only this user may enter"))
        .with_hint(text("remove it, or correct its mode: chmod 700 ", folder));
  }
  return folder;
}

}  // namespace

ResourceVector system_reserve() {
  return ResourceVector::of(0, std::min(kReserveMaxMib, mib_of_memory() / 10) * 1000);
}

Resources detect_resources(const std::string& work_dir, const ResourceVector& reserved) {
  Resources found;
  found.amounts = ResourceVector::of(milli_cpus(), mib_of_memory() * 1000,
                                     std::min(mib_of_disk(work_dir) * 1000, kAmountMax));
  for (ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem, ResourceKind::kDisk}) {
    found.amounts[kind] = std::max<int64_t>(0, found.amounts[kind] - reserved[kind]);
  }
  found.ports = PortSet({{31000, 32000}});
  return found;
}

int64_t bytes_for_tasks(const ResourceVector& reserved) {
  return std::max<int64_t>(0, mib_of_memory() - reserved[ResourceKind::kMem] / 1000) * kBytesPerMib;
}

PortSet ports_in_use(const PortSet& ports) {
  std::vector<PortRange> found;
  const std::vector<uint16_t> all = *ports.lowest(ports.size());
  for (const uint16_t port : all) {
    const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.get() < 0) return PortSet();  // Then no port is known to be in use.
    // Old connections of a former listener do not count.
    const int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(port);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      found.push_back({port, port});
    }
  }
  return PortSet(std::move(found));
}

std::string hash_of(const std::string& work_dir) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : work_dir) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08x", hash);
  return digits;
}

Result<void> let_others_pass(const std::string& work_dir) {
  if (geteuid() != 0) return {};
  struct stat status = {};
  if (stat(work_dir.c_str(), &status) != 0 ||
      chmod(work_dir.c_str(), (status.st_mode & 07777) | kPass) != 0) {
    return Error::unavailable(
        text("cannot open ", quoted(work_dir), " to others: ", std::strerror(errno)));
  }
  for (std::filesystem::path above = std::filesystem::path(work_dir).parent_path();
       above.has_relative_path(); above = above.parent_path()) {
    if (stat(above.c_str(), &status) != 0 || (status.st_mode & kPass) == kPass) continue;
    LOG(WARNING)
        << "tasks of other users cannot start, because " << quoted(above.string())
        << " does not let them reach their sandboxes: chmod a+x, or use another --work_dir";
  }
  return {};
}

Result<std::string> executor_socket(const std::string& work_dir) {
  // HTTP has a socket beside it, with a slightly longer name.
  constexpr size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1 - std::string_view("-http").size();
  std::string path = work_dir + "/executors.sock";
  if (path.size() <= kPathMax) return path;
  Result<std::string> folder = geteuid() == 0 ? folder_of_root() : folder_of_user();
  if (!folder) return folder;
  path = *folder + "/" + hash_of(work_dir) + ".sock";
  if (path.size() > kPathMax) {
    return Error::failed_precondition(
               text("the socket's path ", quoted(path), " is longer than ", kPathMax, " bytes"))
        .with_hint("use a shorter --work_dir, $XDG_RUNTIME_DIR or $TMPDIR");
  }
  return path;
}

void lead_former_executors(const std::string& work_dir, const std::string& socket, bool is_wanted) {
  const std::string name = name_of_users_folder();
  std::error_code ignored;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(name, ignored))) return;
  const Result<std::string> folder = folder_of_user();
  if (!folder) return;
  const std::string path = text(*folder, "/", hash_of(work_dir), ".sock");
  if (path == socket) return;
  const bool is_link = std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored));
  if (is_wanted || is_link) std::filesystem::remove(path, ignored);
  if (is_wanted) std::filesystem::create_symlink(socket, path, ignored);
}

std::string host_name() {
  char name[kNameBytesMax + 1] = {};
  if (gethostname(name, kNameBytesMax) != 0) return "agent";
  std::string host = name;
  for (char& c : host) {
    if (!is_valid_name(std::string_view(&c, 1)) && c != '.') c = '-';
  }
  return is_valid_name(host) ? host : "agent";
}

std::string bin_dir() {
  const char* given = std::getenv("PROFFER_BIN_DIR");
  std::error_code ignored;
  if (given != nullptr && *given != '\0') return std::filesystem::absolute(given, ignored).string();
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

}  // namespace proffer::agent
