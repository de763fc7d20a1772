#include "proto/json/line_packer.h"

#include <algorithm>
#include <utility>

namespace proffer::proto {
namespace {

const BlockEvent::Field* find(const BlockEvent& event, std::string_view name) {
  const auto found = std::ranges::find(event.fields, name, &BlockEvent::Field::name);
  return found == event.fields.end() ? nullptr : &*found;
}

// Removes the last field if it is a text with this name, as a block stores it for a framework.
std::string_view take_last(BlockEvent& event, std::string_view name) {
  const BlockEvent::Field last = event.fields.back();
  if (last.name != name || last.number || last.text.size() > kEventTextBytesMax) return {};
  // an empty field would not be printed
  if (!last.text.empty()) event.fields.pop_back();
  return last.text;
}

}  // namespace

void LinePacker::add(std::string_view line, BlockEvent* plain) {
  const BlockEvent::Field* framework = plain == nullptr ? nullptr : find(*plain, "framework");
  // a block cannot store longer ids
  if (framework != nullptr && framework->text.size() > kEventTextBytesMax) plain = nullptr;
  if (is_block_over(plain)) records_.push_back(block_.take());
  if (plain == nullptr) {
    records_.emplace_back(line);
    return;
  }
  if (framework != nullptr && !framework->number) take_owner(*plain, framework->text);
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

// A block stores user and role of a framework once; they are printed after the fields of its
// events.
void LinePacker::take_owner(BlockEvent& event, std::string_view framework) {
  const std::string_view role = take_last(event, "role");
  const std::string_view user = take_last(event, "user");
  const auto known = owners_.find(framework);
  // If the event has its own `user` or `role` field, the owner's is not printed.
  if (known != owners_.end() && (known->second.user == user || find(event, "user") != nullptr) &&
      (known->second.role == role || find(event, "role") != nullptr)) {
    return;
  }
  owners_[std::string(framework)] = {std::string(user), std::string(role)};
  block_.forget_owner(framework);
}

// Equal texts get the same address, so that a block stores the text once.
std::string_view LinePacker::named(std::string_view text) {
  const auto known = names_.find(text);
  return known != names_.end() ? *known : *names_.emplace(text).first;
}

}  // namespace proffer::proto
