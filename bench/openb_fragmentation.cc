// How many GPUs stay unallocated because of fragmentation: pods of the trace openb, drawn at
// random, are submitted one by one to the allocator and never end (Weng et al., USENIX ATC 2023,
// section 6.2). bench/openb makes a table and a plot of it.
//
//   build/bin/openb_fragmentation NODES.csv PODS.csv [PLACEMENT [SEEDS [PERCENT [compact]]]]
//
// One line for each seed (1 to SEEDS, 10) and each whole percent of the cluster's GPUs that has
// been asked for (to PERCENT, 130): "PLACEMENT SEED ASKED UNALLOCATED REFUSED", the first two
// figures in percent of the cluster's GPUs, REFUSED in pods.
//
// With `compact`, the smallest number of nodes that hold the pods that ask for PERCENT of the GPUs:
// nodes are left out, the smallest first, and all pods are submitted again each time (cell
// compaction: Verma et al., EuroSys 2015, section 5.1). One line for each seed: "PLACEMENT SEED
// NODES AT_LEAST OF". AT_LEAST of the nodes, those with the most of a kind, have together what the
// pods ask of that kind.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "allocator/allocator.h"
#include "common/check.h"
#include "common/prng.h"
#include "common/text.h"
#include "master/core/master.h"
#include "sim/scenario.h"
#include "sim/trace_reader.h"

namespace proffer::bench {
namespace {

constexpr std::string_view kDefaultPlacement = "balanced";

std::string content_of(const char* file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  CHECK(in.good() && content.good()) << "cannot read " << file;
  return content.str();
}

// The options of a master with this placement policy; its name is that of the flag's value.
Result<AllocatorOptions> options_of(std::string_view placement) {
  master::MasterOptions options;
  if (placement != kDefaultPlacement) {
    if (Result<void> ok = sim::set_option("placement", placement, options); !ok) {
      return std::move(ok).error();
    }
  }
  return options.allocator;
}

// A cluster of the trace's nodes to which pods are submitted.
class Submission {
 public:
  Submission(const std::vector<sim::ScenarioAgent>& nodes, AllocatorOptions options)
      : allocator_(options) {
    for (const sim::ScenarioAgent& agent : nodes) {
      allocator_.set_agent(AgentId(agent.name), {.attributes = agent.attributes,
                                                 .slices = {Slice{.resources = agent.resources}}});
    }
    allocator_.add_framework(framework_, role_, OfferMode::kAsks);
  }

  // True if the pod fits somewhere; then it runs forever. A pod that does not fit is withdrawn: as
  // nothing ends, it would never fit.
  bool submit(const Ask& pod) {
    now_ = now_ + milliseconds(1);
    Ask ask = pod;
    ask.name = AskName(text("p-", ++number_));
    allocator_.declare_asks(framework_, {ask}, now_);
    const Decision decision = allocator_.decide(now_);
    CHECK_LE(decision.grants.size(), 1u);
    if (decision.grants.empty()) return false;
    const Offer& offer = decision.grants.front()->offer;
    RunningTask task{.task = TaskId(ask.name.str()),
                     .ask = ask.name,
                     .claim = {.slices = offer.slices, .role = role_, .band = ask.band},
                     .since = now_};
    allocator_.settle({offer.id}, {std::move(task)}, {}, now_);
    return true;
  }

  int64_t gpus() const { return allocator_.total()[ResourceKind::kGpus]; }

