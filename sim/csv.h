#pragma once

// Comma-separated values below a line that names the columns, as traces of clusters come. Values
// stand without quotes, because none of what is read here has a comma in it.

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

// The values of one line in the order of the columns that were asked for, trimmed; a column that
// the table does not have is empty.
using CsvValues = std::vector<std::string_view>;

// Calls `read` with each line below the first. The table may have its columns in any order, and
// further ones only with `others`. Errors are kInvalidArgument: "line 3: …", also those of `read`.
Result<void> read_csv(std::string_view table, const std::vector<CsvColumn>& columns, bool others,
                      const std::function<Result<void>(const CsvValues& values)>& read);

}  // namespace proffer::sim
