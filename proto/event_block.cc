#include "proto/event_block.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace proffer::proto {
namespace {

constexpr char kMark = 1;  // A line of JSON, as in older logs, begins with '{'.
constexpr size_t kCountAt = 1;
constexpr size_t kCountBytes = 4;
constexpr size_t kHeadBytes = kCountAt + kCountBytes;
constexpr size_t kEventBytesMin = 4;
constexpr uint64_t kFieldKinds = 4;
enum FieldKind : uint64_t { kText = 1, kNumber = 2, kFramework = 3 };

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kMillisMax = INT64_MAX / kNanosPerMilli;

int64_t millis_of(Time at) { return std::max<int64_t>(at.nanos(), 0) / kNanosPerMilli; }

// True if a line can contain it unchanged.
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
}

}  // namespace

class EventBlockWriter::Fields final : public TraceFields {
 public:
  Fields(EventBlockWriter& block, const EventOwners& owners) : block_(block), owners_(owners) {}

  void word(std::string_view key, std::string_view value) override {
    if (begin(key, kText).is_framework) {
      framework(value);
    } else {
      block_.out_.bytes(value);
    }
  }
  void number(std::string_view key, int64_t value) override {
    begin(key, kNumber);
    block_.out_.whole(value);
  }
  void free_text(std::string_view key, std::string_view value) override {
    word(key, value.substr(0, kEventTextBytesMax));
  }

 private:
  Name begin(std::string_view key, FieldKind kind) {
    const Name name = block_.name_of(key);
    const bool is_reference = kind == kText && name.is_framework;
    block_.out_.number(kFieldKinds * (name.place + 1) + (is_reference ? kFramework : kind));
    if (name.is_new) block_.out_.bytes(key);
    return name;
  }
  void framework(std::string_view id) {
    DCHECK_LE(id.size(), kEventTextBytesMax);
    const auto found = block_.frameworks_.find(id);
    if (found != block_.frameworks_.end()) return block_.out_.number(found->second);
    block_.out_.number(block_.frameworks_of_block_);
    block_.frameworks_.emplace(id, block_.frameworks_of_block_++);
    const auto owner = owners_.find(id);
    block_.out_.bytes(id);
    block_.out_.bytes(owner == owners_.end() ? std::string_view() : owner->second.user);
    block_.out_.bytes(owner == owners_.end() ? std::string_view() : owner->second.role);
  }

  EventBlockWriter& block_;
  const EventOwners& owners_;
};

void EventBlockWriter::begin(const EventPlace& place, Time at) {
  out_.number(kMark);
  for (size_t i = 0; i < kCountBytes; ++i) out_.number(0);  // see take()
  out_.number(place.leader.value());
  out_.number(place.number);
  first_ = place;
  millis_ = millis_of(at);
  out_.number(static_cast<uint64_t>(millis_));
  ++block_;
  names_of_block_ = 0;
  frameworks_.clear();
  frameworks_of_block_ = 0;
}

void EventBlockWriter::add(const EventPlace& place, Time at, const TraceEvent& event,
                           const EventOwners& owners) {
  begin_event(place, at, event.kind());
  Fields fields(*this, owners);
  event.fields(fields);
  out_.number(0);
}

void EventBlockWriter::add(const BlockEvent& event, const EventOwners& owners) {
  begin_event(event.place, event.at, {event.level, event.what});
  Fields fields(*this, owners);
  for (const BlockEvent::Field& field : event.fields) {
    if (field.number) {
      fields.number(field.name, *field.number);
    } else {
      fields.word(field.name, field.text);
    }
  }
  out_.number(0);
}

void EventBlockWriter::begin_event(const EventPlace& place, Time at, TraceKind kind) {
  if (events_ == 0) begin(place, at);
  DCHECK(place.leader == first_.leader && place.number == first_.number + events_);
  ++events_;
  const Name name = name_of(kind.what);
  out_.number(name.place);
  if (name.is_new) out_.bytes(kind.what);
  out_.number(static_cast<uint64_t>(kind.level));
  const int64_t millis = millis_of(at);
  out_.whole(millis - std::exchange(millis_, millis));
}

