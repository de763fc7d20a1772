#pragma once

// Streams of lines within a task, each line with its partition.

#include <cstdint>
#include <string_view>
#include <utility>

#include "common/result.h"
#include "frameworks/batch/core/keys.h"

namespace proffer::batch {

class LineSink {
 public:
  virtual ~LineSink() = default;
  // Takes a line without its newline. False: the sink wants no further lines, which is no error.
  virtual Result<bool> put(uint32_t partition, std::string_view line) = 0;
};

class LineSource {
 public:
  virtual ~LineSource() = default;
  // Moves to the first or next line. False at the end.
  virtual Result<bool> next() = 0;
  // Partition and text of the present line. The views are valid until the next call.
  virtual uint32_t partition() const = 0;
  virtual std::string_view line() const = 0;
};

// Orders lines of the same task: by partition, then by key.
class LineOrder {
 public:
  explicit LineOrder(KeyRule rule) : rule_(std::move(rule)) {}
  struct Place {
    uint32_t partition = 0;
    uint64_t prefix = 0;
    std::string_view key = {};
  };
  Place place(uint32_t partition, std::string_view line) const {
    const std::string_view key = key_of(line, rule_);
    return {.partition = partition, .prefix = rule_.sort.empty() ? key_prefix(key) : 0, .key = key};
  }
  // Below zero if `a` comes before `b`, zero if their input order decides.
  int compare(const Place& a, const Place& b) const {
    if (a.partition != b.partition) return a.partition < b.partition ? -1 : 1;
    if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
    return compare_keys(a.key, b.key, rule_);
  }
  const KeyRule& rule() const { return rule_; }

 private:
  KeyRule rule_;
};

}  // namespace proffer::batch
