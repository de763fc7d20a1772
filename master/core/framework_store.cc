// The accounts of the frameworks' stores, and decisions about requests. Begin with plan_store():
// each operation sees the results of the earlier ones, and nothing changes until all are allowed.

#include "master/core/framework_store.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::master {
namespace {

using proto::StoreOperation;

// The size of a list entry in the answer, in addition to its key.
constexpr size_t kListedBytes = 32;

std::string version_text(uint64_t version) {
  return version == 0 ? std::string("there is none") : text("it has version ", version);
}

// The framework's store as it would be after the operations so far.
class View {
 public:
  explicit View(const FrameworkStore& base) : base_(base) {}

  const StoreEntry* find(const std::string& key) const {
    const auto changed = changes_.find(key);
    if (changed != changes_.end()) return changed->second ? &*changed->second : nullptr;
    const auto kept = base_.entries.find(key);
    return kept == base_.entries.end() ? nullptr : &kept->second;
  }
  void put(const std::string& key, StoreEntry entry) { changes_[key] = std::move(entry); }
  void erase(const std::string& key) { changes_[key] = std::nullopt; }

  // Calls `see` with each key from `first` on and its version, in order, until it returns false.
  template <class See>
  void each_from(const std::string& first, const See& see) const {
    auto kept = base_.entries.lower_bound(first);
    auto changed = changes_.lower_bound(first);
    while (kept != base_.entries.end() || changed != changes_.end()) {
      const bool is_change = changed != changes_.end() &&
                             (kept == base_.entries.end() || changed->first <= kept->first);
      if (!is_change) {
        if (!see(kept->first, kept->second.version)) return;
        ++kept;
        continue;
      }
      if (kept != base_.entries.end() && kept->first == changed->first) ++kept;
      if (changed->second && !see(changed->first, changed->second->version)) return;
      ++changed;
    }
  }

  const std::map<std::string, std::optional<StoreEntry>>& changes() const { return changes_; }

 private:
  const FrameworkStore& base_;
  std::map<std::string, std::optional<StoreEntry>> changes_;  // none: erased
};

Result<void> check_expected(const StoreOperation& operation, const StoreEntry* entry) {
  const uint64_t version = entry == nullptr ? 0 : entry->version;
  if (!operation.expected || *operation.expected == version) return {};
  return Error::failed_precondition(text("the entry ", quoted(operation.key), " was expected ",
                                         *operation.expected == 0
                                             ? std::string("not to be there")
                                             : text("to have version ", *operation.expected),
                                         ", but ", version_text(version)))
      .with_hint("another writer changed it: read it again, then retry");
}

proto::StoreResult::Outcome list(const View& view, const StoreOperation& operation) {
  proto::StoreResult::Outcome outcome;
  view.each_from(std::max(operation.key, operation.after),
                 [&](const std::string& key, uint64_t version) {
                   if (!key.starts_with(operation.key)) return false;
                   if (key <= operation.after) return true;
                   outcome.more = outcome.entries.size() == kStoreListMax;
                   if (!outcome.more) outcome.entries.push_back({key, version});
                   return !outcome.more;
                 });
  return outcome;
}

size_t bytes_of(const proto::StoreResult::Outcome& outcome) {
  size_t bytes = outcome.value.size();
  for (const proto::StoreResult::Entry& entry : outcome.entries) {
    bytes += entry.key.size() + kListedBytes;
  }
  return bytes;
}

}  // namespace

// No store may grow beyond these; a store above them may still shrink.
Result<void> check_quota(const FrameworkId& framework, const FrameworkStores& stores,
                         size_t entries_then, size_t bytes_then) {
  const FrameworkStore& store = stores.of(framework);
  const size_t bytes_in_all = stores.bytes();
  const auto quota = [&](const auto&... parts) {
    return Error::resource_exhausted(text("the store of framework ", framework.str(), parts...))
        .with_hint("erase entries that are not needed; the store is for small state, not for data");
  };
  if (entries_then > store.entries.size() && entries_then > kStoreKeysPerFrameworkMax) {
    return quota(" has ", store.entries.size(), " entries and would have ", entries_then,
                 "; at most ", kStoreKeysPerFrameworkMax, " are allowed");
  }
  if (bytes_then <= store.bytes) return {};
  if (bytes_then > kStoreBytesPerFrameworkMax) {
    return quota(" has ", store.bytes, " bytes of keys and values and would have ", bytes_then,
                 "; at most ", kStoreBytesPerFrameworkMax, " are allowed");
  }
  if (bytes_in_all - store.bytes + bytes_then > kStoreBytesMax) {
    return Error::resource_exhausted(text("the stores of all frameworks have ", bytes_in_all,
                                          " bytes; at most ", kStoreBytesMax, " are allowed, and ",
                                          bytes_then - store.bytes, " more are needed"))
        .with_hint("an operator can tear down unused frameworks: proffer teardown FRAMEWORK");
  }
  return {};
}

