// An election is planned whenever there is no leader; `watch` ends the session of a silent leader.

#include "sim/ensemble.h"

#include <iterator>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "sim/trace.h"

namespace proffer::sim {

Ensemble::Ensemble(World& world) : world_(world), chance_(world.chance("ensemble")) {}

Duration Ensemble::delay() {
  if (slow_ && chance_.chance(1, 4)) return milliseconds(chance_.between(100, 6'000));
  return microseconds(chance_.between(100, 10'000));
}

// --- the election --------------------------------------------------------------------------------

uint64_t Ensemble::campaign(std::function<void(Session)> elected) {
  candidates_[++candidates_made_] = std::move(elected);
  plan_election();
  return candidates_made_;
}

void Ensemble::withdraw(uint64_t candidate) { candidates_.erase(candidate); }

void Ensemble::plan_election() {
  world_.after(delay() + delay(), [this] { elect(); });
}

void Ensemble::elect() {
  if (leader_ != 0 || candidates_.empty()) return;
  const auto winner =
      std::next(candidates_.begin(), static_cast<ptrdiff_t>(chance_.below(candidates_.size())));
  const auto elected = std::move(winner->second);
  candidates_.erase(winner);
  leader_ = ++sessions_;
  heard_ = world_.now();
  stores_[leader_] = std::make_unique<MemoryStore>(disk_);
  watch(leader_);
  elected(leader_);
}

void Ensemble::watch(Session session) {
  world_.at(heard_ + kSessionTimeout, [this, session] {
    if (leader_ != session) return;
    if (world_.now() < heard_ + kSessionTimeout) return watch(session);
    expired_.insert(session);
    leader_ = 0;
    world_.note("ensemble", SessionExpires{session});
    plan_election();
  });
}

void Ensemble::cut_off_leader(Duration lasts) {
  if (leader_ != 0) cut_off_[leader_] = world_.now() + lasts;
}

Time Ensemble::reachable_at(Session session) const {
  const auto until = cut_off_.find(session);
  return until == cut_off_.end() ? Time() : until->second;
}

// --- requests ------------------------------------------------------------------------------------

bool Ensemble::hear(Session session) {
  if (leader_ != session) return false;
  heard_ = world_.now();
  return true;
}

Result<LeaderEpoch> Ensemble::begin_epoch(Session session) {
  if (!hear(session)) return Error::unavailable("the session has expired");
  const Result<LeaderEpoch> epoch = stores_.at(session)->begin_epoch();
  CHECK(epoch.has_value());
  if (*epoch <= newest_epoch_) {
    world_.violated("ensemble", {text("epoch ", epoch->value(), " begins after epoch ",
                                      newest_epoch_.value())});
  }
  newest_ = session;
  newest_epoch_ = *epoch;
  return epoch;
}

Result<std::vector<StoreRecord>> Ensemble::load(Session session) {
  if (!hear(session)) return Error::unavailable("the session has expired");
  return stores_.at(session)->load();
}

Result<void> Ensemble::commit(Session session, std::vector<StoreRecord> batch) {
  hear(session);
  MemoryStore& store = *stores_.at(session);
  const bool writes = !batch.empty();
  std::optional<Result<void>> committed;
  store.append(std::move(batch), [&](Result<void> done) { committed = std::move(done); });
  store.flush();
  CHECK(committed.has_value());
  if (*committed && writes && session != newest_) {
    world_.violated("ensemble", {"a leader has written behind the begin of a later epoch"});
  }
  if (*committed && on_written_) on_written_();
  return *committed;
}

}  // namespace proffer::sim
