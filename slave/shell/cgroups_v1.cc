// Read make_cgroups_v1 first, which selects the hierarchies; then kill_all.

#include "slave/shell/cgroups_v1.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "slave/shell/kept_files.h"

namespace proffer::agent {
namespace {

using cgroups::keyed_in;
using cgroups::number_in;
using cgroups::read_number;
using cgroups::read_pids;
using cgroups::write_value;

// The maximum of file cache that an ended group may keep to be reused, since the cache counts for
// the next task.
constexpr int64_t kKeptBytesMax = int64_t{16} << 20;
// Maximum number of checks until all processes are frozen.
constexpr int kFreezeLooksMax = 100;

// A mounted hierarchy with its controllers.
struct Hierarchy {
  std::string folder = {};  // <mount>/<parent>/<agent>
  std::vector<std::string> controllers = {};

  bool has(std::string_view controller) const {
    return std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
  }
};

// A directory of the group in the hierarchy of each controller; empty if no hierarchy has it.
class CgroupsV1 : public Cgroups {
 public:
  CgroupsV1(std::vector<Hierarchy> hierarchies, GroupOptions options, Enforced enforced, Fd lock,
            cgroups::OwnGroup own)
      : hierarchies_(std::move(hierarchies)),
        options_(std::move(options)),
        enforced_(std::move(enforced)),
        lock_(std::move(lock)),
        own_(std::move(own)),
        files_(options_.files_kept_max) {
    cpu_ = folder_of("cpu");
    cpuacct_ = folder_of("cpuacct");
    memory_ = folder_of("memory");
    pids_ = folder_of("pids");
    freezer_ = folder_of("freezer");
    devices_ = folder_of("devices");
  }
  ~CgroupsV1() override;

  const Enforced& enforced() const override { return enforced_; }
  Result<void> make(const std::string& group) override;
  Result<void> remove(const std::string& group) override;
  bool can_renew() const override { return true; }
  bool renew(const std::string& group) override;
  Result<bool> set_limits(const std::string& group, const GroupLimits& limits) override;
  std::vector<std::string> entrances(const std::string& group) const override;
  Result<void> attach(const std::string& group, pid_t pid) override;
  bool kill_all(const std::string& group) override;
  std::vector<pid_t> members(const std::string& group) const override;
  bool has_one_at_most(const std::string& group) const override;
  GroupUsage used(const std::string& group) const override;
  GroupUsage usage(const std::string& group) const override;
  std::vector<std::string> groups() const override;
  std::string group_of(pid_t pid) const override;

 private:
  struct Group {
    std::optional<GroupLimits> limits = {};
    bool is_closed = false;  // its processes cannot fork, until limits are set
  };

  std::string folder_of(std::string_view controller) const {
    for (const Hierarchy& one : hierarchies_) {
      if (one.has(controller)) return one.folder;
    }
    return {};
  }
  static std::string file(const std::string& folder, const std::string& group,
                          std::string_view name) {
    return text(folder, "/", group, "/", name);
  }
  Result<void> set_memory(const std::string& group, int64_t bytes) const;
  Result<void> hide_gpus(const std::string& group, const std::vector<int64_t>& before,
                         const std::vector<int64_t>& hidden) const;
  bool freeze(const std::string& group) const;