void EventBlockWriter::forget_owner(std::string_view framework) {
  const auto found = frameworks_.find(framework);
  if (found != frameworks_.end()) frameworks_.erase(found);
}

EventBlockWriter::Name EventBlockWriter::name_of(std::string_view text) {
  Name& known = names_[text.data()];
  known.is_new = known.block != block_;
  if (known.is_new) {
    DCHECK(is_name(text)) << text;
    known.block = block_;
    known.place = names_of_block_++;
    known.is_framework = text == "framework";
  }
  return known;
}

std::string EventBlockWriter::take() {
  CHECK_GT(events_, 0u);
  std::string block(out_.view());
  for (size_t i = 0; i < kCountBytes; ++i) {
    block[kCountAt + i] = static_cast<char>(events_ >> (8 * i) & 0xff);
  }
  out_.clear();
  events_ = 0;
  return block;
}

std::optional<EventBlockReader> EventBlockReader::open(std::string_view bytes) {
  if (bytes.size() < kHeadBytes || bytes[0] != kMark) return std::nullopt;
  EventBlockReader reader(bytes);
  if (reader.count_ == 0 || reader.count_ > reader.in_.left() / kEventBytesMin) return std::nullopt;
  // there must be a place after the last event too
  if (reader.first_.number > UINT64_MAX - reader.count_) return std::nullopt;
  return reader;
}

EventBlockReader::EventBlockReader(std::string_view bytes) : in_(bytes.substr(kHeadBytes)) {
  for (size_t i = 0; i < kCountBytes; ++i) {
    count_ |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[kCountAt + i])) << (8 * i);
  }
  first_.leader = LeaderEpoch(in_.number());
  first_.number = in_.number();
  millis_ = in_.amount(kMillisMax);
}

std::string_view EventBlockReader::name(uint64_t place) {
  if (place == names_.size()) {
    names_.push_back(in_.bytes(kEventTextBytesMax));
    if (!is_name(names_.back())) in_.fail();
  }
  if (place >= names_.size()) in_.fail();
  return in_.ok() ? names_[place] : std::string_view();
}

bool EventBlockReader::read_field(uint64_t field) {
  const uint64_t kind = field % kFieldKinds;
  if (field < kFieldKinds) return false;
  BlockEvent::Field read{.name = name(field / kFieldKinds - 1)};
  if (kind == kNumber) {
    read.number = in_.whole();
  } else if (kind == kText) {
    read.text = in_.bytes(SIZE_MAX);
  } else if (kind == kFramework) {
    const uint64_t place = in_.number(frameworks_.size());
    if (in_.ok() && place == frameworks_.size()) {
      Framework& framework = frameworks_.emplace_back();
      framework.id = in_.bytes(kEventTextBytesMax);
      framework.user = in_.bytes(kEventTextBytesMax);
      framework.role = in_.bytes(kEventTextBytesMax);
    }
    if (!in_.ok()) return false;
    read.text = frameworks_[place].id;
    event_.user = frameworks_[place].user;
    event_.role = frameworks_[place].role;
  } else {
    return false;
  }
  event_.fields.push_back(read);
  return in_.ok();
}

bool EventBlockReader::next() {
  if (read_ == count_) return false;
  event_.place = {first_.leader, first_.number + read_};
  event_.fields.clear();
  event_.user = event_.role = {};
  event_.what = name(in_.number());
  const uint64_t level = in_.number(static_cast<uint64_t>(TraceLevel::kOperator));
  event_.level = static_cast<TraceLevel>(level);
  int64_t millis = 0;
  const bool is_out = __builtin_add_overflow(millis_, in_.whole(), &millis);
  if (is_out || millis < 0 || millis > kMillisMax) in_.fail();
  millis_ = in_.ok() ? millis : 0;
  event_.at = Time::from_nanos(millis_ * kNanosPerMilli);
  for (uint64_t field = in_.number(); in_.ok() && field != 0; field = in_.number()) {
    if (!read_field(field)) in_.fail();
  }
  if (!in_.ok()) {
    read_ = count_;
    return false;
  }
  ++read_;
  return true;
}

}  // namespace proffer::proto
