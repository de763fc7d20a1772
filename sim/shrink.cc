// Shrinking is trial and error: each candidate that still fails is kept. Read shrink first.

#include "sim/shrink.h"

#include <algorithm>

namespace proffer::sim {
namespace {

class Shrinker {
 public:
  Shrinker(SimOptions options, const Fails& fails, size_t runs_max)
      : best_(std::move(options)), fails_(fails), runs_left_(runs_max) {}

  SimOptions run() {
    for (bool smaller = true; smaller && runs_left_ > 0;) {
      smaller = simpler_workload();
      smaller = fewer_kinds() || smaller;
      smaller = fewer_faults() || smaller;
      smaller = fewer_agents() || smaller;
      smaller = fewer_tasks() || smaller;
    }
    return best_;
  }

 private:
  bool keep_if_it_fails(const SimOptions& candidate) {
    if (runs_left_ == 0) return false;
    --runs_left_;
    if (!fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  // Workloads before it in the list are simpler.
  bool simpler_workload() {
    for (const std::string_view workload : kWorkloads) {
      if (workload == best_.workload) return false;
      SimOptions candidate = best_;
      candidate.workload = std::string(workload);
      if (keep_if_it_fails(candidate)) return true;
    }
    return false;
  }

  // Leaves out half of the rest, a quarter, … and each one alone. `without` makes the candidate.
  template <class Value, class Without>
  bool drop_some(std::vector<Value> values, const Without& without) {
    bool smaller = false;
    for (size_t part = std::max<size_t>(values.size(), 1); part > 0; part /= 2) {
      for (size_t at = 0; at < values.size();) {
        const size_t end = std::min(at + part, values.size());
        const std::vector<Value> dropped(values.begin() + static_cast<ptrdiff_t>(at),
                                         values.begin() + static_cast<ptrdiff_t>(end));
        if (keep_if_it_fails(without(dropped))) {
          values.erase(values.begin() + static_cast<ptrdiff_t>(at),
                       values.begin() + static_cast<ptrdiff_t>(end));
          smaller = true;
        } else {
          at = end;
        }
      }
    }
    return smaller;
  }

  // The skipped numbers then belong to another plan, so nothing is skipped any more.
  bool fewer_kinds() {
    return drop_some(std::vector<FaultKind>(best_.faults->begin(), best_.faults->end()),
                     [this](const std::vector<FaultKind>& dropped) {
                       SimOptions candidate = best_;
                       for (const FaultKind kind : dropped) candidate.faults->erase(kind);
                       candidate.skip_faults.clear();
                       return candidate;
                     });
  }

  bool fewer_faults() {
    return drop_some(fault_numbers(best_), [this](const std::vector<uint64_t>& dropped) {
      SimOptions candidate = best_;
      candidate.skip_faults.insert(dropped.begin(), dropped.end());
      return candidate;
    });
  }

  bool fewer_agents() {
    for (const size_t agents : {size_t{1}, size_t{2}, best_.agents / 2, best_.agents - 1}) {
      if (agents == 0 || agents >= best_.agents) continue;
      SimOptions candidate = best_;
      candidate.agents = agents;
      if (keep_if_it_fails(candidate)) return true;
    }
    return false;
  }

  bool fewer_tasks() {
    for (const size_t tasks : {1, 2, 4, 8, 16, 32}) {
      if (best_.tasks_max != 0 && tasks >= best_.tasks_max) return false;
      SimOptions candidate = best_;
      candidate.tasks_max = tasks;
      if (keep_if_it_fails(candidate)) return true;
    }
    return false;
  }

  SimOptions best_;
  const Fails& fails_;
  size_t runs_left_;
};

}  // namespace

std::vector<uint64_t> fault_numbers(const SimOptions& options) {
  const World world(options.seed);
  std::vector<uint64_t> numbers;
  for (const Fault& fault :
       draw_faults(world, options.faults.value_or(FaultKinds()), options.skip_faults).faults) {
    numbers.push_back(fault.number);
  }
  return numbers;
}

SimOptions shrink(SimOptions options, const Fails& fails, size_t runs_max) {
  return Shrinker(std::move(options), fails, runs_max).run();
}

}  // namespace proffer::sim