  std::vector<Hierarchy> hierarchies_;
  GroupOptions options_;
  Enforced enforced_;
  Fd lock_;
  cgroups::OwnGroup own_;
  std::string cpu_;
  std::string cpuacct_;
  std::string memory_;
  std::string pids_;
  std::string freezer_;
  std::string devices_;
  std::map<std::string, Group> groups_;
  mutable KeptFiles files_;  // the files that each task needs
};

Error cannot_set(const std::string& path, int error) {
  return Error::unavailable(text("cannot write ", path, ": ", std::strerror(error)));
}

// Directories that still contain a group are not removed.
CgroupsV1::~CgroupsV1() {
  own_ = {};
  for (auto one = hierarchies_.rbegin(); one != hierarchies_.rend(); ++one) {
    if (rmdir(one->folder.c_str()) == 0) {
      rmdir(one->folder.substr(0, one->folder.rfind('/')).c_str());
    }
  }
}

Result<void> CgroupsV1::make(const std::string& group) {
  for (const Hierarchy& one : hierarchies_) {
    const std::string path = text(one.folder, "/", group);
    if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) continue;
    const int error = errno;
    const std::string message = text("cannot make the cgroup ", path, ": ", std::strerror(error));
    for (const Hierarchy& made : hierarchies_) rmdir(text(made.folder, "/", group).c_str());
    return error == ENOSPC || error == ENOMEM || error == EAGAIN
               ? Error::resource_exhausted(message)
               : Error::unavailable(message);
  }
  groups_[group] = {};
  return {};
}

Result<void> CgroupsV1::remove(const std::string& group) {
  for (const Hierarchy& one : hierarchies_) {
    const std::string path = text(one.folder, "/", group);
    files_.forget(path);
    if (rmdir(path.c_str()) == 0 || errno == ENOENT) continue;
    const std::string message = text("cannot remove the cgroup ", path, ": ", std::strerror(errno));
    return errno == EBUSY ? Error::failed_precondition(message) : Error::unavailable(message);
  }
  groups_.erase(group);
  return {};
}

bool CgroupsV1::renew(const std::string& group) {
  const auto at = groups_.find(group);
  if (at == groups_.end()) return false;
  // These counts cannot be reset.
  if (!memory_.empty() &&
      keyed_in(files_.read(file(memory_, group, "memory.oom_control")), "oom_kill").value_or(0) >
          0) {
    return false;
  }
  if (options_.is_cpu_capped && !cpu_.empty() &&
      keyed_in(files_.read(file(cpu_, group, "cpu.stat")), "throttled_time").value_or(0) > 0) {
    return false;
  }
  if (!memory_.empty()) {
    const std::optional<int64_t> kept =
        number_in(files_.read(file(memory_, group, "memory.usage_in_bytes")));
    if (!kept || *kept > kKeptBytesMax) return false;
    if (files_.write(file(memory_, group, "memory.max_usage_in_bytes"), "0") != 0) return false;
  }
  if (!cpuacct_.empty() && files_.write(file(cpuacct_, group, "cpuacct.usage"), "0") != 0) {
    return false;
  }
  return true;
}

// The limit with swap may never be below the one without it.
Result<void> CgroupsV1::set_memory(const std::string& group, int64_t bytes) const {
  std::array<std::string, 2> paths = {file(memory_, group, "memory.limit_in_bytes"),
                                      file(memory_, group, "memory.memsw.limit_in_bytes")};
  const bool counts_swap = access(paths[1].c_str(), W_OK) == 0;
  if (counts_swap && bytes > read_number(paths[1]).value_or(0)) std::swap(paths[0], paths[1]);
  for (const std::string& path : paths) {
    if (!counts_swap && path.ends_with("memory.memsw.limit_in_bytes")) continue;
    if (const int error = write_value(path, std::to_string(bytes)); error != 0) {
      return cannot_set(path, error);
    }
  }
  return {};
}

// The kernel takes one device in each write. Both lists are sorted.
Result<void> CgroupsV1::hide_gpus(const std::string& group, const std::vector<int64_t>& before,
                                  const std::vector<int64_t>& hidden) const {
  const auto write_each = [&](const std::vector<int64_t>& these, const std::vector<int64_t>& except,
                              std::string_view name) -> Result<void> {
    for (const int64_t minor : these) {
      if (std::binary_search(except.begin(), except.end(), minor)) continue;
      const std::string path = file(devices_, group, name);
      const int error = write_value(path, text("c ", kGpuMajor, ":", minor, " rwm"));
      if (error != 0) return cannot_set(path, error);
    }
    return {};
  };
  if (Result<void> denied = write_each(hidden, before, "devices.deny"); !denied) return denied;
  return write_each(before, hidden, "devices.allow");
}

Result<bool> CgroupsV1::set_limits(const std::string& group, const GroupLimits& limits) {
  Group& known = groups_[group];
  const GroupLimits before = known.limits.value_or(GroupLimits{.cpus_milli = -1, .processes = -1});
  if (!cpu_.empty() && before.cpus_milli != limits.cpus_milli) {
    const std::string shares = file(cpu_, group, "cpu.shares");
    int error = write_value(shares, std::to_string(cgroups::shares_of(limits.cpus_milli)));
    if (error != 0) return cannot_set(shares, error);
    const std::string quota = file(cpu_, group, "cpu.cfs_quota_us");
    if (options_.is_cpu_capped) {
      error = write_value(quota, std::to_string(cgroups::quota_of(limits.cpus_milli)));
      if (error != 0) return cannot_set(quota, error);
    }
  }
  if (!pids_.empty() && (known.is_closed || before.processes != limits.processes)) {
    const std::string path = file(pids_, group, "pids.max");
    const int error = write_value(path, std::to_string(limits.processes));
    if (error != 0) return cannot_set(path, error);
    known.is_closed = false;
  }
  if (!devices_.empty() && before.hidden_gpus != limits.hidden_gpus) {
    if (Result<void> set = hide_gpus(group, before.hidden_gpus, limits.hidden_gpus); !set) {
      return std::move(set).error();
    }
  }
  GroupLimits now = limits;
  bool is_whole = true;
  if (!memory_.empty() && before.memory_bytes != limits.memory_bytes) {
    // Otherwise the kernel would try to free memory first, without a time limit.
    const bool shrinks = !known.limits || limits.memory_bytes < before.memory_bytes;
    is_whole = !shrinks || read_number(file(memory_, group, "memory.usage_in_bytes")).value_or(0) <=
                               limits.memory_bytes;
    if (is_whole) {
      if (Result<void> set = set_memory(group, limits.memory_bytes); !set) {
        return std::move(set).error();
      }
    } else {
      now.memory_bytes = before.memory_bytes;
    }
  }
  known.limits = now;
  return is_whole;
}

// A thread that moves itself needs no locks. Moving another process needs locks that wait for all
// forks of the machine. The thread of a single-threaded process is the whole process.
std::vector<std::string> CgroupsV1::entrances(const std::string& group) const {
  std::vector<std::string> files;
  for (const Hierarchy& one : hierarchies_) files.push_back(file(one.folder, group, "tasks"));
  return files;
}

Result<void> CgroupsV1::attach(const std::string& group, pid_t pid) {
  for (const Hierarchy& one : hierarchies_) {
    const std::string path = file(one.folder, group, "cgroup.procs");
    if (const int error = write_value(path, std::to_string(pid)); error != 0) {
      return cannot_set(path, error);
    }
  }
  return {};
}

// Under a limit of zero processes no fork succeeds, so the listed processes are all there are.
// Without this controller, the processes are frozen first.
bool CgroupsV1::kill_all(const std::string& group) {
  std::vector<pid_t> left = members(group);
  if (left.empty()) return false;
  if (!pids_.empty()) {
    if (write_value(file(pids_, group, "pids.max"), "0") == 0) groups_[group].is_closed = true;
    left = members(group);
  } else if (!freezer_.empty() && freeze(group)) {
    left = members(group);
  }
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
  if (pids_.empty() && !freezer_.empty()) {
    write_value(file(freezer_, group, "freezer.state"), "THAWED");
  }
  return true;
}

bool CgroupsV1::freeze(const std::string& group) const {
  const std::string state = file(freezer_, group, "freezer.state");
  if (write_value(state, "FROZEN") != 0) return false;
  for (int look = 0; look < kFreezeLooksMax; ++look) {
    if (cgroups::read_value(state).value_or("").starts_with("FROZEN")) return true;
  }
  return false;
}

std::vector<pid_t> CgroupsV1::members(const std::string& group) const {
  const std::string& folder = !pids_.empty() ? pids_ : hierarchies_.front().folder;
  // Never with a kept file: the kernel returns the list of its last read for a second.
  return read_pids(file(folder, group, "cgroup.procs"));
}

bool CgroupsV1::has_one_at_most(const std::string& group) const {
  if (pids_.empty()) return members(group).size() <= 1;
  const std::optional<int64_t> now = number_in(files_.read(file(pids_, group, "pids.current")));
  return now && *now <= 1;
}

GroupUsage CgroupsV1::used(const std::string& group) const {
  GroupUsage usage;
  if (!cpuacct_.empty())
    usage.cpu_nanos = number_in(files_.read(file(cpuacct_, group, "cpuacct.usage")));
  if (options_.is_cpu_capped && !cpu_.empty()) {
    usage.throttled_nanos = keyed_in(files_.read(file(cpu_, group, "cpu.stat")), "throttled_time");
  }
  if (!memory_.empty()) {
    usage.memory_peak_bytes =
        number_in(files_.read(file(memory_, group, "memory.max_usage_in_bytes")));
    usage.out_of_memory =
        keyed_in(files_.read(file(memory_, group, "memory.oom_control")), "oom_kill");
  }
  return usage;
}

GroupUsage CgroupsV1::usage(const std::string& group) const {
  GroupUsage usage = used(group);
  if (!memory_.empty()) {
    usage.memory_bytes = read_number(file(memory_, group, "memory.usage_in_bytes"));
    usage.memory_limit_bytes = read_number(file(memory_, group, "memory.limit_in_bytes"));
  }
  if (!pids_.empty()) usage.processes = read_number(file(pids_, group, "pids.current"));
  return usage;
}

std::vector<std::string> CgroupsV1::groups() const {
  std::vector<std::string> names;
  for (const Hierarchy& one : hierarchies_) {
    for (std::string& name : cgroups::directories_in(one.folder)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string CgroupsV1::group_of(pid_t pid) const {
  // The process is in the same group in each hierarchy.
  const std::string controller = pids_.empty() ? enforced_.limits.front() : "pids";
  const std::string path = cgroups::path_of(pid, [&](std::string_view controllers) {
    const std::vector<std::string_view> names = split(controllers, ',');
    return std::find(names.begin(), names.end(), controller) != names.end();
  });
  return cgroups::group_in(path, options_);
}

}  // namespace

Result<std::unique_ptr<Cgroups>> make_cgroups_v1(const std::vector<CgroupMount>& mounts,
                                                 const GroupOptions& options) {
  constexpr std::array<std::string_view, 3> kLimits = {"pids", "memory", "cpu"};
  constexpr std::array<std::string_view, 2> kOthers = {"cpuacct", "freezer"};
  Enforced enforced{.by = "cgroups v1"};
  std::vector<Hierarchy> hierarchies;
  Fd lock;
  const auto has = [](const auto& one, std::string_view controller) {
    return std::find(one.controllers.begin(), one.controllers.end(), controller) !=
           one.controllers.end();
  };
  // Nothing, or the reason why the controller cannot be used. The first directory is locked.
  const auto use = [&](std::string_view controller) -> std::optional<Error> {
    const auto is_its = [&](const auto& one) { return has(one, controller); };
    if (std::any_of(hierarchies.begin(), hierarchies.end(), is_its)) return std::nullopt;
    const auto mount = std::find_if(mounts.begin(), mounts.end(), is_its);
    if (mount == mounts.end()) return Error::unsupported("its controller is not mounted");
    const std::string parent = text(mount->path, "/", options.parent);
    const std::string folder = text(parent, "/", options.agent);
    if (lock.get() < 0) {
      Result<Fd> locked = cgroups::lock_folder(folder);
      if (!locked) return std::move(locked).error();
      lock = *std::move(locked);
    }
    for (const std::string& path : {parent, folder}) {
      if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) continue;
      return Error::unsupported(text("cannot make ", path, ": ", std::strerror(errno)));
    }
    hierarchies.push_back({.folder = folder, .controllers = mount->controllers});
    return std::nullopt;
  };
  std::optional<Error> last;
  for (const std::string_view controller : kLimits) {
    std::optional<Error> failed = use(controller);
    if (failed && failed->code() == ErrorCode::kFailedPrecondition) return *std::move(failed);
    if (failed) {
      enforced.missing.emplace_back(controller, failed->message());
      last = std::move(failed);
    } else {
      enforced.limits.emplace_back(controller);
    }
  }
  if (enforced.limits.empty()) {
    const bool any = std::any_of(mounts.begin(), mounts.end(), [&](const CgroupMount& one) {
      return std::any_of(kLimits.begin(), kLimits.end(),
                         [&](std::string_view controller) { return has(one, controller); });
    });
    return any ? *std::move(last)
               : Error::unsupported("no controller of cgroups v1 is mounted that limits");
  }
  if (!options.gpu_minors.empty()) {
    if (std::optional<Error> failed = use("devices")) {
      enforced.missing.emplace_back("gpus", failed->message());
    } else {
      enforced.limits.emplace_back("gpus");
    }
  }
  // The freezer is needed to end a group if processes cannot be limited.
  for (const std::string_view controller : kOthers) {
    if (controller == "freezer" && enforced.limits.front() == "pids") continue;
    use(controller);  // Without it there are fewer usage counts, and a fork may escape the kill.
  }
  std::sort(enforced.limits.begin(), enforced.limits.end());

  const std::string shares = std::to_string(cgroups::shares_of(options.agent_cpus_milli));
  std::vector<std::string> parents;
  cgroups::OwnGroup own_group;
  for (const Hierarchy& one : hierarchies) {
    parents.push_back(one.folder.substr(0, one.folder.rfind('/')));
    const std::string own = cgroups::path_of(getpid(), [&](std::string_view controllers) {
      const std::vector<std::string_view> names = split(controllers, ',');
      return std::any_of(names.begin(), names.end(),
                         [&](std::string_view name) { return one.has(name); });
    });
    if (!cgroups::group_in(own, options).empty()) {
      return Error::failed_precondition(
          text("this process is in the cgroup ", own, ", which belongs to this agent's tasks"));
    }
    if (one.has("pids")) {
      write_value(one.folder + "/pids.max", std::to_string(processes_of_all()));
    }
    if (one.has("memory") && options.memory_bytes > 0) {
      write_value(one.folder + "/memory.limit_in_bytes", std::to_string(options.memory_bytes));
    }
    if (!one.has("cpu")) continue;
    // All groups of the agent together have the weight of its CPUs compared with other groups.
    write_value(one.folder + "/cpu.shares", shares);
    const std::string all = parents.back() + "/cpu.shares";
    if (read_number(all).value_or(0) < cgroups::shares_of(options.agent_cpus_milli)) {
      write_value(all, shares);
    }
    const std::string mount =
        parents.back().substr(0, parents.back().size() - options.parent.size() - 1);
    own_group = cgroups::OwnGroup(cgroups::own_folder(one.folder), mount + own,
                                  {"cpu.shares", cgroups::kSharesMax});
  }
  cgroups::remove_abandoned(parents, options.agent);
  return std::unique_ptr<Cgroups>(std::make_unique<CgroupsV1>(
      std::move(hierarchies), options, std::move(enforced), std::move(lock), std::move(own_group)));
}

}  // namespace proffer::agent
