#include "master/shell/pending.h"

#include <algorithm>
#include <map>

#include "common/text.h"
#include "master/shell/forecaster.h"

namespace proffer::master {
namespace {

using proto::NoEta;

// Reasons that are known without a forecast.
std::optional<NoEta> reason_without(const proto::FrameworkRow& framework,
                                    const proto::PendingRow& row, bool may_see) {
  if (!may_see) return NoEta::kNotYours;
  if (framework.state != proto::FrameworkState::kConnected) return NoEta::kAway;
  if (framework.suppressed) return NoEta::kSuppressed;
  if (row.reason == WaitReason::kImpossible) return NoEta::kImpossible;
  return std::nullopt;
}

}  // namespace

std::string pending_key(const proto::PendingRow& row) {
  return text(row.framework.str(), "/", row.ask.str());
}

std::vector<proto::PendingRow> pending_rows(const ReadContext& from, std::string_view prefix,
                                            std::string_view after, size_t limit) {
  // Keys are ordered by framework, then by ask, also if a name has characters that sort before '/'.
  const auto key_of = [](std::string_view key) {
    const size_t slash = std::min(key.find('/'), key.size());
    return std::pair(key.substr(0, slash), key.substr(std::min(slash + 1, key.size())));
  };
  std::vector<proto::PendingRow> rows;
  for (const proto::FrameworkRow& framework : from.core.frameworks()) {
    if (rows.size() > limit) break;
    std::vector<proto::PendingRow> own;
    for (const proto::AskRow& ask : framework.asks) {
      if (ask.wanted == 0) continue;
      proto::PendingRow row{.framework = framework.framework,
                            .name = framework.name,
                            .user = framework.user,
                            .role = framework.role,
                            .ask = ask.ask,
                            .shape = ask.shape,
                            .wanted = ask.wanted,
                            .offered = ask.offered};
      const std::string key = pending_key(row);
      if (!key.starts_with(prefix) || (!after.empty() && key_of(key) <= key_of(after))) {
        continue;
      }
      own.push_back(std::move(row));
    }
    if (own.empty()) continue;
    std::sort(own.begin(), own.end(),
              [](const proto::PendingRow& a, const proto::PendingRow& b) { return a.ask < b.ask; });
    std::map<AskName, const proto::WaitingAsk*> waits;
    const Result<proto::Blame> blame = from.core.blame_framework(framework.framework.str());
    if (blame) {
      for (const proto::WaitingAsk& one : blame->asks) waits[one.ask] = &one;
    }
    const bool may_see = from.core.may_see_tasks_of(framework.user, from.by);
    for (proto::PendingRow& row : own) {
      if (const auto wait = waits.find(row.ask); wait != waits.end()) {
        row.role = wait->second->role;
        row.reason = wait->second->reason;
        row.since = wait->second->since;
      }
      row.no_eta = reason_without(framework, row, may_see);
      rows.push_back(std::move(row));
    }
  }
  if (from.forecaster == nullptr) return rows;
  const bool is_asked = std::any_of(rows.begin(), rows.end(),
                                    [](const proto::PendingRow& row) { return !row.no_eta; });
  if (is_asked) from.forecaster->ask();
  from.forecaster->tell(rows);
  return rows;
}

}  // namespace proffer::master