void FrameworkStores::apply(const proto::StoreRecord& record, bool erase) {
  FrameworkStore& store = stores_[record.framework];
  const auto known = store.entries.find(record.key);
  if (known != store.entries.end()) {
    const size_t bytes = record.key.size() + known->second.value.size();
    store.bytes -= bytes;
    bytes_ -= bytes;
    --entries_;
    if (erase) store.entries.erase(known);
  }
  if (!erase) {
    const size_t bytes = record.key.size() + record.value.size();
    store.entries.insert_or_assign(record.key,
                                   StoreEntry{.value = record.value, .version = record.version});
    store.bytes += bytes;
    bytes_ += bytes;
    ++entries_;
  }
  if (store.entries.empty()) stores_.erase(record.framework);
}

const FrameworkStore& FrameworkStores::of(const FrameworkId& framework) const {
  static const FrameworkStore kEmpty;
  const auto known = stores_.find(framework);
  return known == stores_.end() ? kEmpty : known->second;
}

uint64_t FrameworkStores::highest_version() const {
  uint64_t highest = 0;
  for (const auto& [id, store] : stores_) {
    for (const auto& [key, entry] : store.entries) highest = std::max(highest, entry.version);
  }
  return highest;
}

Result<StorePlan> plan_store(const proto::StoreRequest& request, const FrameworkId& framework,
                             const FrameworkStores& stores, uint64_t version) {
  const FrameworkStore& store = stores.of(framework);
  StorePlan plan{.version = version};
  View view(store);
  size_t answer_bytes = 0;
  for (const StoreOperation& operation : request.operations) {
    const StoreEntry* entry = view.find(operation.key);
    proto::StoreResult::Outcome outcome;
    switch (operation.kind) {
      case StoreOperation::Kind::kGet:
        if (entry != nullptr) outcome = {.version = entry->version, .value = entry->value};
        break;
      case StoreOperation::Kind::kPut:
        if (Result<void> checked = check_expected(operation, entry); !checked) {
          return std::move(checked).error();
        }
        outcome.version = ++plan.version;
        view.put(operation.key, {.value = operation.value, .version = plan.version});
        break;
      case StoreOperation::Kind::kDelete:
        if (Result<void> checked = check_expected(operation, entry); !checked) {
          return std::move(checked).error();
        }
        view.erase(operation.key);
        break;
      case StoreOperation::Kind::kList:
        outcome = list(view, operation);
        break;
    }
    answer_bytes += bytes_of(outcome);
    if (answer_bytes > kStoreRequestBytesMax) {
      return Error::resource_exhausted(text("the answer would have more than ",
                                            kStoreRequestBytesMax, " bytes of keys and values"))
          .with_hint("ask for fewer entries at a time");
    }
    plan.outcomes.push_back(std::move(outcome));
  }

  size_t entries = store.entries.size();
  size_t bytes = store.bytes;
  for (const auto& [key, entry] : view.changes()) {
    const auto known = store.entries.find(key);
    if (known != store.entries.end()) {
      --entries;
      bytes -= key.size() + known->second.value.size();
    }
    if (entry) {
      ++entries;
      bytes += key.size() + entry->value.size();
      plan.writes.push_back({proto::StoreRecord{.framework = framework,
                                                .key = key,
                                                .value = entry->value,
                                                .version = entry->version},
                             false});
    } else if (known != store.entries.end()) {
      plan.writes.push_back({proto::StoreRecord{.framework = framework, .key = key}, true});
    }
  }
  if (Result<void> checked = check_quota(framework, stores, entries, bytes); !checked) {
    return std::move(checked).error();
  }
  return plan;
}

}  // namespace proffer::master
