#pragma once

// A small copy of the master's store for one framework: it executes requests at once.

#include <map>
#include <string>

#include "proto/messages.h"

namespace proffer::batch {

inline proto::StoreResult answer_of_store(std::map<std::string, std::string>& store,
                                          const proto::StoreRequest& request) {
  proto::StoreResult result{.id = request.id};
  for (const proto::StoreOperation& one : request.operations) {
    proto::StoreResult::Outcome& outcome = result.outcomes.emplace_back();
    switch (one.kind) {
      case proto::StoreOperation::Kind::kGet:
        if (const auto found = store.find(one.key); found != store.end()) {
          outcome = {.version = 1, .value = found->second};
        }
        break;
      case proto::StoreOperation::Kind::kPut:
        store[one.key] = one.value;
        outcome.version = 1;
        break;
      case proto::StoreOperation::Kind::kDelete:
        store.erase(one.key);
        break;
      case proto::StoreOperation::Kind::kList:
        for (const auto& [key, value] : store) {
          if (key.starts_with(one.key)) outcome.entries.push_back({key, 1});
        }
        break;
    }
  }
  return result;
}

}  // namespace proffer::batch
