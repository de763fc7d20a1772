#pragma once

// What commands print: tables and JSON to standard output, errors to standard error; all of it by
// net/terminal.h.

#include <string>
#include <string_view>
#include <vector>

#include "common/resources.h"
#include "common/result.h"
#include "common/time.h"
#include "net/terminal.h"

namespace proffer::cli {

inline constexpr int kExitRefused = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;

// Prints the error, as {"error": …} with `json`; the exit status for it.
int print_error(const Error& error, bool json);
// The same for what can only be a wrong argument, whatever its code: kExitUsage.
int usage_error(const Error& error, bool json);

// Columns as wide as their widest cell. Each cell is made printable.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void row(std::vector<std::string> cells);
  std::vector<std::string> lines() const;
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "  name      what" of a list of commands, with a name of so many columns.
std::string help_row(std::string_view name, std::string_view what, size_t columns);

// The exit status of a command that ended with `code`: 1 if that is 0 and what it printed did not
// all reach standard output (a full disk), which it says.
int after_output(int code);

// "1.5/4 cpus, 2.0/8.0 GiB": used of total, in the kinds that there are.
std::string use_of(const ResourceVector& used, const ResourceVector& total);
// "512 MiB", "1.5 GiB" of milli-MiB.
std::string mebibytes(int64_t milli);
// "3s", "12m", "4h", "2d".
std::string age(Duration duration);
// "66.7%" of millionths.
std::string percent(int64_t millionths);

}  // namespace proffer::cli
