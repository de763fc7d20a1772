// Read run() first: it starts the cluster, injects faults, heals them, waits until everything is
// settled, and judges.

#include "tests/chaos/chaos.h"

#include <algorithm>

#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/chaos/faults.h"
#include "tests/chaos/registry_oracle.h"

namespace proffer::test {
namespace {

// Maximum number of concurrent faults.
constexpr size_t kFaultsMax = 3;

}  // namespace

const std::vector<Chaos::Kind>& Chaos::kinds() {
  static const std::vector<Kind> all = {
      {"kill_leader", &Chaos::kill_leader},
      {"kill_master", &Chaos::kill_master},
      {"kill_agent", &Chaos::kill_agent},
      {"kill_scheduler", &Chaos::kill_scheduler},
      {"kill_executor", &Chaos::kill_executor},
      {"kill_fork_server", &Chaos::kill_fork_server},
      {"kill_zookeeper", &Chaos::kill_zookeeper},
      {"stop_leader", &Chaos::stop_leader},
      {"stop_master", &Chaos::stop_master},
      {"stop_agent", &Chaos::stop_agent},
      {"stop_scheduler", &Chaos::stop_scheduler},
      {"stop_executor", &Chaos::stop_executor},
      {"stop_zookeeper", &Chaos::stop_zookeeper},
      {"unplug", &Chaos::unplug},
      {"deaf", &Chaos::deafen},
      {"mute", &Chaos::mute},
      {"slow", &Chaos::slow_down},
      {"flap", &Chaos::flap},
      {"apart", &Chaos::part_from_leader},
      {"cut_zookeeper", &Chaos::cut_zookeeper},
      {"full_agent", &Chaos::fill_disk_of_agent},
      {"full_master", &Chaos::fill_disk_of_master},
      {"twin", &Chaos::start_twin},
      {"copy", &Chaos::copy_agent},
      {"cut_checkpoint", &Chaos::cut_checkpoint_of_agent},
      {"empty_session", &Chaos::empty_session},
      {"empty_agent", &Chaos::empty_file_of_agent},
      {"empty_master", &Chaos::empty_file_of_master},
  };
  return all;
}

void Chaos::inject() {
  if (bag_.empty()) {
    bag_ = kinds();
    std::erase_if(bag_, [&](const Kind& kind) {
      const std::vector<std::string>& wanted = options_.faults;
      return !wanted.empty() && std::find(wanted.begin(), wanted.end(), kind.name) == wanted.end();
    });
  }
  // copy_agent cannot run beside other faults: no fault begins before it has run.
  const auto copy = std::find_if(bag_.begin(), bag_.end(),
                                 [](const Kind& kind) { return kind.begin == &Chaos::copy_agent; });
  const size_t at =
      is_calm_wanted_ ? static_cast<size_t>(copy - bag_.begin()) : prng_.below(bag_.size());
  std::optional<Fault> fault = (this->*bag_[at].begin)();
  next_fault_at_ = in(20, 1'200);
  if (!fault) return;
  ++begun_;
  is_calm_wanted_ = false;
  last_fault_at_ = now_nanos();
  bag_.erase(bag_.begin() + static_cast<std::ptrdiff_t>(at));
  if (fault->heal) faults_.push_back(std::move(*fault));
}

void Chaos::heal_those_due() {
  for (size_t i = 0; i < faults_.size();) {
    Fault& fault = faults_[i];
    const bool is_over = (fault.look && fault.look()) || fault.heals_at <= now_nanos();
    if (!is_over) {
      ++i;
      continue;
    }
    fault.heal();
    last_fault_at_ = now_nanos();
    faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Chaos::~Chaos() {
  operators_.reset();
  for (const std::string& disk : disks_) ::umount2(disk.c_str(), MNT_DETACH);
}

ChaosJudgement Chaos::run() {
  if (!start_all()) return {.tasks = {.violations = {"the cluster did not start"}}};
  const int64_t end = now_nanos() + int64_t{options_.seconds} * 1'000'000'000;
  while (now_nanos() < end && (options_.count == 0 || begun_ < options_.count)) {
    cluster_.start_those_due();
    heal_those_due();
    if (faults_.size() < kFaultsMax && now_nanos() >= next_fault_at_) inject();
    ::poll(nullptr, 0, 5);
  }
  // Heal a twin last: it needs all other faults to be over.
  std::stable_partition(faults_.begin(), faults_.end(),
                        [](const Fault& fault) { return fault.what != "twin"; });
  for (const Fault& fault : faults_) fault.heal();
  faults_.clear();
  cluster_.say("all faults have healed");
  const bool all_are_back = eventually([&] {
    cluster_.start_those_due();
    return all_agents_are_connected();
  });
  if (!all_are_back) cluster_.fail("not all agents are connected again");
  // Time for each operator to read its acknowledged writes once more.
  constexpr int kLastLookMillis = 1'000;
  cluster_.pass_until(in(kLastLookMillis, kLastLookMillis));
  operators_.reset();
  ChaosJudgement judgement{.tasks = cluster_.settle_and_judge(disks_)};
  const RegistryJudgement registry = judge_registry(read_file(cluster_.path("operators")));
  judgement.registry = registry.summary();
  for (const std::string& violation : registry.violations) {
    judgement.tasks.violations.push_back(violation);
  }
  return judgement;
}

std::vector<std::string> names_of_faults() {
  std::vector<std::string> names;
  for (const Chaos::Kind& kind : Chaos::kinds()) names.emplace_back(kind.name);
  return names;
}

std::string chaos_is_impossible() {
  if (geteuid() != 0) return "only root can make network namespaces";
  if (run({"unshare", "--net", "--mount", "ip", "link"}).code != 0) {
    return "no network namespaces can be made here";
  }
  return Network::is_possible() ? "" : "there are no TUN devices here";
}

ChaosJudgement run_chaos(const ChaosOptions& options) { return Chaos(options).run(); }

}  // namespace proffer::test
