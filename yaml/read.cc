#include "yaml/read.h"

#include <algorithm>
#include <utility>

#include "yaml/foreign.h"

namespace proffer::yaml {
namespace {

std::string joined(const Keys& keys) {
  std::string all;
  for (const std::string_view key : keys) all += text(all.empty() ? "" : ", ", key);
  return all;
}

}  // namespace

Error at(const Node& node, std::string_view what) {
  return Error::invalid_argument(text("line ", node.line, ": ", what));
}
Error at(const Node& node, std::string_view key, Error error) {
  return std::move(error).in(text("line ", node.line, ": ", key));
}

std::string form_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNothing:
      return "nothing";
    case Node::Kind::kText:
      return quoted(node.text);
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kTable:
      break;
  }
  return "a table";
}

std::string hint_for_resources(const Node& node) {
  if (node.kind != Node::Kind::kTable) return {};
  std::string all;
  for (const Row& row : node.rows) {
    if (row.value.kind != Node::Kind::kText) return "write resources: 'cpus:2;mem:4GiB'";
    std::string_view kind = row.key;
    if (kind == "cpu") kind = "cpus";
    if (kind == "memory") kind = "mem";
    if (kind == "gpu") kind = "gpus";
    all += text(all.empty() ? "" : ";", kind, ":", row.value.text);
  }
  return text("write resources: '", all, "'");
}

void Errors::add(Error error) { errors_.push_back(std::move(error)); }

Result<void> Errors::result() const {
  if (errors_.empty()) return {};
  if (errors_.size() == 1) return errors_.front();
  std::string message;
  std::vector<std::string> hints;
  for (size_t i = 0; i < std::min(errors_.size(), kToldMax); ++i) {
    message += text(i == 0 ? "" : "\n", errors_[i].message());
    const std::string& hint = errors_[i].hint();
    if (!hint.empty() && std::find(hints.begin(), hints.end(), hint) == hints.end()) {
      hints.push_back(hint);
    }
  }
  if (errors_.size() > kToldMax) message += text("\nand ", errors_.size() - kToldMax, " more");
  std::string hint;
  for (const std::string& one : hints) hint += text(hint.empty() ? "" : "\n", one);
  return Error::invalid_argument(std::move(message)).with_hint(std::move(hint));
}

Result<std::string> text_of(std::string_view key, const Node& node) {
  if (node.kind == Node::Kind::kText) return node.text;
  return at(node,
            text("the value of ", quoted(key), " must be one text or number, not ", form_of(node)));
}

Result<std::vector<std::string>> texts_of(std::string_view key, const Node& node) {
  if (node.kind == Node::Kind::kText) return std::vector<std::string>{node.text};
  if (node.kind != Node::Kind::kList) {
    return at(node,
              text("the value of ", quoted(key), " must be a text or a list, not ", form_of(node)));
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
    Error error = at(table, text(what, " must be a table of KEY: value, not ", form_of(table)));
    if (keys.empty()) return error;
    return std::move(error).with_hint(text("the keys of ", what, " are ", joined(keys)));
  }
  Errors errors;
  for (const Row& row : table.rows) {
    if (!keys.empty() && std::find(keys.begin(), keys.end(), row.key) == keys.end()) {
      const std::string way = way_of_key(row.key, keys);
      std::string_view near = nearest(row.key, keys);
      if (way.find(near) == way.npos && !way.empty()) near = {};
      errors.add(Error::invalid_argument(
                     text("line ", row.line, ": unknown key ", quoted(row.key), " in ", what,
                          near.empty() ? "" : text("; did you mean ", quoted(near), "?")))
                     .with_hint(way.empty() ? text("the keys of ", what, " are ", joined(keys))
                                            : text(way, " for ", row.key)));
      continue;
    }
    errors.add(read(row.key, row.value));
  }
  return errors.result();
}

Result<void> read_list(std::string_view key, const Node& node, const ReadEntry& read) {
  if (node.is_nothing()) return {};
  if (node.kind != Node::Kind::kList) {
    return at(node, text("the value of ", quoted(key), " must be a list, not ", form_of(node)))
        .with_hint(text("write ", key, ": and below it one entry per line, each after '- '"));
  }
  Errors errors;
  for (const Node& entry : node.entries) errors.add(read(entry));
  return errors.result();
}

Result<void> read_text(std::string_view key, const Node& node, std::string& place) {
  return keep(text_of(key, node), place);
}

Result<void> read_whole(std::string_view key, const Node& node, int64_t min, int64_t max,
                        int64_t& place) {
  const Result<std::string> value = text_of(key, node);
  if (!value) return value.error();
  const Result<int64_t> parsed = parse_whole(key, *value, min, max);
  if (!parsed) return Error(parsed.error()).in(text("line ", node.line));
  place = *parsed;
  return {};
}

Result<void> read_duration(std::string_view key, const Node& node, Duration& place) {
  return read_value(key, node, parse_duration, place);
}

}  // namespace proffer::yaml
