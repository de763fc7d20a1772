#pragma once

// From a document's nodes to values, with errors that give the line, the key, and what is allowed.
// All errors are kInvalidArgument.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/text.h"
#include "common/time.h"
#include "yaml/document.h"

namespace proffer::yaml {

// "line 3: WHAT".
Error at(const Node& node, std::string_view what);
// An error about the value of a key: "line 3: KEY: …".
Error at(const Node& node, std::string_view key, Error error);

// What a node is, for "…, not 'x'" and "…, not a table".
std::string form_of(const Node& node);

// The hint for resources that are written as a table: "write resources: 'cpus:2;mem:4096'". Empty
// for another node.
std::string hint_for_resources(const Node& node);

// Collects the errors of one document, so that a person sees all of them at once. The first ones
// become the lines of one error, and so do their hints.
class Errors {
 public:
  void add(Error error);
  // Adds the error, if there is one.
  void add(const Result<void>& result) {
    if (!result) add(result.error());
  }
  bool empty() const { return errors_.empty(); }
  Result<void> result() const;

 private:
  static constexpr size_t kToldMax = 8;
  std::vector<Error> errors_;
};

// The text or number.
Result<std::string> text_of(std::string_view key, const Node& node);
// A list of texts, or one.
Result<std::vector<std::string>> texts_of(std::string_view key, const Node& node);

// Calls `read` with each row of a table, whose keys must be among `keys`; if `keys` is empty, each
// key is a name that the file chooses. `what` names the table in errors. All rows are read: the
// result has the errors of all of them (Errors), and so has that of a list.
using Keys = std::vector<std::string_view>;
using ReadRow = std::function<Result<void>(const std::string& key, const Node& value)>;
Result<void> read_table(std::string_view what, const Node& table, const Keys& keys,
                        const ReadRow& read);
// Calls `read` with each entry of a list. A missing value is an empty list.
using ReadEntry = std::function<Result<void>(const Node& entry)>;
Result<void> read_list(std::string_view key, const Node& node, const ReadEntry& read);

Result<void> read_text(std::string_view key, const Node& node, std::string& place);
Result<void> read_whole(std::string_view key, const Node& node, int64_t min, int64_t max,
                        int64_t& place);
Result<void> read_duration(std::string_view key, const Node& node, Duration& place);

// Uses a parser of text, Result<T>(std::string_view).
template <class Parse, class T>
Result<void> read_value(std::string_view key, const Node& node, const Parse& parse, T& place) {
  const Result<std::string> value = text_of(key, node);
  if (!value) return value.error();
  auto parsed = parse(*value);
  if (!parsed) return at(node, key, std::move(parsed).error());
  place = *std::move(parsed);
  return {};
}

// Keeps a value that was read, or passes its error on.
template <class T>
Result<void> keep(Result<T> value, T& place) {
  if (!value) return std::move(value).error();
  place = *std::move(value);
  return {};
}

}  // namespace proffer::yaml
