#pragma once

// The trace events of an author's processes in a simulated cluster; sim/trace.h has the other
// events.

#include <cstdint>
#include <string>

#include "common/trace.h"

namespace proffer::sdk {

struct SchedulerKilled {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "scheduler is killed"}; }
  void fields(TraceFields&) const {}
};

struct SchedulerLeaves {
  int exit_code = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "scheduler leaves"}; }
  void fields(TraceFields& f) const { f("exit_code", exit_code); }
};

struct SchedulerRefused {
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "scheduler is refused"}; }
  void fields(TraceFields& f) const { f.free_text("error", error); }
};

struct SchedulerTearsDown {
  static constexpr TraceKind kind() {
    return {TraceLevel::kMessage, "scheduler tears its framework down"};
  }
  void fields(TraceFields&) const {}
};

struct SchedulerWarns {
  std::string what;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "scheduler warns"}; }
  void fields(TraceFields& f) const { f.free_text("what", what); }
};

struct ExecutorWarns {
  std::string what;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "executor warns"}; }
  void fields(TraceFields& f) const { f.free_text("what", what); }
};

}  // namespace proffer::sdk
