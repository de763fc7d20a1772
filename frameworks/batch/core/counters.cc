// Reports on standard error. `ReportLines::feed` finds them, `take` reads one.

#include "frameworks/batch/core/counters.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/job.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kReporter = "reporter:";
constexpr std::string_view kCounter = "reporter:counter:";
constexpr std::string_view kStatus = "reporter:status:";
// Bytes of one encoded counter, besides its names.
constexpr size_t kCounterNumbersBytes = 12;

size_t bytes_of(const Counters::key_type& name) {
  return name.first.size() + name.second.size() + kCounterNumbersBytes;
}

bool is_counter_name(std::string_view name) {
  return !name.empty() && name.size() <= kCounterNameBytesMax &&
         name.find('\n') == std::string_view::npos && printable_tail(name, name.size()) == name;
}

int64_t clamped(int64_t amount) { return std::clamp(amount, -kCounterMax, kCounterMax); }

}  // namespace

bool add_counters(const Counters& more, Counters& sum) {
  size_t bytes = kCounterNumbersBytes;
  for (const auto& [name, amount] : sum) bytes += bytes_of(name);
  bool has_room = true;
  for (const auto& [name, amount] : more) {
    auto found = sum.find(name);
    if (found == sum.end()) {
      if (sum.size() >= kCountersMax || bytes + bytes_of(name) > kCountersBytesMax) {
        has_room = false;
        continue;
      }
      bytes += bytes_of(name);
      found = sum.emplace(name, 0).first;
    }
    found->second = clamped(found->second + clamped(amount));
  }
  return has_room;
}

std::vector<proto::BatchCounter> to_rows(const Counters& counters) {
  std::vector<proto::BatchCounter> rows;
  for (const auto& [name, amount] : counters) {
    rows.push_back({.group = name.first, .name = name.second, .amount = amount});
  }
  return rows;
}

Counters from_rows(const std::vector<proto::BatchCounter>& rows) {
  Counters counters;
  for (const proto::BatchCounter& row : rows) counters[{row.group, row.name}] = row.amount;
  return counters;
}

void write(ByteWriter& out, const Counters& counters) {
  out.number(counters.size());
  for (const auto& [name, amount] : counters) {
    out.bytes(name.first);
    out.bytes(name.second);
    out.whole(amount);
  }
}

// Names must rise, so that there is one encoding.
Counters read_counters(ByteReader& in) {
  Counters counters;
  const size_t count = in.count(kCountersMax);
  size_t bytes = kCounterNumbersBytes;
  for (size_t i = 0; in.ok() && i < count; ++i) {
    Counters::key_type name;
    name.first = in.bytes(kCounterNameBytesMax);
    name.second = in.bytes(kCounterNameBytesMax);
    const int64_t amount = in.whole();
    bytes += bytes_of(name);
    if (!is_counter_name(name.first) || !is_counter_name(name.second) ||
        amount != clamped(amount) || bytes > kCountersBytesMax ||
        (!counters.empty() && name <= counters.rbegin()->first)) {
      in.fail();
    }
    counters.emplace_hint(counters.end(), std::move(name), amount);
  }
  return counters;
}

std::string ReportLines::feed(std::string_view bytes) {
  std::string passed;
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const bool is_whole = newline != std::string_view::npos;
    const std::string_view piece = bytes.substr(0, is_whole ? newline + 1 : bytes.size());
    bytes.remove_prefix(piece.size());
    if (is_passing_on_) {
      passed += piece;
      is_passing_on_ = !is_whole;
      continue;
    }
    open_ += piece;
    const std::string_view begin = std::string_view(open_).substr(0, kReporter.size());
    const bool may_report = kReporter.starts_with(begin) && open_.size() <= kReportLineBytesMax;
    if (may_report && !is_whole) continue;
    if (!may_report || !take(std::string_view(open_).substr(0, open_.size() - 1))) {
      passed += open_;
      is_passing_on_ = !is_whole;
    }
    open_.clear();
  }
  return passed;
}

std::string ReportLines::finish() {
  if (take(open_)) open_.clear();
  return std::exchange(open_, {});
}

bool ReportLines::take(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with(kStatus)) {
    const std::string_view text = trimmed(line.substr(kStatus.size()));
    status_ = printable_tail(text.substr(0, kTaskStatusBytesMax), kTaskStatusBytesMax);
    status_.resize(std::min(status_.size(), kTaskStatusBytesMax));
    return true;
  }
  if (!line.starts_with(kCounter)) return false;
  const std::vector<std::string_view> words = split(line.substr(kCounter.size()), ',');
  if (words.size() != 3 || !is_counter_name(words[0]) || !is_counter_name(words[1])) return false;
  std::string_view number = trimmed(words[2]);
  const bool is_negative = number.starts_with('-');
  if (is_negative) number.remove_prefix(1);
  const Result<int64_t> amount = parse_whole("amount", number, 0, kCounterMax);
  if (!amount) return false;
  add_counters({{{std::string(words[0]), std::string(words[1])}, is_negative ? -*amount : *amount}},
               counters_);
  return true;
}

}  // namespace proffer::batch
