#pragma once

// What an object in JSON looks like, as a value: made from the same `fields` that print and read
// it, so that help, query strings and the OpenAPI file cannot differ from what is parsed.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace proffer::proto {

struct JsonShape {
  enum class Type : uint8_t {
    kText,
    kTruth,
    kWhole,    // from `min` to `max`
    kNumber,   // up to three decimals
    kSeconds,  // a number; of a time since the epoch, or of a span
    kTexts,    // a list of them
    kTextMap,  // an object with texts
    kWholeMap,
    kObject,  // `members`
    kRows,    // a list of objects with `members`
    kOneOf,   // one of the documents `members`
  };
  std::string name = {};   // of the member; empty: the document
  std::string about = {};  // for people
  Type type = Type::kObject;
  int64_t min = 0;
  int64_t max = 0;
  bool is_required = false;
  bool is_open = false;    // objects have further members, which are not listed
  bool is_hidden = false;  // taken from older clients, and of no effect
  std::vector<JsonShape> members = {};

  const JsonShape* find(std::string_view member) const {
    for (const JsonShape& one : members) {
      if (one.name == member) return &one;
    }
    return nullptr;
  }
};

}  // namespace proffer::proto
