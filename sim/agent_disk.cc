#include "sim/agent_disk.h"

#include <algorithm>
#include <optional>
#include <variant>

namespace proffer::sim {

Result<void> AgentDisk::check() const {
  if (trouble_ == Trouble::kFull) return Error::resource_exhausted("no space left on the disk");
  if (trouble_ == Trouble::kBroken) return Error::unavailable("input/output error");
  return {};
}

// As CheckpointLog::open: the log ends at the first record that is not whole, if no whole record
// follows.
Result<AgentDisk::Opened> AgentDisk::open() {
  Opened opened;
  const auto is_whole = [](const Slot& slot) { return !slot.damaged; };
  const auto bad = std::find_if_not(slots_.begin(), slots_.end(), is_whole);
  opened.damaged = std::any_of(bad, slots_.end(), is_whole);
  for (const Slot& slot : slots_) {
    if (!slot.damaged) opened.records.push_back(slot.record);
  }
  if (opened.damaged) {  // A new log has a header, which must be written.
    if (Result<void> good = check(); !good) return good.error();
    slots_.clear();
    synced_ = 0;
    ++mark_;
    return opened;
  }
  opened.cut = bad != slots_.end();
  if (opened.cut) ++mark_;
  slots_.erase(bad, slots_.end());
  synced_ = std::min(synced_, slots_.size());
  return opened;
}

Result<void> AgentDisk::append(const std::vector<proto::CheckpointRecord>& records) {
  if (Result<void> good = check(); !good) return good;
  for (const proto::CheckpointRecord& record : records) slots_.push_back({.record = record});
  return {};
}

Result<void> AgentDisk::sync() {
  if (Result<void> good = check(); !good) return good;
  synced_ = slots_.size();
  return {};
}

Result<void> AgentDisk::rewrite(const std::vector<proto::CheckpointRecord>& records) {
  if (Result<void> good = check(); !good) return good;
  slots_.clear();
  for (const proto::CheckpointRecord& record : records) slots_.push_back({.record = record});
  synced_ = slots_.size();
  return {};
}

void AgentDisk::append_torn(const std::vector<proto::CheckpointRecord>& records, size_t whole) {
  if (!check()) return;
  for (size_t i = 0; i < records.size() && i <= whole; ++i) {
    slots_.push_back({.record = records[i], .damaged = i == whole});
  }
}

void AgentDisk::lose_power(Prng& chance) {
  const size_t unsynced = slots_.size() - synced_;
  const size_t kept = chance.below(unsynced + 1);
  slots_.resize(synced_ + kept);
  if (kept == 0 || chance.chance(1, 2)) return;
  slots_[synced_ + chance.below(kept)].damaged = true;
}

void AgentDisk::damage(Prng& chance) {
  if (slots_.size() > 1) slots_[chance.below(slots_.size() - 1)].damaged = true;
}

void AgentDisk::cut(Prng& chance) {
  const size_t most = chance.chance(3, 4) ? std::min<size_t>(slots_.size(), 24) : slots_.size();
  const size_t left = slots_.size() - chance.below(most + 1);
  std::optional<Slot> identity;
  for (size_t i = left; i < slots_.size(); ++i) {
    if (std::holds_alternative<proto::AgentIdentity>(slots_[i].record)) identity = slots_[i];
  }
  const bool is_torn = left < slots_.size() && chance.chance(1, 3);
  std::optional<Slot> torn;
  if (is_torn) torn = Slot{.record = slots_[left].record, .damaged = true};
  slots_.resize(left);
  if (identity) slots_.push_back(*std::move(identity));
  if (torn) slots_.push_back(*std::move(torn));
  synced_ = std::min(synced_, slots_.size());
}

}  // namespace proffer::sim
