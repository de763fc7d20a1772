#pragma once

// Checks documents with a JSON Schema; errors give the line, the key, and what is allowed. These
// keywords are supported: type, properties, additionalProperties, items, enum, dependentSchemas,
// format, minimum, maximum, and $ref to a place in the same schema, beside which minimum and
// maximum count; title names a table in errors. A text of a document counts as a number or a
// boolean if it parses as one. Formats are whole (a number within minimum and maximum), truth,
// duration and resources; editors ignore them.

#include <string_view>
#include <vector>

#include "common/result.h"
#include "yaml/document.h"

namespace proffer::yaml {

class Schema {
 public:
  // CHECKs that the text is a schema with these keywords only, since it is compiled in.
  explicit Schema(std::string_view json);

  // Errors: kInvalidArgument for all values that do not fit (Errors).
  Result<void> check(const Node& document) const;
  // The names of all properties below this place, as in "/$defs/stage".
  std::vector<std::string_view> properties(std::string_view place) const;

 private:
  const Node& at(std::string_view place) const;
  const Node& resolved(const Node& schema) const;
  Result<void> check(const Node& schema, const std::string& what, const Node& value) const;
  Result<void> check_table(const Node& schema, const std::string& what, const Node& table) const;
  Result<void> check_format(const Node& schema, const Node& rules, const std::string& what,
                            const Node& value) const;
  // Checks that every keyword is known, and every reference leads to a schema.
  void check_words(const Node& schema) const;

  Node root_;
};

}  // namespace proffer::yaml
