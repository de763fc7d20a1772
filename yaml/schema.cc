// Read `Schema::check` first.

#include "yaml/schema.h"

#include <algorithm>
#include <array>
#include <string>

#include "common/check.h"
#include "common/resources.h"
#include "common/text.h"
#include "common/time.h"
#include "yaml/read.h"

namespace proffer::yaml {
namespace {

constexpr size_t kSchemaBytesMax = size_t{1} << 20;
constexpr int64_t kWholeMax = 999'999'999'999'999'999;

const Node* member(const Node& table, std::string_view key) {
  for (const Row& row : table.rows) {
    if (row.key == key) return &row.value;
  }
  return nullptr;
}

std::vector<std::string_view> names_in(const Node* list) {
  std::vector<std::string_view> names;
  if (list == nullptr) return names;
  if (list->kind == Node::Kind::kText) names.push_back(list->text);
  for (const Node& entry : list->entries) names.push_back(entry.text);
  return names;
}

bool is_type(std::string_view type, const Node& value) {
  switch (value.kind) {
    case Node::Kind::kNothing:
      return false;
    case Node::Kind::kList:
      return type == "array";
    case Node::Kind::kTable:
      return type == "object";
    case Node::Kind::kText:
      break;
  }
  if (type == "boolean") return value.text == "true" || value.text == "false";
  if (type == "integer") {
    return parse_whole("number", value.text, std::numeric_limits<int64_t>::min(),
                       std::numeric_limits<int64_t>::max())
        .has_value();
  }
  return type == "string";
}

// The form of a value of these types, for people.
std::string words_of(const std::vector<std::string_view>& types, const std::string& what) {
  const auto has = [&](std::string_view type) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  if (has("object")) return text(what, " must be a table of KEY: value");
  const std::string value = text("the value of ", quoted(what), " must be ");
  if (has("array")) return value + "a text or a list";
  if (has("string")) return value + "one text or number";
  return value + (has("boolean") ? "true or false" : "a whole number");
}

}  // namespace

Schema::Schema(std::string_view json) {
  Result<Node> parsed = parse_document(json, "a schema", kSchemaBytesMax);
  CHECK(parsed) << parsed.error().message();
  root_ = *std::move(parsed);
  check_words(root_);
  if (const Node* shared = member(root_, "$defs")) {
    for (const Row& row : shared->rows) check_words(row.value);
  }
}

void Schema::check_words(const Node& schema) const {
  constexpr std::array<std::string_view, 14> kWords = {"$schema",
                                                       "$ref",
                                                       "$defs",
                                                       "title",
                                                       "description",
                                                       "type",
                                                       "items",
                                                       "enum",
                                                       "properties",
                                                       "additionalProperties",
                                                       "dependentSchemas",
                                                       "format",
                                                       "minimum",
                                                       "maximum"};
  for (const Row& row : schema.rows) {
    CHECK(std::find(kWords.begin(), kWords.end(), row.key) != kWords.end()) << row.key;
    if (row.key == "$ref") (void)resolved(schema);
    if (row.key == "items" ||
        (row.key == "additionalProperties" && row.value.kind == Node::Kind::kTable)) {
      check_words(row.value);
    }
    if (row.key == "properties" || row.key == "dependentSchemas") {
      for (const Row& one : row.value.rows) check_words(one.value);
    }
  }
}

const Node& Schema::at(std::string_view place) const {
  const Node* node = &root_;
  for (const std::string_view name : split(place, '/')) {
    if (name.empty()) continue;
    node = member(*node, name);
    CHECK(node != nullptr) << place;
  }
  return *node;
}

const Node& Schema::resolved(const Node& schema) const {
  const Node* node = &schema;
  for (int step = 0; const Node* ref = member(*node, "$ref"); ++step) {
    CHECK_LT(step, 10) << ref->text;
    CHECK(ref->text.starts_with('#')) << ref->text;
    node = &at(std::string_view(ref->text).substr(1));
  }
  return *node;
}

std::vector<std::string_view> Schema::properties(std::string_view place) const {
  std::vector<std::string_view> names;
  if (const Node* table = member(at(place), "properties")) {
    for (const Row& row : table->rows) names.push_back(row.key);
  }
  return names;
}

Result<void> Schema::check(const Node& document) const {
  const Node* title = member(root_, "title");
  return check(root_, title == nullptr ? "the document" : title->text, document);
}

Result<void> Schema::check(const Node& schema, const std::string& what, const Node& value) const {
  const Node& rules = resolved(schema);
  const std::vector<std::string_view> types = names_in(member(rules, "type"));
  if (!types.empty() && std::none_of(types.begin(), types.end(),
                                     [&](std::string_view type) { return is_type(type, value); })) {
    Error error = yaml::at(value, text(words_of(types, what), ", not ", form_of(value)));
    const Node* format = member(rules, "format");
    const bool is_resources = format != nullptr && format->text == "resources";
    if (is_resources) return std::move(error).with_hint(hint_for_resources(value));
    std::string keys;
    if (const Node* table = member(rules, "properties")) {
      for (const Row& row : table->rows) keys += text(keys.empty() ? "" : ", ", row.key);
    }
    if (keys.empty()) return error;
    return std::move(error).with_hint(text("the keys of ", what, " are ", keys));
  }
  const std::vector<std::string_view> allowed = names_in(member(rules, "enum"));
  if (!allowed.empty() &&
      (value.kind != Node::Kind::kText ||
       std::find(allowed.begin(), allowed.end(), value.text) == allowed.end())) {
    std::string all;
    for (size_t i = 0; i < allowed.size(); ++i) {
      all += text(i == 0 ? "" : i + 1 == allowed.size() ? " or " : ", ", allowed[i]);
    }
    return yaml::at(value, text(what, " must be ", all, ", not ", quoted(value.text)));
  }
  if (value.kind == Node::Kind::kTable) return check_table(rules, what, value);
  if (value.kind == Node::Kind::kText) return check_format(schema, rules, what, value);
  const Node* items = member(rules, "items");
  if (items == nullptr) return {};
  Errors errors;
  for (const Node& entry : value.entries) errors.add(check(*items, what, entry));
  return errors.result();
}

Result<void> Schema::check_format(const Node& schema, const Node& rules, const std::string& what,
                                  const Node& value) const {
  const Node* named = member(rules, "format");
  if (named == nullptr) return {};
  const std::string& given = value.text;
  const auto bound = [&](std::string_view key, int64_t otherwise) {
    const Node* own = member(schema, key);
    if (own == nullptr) own = member(rules, key);
    if (own == nullptr) return otherwise;
    return *parse_whole(key, own->text, -kWholeMax, kWholeMax);
  };
  const auto located = [&](const auto& parsed) -> Result<void> {
    if (parsed) return {};
    return yaml::at(value, what, parsed.error());
  };
  if (named->text == "whole") {
    const Result<int64_t> parsed =
        parse_whole(what, given, bound("minimum", -kWholeMax), bound("maximum", kWholeMax));
    if (parsed) return {};
    return Error(parsed.error()).in(text("line ", value.line));
  }
  if (named->text == "truth") {
    if (given == "true" || given == "false") return {};
    return yaml::at(value, text(what, " must be true or false, not ", quoted(given)));
  }
  if (named->text == "duration") return located(parse_duration(given));
  CHECK_EQ(named->text, "resources");
  return located(parse_shape(given));
}

Result<void> Schema::check_table(const Node& schema, const std::string& what,
                                 const Node& table) const {
  if (const Node* dependent = member(schema, "dependentSchemas")) {
    for (const Row& row : dependent->rows) {
      if (member(table, row.key) == nullptr) continue;
      const Node* title = member(row.value, "title");
      Result<void> ok = check_table(row.value, title == nullptr ? what : title->text, table);
      if (!ok) return ok;
    }
  }
  const Node* properties = member(schema, "properties");
  const Node* others = member(schema, "additionalProperties");
  const bool is_closed = others != nullptr && others->kind == Node::Kind::kText;
  Keys keys;
  if (is_closed && properties != nullptr) {
    for (const Row& row : properties->rows) keys.push_back(row.key);
  }
  return read_table(what, table, keys, [&](const std::string& key, const Node& value) {
    if (const Node* one = properties == nullptr ? nullptr : member(*properties, key)) {
      return check(*one, key, value);
    }
    if (others == nullptr || others->kind != Node::Kind::kTable) return Result<void>();
    const Node* title = member(resolved(*others), "title");
    return check(*others, title == nullptr ? key : text(title->text, " ", quoted(key)), value);
  });
}

}  // namespace proffer::yaml
