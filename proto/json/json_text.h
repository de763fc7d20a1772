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

// A type is described once, for printing and for reading, by a function
//
//   template <class F>
//   void fields(F& f, typename F::template Of<Row>& row)
//
// that names its members in the order in which they are printed. F is JsonWriter or JsonFields,
// which have the same functions: the one prints what the row has, the other sets it. What is empty
// is left out by those with `_if_any` and for optional values.

// An object that is being printed.
class JsonWriter {
 public:
  static constexpr bool kReads = false;
  template <class Value>
  using Of = const Value;

  void require(std::string_view) {}

  void text(std::string_view name, const std::string& value) { add(name, value); }
  template <class Tag>
  void text(std::string_view name, const Id<Tag>& value) {
    add(name, value.str());
  }
  void text_if_any(std::string_view name, const auto& value) {
    if (!value.empty()) text(name, value);
  }
  void truth(std::string_view name, bool value) { add(name, value); }
  void truth(std::string_view name, std::optional<bool> value) {
    if (value) add(name, *value);
  }
  void whole(std::string_view name, int64_t, int64_t, int64_t value) { add(name, value); }
  void whole(std::string_view name, int64_t value) { add(name, value); }
  void whole(std::string_view name, std::optional<int32_t> value) {
    if (value) add(name, *value);
  }
  void whole(std::string_view name, const std::optional<int64_t>& value) {
    if (value) add(name, *value);
  }
  void number(std::string_view name, uint64_t value) { add(name, value); }
  template <class Tag>
  void number(std::string_view name, const Number<Tag>& value) {
    add(name, value.value());
  }
  void milli(std::string_view name, int64_t, int64_t, int64_t value) {
    add(name, print_number(value));
  }
  template <class When>
  void seconds(std::string_view name, const When& value) {
    add(name, print_seconds(value));
  }
  template <class When>
  void seconds(std::string_view name, const std::optional<When>& value) {
    if (value) seconds(name, *value);
  }
  template <class Parse, class Value>
  void word(std::string_view name, const Parse&, const Value& value) {
    add(name, to_text(value));
  }
  template <class Parse, class Value>
  void word(std::string_view name, const Parse& parse, const std::optional<Value>& value) {
    if (value) word(name, parse, *value);
  }
  template <class Parse, class Value>
  void as_text(std::string_view name, const Parse&, const Value& value) {
    add(name, to_text(value));
  }
  void texts(std::string_view name, const std::map<std::string, std::string>& values) {
    Json& object = add(name, Json::object());
    for (const auto& [key, value] : values) object[key] = value;
  }
  void texts_if_any(std::string_view name, const std::map<std::string, std::string>& values) {
    if (!values.empty()) texts(name, values);
  }
  void texts_if_any(std::string_view name, const std::vector<std::string>& values) {
    if (!values.empty()) add(name, values);
  }
  void ports(std::string_view name, const std::map<std::string, uint16_t>& values) {
    Json& object = add(name, Json::object());
    for (const auto& [key, value] : values) object[key] = value;
  }

  template <class Value>
  void value(std::string_view name, const Value& value) {
    add(name, print(value));
  }
  template <class Value>
  void value(std::string_view name, const std::optional<Value>& value) {
    if (value) add(name, print(*value));
  }
  template <class Row>
  void rows(std::string_view name, const std::vector<Row>& rows) {
    Json& list = add(name, Json::array());
    for (const Row& row : rows) list.push_back(print(row));
  }
  template <class Row>
  void rows_if_any(std::string_view name, const std::vector<Row>& rows) {
    if (!rows.empty()) this->rows(name, rows);
  }

  Json& add(std::string_view name, Json value) {
    return object_[std::string(name)] = std::move(value);
  }
  template <class Value>
  static Json print(const Value& value) {
    JsonWriter writer;
    fields(writer, value);
    return std::move(writer).done();
  }
  Json done() && { return std::move(object_); }

 private:
  Json object_ = Json::object();
};

