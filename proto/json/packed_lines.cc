#include "proto/json/packed_lines.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "proto/event_block.h"
#include "proto/json/plain_line.h"

namespace proffer::proto {
namespace {

class Packer {
 public:
  void add(const std::string& line) {
    const bool fits = read_plain_line(line, event_) && take_owner();
    if (is_block_over(fits)) records_.push_back(block_.take());
    if (!fits) return records_.push_back(line);
    event_.what = named(event_.what);
    for (BlockEvent::Field& field : event_.fields) field.name = named(field.name);
    block_.add(event_, owners_);
    next_ = {event_.place.leader, event_.place.number + 1};
  }

  std::vector<std::string> take() {
    if (block_.events() > 0) records_.push_back(block_.take());
    return std::move(records_);
  }

 private:
  bool is_block_over(bool fits) const {
    if (block_.events() == 0) return false;
    return !fits || event_.place != next_ || block_.events() >= kEventBlockEventsMax ||
           block_.bytes() >= kEventBlockBytesMax;
  }

  bool has(std::string_view name) const {
    return std::ranges::count(event_.fields, name, &BlockEvent::Field::name) > 0;
  }

  // A block has user and role of a framework once, and they are printed behind the fields of its
  // events. False: they are too long for that.
  bool take_owner() {
    const auto framework = std::ranges::find(event_.fields, "framework", &BlockEvent::Field::name);
    if (framework == event_.fields.end()) return true;
    if (framework->number) return false;
    const std::string_view id = framework->text;
    const std::string_view role = take_last("role");
    const std::string_view user = take_last("user");
    if (std::max({id.size(), role.size(), user.size()}) > kEventTextBytesMax) return false;
    const auto [owner, is_new] = owners_.try_emplace(std::string(id));
    // If a field of its own stands there, nothing is printed.
    const bool is_same =
        (owner->second.user == user || has("user")) && (owner->second.role == role || has("role"));
    if (!is_new && is_same) return true;
    owner->second = {std::string(user), std::string(role)};
    block_.forget_owner(id);
    return true;
  }

  // The value of the last field, which is taken away, if it is this one.
  std::string_view take_last(std::string_view name) {
    const BlockEvent::Field last = event_.fields.back();
    if (last.name != name || last.number || last.text.empty()) return {};
    event_.fields.pop_back();
    return last.text;
  }

  // The same text at one address.
  std::string_view named(std::string_view text) { return *names_.emplace(text).first; }

  std::vector<std::string> records_;
  std::unordered_set<std::string> names_;
  EventOwners owners_;
  EventBlockWriter block_;
  EventPlace next_;
  BlockEvent event_;
};

}  // namespace

std::vector<std::string> packed_lines(const std::vector<std::string>& lines) {
  Packer packer;
  for (const std::string& line : lines) packer.add(line);
  return packer.take();
}

}  // namespace proffer::proto
