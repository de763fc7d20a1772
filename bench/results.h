#pragma once

// bench/RESULTS.md: each figure with machine, commit and command.

#include <cstdint>
#include <string>
#include <vector>

namespace proffer::bench {

// Nearest rank; `values` need not be sorted. 0 if there are none.
int64_t percentile(std::vector<int64_t> values, int percent);
// "12.34" of microseconds as milliseconds.
std::string millis(int64_t micros);
// "1.04" of 104.
std::string hundredths(int64_t value);
// "| WHAT | p50 | p99 |\n" of microseconds, as milliseconds.
std::string latency_row(const std::string& what, const std::vector<int64_t>& micros);

// Replaces the section `name` of the file (or appends it) with `body` under a heading with the
// date, machine, commit and command. Prints the section too.
void write_section(const std::string& path, const std::string& name, const std::string& command,
                   const std::string& body);

}  // namespace proffer::bench
