#pragma once

// The output of commands: tables and JSON on standard output, errors on standard error, all through
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

// Prints the error, as {"error": …} with `json`. Returns the exit status for it.
int print_error(const Error& error, bool json);
// The same for an error that is always a wrong argument, regardless of its code: kExitUsage.
int usage_error(const Error& error, bool json);
// Reports variables of other systems in a command, or in the text of a file: they are empty here,
// unless `env` (NAME=VALUE), this process's environment, or the text itself sets them.
void print_variable_notes(std::string_view command, const std::vector<std::string>& env = {});

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

// A line "  name      what" of a list of commands, with the name padded to `columns`.
std::string help_row(std::string_view name, std::string_view what, size_t columns);

// The exit status of a command that ended with `code`. If that is 0, but not all output reached
// standard output (a full disk), it prints an error and returns 1.
int after_output(int code);

// "1.5/4 cpus, 2.0/8.0 GiB": used and total, for the kinds that exist.
std::string use_of(const ResourceVector& used, const ResourceVector& total);
// Formats milli-MiB as "512 MiB" or "1.5 GiB".
std::string mebibytes(int64_t milli);
// Formats a duration as "3s", "12m", "4h" or "2d".
std::string age(Duration duration);
// Formats millionths as "66.7%".
std::string percent(int64_t millionths);

}  // namespace proffer::cli
