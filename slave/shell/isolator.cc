// Assigns groups to runs. Groups are reused by later runs, since making and removing one costs more
// than the rest of a launch. So the name of a group does not identify the run, and after a restart
// the group is found by the processes in it.

#include "slave/shell/isolator.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/check.h"
#include "common/text.h"

namespace proffer::agent {
namespace {

constexpr size_t kIdleGroupsMax = 64;
constexpr int64_t kBytesPerMebi = int64_t{1} << 20;

}  // namespace

GroupLimits Isolator::limits_of(const ResourceVector& resources,
                                const std::vector<GpuDevice>& gpus) const {
  const int64_t cpus = resources[ResourceKind::kCpus];
  std::vector<int64_t> hidden;
  for (const auto& [index, minor] : options_.gpu_minors) {
    const bool is_its = std::any_of(gpus.begin(), gpus.end(),
                                    [at = index](const GpuDevice& one) { return one.index == at; });
    if (!is_its) hidden.push_back(minor);
  }
  std::sort(hidden.begin(), hidden.end());
  return {
      .cpus_milli = cpus,
      .memory_bytes = resources[ResourceKind::kMem] * kBytesPerMebi / 1000 + kExecutorMemoryBytes,
      .processes = options_.processes_max > 0 ? options_.processes_max : processes_for(cpus),
      .hidden_gpus = std::move(hidden)};
}

Result<LimitsWanted> parse_limits_wanted(std::string_view text_given) {
  if (text_given == "auto") return LimitsWanted::kWherePossible;
  if (text_given == "required") return LimitsWanted::kRequired;
  if (text_given == "none") return LimitsWanted::kNone;
  return Error::invalid_argument(text("must be auto, required or none, not ", quoted(text_given)));
}

Isolator::Isolator(std::string why_not)
    : words_(text("not enforced: cpu, memory, pids (", why_not, ")")) {}

Isolator::Isolator(std::unique_ptr<Cgroups> cgroups, GroupOptions options)
    : cgroups_(std::move(cgroups)),
      words_(to_text(cgroups_->enforced())),
      options_(std::move(options)) {
  for (std::string& group : cgroups_->groups()) {
    const Result<int64_t> number = parse_whole("group", group, 1, INT64_MAX);
    if (number) last_ = std::max(last_, static_cast<uint64_t>(*number));
    strays_.insert(std::move(group));
  }
}

// Groups of runs stay even if they are empty, since a process may be about to enter.
Isolator::~Isolator() {
  for (std::string& group : idle_) let_go(std::move(group));
  tidy_up();
}

Result<std::unique_ptr<Isolator>> Isolator::choose(LimitsWanted wanted,
                                                   const GroupOptions& options) {
  if (wanted == LimitsWanted::kNone) return std::make_unique<Isolator>("--limits=none");
  std::ifstream file("/proc/self/mountinfo");
  const std::string mountinfo((std::istreambuf_iterator<char>(file)),
                              std::istreambuf_iterator<char>());
  Result<std::unique_ptr<Cgroups>> cgroups =
      choose_cgroups(parse_cgroup_mounts(mountinfo), options);
  if (wanted == LimitsWanted::kRequired) {
    const std::string lacking = !cgroups ? cgroups.error().message()
                                : (*cgroups)->enforced().missing.empty()
                                    ? ""
                                    : to_text((*cgroups)->enforced());
    if (!lacking.empty()) {
      return Error::unsupported(text("limits of tasks cannot be enforced: ", lacking))
          .with_hint("run the agent as root, or give --limits=auto");
    }
  }
  if (!cgroups) return std::make_unique<Isolator>(cgroups.error().message());
  return std::make_unique<Isolator>(*std::move(cgroups), options);
}

const std::string* Isolator::group_of(uint64_t run) const {
  const auto at = runs_.find(run);
  return at == runs_.end() ? nullptr : &at->second;
}

Result<void> Isolator::prepare(uint64_t run, const ResourceVector& resources,
                               const std::vector<GpuDevice>& gpus) {
  if (cgroups_ == nullptr) return {};
  if (group_of(run) != nullptr) {
    update(run, resources, gpus);
    return {};
  }
  std::string group;
  if (idle_.empty()) {
    group = std::to_string(++last_);
    if (Result<void> made = cgroups_->make(group); !made) return made;
  } else {
    group = std::move(idle_.back());
    idle_.pop_back();
  }
  if (Result<bool> set = cgroups_->set_limits(group, limits_of(resources, gpus)); !set) {
    let_go(std::move(group));
    return std::move(set).error();
  }
  runs_[run] = std::move(group);
  return {};
}

bool Isolator::hand_over(uint64_t from, uint64_t to) {
  if (cgroups_ == nullptr) return true;
  const auto at = runs_.find(from);
  if (at == runs_.end() || !cgroups_->has_one_at_most(at->second)) return false;
  if (!cgroups_->renew(at->second)) return false;
  runs_[to] = std::move(at->second);
  runs_.erase(at);
  return true;
}

std::vector<std::string> Isolator::entrances(uint64_t run) const {
  const std::string* group = group_of(run);
  return group == nullptr ? std::vector<std::string>() : cgroups_->entrances(*group);
}

Result<void> Isolator::attach(uint64_t run, pid_t pid) {
  const std::string* group = group_of(run);
  return group == nullptr ? Result<void>() : cgroups_->attach(*group, pid);
}

void Isolator::update(uint64_t run, const ResourceVector& resources,
                      const std::vector<GpuDevice>& gpus) {
  const std::string* group = group_of(run);
  if (group == nullptr) return;
  const Result<bool> set = cgroups_->set_limits(*group, limits_of(resources, gpus));
  if (set) return;
  LOG_EVERY_N(WARNING, 30) << "limits cannot be changed: " << set.error().message();
}

std::optional<GroupUsage> Isolator::used(uint64_t run) const {
  const std::string* group = group_of(run);
  return group == nullptr ? std::nullopt : std::optional(cgroups_->used(*group));
}

std::optional<GroupUsage> Isolator::usage(uint64_t run) const {
  const std::string* group = group_of(run);
  return group == nullptr ? std::nullopt : std::optional(cgroups_->usage(*group));
}

GroupUsage Isolator::usage_of_all() const {
  return cgroups_ == nullptr ? GroupUsage() : cgroups_->usage(".");
}

bool Isolator::kill_all(uint64_t run) {
  const std::string* group = group_of(run);
  return group != nullptr && cgroups_->kill_all(*group);
}

bool Isolator::cleanup(uint64_t run, bool is_empty) {
  const auto at = runs_.find(run);
  if (at == runs_.end()) return true;
  std::string group = std::move(at->second);
  runs_.erase(at);
  is_empty = is_empty || cgroups_->members(group).empty();
  if (is_empty && idle_.size() < kIdleGroupsMax && cgroups_->renew(group)) {
    idle_.push_back(std::move(group));
    return true;
  }
  return let_go(std::move(group));
}

bool Isolator::let_go(std::string group) {
  if (cgroups_->remove(group)) return true;
  leaving_.push_back({.group = std::move(group)});
  return false;
}

void Isolator::recover(uint64_t run, pid_t pid) {
  if (cgroups_ == nullptr) return;
  std::string group = cgroups_->group_of(pid);
  if (strays_.erase(group) != 0) runs_[run] = std::move(group);
}

bool Isolator::kill_strays() {
  bool any = false;
  for (auto at = strays_.begin(); at != strays_.end();) {
    if (cgroups_->kill_all(*at)) {
      any = true;
      ++at;
    } else {
      let_go(*at);  // Otherwise tidy_up() removes it.
      at = strays_.erase(at);
    }
  }
  return any;
}

bool Isolator::tidy_up() {
  std::vector<Leaving> left;
  for (Leaving& one : std::exchange(leaving_, {})) {
    cgroups_->kill_all(one.group);
    const Result<void> removed = cgroups_->remove(one.group);
    if (removed) continue;
    if (++one.attempts % 100 == 0) LOG(WARNING) << removed.error().message();
    left.push_back(std::move(one));
  }
  leaving_ = std::move(left);
  return !leaving_.empty();
}

}  // namespace proffer::agent
