#include "master/core/frameworks.h"

#include "common/check.h"

namespace proffer::master {

Framework* Frameworks::find(const FrameworkId& framework) {
  const auto found = frameworks_.find(framework);
  return found == frameworks_.end() ? nullptr : &found->second;
}

const Framework* Frameworks::find(const FrameworkId& framework) const {
  const auto found = frameworks_.find(framework);
  return found == frameworks_.end() ? nullptr : &found->second;
}

Framework* Frameworks::find(const Secret& secret) {
  const auto found = by_secret_.find(secret);
  return found == by_secret_.end() ? nullptr : find(found->second);
}

Framework& Frameworks::add(proto::FrameworkRecord record) {
  const FrameworkId id = record.framework;
  if (!record.secret.empty()) {
    CHECK(by_secret_.emplace(record.secret, id).second) << "a second framework of one secret";
  }
  const auto [added, is_new] = frameworks_.try_emplace(id);
  CHECK(is_new) << "framework " << id.str() << " is known already";
  added->second.record = std::move(record);
  return added->second;
}

void Frameworks::mark_gone(Framework& framework) {
  by_secret_.erase(framework.record.secret);
  framework.gone = true;
}

void Frameworks::erase(const FrameworkId& framework) {
  const auto found = frameworks_.find(framework);
  CHECK(found != frameworks_.end()) << framework.str();
  if (!found->second.gone) by_secret_.erase(found->second.record.secret);
  frameworks_.erase(found);
}

}  // namespace proffer::master
