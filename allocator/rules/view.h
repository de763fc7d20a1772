#pragma once

// The books as the rules read them: as they are, or as they would be if something had ended or were
// set otherwise. The books themselves stay as they are.

#include <map>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// What would be otherwise. Entitlements are what they would be then; the orders by share are those
// of now.
class Supposed {
 public:
  void end(const Agent& agent, const Task& task);
  void end(const Cluster& cluster, const OutstandingOffer& offer);  // and the rest of its gang
  void set(const Role& role, const RoleSettings& settings);
  // The room that is kept for the ask below limits.
  void give_up_headroom(const AskEntry& ask);

 private:
  friend class View;
  struct Part {
    ResourceVector demand = {};
    ResourceVector entitlement = {};
  };
  void end_use(const Leaf& leaf, const ResourceVector& amounts);

  // Looked up only, all of them.
  std::map<const Node*, ResourceVector> ended_;  // of the use of each, and of those above it
  std::map<const AskEntry*, int64_t> offers_ended_;
  std::map<const Role*, RoleSettings> settings_;
  ResourceVector gone_;  // with tasks on agents that are being drained
  const AskEntry* without_headroom_ = nullptr;
  mutable std::map<const Node*, Part> parts_;
  mutable bool parts_known_ = false;
};

class View {
 public:
  // As it is.
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
  // As Cluster::usable_total().
  ResourceVector usable_total() const;
  // Kept by know_entitlements() in denial.h.
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
