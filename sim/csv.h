#pragma once

// Comma-separated values below a line that names the columns, as in traces of clusters. Values have
// no quotes, since none of the supported tables has a comma in a value.

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::sim {

struct CsvColumn {
  std::string_view name = {};
  bool required = true;
};

// The values of one line in the order of the requested columns, trimmed. A column that the table
// lacks is empty.
using CsvValues = std::vector<std::string_view>;

// Calls `read` with each line below the first. The table may have its columns in any order, and
// further columns only with `others`. Errors are kInvalidArgument: "line 3: …", including those of
// `read`.
Result<void> read_csv(std::string_view table, const std::vector<CsvColumn>& columns, bool others,
                      const std::function<Result<void>(const CsvValues& values)>& read);

}  // namespace proffer::sim
