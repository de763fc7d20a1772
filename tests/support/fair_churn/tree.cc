// Random trees of roles and frameworks, as scenarios. Read draw_tree() first.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/check.h"
#include "common/text.h"
#include "tests/support/fair_churn/fair_churn.h"

namespace proffer::fair_churn {
namespace {

constexpr int64_t kPool = 80;       // CPUs and GiB
constexpr int64_t kLeastAgent = 8;  // of each
constexpr Duration kEnd = seconds(600);
constexpr Duration kJoinWithin = seconds(60);
constexpr size_t kFrameworksMin = 3;
constexpr size_t kFrameworksMax = 16;

template <size_t kCount>
int64_t choice(Prng& random, const std::array<int64_t, kCount>& of) {
  return of[random.below(kCount)];
}

// --- the tree -----------------------------------------------------------------------------------

LeafAsk draw_ask(Prng& random) {
  LeafAsk ask;
  while (ask.need == LeafAsk().need) {
    for (int64_t& need : ask.need) need = choice<6>(random, {0, 0, 1, 1, 2, 4});
  }
  ask.mean_s = choice<5>(random, {3, 5, 7, 11, 17});
  return ask;
}

// Numbers the roles and frameworks of one tree.
struct Names {
  size_t roles = 0;
  size_t frameworks = 0;
};

Node draw_node(Prng& random, int64_t depth, Names& names) {
  if (depth == 0 || (depth == 1 && random.chance(3, 10))) {
    Node leaf{.name = text("f", ++names.frameworks), .asks = {draw_ask(random)}};
    if (random.chance(1, 5)) leaf.asks.push_back(draw_ask(random));
    return leaf;
  }
  Node role{.name = text("r", ++names.roles), .weight = choice<4>(random, {1, 1, 1, 2})};
  const int64_t children =
      depth == 1 ? choice<5>(random, {1, 2, 2, 3, 6}) : choice<2>(random, {2, 3});
  for (int64_t i = 0; i < children; ++i) {
    role.children.push_back(draw_node(random, depth - 1, names));
  }
  return role;
}

Node draw_root(Prng& random) {
  while (true) {
    Names names;
    Node root{.name = "root"};
    const int64_t children = choice<2>(random, {2, 3});
    for (int64_t i = 0; i < children; ++i) {
      root.children.push_back(draw_node(random, choice<2>(random, {1, 2}), names));
    }
    if (names.frameworks >= kFrameworksMin && names.frameworks <= kFrameworksMax) return root;
  }
}

// --- the scenario -------------------------------------------------------------------------------

ResourceVector amounts_of(int64_t cpus, int64_t gib) {
  return ResourceVector::of(cpus * 1000, gib * 1024 * 1000);
}

// CPUs, and GiB, of all agents together.
int64_t pool_of(const TreeOptions& options) {
  return std::max(kPool, options.agents * kLeastAgent);
}

// More tasks than can run one after another until the end, so that the work never ends: a quarter
// more than the mean durations allow.
int64_t endless_count(const LeafAsk& ask, int64_t pool) {
  int64_t at_once = pool;
  for (const int64_t need : ask.need) {
    if (need > 0) at_once = std::min(at_once, pool / need);
  }
  return at_once * (kEnd.millis() * 5 / 4 / (ask.mean_s * 1000) + 2);
}

class Scenarios {
 public:
  Scenarios(uint64_t seed, const TreeOptions& options)
      : options_(options),
        pool_(pool_of(options)),
        random_(seed + (uint64_t{1} << 32)),
        promises_(seed + (uint64_t{1} << 33)) {
    made_.seed = seed;
    made_.until = kEnd;
    if (!options.reclaim.empty()) made_.options["reclaim"] = options.reclaim;
    CHECK_EQ(pool_ % options.agents, 0);
    const int64_t each = pool_ / options.agents;
    made_.agents.push_back({.name = "agent",
                            .count = options.agents,
                            .resources = {.amounts = amounts_of(each, each)}});
  }

  sim::Scenario make(const Node& root, std::vector<Leaf>& leaves) {
    add_children(root, "", {pool_, pool_}, leaves);
    const Result<void> ok = check_roles(made_.roles);
    CHECK(ok.has_value()) << ok.error().message();
    return std::move(made_);
  }

 private:
  using Part = std::array<int64_t, kKinds>;

