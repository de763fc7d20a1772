#pragma once

// Decides from the lines of the event log which events a reader gets. Pure.

#include <string>
#include <string_view>

#include "common/principal.h"
#include "proto/events.h"

namespace proffer::master {

class EventFilter {
 public:
  // Operators see all events. Other users see the events of their own tasks and frameworks, their
  // own actions, and the events of agents, roles and masters except warnings about others.
  EventFilter(const proto::EventQuery& query, const Principal* by, bool is_operator);

  // `line` as proto::EventLineReader returns it. Gaps are wanted by all readers.
  bool wants(std::string_view line) const;

 private:
  bool may_see(std::string_view line) const;
  bool is_of_framework(std::string_view line, std::string_view framework) const;

  std::string framework_;
  std::string task_;  // with the key, as in a line
  std::string agent_;
  std::string role_;
  std::string user_;
  bool is_operator_ = false;
  bool wants_all_ = false;  // an operator without a filter
};

}  // namespace proffer::master
