#pragma once

// The counterpart of JsonWriter and JsonFields: it has the same functions, and collects the members
// that `fields` names. For proto/json only.

#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

class JsonShaper {
 public:
  static constexpr bool kReads = true;
  template <class Value>
  using Of = Value;
  using Type = JsonShape::Type;

  bool has(std::string_view) const { return true; }
  void only(std::initializer_list<std::string_view>) {}
  void refuse(std::string_view, std::string_view) {}
  void require(std::string_view name) { required_.insert(std::string(name)); }
  void about(std::string_view words) { about_ = words; }
  void ignored(std::string_view name) { add(name, Type::kText).is_hidden = true; }

  void text(std::string_view name, const auto&) { add(name, Type::kText); }
  void text_if_any(std::string_view name, const auto&) { add(name, Type::kText); }
  void truth(std::string_view name, const auto&) { add(name, Type::kTruth); }
  void whole(std::string_view name, int64_t min, int64_t max, const auto&) {
    add_whole(name, min, max);
  }
  void whole(std::string_view name, const int64_t&) {
    add_whole(name, 0, std::numeric_limits<int64_t>::max());
  }
  void whole(std::string_view name, const std::optional<int64_t>&) {
    add_whole(name, 0, std::numeric_limits<int64_t>::max());
  }
  void whole(std::string_view name, const int32_t&) { add_int32(name); }
  void whole(std::string_view name, const std::optional<int32_t>&) { add_int32(name); }
  void number(std::string_view name, const auto&) {
    add_whole(name, 0, std::numeric_limits<int64_t>::max());
  }
  void milli(std::string_view name, int64_t, int64_t, const auto&) { add(name, Type::kNumber); }
  void seconds(std::string_view name, const auto&) { add(name, Type::kSeconds); }
  void word(std::string_view name, const auto&, const auto&) { add(name, Type::kText); }
  void as_text(std::string_view name, const auto&, const auto&) { add(name, Type::kText); }
  void texts(std::string_view name, const std::map<std::string, std::string>&) {
    add(name, Type::kTextMap);
  }
  void texts_if_any(std::string_view name, const std::map<std::string, std::string>&) {
    add(name, Type::kTextMap);
  }
  void texts(std::string_view name, const std::vector<std::string>&) { add(name, Type::kTexts); }
  void texts_if_any(std::string_view name, const std::vector<std::string>&) {
    add(name, Type::kTexts);
  }
  void each_text(std::string_view name, const auto&) { add(name, Type::kTextMap); }
  void each(std::string_view name, const auto&) { add(name, Type::kTexts); }
  void each_whole(std::string_view name, int64_t, int64_t, const auto&) {
    add(name, Type::kWholeMap);
  }
  void ports(std::string_view name, const auto&) { add(name, Type::kWholeMap); }

  template <class Value>
  void value(std::string_view name, const Value&) {
    add(name, Type::kObject).members = members_of<Value>();
  }
  template <class Value>
  void value(std::string_view name, const std::optional<Value>&) {
    add(name, Type::kObject).members = members_of<Value>();
  }
  template <class Row>
  void rows(std::string_view name, const std::vector<Row>&) {
    add(name, Type::kRows).members = members_of<Row>();
  }
  template <class Row>
  void rows_if_any(std::string_view name, const std::vector<Row>& rows) {
    this->rows(name, rows);
  }

  template <class Value>
  static std::vector<JsonShape> members_of() {
    Value value{};
    JsonShaper shaper;
    fields(shaper, value);
    return std::move(shaper).done();
  }

 private:
  JsonShape& add(std::string_view name, Type type) {
    return members_.emplace_back(
        JsonShape{.name = std::string(name), .about = std::exchange(about_, {}), .type = type});
  }
  void add_whole(std::string_view name, int64_t min, int64_t max) {
    JsonShape& member = add(name, Type::kWhole);
    member.min = min;
    member.max = max;
  }
  void add_int32(std::string_view name) {
    add_whole(name, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  }
  std::vector<JsonShape> done() && {
    for (JsonShape& member : members_) member.is_required = required_.contains(member.name);
    return std::move(members_);
  }

  std::string about_;
  std::set<std::string> required_;  // require() may come before or after the member
  std::vector<JsonShape> members_;
};

// The shape of the object that `fields` describes.
template <class Value>
JsonShape shape_of() {
  return {.members = JsonShaper::members_of<Value>()};
}

// The shape of an object with one list, as print_list() prints it.
template <class Row>
JsonShape list_shape(std::string_view name) {
  JsonShape list{.name = std::string(name),
                 .type = JsonShape::Type::kRows,
                 .is_required = true,
                 .members = JsonShaper::members_of<Row>()};
  JsonShape all;
  all.members.push_back(std::move(list));
  return all;
}

}  // namespace proffer::proto
