#pragma once

// Between nlohmann and the rows: numbers without loss, and objects read field by field with what is
// wrong remembered. Inside of proto/json only.

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "proto/json/json.h"

namespace proffer::proto {

using Json = nlohmann::ordered_json;  // printed: in the order in which we say things
// Parsed: members by name, because looking for them in order would take a hostile object's size
// squared.
using ParsedJson = nlohmann::json;

// In one line; invalid UTF-8 replaced.
std::string to_json_text(const Json& json);
// The same; nothing if there is invalid UTF-8.
std::optional<std::string> to_json_text_if_utf8(const Json& json);

// Milli-units as a number with up to three decimals. Exact below 2^52: a double has 15 digits and
// more, and the shortest decimal that reads back as it is printed.
Json print_number(int64_t milli);
Json print_seconds(Time time);          // rounded down to milliseconds
Json print_seconds(Duration duration);  // rounded down to milliseconds

// An object that is being read. A member that is missing leaves `out` as it is. The first thing
// wrong in the whole document is kept with its path ("tasks[3].state").
class JsonFields {
 public:
  JsonFields(const ParsedJson& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  void require(std::string_view name) const;
  // Refuses members other than these.
  void only(std::initializer_list<std::string_view> names) const;

  void text(std::string_view name, std::string& out) const;
  template <class Tag>
  void text(std::string_view name, Id<Tag>& out) const {
    std::string value = out.str();
    text(name, value);
    out = Id<Tag>(std::move(value));
  }
  void truth(std::string_view name, bool& out) const;
  void whole(std::string_view name, int64_t min, int64_t max, int64_t& out) const;
  void whole(std::string_view name, int64_t& out) const {
    whole(name, 0, std::numeric_limits<int64_t>::max(), out);
  }
  void optional_whole(std::string_view name, std::optional<int32_t>& out) const;
  template <class Tag>
  void number(std::string_view name, Number<Tag>& out) const {
    out = Number<Tag>(unsigned_whole(name, out.value()));
  }
  void milli(std::string_view name, int64_t min, int64_t max, int64_t& out) const;
  void seconds(std::string_view name, Time& out) const;
  void seconds(std::string_view name, Duration& out) const;  // 0 to kDurationMax
  // `parse` gives the value of a word, or nothing if it is none.
  template <class Parse, class Value>
  void word(std::string_view name, const Parse& parse, Value& out) const {
    std::string value;
    text(name, value);
    if (!has(name) || error_) return;
    if (const auto known = parse(value)) {
      out = *known;
    } else {
      refuse_word(name, value);
    }
  }

  void object(std::string_view name, const std::function<void(const JsonFields&)>& read) const;
  // Of objects.
  void list(std::string_view name, const std::function<void(const JsonFields&)>& read) const;
  // Of texts.
  void each(std::string_view name, const std::function<void(const std::string&)>& read) const;
  void each_text(std::string_view name,
                 const std::function<void(const std::string&, const std::string&)>& read) const;
  void each_whole(std::string_view name, int64_t min, int64_t max,
                  const std::function<void(const std::string&, int64_t)>& read) const;
  // All members of this object.
  void each_value(std::map<std::string, JsonValue>& out) const;

  void refuse(std::string_view name, std::string_view why) const;

 private:
  const ParsedJson* find(std::string_view name) const;
  void refuse_word(std::string_view name, std::string_view word) const;
  uint64_t unsigned_whole(std::string_view name, uint64_t otherwise) const;
  std::optional<int64_t> to_whole(const ParsedJson& value) const;
  std::optional<int64_t> to_milli(const ParsedJson& value) const;

  const ParsedJson& object_;
  std::string path_;
  std::optional<Error>& error_;
};

// Parses `json`, which must be one object, and calls `read` with it.
Result<void> parse_object(std::string_view json,
                          const std::function<void(const JsonFields&)>& read);

}  // namespace proffer::proto
