#include "yaml/read.h"

#include <algorithm>

namespace proffer::yaml {

Error at(const Node& node, std::string_view what) {
  return Error::invalid_argument(text("line ", node.line, ": ", what));
}
Error at(const Node& node, std::string_view key, Error error) {
  return std::move(error).in(text("line ", node.line, ": ", key));
}

Result<std::string> text_of(std::string_view key, const Node& node) {
  if (node.kind == Node::Kind::kText) return node.text;
  return at(node, text("the value of ", quoted(key), " must be one text or number"));
}

Result<std::vector<std::string>> texts_of(std::string_view key, const Node& node) {
  if (node.kind == Node::Kind::kText) return std::vector<std::string>{node.text};
  if (node.kind != Node::Kind::kList) {
    return at(node, text("the value of ", quoted(key), " must be a text or a list"));
  }
  std::vector<std::string> values;
  for (const Node& entry : node.entries) {
    Result<std::string> value = text_of(key, entry);
    if (!value) return std::move(value).error();
    values.push_back(*std::move(value));
  }
  return values;
}

Result<void> read_table(std::string_view what, const Node& table, const Keys& keys,
                        const ReadRow& read) {
  if (table.kind != Node::Kind::kTable) {
    return at(table, text(what, " must be a table of KEY: value"));
  }
  for (const Row& row : table.rows) {
    if (!keys.empty() && std::find(keys.begin(), keys.end(), row.key) == keys.end()) {
      const std::string_view near = nearest(row.key, keys);
      std::string all;
      for (const std::string_view key : keys) all += text(all.empty() ? "" : ", ", key);
      return Error::invalid_argument(
                 text("line ", row.line, ": unknown key ", quoted(row.key), " in ", what,
                      near.empty() ? "" : text("; did you mean ", quoted(near), "?")))
          .with_hint(text("the keys of ", what, " are ", all));
    }
    if (Result<void> ok = read(row.key, row.value); !ok) return ok;
  }
  return {};
}

Result<void> read_list(std::string_view key, const Node& node, const ReadEntry& read) {
  if (node.is_nothing()) return {};
  if (node.kind != Node::Kind::kList) {
    return at(node, text("the value of ", quoted(key), " must be a list"));
  }
  for (const Node& entry : node.entries) {
    if (Result<void> ok = read(entry); !ok) return ok;
  }
  return {};
}

Result<void> read_text(std::string_view key, const Node& node, std::string& place) {
  return keep(text_of(key, node), place);
}

Result<void> read_whole(std::string_view key, const Node& node, int64_t min, int64_t max,
                        int64_t& place) {
  const Result<std::string> value = text_of(key, node);
  if (!value) return value.error();
  const Result<int64_t> parsed = parse_whole(key, *value, min, max);
  if (!parsed) return at(node, parsed.error().message());
  place = *parsed;
  return {};
}

Result<void> read_duration(std::string_view key, const Node& node, Duration& place) {
  return read_value(key, node, parse_duration, place);
}

}  // namespace proffer::yaml
