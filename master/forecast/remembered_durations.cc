#include "master/forecast/remembered_durations.h"

#include <algorithm>
#include <set>
#include <utility>

namespace proffer::master {
namespace {

bool ended_by_itself(const proto::EndedTask& ended) {
  return ended.status.state == proto::TaskState::kFinished ||
         ended.status.state == proto::TaskState::kFailed;
}

}  // namespace

void RememberedDurations::add(const proto::EndedTask& ended, bool is_older) {
  if (!ended_by_itself(ended) || ended.launched_at == Time()) return;
  const Duration ran = std::clamp(ended.status.at - ended.launched_at, Duration(), kDurationMax);
  add({.framework = ended.framework_name,
       .kind = proto::kind_of(ended.ask, ended.status.task.str(), ended.amounts)},
      ran, is_older);
  add({.framework = ended.framework_name}, ran, is_older);
  add({.role = ended.role}, ran, is_older);
}

void RememberedDurations::add(Key key, Duration ran, bool is_older) {
  if (kept_.size() >= kDurationKindsMax && !kept_.contains(key)) {
    if (is_older) return;
    forget_half();
  }
  Kept& kept = kept_[std::move(key)];
  if (!is_older) kept.added = ++additions_;
  if (kept.ran.size() < kDurationsKept) {
    if (is_older) {
      kept.ran.insert(kept.ran.begin(), ran);
    } else {
      kept.ran.push_back(ran);
    }
  } else if (!is_older) {
    kept.ran[kept.oldest] = ran;
    kept.oldest = (kept.oldest + 1) % kDurationsKept;
  }
}

void RememberedDurations::forget_half() {
  using At = std::map<Key, Kept>::iterator;
  std::vector<At> all;
  for (auto at = kept_.begin(); at != kept_.end(); ++at) all.push_back(at);
  // Rows of a whole framework or role are dropped last: there are few, and they stand in for kinds.
  const auto rank = [](const At& at) {
    return std::pair(at->first.kind.empty(), at->second.added);
  };
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [&](const At& a, const At& b) { return rank(a) < rank(b); });
  for (auto at = all.begin(); at != middle; ++at) kept_.erase(*at);
}

std::vector<proto::KindDurations> RememberedDurations::used_by(
    const proto::LiveSnapshot& live) const {
  std::map<FrameworkId, const proto::LiveFramework*> frameworks;
  std::set<Key> keys;
  for (const proto::LiveFramework& one : live.frameworks) {
    frameworks[one.framework] = &one;
    keys.insert({.framework = one.name});
    keys.insert({.role = one.role});
  }
  const auto use = [&](const FrameworkId& id, const RoleName& role, std::string kind) {
    const auto framework = frameworks.find(id);
    if (framework == frameworks.end()) return;
    keys.insert({.framework = framework->second->name, .kind = std::move(kind)});
    if (!role.empty()) keys.insert({.role = role});
  };
  for (const proto::LiveAsk& one : live.asks) {
    use(one.framework, one.ask.role, proto::kind_of(one.ask.name, "", one.ask.shape));
  }
  for (const proto::LiveTask& one : live.tasks) {
    use(one.framework, one.role, proto::kind_of(one.ask, one.task.str(), one.shape));
  }
  std::vector<proto::KindDurations> rows;
  for (const Key& key : keys) {
    const auto kept = kept_.find(key);
    if (kept == kept_.end()) continue;
    rows.push_back({key.framework, key.role, key.kind, kept->second.ran});
  }
  return rows;
}

DurationsByKind::DurationsByKind(const std::vector<proto::KindDurations>& rows) {
  for (const proto::KindDurations& row : rows) {
    if (row.ran.empty()) continue;
    if (row.role.empty()) {
      by_kind_[{row.framework, row.kind}] = &row.ran;
    } else {
      by_role_[row.role.str()] = &row.ran;
    }
  }
}

const std::vector<Duration>* DurationsByKind::find(std::string_view framework, const RoleName& role,
                                                   std::string_view kind) const {
  const std::vector<Duration>* first = nullptr;
  const auto is_enough = [&first](const auto& table, const auto& key) {
    const auto at = table.find(key);
    if (at == table.end()) return false;
    if (first == nullptr || at->second->size() >= kDurationsEnough) first = at->second;
    return at->second->size() >= kDurationsEnough;
  };
  if (is_enough(by_kind_, std::pair(framework, kind))) return first;
  if (is_enough(by_kind_, std::pair(framework, std::string_view()))) return first;
  is_enough(by_role_, std::string_view(role.str()));
  return first;
}

}  // namespace proffer::master
