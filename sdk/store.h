#pragma once

// The operations of Scheduler::store. A framework's store is a small durable map that the master
// keeps. A scheduler that is restarted on any machine finds it.
//
//   scheduler.store({sdk::get("app/web")}, [&](const auto& outcomes) {
//     if (outcomes) use(outcomes->at(0).value, outcomes->at(0).version);
//   });
//
// The operations of one call are done in order, all of them or none; each sees the effects of those
// before it. Each entry has a version. It rises with each put and is never used twice, not even
// after a delete. With `expected` an operation is done only if the entry has that version (0: only
// if there is no entry). Otherwise the whole call fails with kFailedPrecondition, and the message
// names both versions.
//
// Keys are names of [A-Za-z0-9._-] joined by '/', at most 512 bytes. A value has at most 256 KiB, a
// call 256 operations and 512 KiB of keys and values each way, a framework 4,096 entries and 4 MiB.
// It is for state, not for data.

#include <optional>
#include <string>
#include <utility>

#include "proto/messages.h"

namespace proffer::sdk {

inline proto::StoreOperation put(std::string key, std::string value,
                                 std::optional<uint64_t> expected = std::nullopt) {
  return {.kind = proto::StoreOperation::Kind::kPut,
          .key = std::move(key),
          .value = std::move(value),
          .expected = expected};
}

// For a missing entry the outcome has version 0 and an empty value.
inline proto::StoreOperation get(std::string key) {
  return {.kind = proto::StoreOperation::Kind::kGet, .key = std::move(key)};
}

// It is no error if the entry is missing. The outcome's version is 0.
inline proto::StoreOperation erase(std::string key,
                                   std::optional<uint64_t> expected = std::nullopt) {
  return {
      .kind = proto::StoreOperation::Kind::kDelete, .key = std::move(key), .expected = expected};
}

// Lists keys that begin with `prefix` (empty: all) and sort after `after`, in order, with their
// versions; at most 1,024. If there are `more`, list again with the last key as `after`.
inline proto::StoreOperation list(std::string prefix = {}, std::string after = {}) {
  return {.kind = proto::StoreOperation::Kind::kList,
          .key = std::move(prefix),
          .after = std::move(after)};
}

}  // namespace proffer::sdk
