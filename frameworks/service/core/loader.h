#pragma once

// Reads all of the scheduler's entries from the store at its start: lists, page by page, then the
// values. Pure; its requests go through the journal like any other.

#include <map>
#include <string>
#include <vector>

#include "proto/messages.h"

namespace proffer::service {

// Keys and values of the store.
using Entries = std::map<std::string, std::string>;

class Loader {
 public:
  // The operations to ask next; none when all is read.
  std::vector<proto::StoreOperation> next();
  // Their outcomes, in their order. False: these are not outcomes of what was asked.
  bool take(const std::vector<proto::StoreResult::Outcome>& outcomes);
  bool done() const { return lists_left_.empty() && keys_left_.empty(); }
  Entries entries() && { return std::move(entries_); }

 private:
  std::vector<std::string> lists_left_ = {"instances/", "apps/"};  // prefixes; the last is next
  std::string after_;
  std::vector<std::string> keys_left_;
  std::vector<std::string> asked_;  // keys under way; none: a list is
  Entries entries_;
};

}  // namespace proffer::service
