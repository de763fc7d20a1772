#include "proto/json/plain_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "proto/json/event_lines.h"

namespace proffer::proto {
namespace {

constexpr std::array kLevels = {TraceLevel::kLongLived, TraceLevel::kShortLived,
                                TraceLevel::kMisbehaved, TraceLevel::kOperator};
// Members of each event that are not among its fields.
constexpr std::array<std::string_view, 4> kMembers = {"seq", "time_s", "event", "level"};
// More fields are unusual.
constexpr size_t kFieldsMax = 20;

class PlainLine {
 public:
  explicit PlainLine(std::string_view line) : rest_(line) {}

  bool read(BlockEvent& event) {
    std::string_view level;
    if (!take(kEventLineBegin) || !take_place(event.place) || !take("\",\"time_s\":") ||
        !take_time(event.at) || !take(",\"event\":") || !take_name(event.what) ||
        !take(",\"level\":") || !take_text(level)) {
      return false;
    }
    const auto* known =
        std::ranges::find_if(kLevels, [&](TraceLevel each) { return level_word(each) == level; });
    if (known == kLevels.end()) return false;
    event.level = *known;
    event.fields.clear();
    event.user = event.role = {};
    while (take(",")) {
      if (!take_field(event.fields)) return false;
    }
    return rest_ == "}";
  }

 private:
  bool take(std::string_view part) {
    if (!rest_.starts_with(part)) return false;
    rest_.remove_prefix(part.size());
    return true;
  }
  bool take_text(std::string_view& out) {
    if (!take("\"")) return false;
    size_t size = 0;
    while (size < rest_.size() && rest_[size] != '"') {
      const char c = rest_[size++];
      if (c < ' ' || c > '~' || c == '\\') return false;
    }
    out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return take("\"");
  }
  bool take_name(std::string_view& out) {
    return take_text(out) && !out.empty() && out.size() <= kEventTextBytesMax;
  }
  // In the printed form: without leading zeros.
  template <class Whole>
  bool take_whole(Whole& out) {
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (read.ec != std::errc()) return false;
    const std::string_view digits = rest_.substr(0, static_cast<size_t>(read.ptr - rest_.data()));
    if ((digits.front() == '0' && digits.size() > 1) || digits.starts_with("-0")) return false;
    rest_.remove_prefix(digits.size());
    return true;
  }
  bool take_place(EventPlace& place) {
    uint64_t leader = 0;
    if (!take_whole(leader) || !take(".") || !take_whole(place.number)) return false;
    place.leader = LeaderEpoch(leader);
    return true;
  }
  // Seconds with three decimals, from 1970 to the year 2255; Time goes to 2262.
  bool take_time(Time& at) {
    constexpr int64_t kSecondsMax = 9'000'000'000;
    int64_t seconds = 0;
    if (!take_whole(seconds) || seconds < 0 || seconds >= kSecondsMax || !take(".")) return false;
    int64_t millis = 0;
    for (int i = 0; i < 3; ++i, rest_.remove_prefix(1)) {
      if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return false;
      millis = 10 * millis + (rest_.front() - '0');
    }
    at = Time::from_nanos((seconds * 1'000 + millis) * 1'000'000);
    return true;
  }
  // no member may appear twice
  bool take_field(std::vector<BlockEvent::Field>& fields) {
    BlockEvent::Field field;
    if (fields.size() == kFieldsMax || !take_name(field.name) || !take(":")) return false;
    if (std::ranges::count(kMembers, field.name) > 0 ||
        std::ranges::count(fields, field.name, &BlockEvent::Field::name) > 0) {
      return false;
    }
    if (rest_.starts_with('"')) {
      if (!take_text(field.text)) return false;
    } else if (!take_whole(field.number.emplace())) {
      return false;
    }
    fields.push_back(field);
    return true;
  }

  std::string_view rest_;
};

}  // namespace

bool read_plain_line(std::string_view line, BlockEvent& event) {
  return PlainLine(line).read(event);
}

}  // namespace proffer::proto
