#pragma once

// Which events of the log a reader is told. Decided by their lines. Pure.

#include <string>
#include <string_view>

#include "common/principal.h"
#include "proto/events.h"

namespace proffer::master {

class EventFilter {
 public:
  // Operators see all events. Others see those of their own tasks and frameworks, what they did
  // themselves, and what happens to agents, roles and masters, but no warnings about others.
  EventFilter(const proto::EventQuery& query, const Principal* by, bool is_operator);

  // `line` as proto::EventLineReader gives it. Gaps are wanted by all.
  bool wants(std::string_view line) const;

 private:
  bool may_see(std::string_view line) const;
  bool is_of_framework(std::string_view line, std::string_view framework) const;

  std::string framework_;
  std::string task_;  // with its key, as in a line
  std::string agent_;
  std::string role_;
  std::string user_;
  bool is_operator_ = false;
  bool wants_all_ = false;  // an operator that asks for nothing in particular
};

}  // namespace proffer::master
