// docs/STATES.md is drawn from the table of task states.

#include "proto/task_state.h"
#include "tests/golden/golden.h"

namespace proffer::proto {
namespace {

std::string states_document() {
  std::string out =
      "# The life of a task\n\n"
      "Made from `proto/task_state.h` by `tests/golden`; `GOLDEN_UPDATE=1 "
      "build/tests/golden_tests` "
      "rewrites it.\n"
      "What is not in the table means nothing in that state: a duplicate, or a message overtaken "
      "by "
      "another.\n\n| from | event | to |\n|---|---|---|\n";
  for (const TaskTransition& row : kTaskTransitions) {
    out += "| " + std::string(to_text(row.from)) + " | " + std::string(to_text(row.event)) + " | " +
           (is_terminal(row.to) ? "**" : "") + std::string(to_text(row.to)) +
           (is_terminal(row.to) ? "**" : "") + " |\n";
  }
  out += "\nStates in bold are terminal.\n\n```mermaid\nstateDiagram-v2\n  [*] --> staging\n";
  for (const TaskTransition& row : kTaskTransitions) {
    out += "  " + std::string(to_text(row.from)) + " --> " + std::string(to_text(row.to)) + ": " +
           std::string(to_text(row.event)) + "\n";
  }
  out += "```\n\n## Reasons\n\n";
  for (size_t i = 0; i < kTaskReasonCount; ++i) {
    out += (i == 0 ? "`" : ", `") + std::string(to_text(static_cast<TaskReason>(i))) + "`";
  }
  return out + "\n";
}

TEST(Golden, StatesDocumentIsTheTable) { test::expect_golden("docs/STATES.md", states_document()); }

}  // namespace
}  // namespace proffer::proto