  // `part`: the maximum sum of the guarantees below.
  void add_children(const Node& node, const std::string& path, const Part& part,
                    std::vector<Leaf>& leaves) {
    int64_t weights = 0;
    for (const Node& child : node.children) weights += child.weight;
    for (const Node& child : node.children) {
      const std::string below = path.empty() ? child.name : text(path, "/", child.name);
      if (child.is_leaf()) {
        // Only roles are children of the root, so a framework there gets its own role.
        add_framework(child, path.empty() ? below : path, leaves);
        continue;
      }
      Part own = part;
      for (int64_t& amount : own) amount = amount * child.weight / weights;
      RoleSettings settings{.weight = child.weight * kWeightOne};
      promise(own, settings);
      if (settings != RoleSettings()) made_.roles[RoleName(below)] = settings;
      add_children(child, below, own, leaves);
    }
  }

  // A guarantee within the role's fair share by weight; `own` becomes the guarantee.
  void promise(Part& own, RoleSettings& settings) {
    if (!promises_.chance(1, 3)) return;
    // a quarter of the guarantees has one kind only
    const size_t only = promises_.below(4 * kKinds);
    const int64_t percent = promises_.between(25, 100);
    if (!options_.guarantees) return;
    for (size_t k = 0; k < kKinds; ++k) {
      if (only < kKinds && only != k) continue;
      own[k] = own[k] * percent / 100;
      if (own[k] == 0) continue;
      settings.guarantee.set(k == 0 ? ResourceKind::kCpus : ResourceKind::kMem,
                             own[k] * (k == 0 ? 1000 : 1024 * 1000));
    }
  }

  void add_framework(const Node& leaf, const std::string& role, std::vector<Leaf>& leaves) {
    sim::ScenarioFramework& framework = made_.frameworks.emplace_back();
    framework.name = leaf.name;
    framework.role = RoleName(role);
    framework.joins = milliseconds(random_.between(0, kJoinWithin.millis()));
    for (size_t i = 0; i < leaf.asks.size(); ++i) {
      const LeafAsk& ask = leaf.asks[i];
      framework.tasks.push_back({.name = text("t", i + 1),
                                 .count = endless_count(ask, pool_),
                                 .resources = amounts_of(ask.need[0], ask.need[1]),
                                 .duration = seconds(ask.mean_s),
                                 .duration_spread = options_.spread});
    }
    leaves.push_back({.framework = leaf.name, .role = role, .asks = leaf.asks});
  }

  const TreeOptions options_;
  const int64_t pool_;
  Prng random_;
  Prng promises_;
  sim::Scenario made_;
};

}  // namespace

int64_t Leaf::largest_need() const {
  int64_t most = 0;
  for (const LeafAsk& ask : asks) {
    most = std::max(most, *std::max_element(ask.need.begin(), ask.need.end()));
  }
  return most;
}

Tree draw_tree(uint64_t seed, const TreeOptions& options) {
  const auto pool = static_cast<double>(pool_of(options));
  Tree tree{.seed = seed, .pool = {pool, pool}};
  Prng random(seed);
  tree.root = draw_root(random);
  tree.scenario = Scenarios(seed, options).make(tree.root, tree.leaves);
  const std::vector<Amounts> entitled = entitlements(tree.root, tree.pool);
  CHECK_EQ(entitled.size(), tree.leaves.size());
  for (size_t i = 0; i < entitled.size(); ++i) tree.leaves[i].entitled = entitled[i];
  return tree;
}

std::string to_text(const Tree& tree) {
  std::string out;
  for (const auto& [role, settings] : tree.scenario.roles) {
    out += text("  role ", role.str(), " weight ", print_milli(settings.weight));
    if (!settings.guarantee.empty()) {
      out += text(" guarantee ", proffer::to_text(settings.guarantee));
    }
    out += "\n";
  }
  for (const Leaf& leaf : tree.leaves) {
    out += text("  ", leaf.role, ": ", leaf.framework);
    for (const LeafAsk& ask : leaf.asks) {
      out += text(" <", ask.need[0], ", ", ask.need[1], "> ", ask.mean_s, " s");
    }
    out += fmt::format(", entitled to <{:.1f}, {:.1f}>\n", leaf.entitled[0], leaf.entitled[1]);
  }
  return out;
}

}  // namespace proffer::fair_churn
