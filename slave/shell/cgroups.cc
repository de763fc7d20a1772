#include "slave/shell/cgroups.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "slave/shell/cgroups_v1.h"
#include "slave/shell/cgroups_v2.h"

namespace proffer::agent {
namespace {

constexpr size_t kCgroupFileBytesMax = size_t{1} << 20;
// Another starting agent holds the lock of an abandoned directory for some milliseconds.
constexpr int kLockTriesMax = 20;
constexpr useconds_t kLockWaitMicros = 10'000;

// In mountinfo, blanks and some other characters are written as "\040".
std::string unescaped(std::string_view field) {
  std::string plain;
  for (size_t at = 0; at < field.size(); ++at) {
    if (field[at] == '\\' && at + 3 < field.size()) {
      int code = 0;
      for (size_t digit = 1; digit <= 3; ++digit) code = code * 8 + (field[at + digit] - '0');
      plain += static_cast<char>(code);
      at += 3;
    } else {
      plain += field[at];
    }
  }
  return plain;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (const std::string_view field : split(line, ' ')) {
    if (!field.empty()) fields.push_back(field);
  }
  return fields;
}

}  // namespace

int64_t processes_for(int64_t cpus_milli) {
  constexpr int64_t kLeast = 512;
  constexpr int64_t kPerCpu = 1'024;
  return kLeast + cpus_milli * kPerCpu / 1000;
}

int64_t processes_of_all() {
  constexpr int64_t kUnknown = 32'768;
  int64_t most = kUnknown;
  for (const char* file : {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"}) {
    most = std::min(most, cgroups::read_number(file).value_or(most));
  }
  return most / 2;
}

std::string to_text(const Enforced& enforced) {
  std::string words;
  for (const std::string& limit : enforced.limits) words += (words.empty() ? "" : ", ") + limit;
  if (!words.empty()) words += text(" (", enforced.by, ")");
  std::string missing;
  for (const auto& [limit, reason] : enforced.missing) {
    missing += text(missing.empty() ? "" : ", ", limit, " (", reason, ")");
  }
  if (missing.empty()) return words;
  return text(words, words.empty() ? "" : "; ", "not enforced: ", missing);
}

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    // "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:1 - cgroup cgroup rw,cpu,cpuacct"
    const std::vector<std::string_view> fields = fields_of(line);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 5 || fields.end() - dash < 4) continue;
    const std::string_view kind = dash[1];
    if (kind != "cgroup" && kind != "cgroup2") continue;
    CgroupMount mount{.path = unescaped(fields[4]), .is_v2 = kind == "cgroup2"};
    if (!mount.is_v2) {
      for (const std::string_view option : split(dash[3], ',')) {
        mount.controllers.emplace_back(option);
      }
    }
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

Result<std::unique_ptr<Cgroups>> choose_cgroups(const std::vector<CgroupMount>& mounts,
                                                const GroupOptions& options) {
  Result<std::unique_ptr<Cgroups>> first = make_cgroups_v1(mounts, options);
  if (first) return first;
  Result<std::unique_ptr<Cgroups>> second = make_cgroups_v2(mounts, options);
  if (second) return second;
  // The reason why the existing version is not usable is more informative.
  const bool has_v2 =
      std::any_of(mounts.begin(), mounts.end(), [](const CgroupMount& one) { return one.is_v2; });
  const bool has_v1 = std::any_of(mounts.begin(), mounts.end(), [](const CgroupMount& one) {
    return !one.is_v2 && std::find(one.controllers.begin(), one.controllers.end(), "memory") !=
                             one.controllers.end();
  });
  if (has_v2 && !has_v1) return second;
  return first;
}

namespace cgroups {

int write_value(const std::string& path, std::string_view value) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return errno;
  return write(file.get(), value.data(), value.size()) < 0 ? errno : 0;
}

std::optional<std::string> read_value(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string bytes;
  char buffer[4096];
  while (bytes.size() < kCgroupFileBytesMax) {
    const ssize_t n = read(file.get(), buffer, sizeof buffer);
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    bytes.append(buffer, static_cast<size_t>(n));
  }
  return bytes;
}

std::optional<int64_t> read_number(const std::string& path) { return number_in(read_value(path)); }

std::optional<int64_t> read_keyed(const std::string& path, std::string_view key) {
  return keyed_in(read_value(path), key);
}

std::optional<int64_t> number_in(const std::optional<std::string>& value) {
  if (!value) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  return error == std::errc() ? std::optional<int64_t>(number) : std::nullopt;
}

std::optional<int64_t> keyed_in(const std::optional<std::string>& value, std::string_view key) {
  if (!value) return std::nullopt;
  for (const std::string_view line : split(*value, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
    const std::string_view rest = trimmed(line.substr(key.size()));
    int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc()) return number;
  }
  return std::nullopt;
}

std::vector<pid_t> read_pids(const std::string& path) {
  std::vector<pid_t> pids;
  const std::optional<std::string> value = read_value(path);
  if (!value) return pids;
  for (const std::string_view line : split(*value, '\n')) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error == std::errc() && pid > 0) pids.push_back(pid);
  }
  return pids;
}

