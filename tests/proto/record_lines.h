#pragma once

// The events in a log's records, as readers get them.

#include <string>
#include <string_view>
#include <vector>

#include "proto/json/event_lines.h"

namespace proffer::proto::test {

inline std::vector<std::string> lines_of(std::string_view record) {
  std::vector<std::string> all;
  for (EventLineReader lines(record); lines.next();) all.emplace_back(lines.line());
  return all;
}

inline std::vector<std::string> lines_of(const std::vector<std::string>& records) {
  std::vector<std::string> all;
  for (const std::string& record : records) {
    for (std::string& line : lines_of(record)) all.push_back(std::move(line));
  }
  return all;
}

}  // namespace proffer::proto::test
