#pragma once

// The layer between nlohmann's library and the rows: numbers without loss, and objects that are
// read field by field and remember the first fault. For proto/json only.

#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "proto/json/json.h"
#include "proto/json/json_shaper.h"

namespace proffer::proto {

using Json = nlohmann::ordered_json;  // for printing: keeps the order of insertion
// For parsing: members sorted by name, since a search in insertion order would take quadratic time
// for a hostile object.
using ParsedJson = nlohmann::json;

// One line; invalid UTF-8 is replaced.
std::string to_json_text(const Json& json);
// The same; none if there is invalid UTF-8.
std::optional<std::string> to_json_text_if_utf8(const Json& json);

// Milli-units as a number with up to three decimals. Exact below 2^52: a double has at least 15
// digits, and the shortest decimal that reads back equal is printed.
Json print_number(int64_t milli);
Json print_seconds(Time time);          // rounded down to milliseconds
Json print_seconds(Duration duration);  // rounded down to milliseconds

// A type is described once, for printing and for reading, by a function
//
//   template <class F>
//   void fields(F& f, typename F::template Of<Row>& row)
//
// that names its members in the order in which they are printed. F is JsonWriter, JsonFields or
// JsonShaper, which have the same functions: the first prints the members of the row, the second
// sets them, the third collects their names and types. Empty values of functions with `_if_any`,
// and empty optionals, are left out.

// Appends a text as JSON, with its quotes; invalid UTF-8 is replaced.
void append_text(std::string& out, std::string_view text);
// Appends the printed form of print_number().
void append_milli(std::string& out, int64_t milli);
void append_whole(std::string& out, int64_t value);
void append_whole(std::string& out, uint64_t value);

// Prints an object at the end of a text, member by member. A list of a thousand tasks has 20,000
// values; building a tree of them first takes far longer than printing them.
class JsonWriter {
 public:
  static constexpr bool kReads = false;
  template <class Value>
  using Of = const Value;

  explicit JsonWriter(std::string& out) : out_(out) { out_ += '{'; }
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;
  // Ends the object; no member may follow.
  void done() { out_ += '}'; }

  void require(std::string_view) {}
  void about(std::string_view) {}
  void ignored(std::string_view) {}

  void text(std::string_view name, std::string_view value) {
    begin(name);
    append_text(out_, value);
  }
  template <class Tag>
  void text(std::string_view name, const Id<Tag>& value) {
    text(name, value.str());
  }
  void text_if_any(std::string_view name, const auto& value) {
    if (!value.empty()) text(name, value);
  }
  void truth(std::string_view name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
  }
  void truth(std::string_view name, std::optional<bool> value) {
    if (value) truth(name, *value);
  }
  void whole(std::string_view name, int64_t, int64_t, int64_t value) { whole(name, value); }
  void whole(std::string_view name, int64_t value) {
    begin(name);
    append_whole(out_, value);
  }
  void whole(std::string_view name, std::optional<int32_t> value) {
    if (value) whole(name, int64_t{*value});
  }
  void whole(std::string_view name, const std::optional<int64_t>& value) {
    if (value) whole(name, *value);
  }
  void number(std::string_view name, uint64_t value) {
    begin(name);
    append_whole(out_, value);
  }
  template <class Tag>
  void number(std::string_view name, const Number<Tag>& value) {
    number(name, value.value());
  }
  void milli(std::string_view name, int64_t, int64_t, int64_t value) {
    begin(name);
    append_milli(out_, value);
  }
  void seconds(std::string_view name, Time value) {
    begin(name);
    append_milli(out_, value.nanos() / 1'000'000);
  }
  void seconds(std::string_view name, Duration value) {
    begin(name);
    append_milli(out_, value.millis());
  }
  template <class When>
  void seconds(std::string_view name, const std::optional<When>& value) {
    if (value) seconds(name, *value);
  }
  template <class Parse, class Value>
  void word(std::string_view name, const Parse&, const Value& value) {
    text(name, to_text(value));
  }
  template <class Parse, class Value>
  void word(std::string_view name, const Parse& parse, const std::optional<Value>& value) {
    if (value) word(name, parse, *value);
  }
  template <class Parse, class Value>
  void as_text(std::string_view name, const Parse&, const Value& value) {
    text(name, to_text(value));
  }
  void texts(std::string_view name, const std::map<std::string, std::string>& values) {
    object(name, [&](JsonWriter& out) {
      for (const auto& [key, value] : values) out.text(key, value);
    });
  }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    list(name, values, [this](const std::string& value) { append_text(out_, value); });
  }
  void texts_if_any(std::string_view name, const std::map<std::string, std::string>& values) {
    if (!values.empty()) texts(name, values);
  }
  void texts_if_any(std::string_view name, const std::vector<std::string>& values) {
    if (!values.empty()) texts(name, values);
  }
  void ports(std::string_view name, const std::map<std::string, uint16_t>& values) {
    object(name, [&](JsonWriter& out) {
      for (const auto& [key, value] : values) out.number(key, value);
    });
  }
  void object(std::string_view name, const auto& print_members) {
    begin(name);
    JsonWriter writer(out_);
    print_members(writer);
    writer.done();
  }