 private:
  Allocator allocator_;
  FrameworkId framework_{"pods"};
  RoleName role_{"default"};
  int64_t number_ = 0;
  Time now_ = Time() + seconds(1);
};

// The ask of each pod of the trace.
std::vector<Ask> pods_of(const sim::Scenario& trace) {
  std::vector<Ask> pods;
  for (const sim::ScenarioFramework& framework : trace.frameworks) {
    for (const sim::ScenarioTasks& tasks : framework.tasks) {
      Ask ask = tasks.ask;
      ask.shape = tasks.resources;
      ask.count = 1;
      pods.insert(pods.end(), static_cast<size_t>(tasks.count), ask);
    }
  }
  return pods;
}

void submit_until(int64_t percent, const sim::Scenario& trace, const std::vector<Ask>& pods,
                  const AllocatorOptions& options, std::string_view placement, uint64_t seed) {
  Submission submission(trace.agents, options);
  Prng random(seed);
  const int64_t gpus = submission.gpus();
  int64_t asked = 0;
  int64_t allocated = 0;
  int64_t refused = 0;
  for (int64_t next = 1; next <= percent;) {
    const Ask& pod = pods[random.below(pods.size())];
    asked += pod.shape[ResourceKind::kGpus];
    if (submission.submit(pod)) {
      allocated += pod.shape[ResourceKind::kGpus];
    } else {
      ++refused;
    }
    for (; next <= percent && asked * 100 >= gpus * next; ++next) {
      std::cout << fmt::format(
          "{} {} {} {:.3f} {}\n", placement, seed, next,
          100.0 * static_cast<double>(gpus - allocated) / static_cast<double>(gpus), refused);
    }
  }
}

// Draws pods until they ask for this much.
std::vector<Ask> draw(int64_t percent, int64_t gpus, const std::vector<Ask>& pods, uint64_t seed) {
  std::vector<Ask> drawn;
  Prng random(seed);
  for (int64_t asked = 0; asked * 100 < gpus * percent;) {
    drawn.push_back(pods[random.below(pods.size())]);
    asked += drawn.back().shape[ResourceKind::kGpus];
  }
  return drawn;
}

// True if each pod finds a place.
bool holds(const std::vector<sim::ScenarioAgent>& nodes, const std::vector<Ask>& pods,
           const AllocatorOptions& options) {
  Submission submission(nodes, options);
  return std::all_of(pods.begin(), pods.end(),
                     [&](const Ask& pod) { return submission.submit(pod); });
}

int64_t least_nodes(const std::vector<sim::ScenarioAgent>& nodes, const std::vector<Ask>& pods) {
  int64_t least = 0;
  for (const ResourceKind kind : kResourceKinds) {
    std::vector<int64_t> amounts;
    for (const sim::ScenarioAgent& node : nodes) amounts.push_back(node.resources.amounts[kind]);
    std::sort(amounts.rbegin(), amounts.rend());
    int64_t missing = 0;
    for (const Ask& pod : pods) missing += pod.shape[kind];
    int64_t count = 0;
    for (; missing > 0; ++count) missing -= amounts[static_cast<size_t>(count)];
    least = std::max(least, count);
  }
  return least;
}

void compact(int64_t percent, const sim::Scenario& trace, const std::vector<Ask>& all,
             const AllocatorOptions& options, std::string_view placement, uint64_t seed) {
  constexpr size_t kLeastPart = 4;  // one by one would take four times as long
  const std::vector<Ask> pods = draw(percent, Submission(trace.agents, options).gpus(), all, seed);
  CHECK(holds(trace.agents, pods, options)) << "all nodes together do not hold the pods";
  // The largest nodes are kept first; bisection finds how many of the others are needed.
  std::vector<sim::ScenarioAgent> kept = trace.agents;
  std::stable_sort(kept.begin(), kept.end(),
                   [](const sim::ScenarioAgent& a, const sim::ScenarioAgent& b) {
                     const auto size = [](const sim::ScenarioAgent& node) {
                       return std::pair(node.resources.amounts[ResourceKind::kGpus],
                                        node.resources.amounts[ResourceKind::kCpus]);
                     };
                     return size(a) > size(b);
                   });
  for (size_t fails = 0; fails + 1 < kept.size();) {
    const size_t middle = fails + (kept.size() - fails) / 2;
    const std::vector<sim::ScenarioAgent> some(kept.begin(),
                                               kept.begin() + static_cast<std::ptrdiff_t>(middle));
    if (!holds(some, pods, options)) {
      fails = middle;
    } else {
      kept = some;
    }
  }
  for (size_t part = kept.size() / 16; part >= kLeastPart; part /= 2) {
    for (size_t end = kept.size(); end >= part; end -= part) {
      std::vector<sim::ScenarioAgent> rest(kept.begin(),
                                           kept.begin() + static_cast<std::ptrdiff_t>(end - part));
      rest.insert(rest.end(), kept.begin() + static_cast<std::ptrdiff_t>(end), kept.end());
      if (holds(rest, pods, options)) kept = std::move(rest);
    }
  }
  std::cout << fmt::format("{} {} {} {} {}\n", placement, seed, kept.size(),
                           least_nodes(trace.agents, pods), trace.agents.size());
}

int fail(std::string_view what) {
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(what.size()), what.data());
  return 2;
}

int run(int argc, char** argv) {
  const bool compacts = argc == 7 && std::string_view(argv[6]) == "compact";
  if (argc < 3 || (argc > 6 && !compacts)) {
    return fail(
        "usage: openb_fragmentation NODES.csv PODS.csv [PLACEMENT [SEEDS [PERCENT [compact]]]]");
  }
  const std::string_view placement = argc > 3 ? argv[3] : kDefaultPlacement;
  const Result<int64_t> seeds = parse_whole("SEEDS", argc > 4 ? argv[4] : "10", 1, 1'000);
  if (!seeds) return fail(seeds.error().message());
  const Result<int64_t> percent = parse_whole("PERCENT", argc > 5 ? argv[5] : "130", 1, 1'000);
  if (!percent) return fail(percent.error().message());
  const Result<AllocatorOptions> options = options_of(placement);
  if (!options) return fail(options.error().message());
  sim::Scenario trace;
  if (Result<void> ok = sim::add_openb_nodes(content_of(argv[1]), trace); !ok) {
    return fail(ok.error().message());
  }
  if (Result<void> ok = sim::add_openb_pods(content_of(argv[2]), trace); !ok) {
    return fail(ok.error().message());
  }
  const std::vector<Ask> pods = pods_of(trace);
  for (int64_t seed = 1; seed <= *seeds; ++seed) {
    const auto measure = compacts ? compact : submit_until;
    measure(*percent, trace, pods, *options, placement, static_cast<uint64_t>(seed));
  }
  return std::cout.good() ? 0 : 1;
}

}  // namespace
}  // namespace proffer::bench

int main(int argc, char** argv) { return proffer::bench::run(argc, argv); }
