#include "master/core/waits.h"

#include <algorithm>
#include <iterator>

#include "common/check.h"
#include "common/roles.h"

namespace proffer::master {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

// The mean over both numbers of tasks.
WaitClock mean_of(const WaitClock& a, int64_t count_a, const WaitClock& b, int64_t count_b) {
  __extension__ typedef __int128 Int128;
  WaitClock mean;
  for (size_t i = 0; i < kWaitReasonCount; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    const Int128 sum = Int128{a[reason].nanos()} * count_a + Int128{b[reason].nanos()} * count_b;
    mean[reason] = Duration::nanos(static_cast<int64_t>(sum / (count_a + count_b)));
  }
  return mean;
}

}  // namespace

WaitClock WaitClock::operator-(const WaitClock& o) const {
  WaitClock less;
  for (size_t i = 0; i < spent_.size(); ++i) less.spent_[i] = spent_[i] - o.spent_[i];
  return less;
}

void AskWait::run_clock(Time now) {
  clock_[reason_] = clock_[reason_] + (now - since_);
  since_ = now;
}

void AskWait::set_reason(WaitReason reason, Time now) {
  run_clock(now);
  reason_ = reason;
}

void AskWait::set(int64_t lacking, int64_t offered, Time now) {
  run_clock(now);
  if (is_empty()) reason_ = WaitReason::kDecision;
  if (offered < offered_) take_back(offered_ - offered, now);
  if (const int64_t more = lacking + offered - lacking_ - offered_; more > 0) want(more, now);
  if (offered > offered_) offer(offered - offered_, now);
  if (lacking < lacking_) want_less(lacking_ - lacking);
}

void AskWait::want(int64_t count, Time now) {
  lacks_.push_back({.count = count, .asked_at = now, .base = clock_});
  lacking_ += count;
  bound(lacks_);
}

void AskWait::want_less(int64_t count) {
  lacking_ -= count;
  while (count > 0) {
    Cohort& last = lacks_.back();
    const int64_t here = std::min(count, last.count);
    last.count -= here;
    count -= here;
    if (last.count == 0) lacks_.pop_back();
  }
}

// The oldest of the tasks without an offer.
void AskWait::offer(int64_t count, Time now) {
  lacking_ -= count;
  offered_ += count;
  auto at = lacks_.begin();
  while (count > 0) {
    Cohort moved = *at;
    moved.count = std::min(count, at->count);
    moved.base = clock_ - at->base;
    moved.offered_at = now;
    count -= moved.count;
    at->count -= moved.count;
    if (at->count == 0) ++at;
    offers_.push_back(std::move(moved));
  }
  lacks_.erase(lacks_.begin(), at);
  bound(offers_);
}

// The newest of the tasks in offers become the oldest ones without an offer.
void AskWait::take_back(int64_t count, Time now) {
  lacking_ += count;
  offered_ -= count;
  Cohorts back;
  while (count > 0) {
    Cohort moved = offers_.back();
    moved.count = std::min(count, moved.count);
    Duration& asked = moved.base[WaitReason::kScheduler];
    asked = asked + (now - moved.offered_at);
    moved.base = clock_ - moved.base;
    moved.offered_at = {};
    count -= moved.count;
    offers_.back().count -= moved.count;
    if (offers_.back().count == 0) offers_.pop_back();
    back.push_back(std::move(moved));
  }
  lacks_.insert(lacks_.begin(), back.rbegin(), back.rend());
  bound(lacks_);
}

