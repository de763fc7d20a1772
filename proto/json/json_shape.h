#pragma once

// The shape of a JSON object, as a value. It is made from the same `fields` that print and read the
// object, so help, query strings and the OpenAPI file cannot differ from the parser.

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
    kSeconds,  // a number: seconds since the epoch, or a duration
    kTexts,    // a list of texts
    kTextMap,  // an object of texts
    kWholeMap,
    kObject,  // an object with `members`
    kRows,    // a list of objects with `members`
    kOneOf,   // one of the documents `members`
  };
  std::string name = {};   // name of the member; empty: the document
  std::string about = {};  // for people
  Type type = Type::kObject;
  int64_t min = 0;
  int64_t max = 0;
  bool is_required = false;
  bool is_open = false;    // the object has further members, which are not listed
  bool is_hidden = false;  // accepted from older clients, without effect
  std::vector<JsonShape> members = {};

  const JsonShape* find(std::string_view member) const {
    for (const JsonShape& one : members) {
      if (one.name == member) return &one;
    }
    return nullptr;
  }
};

}  // namespace proffer::proto
