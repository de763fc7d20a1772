#include "frameworks/service/core/loader.h"

#include "common/limits.h"
#include "sdk/store.h"

namespace proffer::service {
namespace {

// Values of at most kStoreEntryBytesMax each must fit in one answer of kStoreRequestBytesMax: an
// app's few at a time, instances many.
constexpr size_t kLargeAtOnce = kStoreRequestBytesMax / (kStoreEntryBytesMax + kStoreKeyBytesMax);
static_assert(kLargeAtOnce >= 1);
constexpr size_t kSmallAtOnce = 128;

}  // namespace

std::vector<proto::StoreOperation> Loader::next() {
  asked_.clear();
  if (!lists_left_.empty()) {
    return {sdk::list(lists_left_.back(), after_)};
  }
  const auto next_is_large = [this] { return keys_left_.back().starts_with("apps/"); };
  const bool large = !keys_left_.empty() && next_is_large();
  const size_t at_once = large ? kLargeAtOnce : kSmallAtOnce;
  std::vector<proto::StoreOperation> gets;
  while (!keys_left_.empty() && next_is_large() == large && asked_.size() < at_once) {
    asked_.push_back(std::move(keys_left_.back()));
    keys_left_.pop_back();
    gets.push_back(sdk::get(asked_.back()));
  }
  return gets;
}

bool Loader::take(const std::vector<proto::StoreResult::Outcome>& outcomes) {
  if (asked_.empty()) {
    if (outcomes.size() != 1) return false;
    const proto::StoreResult::Outcome& page = outcomes.front();
    for (const proto::StoreResult::Entry& entry : page.entries) keys_left_.push_back(entry.key);
    if (page.more && !page.entries.empty()) {
      after_ = page.entries.back().key;
    } else {
      lists_left_.pop_back();
      after_.clear();
    }
    return true;
  }
  if (outcomes.size() != asked_.size()) return false;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].version != 0) entries_[asked_[i]] = outcomes[i].value;
  }
  asked_.clear();
  return true;
}

}  // namespace proffer::service
