#pragma once

// What a scheduler asks of its store (Scheduler::store): a small durable map of the framework's
// own, kept by the master. A scheduler that is started again, anywhere, finds it.
//
//   scheduler.store({sdk::get("app/web")}, [&](const auto& outcomes) {
//     if (outcomes) use(outcomes->at(0).value, outcomes->at(0).version);
//   });
//
// The operations of one call are done in their order, all of them or none; each sees what those
// before it did. Each entry has a version, which rises with each put and is never used twice, also
// not after a delete. With `expected` an operation is done only if the entry has that version (0:
// only if there is none); else the whole call fails with kFailedPrecondition, and the message says
// both versions.
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

// Of what is not there the outcome has version 0 and an empty value.
inline proto::StoreOperation get(std::string key) {
  return {.kind = proto::StoreOperation::Kind::kGet, .key = std::move(key)};
}

// Erasing what is not there is no error. The outcome's version is 0.
inline proto::StoreOperation erase(std::string key,
                                   std::optional<uint64_t> expected = std::nullopt) {
  return {
      .kind = proto::StoreOperation::Kind::kDelete, .key = std::move(key), .expected = expected};
}

// Keys that begin with `prefix` (all, if it is empty) and come behind `after`, in order, with their
// versions; at most 1,024. If there are `more`, ask again with the last key as `after`.
inline proto::StoreOperation list(std::string prefix = {}, std::string after = {}) {
  return {.kind = proto::StoreOperation::Kind::kList,
          .key = std::move(prefix),
          .after = std::move(after)};
}

}  // namespace proffer::sdk
