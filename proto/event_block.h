#pragma once

// A block holds consecutive events, as the event log writes them to its disk (ADR 0144). A full
// block is a quarter as long as the lines of its events, since it has names of fields and
// frameworks only once.
//
//   block      mark u8 = 1, number of events u32 (little-endian); leader, number of the first
//              event, its time in milliseconds; then the events
//   event      name, which is the event in words; level; milliseconds since the event before;
//              fields; 0
//   field      4 · (place of its name + 1) + kind, which is 1 text, 2 whole number, 3 framework;
//              then its value
//   name       its place among the names of the block. The place after the last one: a new name,
//              whose text follows
//   framework  its place among the frameworks of the block. The place after the last one: a new
//              one, whose id, user and role follow
//
// Texts and numbers are encoded as in common/bytes.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/bytes.h"
#include "common/literal_map.h"
#include "common/time.h"
#include "common/trace.h"
#include "proto/events.h"

namespace proffer::proto {

// An event holds at most this many bytes of a text from a peer or a person. Names and ids are
// shorter.
inline constexpr size_t kEventTextBytesMax = 1024;
// A writer ends a block at one of these limits. A block is read, and lost, as a whole.
inline constexpr size_t kEventBlockEventsMax = 1'000;
inline constexpr size_t kEventBlockBytesMax = size_t{256} << 10;

struct BlockEvent;

class EventBlockWriter {
 public:
  // Appends an event. The first event may have any place; each other place must come after the
  // previous one. The owner that `owners` has for a framework when the block first names it is the
  // owner in all events of the block.
  void add(const EventPlace& place, Time at, const TraceEvent& event, const EventOwners& owners);
  // The same for an event that was read; its `user` and `role` are ignored. `what` and the names of
  // fields obey the rules of EventBlockReader, and the text at one address must not change as long
  // as the writer lives. The id of a framework and its owners have at most kEventTextBytesMax bytes
  // each.
  void add(const BlockEvent& event, const EventOwners& owners);
  // The framework has another user or role from now on.
  void forget_owner(std::string_view framework);

  size_t events() const { return events_; }
  size_t bytes() const { return out_.size(); }
  const EventPlace& first() const { return first_; }  // an empty block returns an empty place
  // Returns the block, which must have an event. Afterwards the writer is empty, and keeps its
  // memory.
  std::string take();

 private:
  class Fields;
  struct Name {
    uint64_t block = 0;  // the last block that has it
    uint64_t place = 0;
    bool is_framework = false;
    bool is_new = false;  // its text must be written
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void begin(const EventPlace& place, Time at);
  void begin_event(const EventPlace& place, Time at, TraceKind kind);
  Name name_of(std::string_view text);

  ByteWriter out_ = {};
  size_t events_ = 0;
  EventPlace first_ = {};
  int64_t millis_ = 0;  // time of the last event
  uint64_t block_ = 0;  // number of the block
  // A block may hold the same text twice.
  LiteralMap<Name> names_ = {};
  uint64_t names_of_block_ = 0;
  std::unordered_map<std::string, uint64_t, TextHash, std::equal_to<>> frameworks_ = {};
  uint64_t frameworks_of_block_ = 0;
};

// One event of a block. Its texts point into the block.
struct BlockEvent {
  struct Field {
    std::string_view name = {};
    std::optional<int64_t> number = {};  // none: the value is a text
    std::string_view text = {};
  };
  EventPlace place = {};
  Time at = {};
  std::string_view what = {};
  TraceLevel level = TraceLevel::kMessage;
  std::vector<Field> fields = {};
  // The user and role of its framework; empty: none, or unknown.
  std::string_view user = {};
  std::string_view role = {};
};

// Reads a block. Its bytes must outlive the reader, and may be any bytes: reading ends at the first
// malformed event.
class EventBlockReader {
 public:
  // None: the bytes are not a block.
  static std::optional<EventBlockReader> open(std::string_view bytes);

  const EventPlace& first() const { return first_; }
  EventPlace last() const { return {first_.leader, first_.number + count_ - 1}; }
  uint64_t events() const { return count_; }

  // Moves to the first or next event. False: there is none.
  bool next();
  const BlockEvent& event() const { return event_; }

 private:
  struct Framework {
    std::string_view id;
    std::string_view user;
    std::string_view role;
  };

  explicit EventBlockReader(std::string_view bytes);
  std::string_view name(uint64_t place);
  bool read_field(uint64_t field);

  ByteReader in_;
  uint64_t count_ = 0;
  uint64_t read_ = 0;  // events read
  EventPlace first_ = {};
  int64_t millis_ = 0;
  std::vector<std::string_view> names_ = {};
  std::vector<Framework> frameworks_ = {};
  BlockEvent event_ = {};
};

}  // namespace proffer::proto
