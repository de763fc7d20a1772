#include "allocator/rules/view.h"

#include <algorithm>

namespace proffer::fair {

void Supposed::end_use(const Leaf& leaf, const ResourceVector& amounts) {
  for (const Node* node = &leaf; node != nullptr; node = node->parent) ended_[node] += amounts;
  parts_known_ = false;
}

void Supposed::end(const Agent& agent, const Task& task) {
  end_use(*task.leaf, task.amounts());
  if (agent.draining) gone_ += task.amounts();
}

void Supposed::end(const Cluster& cluster, const OutstandingOffer& offer) {
  const auto end_one = [&](const OutstandingOffer& one) {
    end_use(*one.leaf, one.resources.amounts);
    for (const AskFill& fill : one.grant->offer.fills) {
      const auto ask = one.leaf->owner->asks.find(fill.ask);
      if (ask != one.leaf->owner->asks.end()) offers_ended_[ask->second.get()] += fill.count;
    }
  };
  const uint64_t gang = offer.grant->offer.gang;
  if (gang == 0) return end_one(offer);
  for (const OfferId& id : cluster.outstanding.of_gang(gang)) {
    end_one(*cluster.outstanding.find(id));
  }
}

void Supposed::set(const Role& role, const RoleSettings& settings) {
  settings_[&role] = settings;
  parts_known_ = false;
}

void Supposed::give_up_headroom(const AskEntry& ask) { without_headroom_ = &ask; }

ResourceVector View::supposed_use(const Node& node) const {
  const auto ended = supposed_->ended_.find(&node);
  return ended == supposed_->ended_.end() ? node.use() : node.use() - ended->second;
}

const RoleSettings& View::supposed_settings(const Role& role) const {
  const auto known = supposed_->settings_.find(&role);
  return known == supposed_->settings_.end() ? role.settings : known->second;
}

int64_t View::unmet(const AskEntry& ask) const {
  if (supposed_ == nullptr) return ask.unmet();
  const auto ended = supposed_->offers_ended_.find(&ask);
  return ended == supposed_->offers_ended_.end() ? ask.unmet()
                                                 : ask.unmet_with(ask.offered - ended->second);
}

bool View::wants_offers(const Leaf& leaf) const {
  if (supposed_ == nullptr || leaf.wants_offers()) return leaf.wants_offers();
  return std::any_of(leaf.order.begin(), leaf.order.end(),
                     [&](const AskEntry* ask) { return ask->leaf_wants() && unmet(*ask) > 0; });
}

ResourceVector View::usable_total() const {
  const ResourceVector total = cluster.usable_total();
  return supposed_ == nullptr ? total : (total - supposed_->gone_).max(ResourceVector());
}

ResourceVector& View::demand(const Node& node) const {
  return supposed_ == nullptr ? node.demand : supposed_->parts_[&node].demand;
}

ResourceVector& View::entitlement(const Node& node) const {
  return supposed_ == nullptr ? node.entitlement : supposed_->parts_[&node].entitlement;
}

bool& View::entitlements_known() const {
  return supposed_ == nullptr ? cluster.entitlements_known : supposed_->parts_known_;
}

}  // namespace proffer::fair
