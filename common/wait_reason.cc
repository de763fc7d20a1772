#include "common/wait_reason.h"

#include <algorithm>
#include <array>

namespace proffer {
namespace {

struct Words {
  std::string_view name;
  std::string_view explained;
};

constexpr std::array<Words, kWaitReasonCount> kWords = {{
    {"start", "it was launched, and its agent fetched its files and started it"},
    {"scheduler", "it was in an offer that its scheduler had not answered"},
    {"decision", "it was declared, and the allocator had not decided on it yet"},
    {"suppressed", "its scheduler had suppressed offers"},
    {"back_off", "launches of its framework were refused, so its offers were backed off"},
    {"impossible", "no agent could run it"},
    {"agent_missing",
     "the agents that could run it were not connected, draining or taking no tasks"},
    {"recovering", "its role has a limit, and the new master did not know all tasks yet"},
    {"limit", "the limit of its role, or of a role above it, was reached"},
    {"guarantees", "free resources were held for the guarantees of other roles"},
    {"entitlement", "its role had reached its entitlement, and its ask may not borrow"},
    {"declined", "its own framework had declined the agents with room"},
    {"locality", "there was room, but not on its preferred hosts (locality wait)"},
    {"spread", "the agents with room had the maximum number of its tasks (max_per)"},
    {"ports", "the ports that it needs were in use on the agents with room"},
    {"gang", "there was room for one task, but not for its whole gang"},
    {"turn", "there was room, but other asks came first"},
    {"owed", "free resources were held for asks that are owed a task"},
    {"claim", "free resources were claimed for asks that had waited longer"},
    {"offers", "free resources were in offers that others had not answered"},
    {"fragmentation", "enough was free in total, but not on one agent"},
    {"borrowed", "its ask had less than its entitlement, because others had borrowed"},
    {"share", "its ask had all that it is entitled to, and nothing more was free"},
}};

}  // namespace

std::string_view to_text(WaitReason reason) { return kWords[static_cast<size_t>(reason)].name; }

std::optional<WaitReason> parse_wait_reason(std::string_view text) {
  const auto found = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Words& words) { return words.name == text; });
  if (found == kWords.end()) return std::nullopt;
  return static_cast<WaitReason>(found - kWords.begin());
}

std::string_view explained(WaitReason reason) {
  return kWords[static_cast<size_t>(reason)].explained;
}

Duration whole_of(const WaitSpans& spans) {
  Duration whole;
  for (const WaitSpan& span : spans) whole = whole + span.spent;
  return whole;
}

}  // namespace proffer
