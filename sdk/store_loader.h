#pragma once

// Reads all entries of a framework's store when a scheduler core starts: keys page by page, then
// their values. Pure. Its requests go through the StoreJournal.

#include <map>
#include <string>
#include <vector>

#include "common/trace.h"
#include "proto/messages.h"

namespace proffer::sdk {

// Keys and values of the store.
using StoreEntries = std::map<std::string, std::string>;

// The entries under one prefix. The largest size of a value decides how many are read at once.
struct StorePart {
  std::string prefix = {};
  size_t value_bytes_max = kStoreEntryBytesMax;
};

class StoreLoader {
 public:
  explicit StoreLoader(std::vector<StorePart> parts) : parts_(std::move(parts)) {}

  // The operations to send next; none when everything is read.
  std::vector<proto::StoreOperation> next();
  // Takes the outcomes of those operations, in order. False: they do not match the operations.
  bool take(const std::vector<proto::StoreResult::Outcome>& outcomes);
  bool done() const { return parts_.empty(); }
  StoreEntries entries() && { return std::move(entries_); }

 private:
  std::vector<StorePart> parts_;  // parts that are not read completely; the last one is next
  bool is_listed_ = false;        // all keys of the part are known
  std::string after_;             // `after` of the list operation under way
  std::vector<std::string> keys_left_;
  std::vector<std::string> asked_;  // keys of the present get; empty: a list
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
