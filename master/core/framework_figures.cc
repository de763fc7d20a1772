// Counts for each framework. Each handler counts in the series of its framework, and
// refresh_wait() checks whether an ask waits for offers. /metrics shows framework_series() and
// role_waits().

#include "master/core/framework_figures.h"

#include <algorithm>

#include "master/core/state.h"

namespace proffer::master {

std::optional<Duration> OfferWaits::end(const AskName& ask, Time now) {
  const auto found = since_.find(ask);
  if (found == since_.end()) return std::nullopt;
  const Duration waited = now - found->second;
  since_.erase(found);
  return waited;
}

void OfferWaits::keep_only(const std::map<AskName, Ask>& asks) {
  std::erase_if(
      since_, [&](const auto& wait) { return !wait.first.empty() && !asks.contains(wait.first); });
}

void FrameworkSeries::name(const FrameworkId& framework) {
  if (named_.size() < kFrameworkSeriesMax) named_.try_emplace(framework);
}

FrameworkFigures& FrameworkSeries::of(const FrameworkId& framework) {
  const auto found = named_.find(framework);
  return found == named_.end() ? other_ : found->second;
}

// Called after each change of the ask's wanted or offered tasks.
void Master::State::refresh_wait(Framework& framework, const AskName& ask, Time now) {
  const bool is_open = framework.record.mode == OfferMode::kOpen;
  if (!is_open) refresh_ledger(framework, ask, now);
  if (framework.suppressed) return;
  if (is_open ? ask.empty() : allocator_.lacking(framework.id(), ask) > 0) {
    framework.offer_waits.begin(ask, now);
  } else {
    framework.offer_waits.end(ask, now);
  }
}

void Master::State::refresh_waits(Framework& framework, Time now) {
  if (framework.record.mode == OfferMode::kOpen) return refresh_wait(framework, AskName(), now);
  for (const auto& [name, ask] : framework.asks) refresh_wait(framework, name, now);
}

void Master::State::count_offer(Framework& framework, const Offer& offer, Time now) {
  FrameworkFigures& figures = series_.of(framework.id());
  ++figures.offers;
  const auto ends = [&](const AskName& ask) {
    if (const std::optional<Duration> waited = framework.offer_waits.end(ask, now)) {
      figures.waits.record(*waited);
    }
  };
  if (offer.fills.empty()) return ends(AskName());
  for (const AskFill& fill : offer.fills) {
    ends(fill.ask);
    refresh_wait(framework, fill.ask, now);  // It may want more tasks than were offered.
  }
}

std::vector<RoleWaitSums> Master::State::role_waits(Time now) const {
  std::vector<RoleWaitSums> rows;
  for (const auto& [role, totals] : role_waits_.all()) {
    rows.push_back({.role = role, .sums = totals->sums(now)});
  }
  return rows;
}

std::vector<FrameworkSeriesRow> Master::State::framework_series(Time now) const {
  std::map<FrameworkId, FrameworkSeriesRow> named;
  FrameworkSeriesRow other{.framework = "other", .figures = series_.other()};
  for (const auto& [id, figures] : series_.named()) {
    named.emplace(id, FrameworkSeriesRow{.framework = id.str(), .figures = figures});
  }
  const auto row_of = [&](const FrameworkId& id) -> FrameworkSeriesRow& {
    const auto found = named.find(id);
    return found == named.end() ? other : found->second;
  };
  for (const Grant* grant : allocator_.offers()) {
    FrameworkSeriesRow& row = row_of(grant->framework);
    const Time made = grant->expires - grant->offer.lease;
    row.oldest_offer = std::max(row.oldest_offer, now - made);
  }
  for (const auto& [id, framework] : frameworks_.all()) {
    if (framework.gone) continue;
    FrameworkSeriesRow& row = row_of(id);
    for (const auto& [ask, since] : framework.offer_waits.all()) {
      // An ask that has expired no longer waits.
      if (!ask.empty() && allocator_.lacking(id, ask) == 0) continue;
      row.longest_wait = std::max(row.longest_wait, now - since);
    }
    row.backing_off += framework.back_off.waits();
  }
  std::vector<FrameworkSeriesRow> rows;
  for (auto& [id, row] : named) rows.push_back(std::move(row));
  rows.push_back(std::move(other));
  return rows;
}

}  // namespace proffer::master
