// One directory per group; the kernel itself kills and counts.

#include "slave/shell/cgroups_v2.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "slave/shell/device_program.h"

namespace proffer::agent {
namespace {

using cgroups::read_keyed;
using cgroups::read_number;
using cgroups::write_value;

constexpr int64_t kNanosPerMicro = 1'000;

Error cannot_write(const std::string& path, int error) {
  return Error::unavailable(text("cannot write ", path, ": ", std::strerror(error)));
}

// The sum of "key=number" over all lines: io.stat has a line per device.
std::optional<int64_t> sum_of_devices(const std::string& path, std::string_view key) {
  const std::optional<std::string> value = cgroups::read_value(path);
  if (!value) return std::nullopt;
  int64_t sum = 0;
  for (const std::string_view line : split(*value, '\n')) {
    for (const std::string_view field : split(line, ' ')) {
      if (!field.starts_with(key) || field.size() <= key.size() || field[key.size()] != '=') {
        continue;
      }
      int64_t number = 0;
      const std::string_view digits = field.substr(key.size() + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
      sum += number;
    }
  }
  return sum;
}

class CgroupsV2 : public Cgroups {
 public:
  CgroupsV2(std::string folder, GroupOptions options, Enforced enforced, Fd lock,
            cgroups::OwnGroup own)
      : folder_(std::move(folder)),
        options_(std::move(options)),
        enforced_(std::move(enforced)),
        lock_(std::move(lock)),
        own_(std::move(own)) {}
  ~CgroupsV2() override;

  const Enforced& enforced() const override { return enforced_; }
  Result<void> make(const std::string& group) override;
  Result<void> remove(const std::string& group) override;
  // Only a new group starts with zero counts.
  bool can_renew() const override { return false; }
  bool renew(const std::string&) override { return false; }
  Result<bool> set_limits(const std::string& group, const GroupLimits& limits) override;
  std::vector<std::string> entrances(const std::string& group) const override {
    return {file(group, "cgroup.procs")};
  }
  Result<void> attach(const std::string& group, pid_t pid) override;
  bool kill_all(const std::string& group) override;
  std::vector<pid_t> members(const std::string& group) const override {
    return cgroups::read_pids(file(group, "cgroup.procs"));
  }
  GroupUsage used(const std::string& group) const override;
  GroupUsage usage(const std::string& group) const override;
  std::vector<std::string> groups() const override { return cgroups::directories_in(folder_); }
  std::string group_of(pid_t pid) const override {
    return cgroups::group_in(
        cgroups::path_of(pid, [](std::string_view controllers) { return controllers.empty(); }),
        options_);
  }

 private:
  std::string file(const std::string& group, std::string_view name) const {
    return text(folder_, "/", group, "/", name);
  }
  bool has(std::string_view limit) const {
    return std::find(enforced_.limits.begin(), enforced_.limits.end(), limit) !=
           enforced_.limits.end();
  }

  std::string folder_;  // <mount>/<parent>/<agent>
  GroupOptions options_;
  Enforced enforced_;
  Fd lock_;
  cgroups::OwnGroup own_;
  std::map<std::string, GroupLimits> limits_;
};

// Directories that still contain a group are not removed.
CgroupsV2::~CgroupsV2() {
  own_ = {};
  if (rmdir(folder_.c_str()) == 0) rmdir(folder_.substr(0, folder_.rfind('/')).c_str());
}

Result<void> CgroupsV2::make(const std::string& group) {
  const std::string path = text(folder_, "/", group);
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    const int error = errno;
    const std::string message = text("cannot make the cgroup ", path, ": ", std::strerror(error));
    return error == EAGAIN || error == ENOMEM || error == ENOSPC
               ? Error::resource_exhausted(message)
               : Error::unavailable(message);
  }
  limits_.erase(group);
  if (!has("memory")) return {};
  const std::string at = file(group, "memory.oom.group");
  if (const int error = write_value(at, "1"); error != 0) return cannot_write(at, error);
  return {};
}

Result<void> CgroupsV2::remove(const std::string& group) {
  const std::string path = text(folder_, "/", group);
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) {
    const std::string message = text("cannot remove the cgroup ", path, ": ", std::strerror(errno));
    return errno == EBUSY ? Error::failed_precondition(message) : Error::unavailable(message);
  }
  limits_.erase(group);
  return {};
}

Result<bool> CgroupsV2::set_limits(const std::string& group, const GroupLimits& limits) {
  const auto known = limits_.find(group);
  const bool is_first = known == limits_.end();
  const GroupLimits before =
      is_first ? GroupLimits{.cpus_milli = -1, .processes = -1} : known->second;
  std::vector<std::pair<std::string, std::string>> values;
  GroupLimits now = limits;
  if (has("cpu") && before.cpus_milli != limits.cpus_milli) {
    // From 1 to 10,000; a CPU has the weight 100, unlike 1,024 in v1.
    values.emplace_back("cpu.weight",
                        std::to_string(std::clamp<int64_t>(limits.cpus_milli / 10, 1, 10'000)));
    if (options_.is_cpu_capped) {
      values.emplace_back("cpu.max", text(cgroups::quota_of(limits.cpus_milli), " 100000"));
    }
  }
  if (has("pids") && before.processes != limits.processes) {
    values.emplace_back("pids.max", std::to_string(limits.processes));
  }
  bool is_whole = true;
  if (has("memory") && before.memory_bytes != limits.memory_bytes) {
    // The kernel would kill processes to enforce it.
    is_whole = read_number(file(group, "memory.current")).value_or(0) <= limits.memory_bytes;
    if (is_whole) {
      values.emplace_back("memory.max", std::to_string(limits.memory_bytes));
      if (is_first && access(file(group, "memory.swap.max").c_str(), W_OK) == 0) {
        values.emplace_back("memory.swap.max", "0");
      }
    } else {
      now.memory_bytes = before.memory_bytes;
    }
  }
  for (const auto& [name, value] : values) {
    const std::string at = file(group, name);
    if (const int error = write_value(at, value); error != 0) return cannot_write(at, error);
  }
  if (has("gpus") && before.hidden_gpus != limits.hidden_gpus) {
    Result<void> denied = deny_devices(text(folder_, "/", group), kGpuMajor, limits.hidden_gpus);
    if (!denied) return std::move(denied).error();
  }
  limits_[group] = now;
  return is_whole;
}

Result<void> CgroupsV2::attach(const std::string& group, pid_t pid) {
  const std::string at = file(group, "cgroup.procs");
  if (const int error = write_value(at, std::to_string(pid)); error != 0) {
    return cannot_write(at, error);
  }
  return {};
}

bool CgroupsV2::kill_all(const std::string& group) {
  if (read_keyed(file(group, "cgroup.events"), "populated").value_or(0) == 0 &&
      members(group).empty()) {
    return false;
  }
  if (write_value(file(group, "cgroup.kill"), "1") == 0) return true;
  // Before Linux 5.14. Frozen processes cannot fork, and can be killed.
  const bool is_frozen = write_value(file(group, "cgroup.freeze"), "1") == 0;
  for (const pid_t pid : members(group)) ::kill(pid, SIGKILL);
  if (is_frozen) write_value(file(group, "cgroup.freeze"), "0");
  return true;
}

GroupUsage CgroupsV2::used(const std::string& group) const {
  GroupUsage usage;
  const std::string cpu = file(group, "cpu.stat");
  usage.cpu_nanos = read_keyed(cpu, "usage_usec");
  if (usage.cpu_nanos) *usage.cpu_nanos *= kNanosPerMicro;
  if (options_.is_cpu_capped && has("cpu")) {
    usage.throttled_nanos = read_keyed(cpu, "throttled_usec");
    if (usage.throttled_nanos) *usage.throttled_nanos *= kNanosPerMicro;
  }
  if (has("memory")) {
    usage.memory_peak_bytes = read_number(file(group, "memory.peak"));  // since Linux 5.19
    usage.out_of_memory = read_keyed(file(group, "memory.events"), "oom_kill");
  }
  const std::string io = file(group, "io.stat");
  usage.read_bytes = sum_of_devices(io, "rbytes");
  usage.written_bytes = sum_of_devices(io, "wbytes");
  return usage;
}

GroupUsage CgroupsV2::usage(const std::string& group) const {
  GroupUsage usage = used(group);
  if (has("memory")) {
    usage.memory_bytes = read_number(file(group, "memory.current"));
    usage.memory_limit_bytes = read_number(file(group, "memory.max"));
  }
  if (has("pids")) usage.processes = read_number(file(group, "pids.current"));
  return usage;
}

}  // namespace

Result<std::unique_ptr<Cgroups>> make_cgroups_v2(const std::vector<CgroupMount>& mounts,
                                                 const GroupOptions& options, bool is_bare) {
  const auto mount =
      std::find_if(mounts.begin(), mounts.end(), [](const CgroupMount& one) { return one.is_v2; });
  if (mount == mounts.end()) return Error::unsupported("cgroups v2 are not mounted");
  Enforced enforced{.by = "cgroups v2"};
  const std::string own =
      cgroups::path_of(getpid(), [](std::string_view controllers) { return controllers.empty(); });
  if (!cgroups::group_in(own, options).empty()) {
    return Error::failed_precondition(
        text("this process is in the cgroup ", own, ", which belongs to this agent's tasks"));
  }
  const std::string there = cgroups::read_value(mount->path + "/cgroup.controllers").value_or("");
  const std::vector<std::string_view> words = split(trimmed(there), ' ');
  const auto is_there = [&](std::string_view controller) {
    return std::find(words.begin(), words.end(), controller) != words.end();
  };
  const std::string parent = text(mount->path, "/", options.parent);
  const std::string folder = text(parent, "/", options.agent);
  if (!is_bare && !is_there("cpu") && !is_there("memory") && !is_there("pids")) {
    return Error::unsupported("cgroups v2 have no cpu, memory or pids controller here");
  }
  Result<Fd> lock = cgroups::lock_folder(folder);
  if (!lock) return std::move(lock).error();
  // A controller is active in a group if each parent enables it for its children.
  for (const std::string_view controller : {"cpu", "memory", "pids", "io"}) {
    std::string reason = is_there(controller) ? "" : "cgroups v2 do not have its controller";
    for (const std::string& above : {mount->path, parent, folder}) {
      if (!reason.empty()) break;
      const std::string at = above + "/cgroup.subtree_control";
      const std::string now = cgroups::read_value(at).value_or("");
      const std::vector<std::string_view> on = split(trimmed(now), ' ');
      if (std::find(on.begin(), on.end(), controller) != on.end()) continue;
      const int error = write_value(at, text("+", controller));
      if (error != 0) reason = text("cannot write ", at, ": ", std::strerror(error));
    }
    if (controller == "io") continue;  // counted, not limited
    if (reason.empty()) {
      enforced.limits.emplace_back(controller);
    } else {
      enforced.missing.emplace_back(controller, reason);
    }
  }
  if (!is_bare && enforced.limits.empty()) {
    return Error::unsupported(enforced.missing.front().second);
  }
  if (!options.gpu_minors.empty()) {
    // A group with a program may have none below it that have others, so this one is temporary.
    const std::string trial = folder + "/trial";
    mkdir(trial.c_str(), 0755);
    const Result<void> denied = deny_devices(trial, kGpuMajor, {});
    rmdir(trial.c_str());
    if (denied) {
      enforced.limits.emplace_back("gpus");
    } else {
      enforced.missing.emplace_back("gpus", denied.error().message());
    }
    std::sort(enforced.limits.begin(), enforced.limits.end());
  }
  const int64_t weight = std::clamp<int64_t>(options.agent_cpus_milli / 10, 1, 10'000);
  for (const std::string& above : {folder, parent}) {
    const std::string at = above + "/cpu.weight";
    if (const std::optional<int64_t> now = read_number(at); now && *now < weight) {
      write_value(at, std::to_string(weight));
    }
  }
  write_value(folder + "/pids.max", std::to_string(processes_of_all()));
  if (options.memory_bytes > 0) {
    write_value(folder + "/memory.max", std::to_string(options.memory_bytes));
  }
  cgroups::remove_abandoned({parent}, options.agent);
  // A service manager keeps the group of its service, with the weight that its unit has.
  cgroups::OwnGroup own_group;
  if (own == "/" && !is_bare) {
    own_group = cgroups::OwnGroup(cgroups::own_folder(folder), mount->path,
                                  {"cpu.weight", cgroups::kWeightMax});
  }
  return std::unique_ptr<Cgroups>(std::make_unique<CgroupsV2>(
      folder, options, std::move(enforced), *std::move(lock), std::move(own_group)));
}

}  // namespace proffer::agent