// An object that is being read. A member that is missing leaves `out` as it is. The first thing
// wrong in the whole document is kept with its path ("tasks[3].state").
class JsonFields {
 public:
  static constexpr bool kReads = true;
  template <class Value>
  using Of = Value;

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
  void text_if_any(std::string_view name, auto& out) const { text(name, out); }
  void truth(std::string_view name, bool& out) const;
  void truth(std::string_view name, std::optional<bool>& out) const {
    if (has(name)) truth(name, out.emplace());
  }
  void whole(std::string_view name, int64_t min, int64_t max, int64_t& out) const;
  void whole(std::string_view name, int64_t min, int64_t max, int32_t& out) const {
    int64_t number = out;
    whole(name, min, max, number);
    out = static_cast<int32_t>(number);
  }
  void whole(std::string_view name, int64_t& out) const {
    whole(name, 0, std::numeric_limits<int64_t>::max(), out);
  }
  // Of the whole range of its type.
  void whole(std::string_view name, int32_t& out) const {
    whole(name, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), out);
  }
  void whole(std::string_view name, std::optional<int32_t>& out) const {
    if (has(name)) whole(name, out.emplace());
  }
  void whole(std::string_view name, std::optional<int64_t>& out) const {
    if (has(name)) whole(name, out.emplace());
  }
  void number(std::string_view name, uint64_t& out) const;
  template <class Tag>
  void number(std::string_view name, Number<Tag>& out) const {
    uint64_t number = out.value();
    this->number(name, number);
    out = Number<Tag>(number);
  }
  void milli(std::string_view name, int64_t min, int64_t max, int64_t& out) const;
  void milli(std::string_view name, int64_t min, int64_t max, int32_t& out) const {
    int64_t number = out;
    milli(name, min, max, number);
    out = static_cast<int32_t>(number);
  }
  void seconds(std::string_view name, Time& out) const;
  void seconds(std::string_view name, Duration& out) const;  // 0 to kDurationMax
  template <class When>
  void seconds(std::string_view name, std::optional<When>& out) const {
    if (has(name)) seconds(name, out.emplace());
  }
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
  template <class Parse, class Value>
  void word(std::string_view name, const Parse& parse, std::optional<Value>& out) const {
    if (has(name)) word(name, parse, out.emplace());
  }
  // What people write: `parse` says what is wrong with it.
  template <class Parse, class Value>
  void as_text(std::string_view name, const Parse& parse, Value& out) const {
    if (!has(name)) return;
    std::string words;
    text(name, words);
    auto parsed = parse(words);
    if (!parsed) return refuse(name, parsed.error().message());
    out = *std::move(parsed);
  }
  void texts(std::string_view name, std::map<std::string, std::string>& out) const {
    each_text(name, [&](const std::string& key, const std::string& value) { out[key] = value; });
  }
  void texts_if_any(std::string_view name, std::map<std::string, std::string>& out) const {
    texts(name, out);
  }
  void texts_if_any(std::string_view name, std::vector<std::string>& out) const {
    each(name, [&](const std::string& value) { out.push_back(value); });
  }
  void ports(std::string_view name, std::map<std::string, uint16_t>& out) const {
    each_whole(name, 1, 65535, [&](const std::string& key, int64_t port) {
      out[key] = static_cast<uint16_t>(port);
    });
  }

  template <class Value>
  void value(std::string_view name, Value& out) const {
    object(name, [&](const JsonFields& in) { fields(in, out); });
  }
  template <class Value>
  void value(std::string_view name, std::optional<Value>& out) const {
    object(name, [&](const JsonFields& in) { fields(in, out.emplace()); });
  }
  template <class Row>
  void rows(std::string_view name, std::vector<Row>& out) const {
    list(name, [&](const JsonFields& in) { fields(in, out.emplace_back()); });
  }
  template <class Row>
  void rows_if_any(std::string_view name, std::vector<Row>& out) const {
    rows(name, out);
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
  std::optional<int64_t> to_whole(const ParsedJson& value) const;
  std::optional<int64_t> to_milli(const ParsedJson& value) const;

  const ParsedJson& object_;
  std::string path_;
  std::optional<Error>& error_;
};

// Parses `json`, which must be one object, and calls `read` with it.
Result<void> parse_object(std::string_view json,
                          const std::function<void(const JsonFields&)>& read);

// --- of what `fields` describes ------------------------------------------------------------------

template <class Value>
std::string print_value(const Value& value) {
  return to_json_text(JsonWriter::print(value));
}

template <class Value>
Result<Value> parse_value(std::string_view json) {
  Value value;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { fields(in, value); });
  if (!parsed) return std::move(parsed).error();
  return value;
}

// The one member `name`, a list.
template <class Row>
std::string print_list(std::string_view name, const std::vector<Row>& rows) {
  JsonWriter out;
  out.rows(name, rows);
  return to_json_text(std::move(out).done());
}

template <class Row>
Result<std::vector<Row>> parse_list(std::string_view json, std::string_view name) {
  std::vector<Row> rows;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.require(name);
    in.rows(name, rows);
  });
  if (!parsed) return std::move(parsed).error();
  return rows;
}

}  // namespace proffer::proto
