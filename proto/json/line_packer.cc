#include "proto/json/line_packer.h"

#include <algorithm>
#include <utility>

namespace proffer::proto {
namespace {

bool has(const BlockEvent& event, std::string_view name) {
  return std::ranges::count(event.fields, name, &BlockEvent::Field::name) > 0;
}

// The text of the last field, which is taken away, if it is this one.
std::string_view take_last(BlockEvent& event, std::string_view name) {
  const BlockEvent::Field last = event.fields.back();
  if (last.name != name || last.number || last.text.empty()) return {};
  event.fields.pop_back();
  return last.text;
}

}  // namespace

void LinePacker::add(std::string_view line, BlockEvent* plain) {
  if (plain != nullptr && !take_owner(*plain)) plain = nullptr;
  if (is_block_over(plain)) records_.push_back(block_.take());
  if (plain == nullptr) {
    records_.emplace_back(line);
    return;
  }
  plain->what = named(plain->what);
  for (BlockEvent::Field& field : plain->fields) field.name = named(field.name);
  block_.add(*plain, owners_);
  next_ = {plain->place.leader, plain->place.number + 1};
}

std::vector<std::string> LinePacker::take() {
  if (block_.events() > 0) records_.push_back(block_.take());
  return std::move(records_);
}

bool LinePacker::is_block_over(const BlockEvent* event) const {
  if (block_.events() == 0) return false;
  return event == nullptr || event->place != next_ || block_.events() >= kEventBlockEventsMax ||
         block_.bytes() >= kEventBlockBytesMax;
}

// A block has user and role of a framework once, and they are printed behind the fields of its
// events. False: one of them is too long for that.
bool LinePacker::take_owner(BlockEvent& event) {
  const auto framework = std::ranges::find(event.fields, "framework", &BlockEvent::Field::name);
  if (framework == event.fields.end()) return true;
  if (framework->number) return false;
  const std::string_view id = framework->text;
  const std::string_view role = take_last(event, "role");
  const std::string_view user = take_last(event, "user");
  if (std::max({id.size(), role.size(), user.size()}) > kEventTextBytesMax) return false;
  const auto known = owners_.find(id);
  // If a field of its own stands there, nothing is printed.
  if (known != owners_.end() && (known->second.user == user || has(event, "user")) &&
      (known->second.role == role || has(event, "role"))) {
    return true;
  }
  owners_[std::string(id)] = {std::string(user), std::string(role)};
  block_.forget_owner(id);
  return true;
}

// The same text at one address, as the writer wants it.
std::string_view LinePacker::named(std::string_view text) { return *names_.emplace(text).first; }

}  // namespace proffer::proto