// Merges the two neighbours that are closest in time. They get the mean of their tasks, so the sum
// stays the same.
void AskWait::bound(Cohorts& cohorts) {
  while (cohorts.size() > kCohortsMax) {
    size_t at = 1;
    const auto gap = [&](size_t i) { return cohorts[i].asked_at - cohorts[i - 1].asked_at; };
    for (size_t i = 2; i < cohorts.size(); ++i) {
      if (gap(i) < gap(at)) at = i;
    }
    Cohort& first = cohorts[at - 1];
    const Cohort& second = cohorts[at];
    // Both count as offered since the same time from now on.
    WaitClock base = second.base;
    Duration& asked = first.base[WaitReason::kScheduler];
    Duration& asked_second = base[WaitReason::kScheduler];
    const Time offered_at = std::max(first.offered_at, second.offered_at);
    if (first.offered_at != Time()) {
      asked = asked + (offered_at - first.offered_at);
      asked_second = asked_second + (offered_at - second.offered_at);
    }
    first.base = mean_of(first.base, first.count, base, second.count);
    first.offered_at = offered_at;
    first.count += second.count;
    cohorts.erase(cohorts.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

PackedWaits AskWait::launch(Time now) {
  if (is_empty()) return {};
  run_clock(now);
  const bool is_offered = offered_ > 0;
  Cohorts& cohorts = is_offered ? offers_ : lacks_;
  Cohort& first = cohorts.front();
  WaitClock waited = is_offered ? first.base : clock_ - first.base;
  if (is_offered) {
    Duration& asked = waited[WaitReason::kScheduler];
    asked = asked + (now - first.offered_at);
  }
  --(is_offered ? offered_ : lacking_);
  if (--first.count == 0) cohorts.erase(cohorts.begin());
  return PackedWaits(waited);
}

std::optional<Time> AskWait::oldest() const {
  std::optional<Time> oldest;
  for (const Cohorts* cohorts : {&lacks_, &offers_}) {
    if (cohorts->empty()) continue;
    const Time first = cohorts->front().asked_at;
    oldest = oldest ? std::min(*oldest, first) : first;
  }
  return oldest;
}

// --- sums ---------------------------------------------------------------------------------------

WaitTotals::Sum WaitTotals::nanos_until(const One& one, Time now) {
  return one.nanos + Sum{one.tasks} * (now - one.counted).nanos();
}

void WaitTotals::change(WaitReason reason, int64_t count, Time now) {
  One& one = of(reason);
  CHECK(now >= one.counted && one.tasks + count >= 0) << to_text(reason);
  one.nanos = nanos_until(one, now);
  one.counted = now;
  one.tasks += count;
}

std::vector<WaitSum> WaitTotals::sums(Time now) const {
  std::vector<WaitSum> sums;
  for (size_t i = 0; i < all_.size(); ++i) {
    const Sum millis = nanos_until(all_[i], now) / kNanosPerMilli;
    if (millis == 0 && all_[i].tasks == 0) continue;
    sums.push_back({static_cast<WaitReason>(i),
                    static_cast<int64_t>(std::min(millis, Sum{INT64_MAX})), all_[i].tasks});
  }
  return sums;
}

WaitTotals::Sum WaitTotals::untold_millis(Time now) const {
  Sum untold = 0;
  for (const One& one : all_) untold += nanos_until(one, now) / kNanosPerMilli - one.told_millis;
  return untold;
}

std::vector<WaitSum> WaitTotals::cut(Time now) {
  std::vector<WaitSum> sums;
  for (size_t i = 0; i < all_.size(); ++i) {
    const Sum millis = nanos_until(all_[i], now) / kNanosPerMilli;
    const Sum more = millis - std::exchange(all_[i].told_millis, millis);
    if (more == 0) continue;
    sums.push_back({static_cast<WaitReason>(i),
                    static_cast<int64_t>(std::min(more, Sum{INT64_MAX})), all_[i].tasks});
  }
  return sums;
}

bool WaitTotals::is_idle() const {
  return std::all_of(all_.begin(), all_.end(), [](const One& one) { return one.tasks == 0; });
}

void RoleWaits::change(const RoleName& name, WaitReason reason, int64_t count, Time now) {
  auto at = roles_.find(name);
  if (at == roles_.end()) {
    if (roles_.size() >= forget_at_) forget_idle();
    at = roles_.emplace(name, Role{}).first;
  }
  Role& role = at->second;
  if (role.is_told && role.totals.is_idle()) role.from = now;
  role.is_told = false;
  role.totals.change(reason, count, now);
  role.changed_at = now;
}

// Drops idle roles except the kIdleRolesMax newest, so that the cost of a full search is shared by
// as many new roles.
void RoleWaits::forget_idle() {
  std::vector<Time> idle;
  for (const auto& [name, role] : roles_) {
    if (role.totals.is_idle()) idle.push_back(role.changed_at);
  }
  if (idle.size() > kIdleRolesMax) {
    const auto last = idle.end() - static_cast<std::ptrdiff_t>(kIdleRolesMax);
    std::nth_element(idle.begin(), last, idle.end());
    std::erase_if(roles_, [&](const auto& one) {
      return one.second.totals.is_idle() && one.second.changed_at < *last;
    });
  }
  forget_at_ = 2 * std::max(roles_.size(), kIdleRolesMax);
}

std::vector<proto::RoleWait> RoleWaits::cut(Time now) {
  using Untold = std::pair<WaitTotals::Sum, decltype(roles_)::iterator>;
  std::vector<Untold> most;
  for (auto at = roles_.begin(); at != roles_.end(); ++at) {
    const WaitTotals::Sum untold = at->second.totals.untold_millis(now);
    if (untold > 0) most.emplace_back(untold, at);
    if (untold == 0 && at->second.totals.is_idle()) at->second.is_told = true;
  }
  if (most.size() > kRolesToldMax) {
    std::nth_element(most.begin(), most.begin() + kRolesToldMax - 1, most.end(),
                     [](const Untold& a, const Untold& b) { return a.first > b.first; });
    most.resize(kRolesToldMax);
  }
  std::vector<proto::RoleWait> told;
  for (const auto& [untold, at] : most) {
    auto& [name, role] = *at;
    told.push_back({.role = name,
                    .from = std::exchange(role.from, now),
                    .until = now,
                    .waited = role.totals.cut(now)});
    role.is_told = true;
  }
  std::sort(told.begin(), told.end(),
            [](const proto::RoleWait& a, const proto::RoleWait& b) { return a.role < b.role; });
  return told;
}

bool RoleWaits::is_anybody_waiting() const {
  return std::any_of(roles_.begin(), roles_.end(),
                     [](const auto& role) { return !role.second.totals.is_idle(); });
}

std::vector<std::pair<RoleName, const WaitTotals*>> RoleWaits::all() const {
  std::vector<std::pair<RoleName, const WaitTotals*>> all;
  for (const auto& [name, role] : roles_) all.emplace_back(name, &role.totals);
  return all;
}

std::vector<WaitSum> RoleWaits::sums(const RoleName& of, Time now) const {
  std::map<WaitReason, WaitSum> all;
  for (const auto& [name, role] : roles_) {
    if (!is_within(name, of)) continue;
    for (const WaitSum& sum : role.totals.sums(now)) {
      WaitSum& known = all[sum.reason];
      known.reason = sum.reason;
      known.millis += std::min(sum.millis, INT64_MAX - known.millis);
      known.tasks += sum.tasks;
    }
  }
  std::vector<WaitSum> sums;
  for (const auto& [reason, sum] : all) sums.push_back(sum);
  return sums;
}

// --- waits of one task --------------------------------------------------------------------------

namespace {

// Format: the number of bytes, then for each span a byte for the reason and the nanoseconds, 7 bits
// per byte, lowest first.
class Packer {
 public:
  void add(WaitReason reason, Duration spent) {
    if (spent <= Duration()) return;
    *end_++ = static_cast<uint8_t>(reason);
    auto left = static_cast<uint64_t>(spent.nanos());
    for (; left >= 0x80; left >>= 7) *end_++ = static_cast<uint8_t>(left | 0x80);
    *end_++ = static_cast<uint8_t>(left);
  }
  void add(const uint8_t* bytes, size_t count) { end_ = std::copy_n(bytes, count, end_); }
  std::unique_ptr<uint8_t[]> take() {
    const auto count = static_cast<size_t>(end_ - bytes_.data());
    if (count == 1) return nullptr;
    bytes_[0] = static_cast<uint8_t>(count - 1);
    auto taken = std::make_unique<uint8_t[]>(count);
    std::copy_n(bytes_.data(), count, taken.get());
    return taken;
  }

 private:
  static constexpr size_t kSpanBytesMax = 1 + 9;  // 63 bits, 7 per byte
  static_assert(kSpanBytesMax * kWaitReasonCount <= 255);
  std::array<uint8_t, 1 + kSpanBytesMax * kWaitReasonCount> bytes_{};
  uint8_t* end_ = bytes_.data() + 1;
};

}  // namespace

PackedWaits::PackedWaits(const WaitClock& clock) {
  Packer packer;
  for (size_t i = 0; i < kWaitReasonCount; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    packer.add(reason, clock[reason]);
  }
  bytes_ = packer.take();
}

PackedWaits PackedWaits::with_start(Duration start) const {
  static_assert(static_cast<int>(WaitReason::kStart) == 0, "it comes first");
  Packer packer;
  packer.add(WaitReason::kStart, start);
  if (bytes_ != nullptr) packer.add(bytes_.get() + 1, bytes_[0]);
  PackedWaits packed;
  packed.bytes_ = packer.take();
  return packed;
}

WaitSpans PackedWaits::spans() const {
  WaitSpans spans;
  if (bytes_ == nullptr) return spans;
  const uint8_t* at = bytes_.get() + 1;
  const uint8_t* const end = at + bytes_[0];
  while (at < end) {
    const auto reason = static_cast<WaitReason>(*at++);
    uint64_t nanos = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = *at++;
      nanos |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    spans.push_back({reason, Duration::nanos(static_cast<int64_t>(nanos))});
  }
  return spans;
}

}  // namespace proffer::master
