#include "common/remedy.h"

#include <algorithm>
#include <array>

#include "common/amount_text.h"
#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr std::array<std::string_view, kRemedyKindCount> kRemedyNames = {
    "takes_less",   "fewer_together", "without_constraint", "without_max_per",   "may_borrow",
    "tasks_end",    "offers_end",     "limit_raised",       "guarantee_lowered", "decline_lifted",
    "wait_ends",    "undrained",      "connected",          "unreserved",        "unclaimed",
    "trouble_over", "shorter_limit",
};

// "2 tasks of role 'ads' (f-1: t-1, t-2)", or offers: those of one framework in one role together,
// in their order.
std::vector<std::string> groups_of(const std::vector<Ending>& ends, bool tasks) {
  struct Group {
    const Ending* first = nullptr;
    std::vector<std::string> names = {};
  };
  std::vector<Group> groups;
  for (const Ending& end : ends) {
    if (end.task.empty() == tasks) continue;
    auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.first->framework == end.framework && group.first->role == end.role;
    });
    if (known == groups.end()) known = groups.insert(groups.end(), {.first = &end});
    known->names.push_back(tasks ? end.task.str() : std::to_string(end.offer));
  }
  std::vector<std::string> said;
  for (const Group& group : groups) {
    const size_t count = group.names.size();
    const std::string names = listed(group.names);
    if (tasks) {
      said.push_back(text(count, count == 1 ? " task of role " : " tasks of role ",
                          quoted(group.first->role.str()), " (", group.first->framework.str(), ": ",
                          names, ")"));
    } else {
      said.push_back(text(count == 1 ? "the offer to " : "the offers to ",
                          group.first->framework.str(), " (", names, ")"));
    }
  }
  return said;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out += text(i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ", parts[i]);
  }
  return out;
}

std::string ends_text(const Remedy& remedy) {
  const std::vector<std::string> tasks = groups_of(remedy.ends, true);
  const std::vector<std::string> offers = groups_of(remedy.ends, false);
  const std::string on = text(" on agent ", remedy.agent.str());
  const auto offer_count = std::count_if(remedy.ends.begin(), remedy.ends.end(),
                                         [](const Ending& end) { return end.task.empty(); });
  const auto task_count = static_cast<int64_t>(remedy.ends.size()) - offer_count;
  const std::string declined =
      offer_count == 1 ? " is declined or expires" : " are declined or expire";
  if (tasks.empty()) return text("if ", joined(offers), on, declined);
  std::string said = text("after ", joined(tasks), task_count == 1 ? " ends" : " end", on);
  if (!offers.empty()) said += text(", if ", joined(offers), " there", declined);
  return said;
}

}  // namespace

std::string_view to_text(RemedyKind kind) {
  const auto at = static_cast<size_t>(kind);
  CHECK_LT(at, kRemedyKindCount);
  return kRemedyNames[at];
}

std::optional<RemedyKind> parse_remedy_kind(std::string_view text) {
  for (size_t i = 0; i < kRemedyKindCount; ++i) {
    if (kRemedyNames[i] == text) return static_cast<RemedyKind>(i);
  }
  return std::nullopt;
}

std::string to_text(const Remedy& remedy) {
  const std::string agent = text("agent ", remedy.agent.str());
  const std::string role = text("role ", quoted(remedy.role.str()));
  switch (remedy.kind) {
    case RemedyKind::kTakesLess:
      if (!remedy.resource) return text("if ports ≤ ", remedy.amount);
      return text("if ", to_text(*remedy.resource), " ≤ ",
                  amount_text(*remedy.resource, remedy.amount));
    case RemedyKind::kFewerTogether:
      return text("if at most ", remedy.amount, remedy.amount == 1 ? " task has" : " tasks have",
                  " to start together");
    case RemedyKind::kWithoutConstraint:
      return text("without the constraint ", quoted(remedy.constraint));
    case RemedyKind::kWithoutMaxPer:
      return text("without the maximum per ", quoted(remedy.constraint));
    case RemedyKind::kMayBorrow:
      return "if the ask may borrow";
    case RemedyKind::kTasksEnd:
    case RemedyKind::kOffersEnd:
      return ends_text(remedy);
    case RemedyKind::kLimitRaised:
      return text("the limit of ", role, " would have to be raised to ", to_text(remedy.quota));
    case RemedyKind::kGuaranteeLowered:
      return text("the guarantee of ", role, " would have to be lowered to ",
                  to_text(remedy.quota));
    case RemedyKind::kDeclineLifted:
      return text("when the framework's decline of ", agent, " ends");
    case RemedyKind::kWaitEnds:
      return "when its locality wait ends";
    case RemedyKind::kUndrained:
      return text("when ", agent, " is undrained",
                  remedy.trouble.empty() ? "" : " and takes tasks again: ", remedy.trouble);
    case RemedyKind::kConnected:
      return text("when ", agent, " is back");
    case RemedyKind::kUnreserved:
      return text("without the reservation for ", role, " on ", agent);
    case RemedyKind::kUnclaimed:
      return text("when ", agent, " is not claimed for ", remedy.framework.str(), " any more");
    case RemedyKind::kTroubleOver:
      return text("when ", agent, " takes tasks again: ", remedy.trouble);
    case RemedyKind::kShorterLimit:
      return text("with a time limit of at most ", to_text(remedy.time_limit),
                  ", to backfill what ", remedy.framework.str(), " waits for on ", agent);
  }
  LOG(FATAL) << "remedy " << static_cast<int>(remedy.kind);
  return {};
}

}  // namespace proffer
