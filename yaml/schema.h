#pragma once

// Documents checked by a JSON Schema, with errors that say the line, the key, and what is allowed.
// Of the language of schemas these words count: type, properties, additionalProperties, items,
// enum, dependentSchemas, and $ref to a place in the same schema; title names a table in errors. A
// text of a document is a number or a truth if it reads so.

#include <string_view>
#include <vector>

#include "common/result.h"
#include "yaml/document.h"

namespace proffer::yaml {

class Schema {
 public:
  // CHECKs that the text is a schema of these words only: it is compiled in.
  explicit Schema(std::string_view json);

  // Errors: kInvalidArgument for what does not fit first.
  Result<void> check(const Node& document) const;
  // The names of all properties below this place, as in "/$defs/stage".
  std::vector<std::string_view> properties(std::string_view place) const;

 private:
  const Node& at(std::string_view place) const;
  const Node& resolved(const Node& schema) const;
  Result<void> check(const Node& schema, const std::string& what, const Node& value) const;
  Result<void> check_table(const Node& schema, const std::string& what, const Node& table) const;
  // Every word of it is known, and leads somewhere.
  void check_words(const Node& schema) const;

  Node root_;
};

}  // namespace proffer::yaml
