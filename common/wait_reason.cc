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
    {"scheduler", "it was offered to its scheduler, which had not answered"},
    {"decision", "it was declared, and no decision was looked at yet"},
    {"suppressed", "its scheduler had suppressed offers"},
    {"back_off", "launches of its framework were refused, so nothing was offered for a while"},
    {"impossible", "no agent could run it"},
    {"agent_missing", "the agents that could run it were away, drained or in trouble"},
    {"recovering", "its role has a limit, and the new master did not know all tasks yet"},
    {"limit", "the limit of its role, or of one above, did not allow it"},
    {"guarantees", "what was free was held for the guarantees of others"},
    {"entitlement", "its role was entitled to no more, and its ask may not borrow"},
    {"declined", "its own framework had declined the agents with room"},
    {"locality", "there was room, but not where it would rather be"},
    {"spread", "as many of its tasks as may be together were where there was room"},
    {"ports", "the ports that it needs were in use where there was room"},
    {"gang", "there was room for one task, but not for its whole gang"},
    {"turn", "there was room, and others came first"},
    {"owed", "what was free was held for asks that are owed a task"},
    {"claim", "what was free was set aside for asks that had waited longer"},
    {"offers", "what was free was offered to others, which had not answered"},
    {"fragmentation", "enough was free in all, but not on one agent"},
    {"borrowed", "others used more than they are entitled to, and its ask had less"},
    {"share", "its ask had what it is entitled to, and nothing more was free"},
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
