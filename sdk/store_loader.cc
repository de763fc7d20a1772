#include "sdk/store_loader.h"

#include <algorithm>

#include "common/limits.h"
#include "sdk/store.h"

namespace proffer::sdk {

std::vector<proto::StoreOperation> StoreLoader::next() {
  asked_.clear();
  if (parts_.empty()) return {};
  const StorePart& part = parts_.back();
  if (!is_listed_) return {list(part.prefix, after_)};
  // The answer must fit into one message even if all values are large, but at least one is
  // requested.
  const size_t at_once = std::clamp<size_t>(
      kStoreRequestBytesMax / (part.value_bytes_max + kStoreKeyBytesMax), 1, kStoreOperationsMax);
  std::vector<proto::StoreOperation> gets;
  while (!keys_left_.empty() && asked_.size() < at_once) {
    asked_.push_back(std::move(keys_left_.back()));
    keys_left_.pop_back();
    gets.push_back(get(asked_.back()));
  }
  return gets;
}

bool StoreLoader::take(const std::vector<proto::StoreResult::Outcome>& outcomes) {
  if (parts_.empty()) return false;
  if (!is_listed_) {
    if (outcomes.size() != 1) return false;
    const proto::StoreResult::Outcome& page = outcomes.front();
    for (const proto::StoreResult::Entry& entry : page.entries) keys_left_.push_back(entry.key);
    is_listed_ = !page.more || page.entries.empty();
    after_ = is_listed_ ? std::string() : page.entries.back().key;
  } else {
    if (outcomes.size() != asked_.size()) return false;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].version != 0) entries_[asked_[i]] = outcomes[i].value;
    }
    asked_.clear();
  }
  if (is_listed_ && keys_left_.empty()) {
    parts_.pop_back();
    is_listed_ = false;
  }
  return true;
}

}  // namespace proffer::sdk