std::vector<std::string> directories_in(const std::string& path) {
  std::vector<std::string> names;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

int64_t shares_of(int64_t cpus_milli) {
  return std::clamp<int64_t>(cpus_milli * 1024 / 1000, 2, 262'144);
}

int64_t quota_of(int64_t cpus_milli) { return std::max<int64_t>(cpus_milli * 100, 1'000); }

std::string group_in(std::string_view cgroup_path, const GroupOptions& options) {
  const std::string folder = text("/", options.parent, "/", options.agent, "/");
  const size_t at = cgroup_path.find(folder);
  if (at == std::string_view::npos) return {};
  const std::string_view group = cgroup_path.substr(at + folder.size());
  return std::string(group.substr(0, group.find('/')));
}

std::string path_of(pid_t pid, const std::function<bool(std::string_view)>& fits) {
  const std::optional<std::string> lines = read_value(text("/proc/", pid, "/cgroup"));
  if (!lines) return {};
  for (const std::string_view line : split(*lines, '\n')) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    if (fits(line.substr(first + 1, second - first - 1))) {
      return std::string(line.substr(second + 1));
    }
  }
  return {};
}

Result<Fd> lock_folder(const std::string& folder) {
  for (int attempt = 0; attempt < kLockTriesMax; ++attempt) {
    if (attempt > 0) usleep(kLockWaitMicros);
    for (const std::string& path : {folder.substr(0, folder.rfind('/')), folder}) {
      if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) continue;
      return Error::unsupported(text("cannot make ", path, ": ", std::strerror(errno)));
    }
    Fd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.get() < 0 || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    // It may have been removed before it was locked.
    struct stat locked = {};
    struct stat named = {};
    if (fstat(lock.get(), &locked) == 0 && stat(folder.c_str(), &named) == 0 &&
        locked.st_ino == named.st_ino) {
      return lock;
    }
  }
  return Error::failed_precondition(text("another agent uses the cgroup ", folder));
}

OwnGroup::OwnGroup(const std::string& folder, std::string back,
                   std::pair<std::string_view, std::string_view> weight)
    : back_(std::move(back)) {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return;
  if (write_value(text(folder, "/", weight.first), weight.second) != 0 ||
      write_value(folder + "/cgroup.procs", "0") != 0) {
    rmdir(folder.c_str());
    return;
  }
  folder_ = folder;
}

OwnGroup& OwnGroup::operator=(OwnGroup&& other) noexcept {
  leave();
  folder_ = std::exchange(other.folder_, {});
  back_ = std::move(other.back_);
  return *this;
}

void OwnGroup::leave() {
  if (folder_.empty()) return;
  write_value(back_ + "/cgroup.procs", "0");
  rmdir(folder_.c_str());
  folder_.clear();
}

std::string own_folder(const std::string& folder) { return folder + ".daemon"; }

void remove_abandoned(const std::vector<std::string>& parents, const std::string& but) {
  if (parents.empty()) return;
  for (const std::string& agent : directories_in(parents.front())) {
    if (agent == but) continue;
    const Fd lock(
        open(text(parents.front(), "/", agent).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.get() < 0 || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    // Only an empty directory may be removed, since a killed agent finds its tasks again.
    bool is_empty = true;
    for (const std::string& parent : parents) {
      const std::string folder = text(parent, "/", agent);
      for (const std::string& group : directories_in(folder)) {
        is_empty = is_empty && read_pids(text(folder, "/", group, "/cgroup.procs")).empty();
      }
    }
    if (!is_empty) continue;
    for (auto parent = parents.rbegin(); parent != parents.rend(); ++parent) {
      const std::string folder = text(*parent, "/", agent);
      for (const std::string& group : directories_in(folder)) {
        rmdir(text(folder, "/", group).c_str());
      }
      rmdir(own_folder(folder).c_str());
      rmdir(folder.c_str());
    }
  }
}

}  // namespace cgroups

}  // namespace proffer::agent
