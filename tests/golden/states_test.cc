// docs/STATES.md is generated from the state tables of tasks and agents.

#include "proto/agent_state.h"
#include "proto/task_state.h"
#include "tests/golden/golden.h"

namespace proffer::proto {
namespace {

// The table of one kind of state, and its diagram.
template <class Rows, class IsLast>
std::string table_of(const Rows& rows, std::string_view first, IsLast is_last) {
  std::string out = "| from | event | to |\n|---|---|---|\n";
  for (const auto& row : rows) {
    out += "| " + std::string(to_text(row.from)) + " | " + std::string(to_text(row.event)) + " | " +
           (is_last(row.to) ? "**" : "") + std::string(to_text(row.to)) +
           (is_last(row.to) ? "**" : "") + " |\n";
  }
  out += "\nStates in bold are terminal.\n\n```mermaid\nstateDiagram-v2\n  [*] --> " +
         std::string(first) + "\n";
  for (const auto& row : rows) {
    out += "  " + std::string(to_text(row.from)) + " --> " + std::string(to_text(row.to)) + ": " +
           std::string(to_text(row.event)) + "\n";
  }
  return out + "```\n";
}

std::string states_document() {
  std::string out =
      "# The life of a task\n\n"
      "Made from `proto/task_state.h` by `tests/golden`; `GOLDEN_UPDATE=1 "
      "build/tests/golden_tests` "
      "rewrites it.\n"
      "An event without a row is ignored in that state: it is a duplicate, or a message that "
      "another has overtaken.\n\n";
  out += table_of(kTaskTransitions, "staging", is_terminal);
  out += "\n## Reasons\n\n";
  for (size_t i = 0; i < kTaskReasonCount; ++i) {
    out += (i == 0 ? "`" : ", `") + std::string(to_text(static_cast<TaskReason>(i))) + "`";
  }
  out +=
      "\n\n# The life of an agent\n\n"
      "These are the states of an agent at its master. Made from `proto/agent_state.h`. An agent "
      "is connected when it registers. A lost connection makes it disconnected. After "
      "`--agent_timeout` it times out, unless the brake "
      "([ADR 0061](adr/0061-a-brake-on-lost-agents.md)) holds it back. After "
      "`--reregistration_timeout` the master forgets it. `proffer agent gone` declares it gone "
      "([ADR 0062](adr/0062-an-agent-that-is-gone.md)); the master remembers this for a week.\n\n";
  return out + table_of(kAgentTransitions, "connected",
                        [](AgentState state) { return state == AgentState::kRemoved; });
}

TEST(Golden, StatesDocumentIsTheTable) { test::expect_golden("docs/STATES.md", states_document()); }

}  // namespace
}  // namespace proffer::proto