  template <class Value>
  void value(std::string_view name, const Value& value) {
    begin(name);
    print(out_, value);
  }
  template <class Value>
  void value(std::string_view name, const std::optional<Value>& value) {
    if (value) this->value(name, *value);
  }
  template <class Row>
  void rows(std::string_view name, const std::vector<Row>& rows) {
    list(name, rows, [this](const Row& row) { print(out_, row); });
  }
  template <class Row>
  void rows_if_any(std::string_view name, const std::vector<Row>& rows) {
    if (!rows.empty()) this->rows(name, rows);
  }

  template <class Value>
  static void print(std::string& out, const Value& value) {
    JsonWriter writer(out);
    fields(writer, value);
    writer.done();
  }

 private:
  void begin(std::string_view name) {
    if (!std::exchange(is_first_, false)) out_ += ',';
    append_text(out_, name);
    out_ += ':';
  }
  template <class Values, class Print>
  void list(std::string_view name, const Values& values, const Print& print_one) {
    begin(name);
    out_ += '[';
    bool is_first = true;
    for (const auto& value : values) {
      if (!std::exchange(is_first, false)) out_ += ',';
      print_one(value);
    }
    out_ += ']';
  }

  std::string& out_;
  bool is_first_ = true;
};

// An object that is being read. A missing member leaves `out` unchanged. The first fault in the
// whole document is kept with its path ("tasks[3].state").
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
  void only(const JsonShape& shape) const;
  // A description of the next member, for people (JsonShaper).
  void about(std::string_view) const {}
  // A member that older clients send, without effect.
  void ignored(std::string_view) const {}

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
  // The value may have the whole range of its type.
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
  // `parse` returns the value of a word; none if the word is unknown.
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
  // Text that people write. The error of `parse` describes the fault.
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
  void texts(std::string_view name, std::vector<std::string>& out) const {
    each(name, [&](const std::string& value) { out.push_back(value); });
  }
  void texts_if_any(std::string_view name, std::vector<std::string>& out) const {
    texts(name, out);
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
  // A list of objects.
  void list(std::string_view name, const std::function<void(const JsonFields&)>& read) const;
  // A list of texts.
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
  void only(const std::vector<std::string_view>& known) const;
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

// --- objects that `fields` describes -----------------------------------------------------------

template <class Value>
std::string print_value(const Value& value) {
  std::string out;
  JsonWriter::print(out, value);
  return out;
}

template <class Value>
Result<Value> parse_value(std::string_view json) {
  Value value;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { fields(in, value); });
  if (!parsed) return std::move(parsed).error();
  return value;
}

// Arguments of a call. They come from people, so an unknown member is refused. Empty text is the
// same as {}.
template <class Call>
Result<Call> parse_arguments(std::string_view json) {
  static const JsonShape kShape = shape_of<Call>();
  Call call;
  const bool is_empty = json.find_first_not_of(" \t\r\n") == json.npos;
  Result<void> parsed = parse_object(is_empty ? "{}" : json, [&](const JsonFields& in) {
    in.only(kShape);
    fields(in, call);
  });
  if (!parsed) return std::move(parsed).error();
  return call;
}

// The only member `name`, a list.
template <class Row>
std::string print_list(std::string_view name, const std::vector<Row>& rows) {
  std::string out;
  JsonWriter writer(out);
  writer.rows(name, rows);
  writer.done();
  return out;
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
