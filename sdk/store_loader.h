#pragma once

// Reads all entries of a framework from its store, for a scheduler core at its start: keys page by
// page, then their values. Pure; its requests go through the StoreJournal like any other.

#include <map>
#include <string>
#include <vector>

#include "common/trace.h"
#include "proto/messages.h"

namespace proffer::sdk {

// Keys and values of the store.
using StoreEntries = std::map<std::string, std::string>;

// What is kept under one prefix. How large values can be decides how many are asked for at once.
struct StorePart {
  std::string prefix = {};
  size_t value_bytes_max = kStoreEntryBytesMax;
};

class StoreLoader {
 public:
  explicit StoreLoader(std::vector<StorePart> parts) : parts_(std::move(parts)) {}

  // The operations to ask next; none when all is read.
  std::vector<proto::StoreOperation> next();
  // Their outcomes, in their order. False: these are not outcomes of what was asked.
  bool take(const std::vector<proto::StoreResult::Outcome>& outcomes);
  bool done() const { return parts_.empty(); }
  StoreEntries entries() && { return std::move(entries_); }

 private:
  std::vector<StorePart> parts_;  // not read to their end; the last is next
  bool is_listed_ = false;        // its keys are known
  std::string after_;             // of the list under way
  std::vector<std::string> keys_left_;
  std::vector<std::string> asked_;  // keys under way; none: a list is
  StoreEntries entries_;
};

// Traced by a scheduler if take() is false.
struct StoreAnsweredSomethingElse {
  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "the store gave an answer of another kind"};
  }
  void fields(TraceFields&) const {}
};

}  // namespace proffer::sdk
