// How fair is the allocator while tasks come and go? Prints, over many random trees of roles, the
// percentiles of use over entitlement. tests/support/fair_churn describes trees and measure.
//
//   build/bin/fair_churn --agents 10 --trees 200 --worst 5

#include "tests/support/fair_churn/fair_churn.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/text.h"
#include "sim/scenario_writer.h"

namespace {

using namespace proffer;

constexpr std::string_view kUsage = R"(usage: fair_churn [OPTION]...
  --trees N         number of trees (200)
  --first SEED      seed of the first one (1); the others follow it
  --agents N        agents that share 80 CPUs and 80 GiB, but have at least 8 of each (1)
  --reclaim MODE    off, guarantee or fair_share (guarantee)
  --no_gate         by the naive rule: shares alone say who is first
  --guarantees      guarantees for a third of the roles
  --spread N        of durations, per million of their means (500000)
  --worst K         print the K frameworks with the least use over entitlement (0)
  --seeds           one line for each tree
  --audit           check the laws of the replay after each step; slow
  --write DIR       write the trees to DIR as scenario files, and measure nothing
)";

struct Options {
  uint64_t trees = 200;
  uint64_t first = 1;
  fair_churn::TreeOptions tree = {};
  size_t worst = 0;
  bool seeds = false;
  bool audit = false;
  bool no_gate = false;
  std::string write = {};
};

[[noreturn]] void wrong_usage(const std::string& what) {
  std::cerr << "error: " << what << "\n" << kUsage;
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  const auto number = [](const std::string& name, const std::string& value, int64_t most) {
    const Result<int64_t> parsed = parse_whole(name, value, 0, most);
    if (!parsed) wrong_usage(parsed.error().message());
    return static_cast<uint64_t>(*parsed);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (++i >= argc) wrong_usage(text(name, " needs a value"));
      return argv[i];
    };
    if (name == "--trees") {
      options.trees = number(name, value(), 1'000'000);
    } else if (name == "--first") {
      options.first = number(name, value(), 1'000'000'000);
    } else if (name == "--agents") {
      options.tree.agents = static_cast<int64_t>(number(name, value(), 40));
      if (options.tree.agents == 0 || 80 % options.tree.agents != 0) {
        wrong_usage("--agents must be a divisor of 80, at most 40");
      }
    } else if (name == "--reclaim") {
      options.tree.reclaim = value();
    } else if (name == "--no_gate") {
      options.no_gate = true;
    } else if (name == "--guarantees") {
      options.tree.guarantees = true;
    } else if (name == "--spread") {
      options.tree.spread = static_cast<uint32_t>(number(name, value(), sim::kScenarioSpreadMax));
    } else if (name == "--worst") {
      options.worst = number(name, value(), 1'000'000);
    } else if (name == "--seeds") {
      options.seeds = true;
    } else if (name == "--audit") {
      options.audit = true;
    } else if (name == "--write") {
      options.write = value();
    } else {
      wrong_usage(text("unknown option ", quoted(name)));
    }
  }
  return options;
}

Duration thread_cpu() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

int write_all(const Options& options) {
  for (uint64_t seed = options.first; seed < options.first + options.trees; ++seed) {
    const fair_churn::Tree tree = draw_tree(seed, options.tree);
    const std::string path = text(options.write, "/churn_", seed, ".yaml");
    std::ofstream file(path);
    file << "# entitlements in CPUs and GiB\n";
    std::string comment = fair_churn::to_text(tree);
    for (size_t at = 0; at < comment.size(); at = comment.find('\n', at) + 1) {
      file << "#" << comment.substr(at, comment.find('\n', at) - at) << "\n";
    }
    file << sim::to_yaml(tree.scenario);
    if (!file.flush()) {
      std::cerr << "error: cannot write " << path << "\n";
      return 1;
    }
  }
  return 0;
}

void print_worst(const Options& options, const std::vector<fair_churn::Measured>& all) {
  std::vector<fair_churn::Share> shares;
  for (const fair_churn::Measured& each : all) {
    std::copy_if(each.shares.begin(), each.shares.end(), std::back_inserter(shares),
                 [](const fair_churn::Share& share) { return share.counts; });
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.ratio() < b.ratio(); });
  if (shares.size() > options.worst) shares.resize(options.worst);
  for (const fair_churn::Share& share : shares) {
    std::cout << fmt::format("\n{:.2f}: {} of seed {} has {:.2f} of {:.2f} {}\n", share.ratio(),
                             share.framework, share.seed, share.mean, share.entitled,
                             share.kind == 0 ? "CPUs" : "GiB");
    const fair_churn::Measured& measured = all[share.seed - options.first];
    for (const fair_churn::Share& other : measured.shares) {
      std::cout << fmt::format("    {:<4} {:>6.2f} of {:>6.2f} {}, from empty {:>6.2f}\n",
                               other.framework, other.mean, other.entitled,
                               other.kind == 0 ? "CPUs" : "GiB ", other.from_empty);
    }
    std::cout << to_text(draw_tree(share.seed, options.tree));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.write.empty()) return write_all(options);
  const Duration begun = thread_cpu();
  std::vector<fair_churn::Measured> all;
  for (uint64_t seed = options.first; seed < options.first + options.trees; ++seed) {
    const fair_churn::Tree tree = draw_tree(seed, options.tree);
    all.push_back(measure(tree, {.allocator = {.naive = {.no_gate = options.no_gate}},
                                 .audit = options.audit,
                                 .cpu_clock = thread_cpu}));
    const fair_churn::Measured& one = all.back();
    if (!one.wrong.empty()) {
      std::cout << "seed " << seed << ": " << one.wrong[0] << "\n" << to_text(tree);
      return 1;
    }
    if (!options.seeds) continue;
    double least = 10;
    for (const fair_churn::Share& share : one.shares) {
      if (share.counts) least = std::min(least, share.ratio());
    }
    std::cout << fmt::format("seed {}: least {:.2f}, utilisation {:.3f}, {} revokes\n", seed, least,
                             one.utilisation, one.revokes);
  }
  std::cout << fmt::format("{} trees from seed {}, {} agent{}\n", options.trees, options.first,
                           options.tree.agents, options.tree.agents == 1 ? "" : "s")
            << to_text(fair_churn::summarise(all))
            << fmt::format("{:.1f} s of CPU time\n", (thread_cpu() - begun).seconds());
  print_worst(options, all);
  return 0;
}
