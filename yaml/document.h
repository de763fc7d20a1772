#pragma once

// Files that people write (jobs, apps, scenarios) as a plain tree with line numbers. YAML, of which
// JSON is a subset; the parser is hidden by this header.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::yaml {

struct Row;

struct Node {
  enum class Kind : uint8_t { kNothing, kText, kList, kTable };
  Kind kind = Kind::kNothing;
  int line = 0;                    // where it begins, from 1
  std::string text = {};           // kText: as written, without its quotes
  std::vector<Node> entries = {};  // kList
  std::vector<Row> rows;           // kTable: each key once, in the order of the file

  bool is_nothing() const { return kind == Kind::kNothing; }
};

struct Row {
  std::string key = {};
  int line = 0;  // of the key
  Node value = {};
};

// Bounds of one document: nested tables, and nodes including those that aliases repeat.
inline constexpr size_t kDepthMax = 64;
inline constexpr size_t kNodesMax = 4'000'000;

// Parses the only document of `text`. `what` names it in errors, as in "a job file". Errors:
// kInvalidArgument with the line: not YAML, more than `bytes_max`, no document or several, a key
// that is given twice or is not text, a bound exceeded.
Result<Node> parse_document(std::string_view text, std::string_view what, size_t bytes_max);
// Parses its documents, separated by lines of `---`, with the lines of the whole text. At least one
// and at most `documents_max`; an empty document is left out. Aliases do not reach into another
// document. Errors: as parse_document().
Result<std::vector<Node>> parse_documents(std::string_view text, std::string_view what,
                                          size_t bytes_max, int documents_max);

}  // namespace proffer::yaml
