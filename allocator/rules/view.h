#pragma once

// The books as the rules read them: the present state, or a hypothetical one after ended tasks or
// other settings. The books themselves do not change.

#include <map>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// A set of hypothetical changes. Entitlements follow the changes; the orders by share do not.
class Supposed {
 public:
  void end(const Agent& agent, const Task& task);
  void end(const Cluster& cluster,
           const OutstandingOffer& offer);  // also ends the rest of its gang
  void set(const Role& role, const RoleSettings& settings);
  // Drops the headroom of the ask below limits.
  void give_up_headroom(const AskEntry& ask);

 private:
  friend class View;
  struct Part {
    ResourceVector demand = {};
    ResourceVector entitlement = {};
  };
  void end_use(const Leaf& leaf, const ResourceVector& amounts);

  // The maps are looked up, never walked.
  std::map<const Node*, ResourceVector> ended_;  // the ended use of each node and of those above it
  std::map<const AskEntry*, int64_t> offers_ended_;
  std::map<const Role*, RoleSettings> settings_;
  ResourceVector gone_;  // the ended use on draining agents
  const AskEntry* without_headroom_ = nullptr;
  mutable std::map<const Node*, Part> parts_;
  mutable bool parts_known_ = false;
};

class View {
 public:
  // The present state.
  View(const Cluster& c) : cluster(c) {}  // NOLINT(google-explicit-constructor)
  View(const Cluster& c, const Supposed& supposed) : cluster(c), supposed_(&supposed) {}

  ResourceVector use(const Node& node) const {
    return supposed_ == nullptr ? node.use() : supposed_use(node);
  }
  const RoleSettings& settings(const Role& role) const {
    return supposed_ == nullptr ? role.settings : supposed_settings(role);
  }
  bool has_limit(const Role& role) const { return !settings(role).limit.empty(); }
  bool has_guarantee(const Role& role) const { return !settings(role).guarantee.empty(); }
  int64_t unmet(const AskEntry& ask) const;
  bool wants_offers(const Leaf& leaf) const;
  bool has_headroom_below(const AskEntry& ask) const {
    return supposed_ == nullptr || supposed_->without_headroom_ != &ask;
  }
  // Like Cluster::usable_total().
  ResourceVector usable_total() const;
  // Maintained by know_entitlements() in denial.h.
  ResourceVector& demand(const Node& node) const;
  ResourceVector& entitlement(const Node& node) const;
  bool& entitlements_known() const;

  const Cluster& cluster;

 private:
  ResourceVector supposed_use(const Node& node) const;
  const RoleSettings& supposed_settings(const Role& role) const;

  const Supposed* supposed_ = nullptr;
};

}  // namespace proffer::fair
