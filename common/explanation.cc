#include "common/explanation.h"

#include <array>

#include "common/amount_text.h"
#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr std::array<std::string_view, kHindranceCount> kHindranceNames = {
    "none",
    "not_connected",
    "draining",
    "constraint",
    "total",
    "ports_total",
    "static_port_total",
    "declined_for_time",
    "declined_too_little",
    "declined_attributes",
    "already_offered",
    "limit",
    "tasks_unknown",
    "guarantees",
    "entitlement",
    "max_per",
    "not_preferred",
    "used",
    "ports_used",
    "static_port_used",
    "offered",
    "reserved",
    "owed",
    "claimed",
    "gang",
};

std::string kind_of(const HinderedAgents& hindered) {
  return std::string(hindered.kind ? to_text(*hindered.kind) : "resources");
}

std::string amounts_of(const HinderedAgents& hindered, std::string_view most) {
  if (!hindered.kind) return {};
  std::string_view of = "";
  if (hindered.kind == ResourceKind::kGpus) {
    of = hindered.wanted < kWholeDevice    ? " of one device"
         : hindered.wanted == kWholeDevice ? " whole device"
                                           : " whole devices";
  }
  return text(": a task takes ", amount_text(*hindered.kind, hindered.wanted), of, ", at most ",
              amount_text(*hindered.kind, hindered.most), " ", most);
}

// The values of agents that do not meet a constraint.
std::string values_of(const HinderedAgents& hindered) {
  if (hindered.values.empty()) return ": none has this attribute";
  return text(hindered.values.size() == 1 ? ": there is " : ": there are ",
              listed(hindered.values));
}

std::string left_of(const HinderedAgents& hindered) {
  if (!hindered.kind) return {};
  return text(": it takes ", named_amount(*hindered.kind, hindered.wanted), ", ",
              amount_text(*hindered.kind, hindered.most), " are left");
}

std::string holders_of(const HinderedAgents& hindered, std::string_view by) {
  return holders_text(hindered.holders, by);
}

}  // namespace

std::string holders_text(const std::vector<Holder>& holders, std::string_view by) {
  std::string out;
  for (const Holder& holder : holders) {
    out += text(out.empty() ? by : ", ", holder.framework.str());
    const std::string amounts = to_text(holder.amounts);
    if (!amounts.empty()) out += text(" (", amounts, ")");
  }
  return out;
}

std::string owed_text(const std::vector<Holder>& owed) {
  std::string out;
  for (const Holder& one : owed) {
    out += text(out.empty() ? "" : ", and ", one.role.str(), "/", one.framework.str());
    for (const ResourceKind kind : kResourceKinds) {
      if (one.entitled[kind] == 0) continue;
      out += text(", which is entitled to ", named_amount(kind, one.entitled[kind]), " and has ",
                  amount_text(kind, one.amounts[kind]));
      // It has its share now, and catches up for a time with less.
      if (one.amounts[kind] >= one.entitled[kind]) out += " after it had less for a while";
    }
  }
  return out;
}

std::string_view to_text(Hindrance why) {
  const auto at = static_cast<size_t>(why);
  CHECK_LT(at, kHindranceCount);
  return kHindranceNames[at];
}

std::optional<Hindrance> parse_hindrance(std::string_view text) {
  for (size_t i = 0; i < kHindranceCount; ++i) {
    if (kHindranceNames[i] == text) return static_cast<Hindrance>(i);
  }
  return std::nullopt;
}

std::string to_text(const HinderedAgents& hindered) {
  switch (hindered.why) {
    case Hindrance::kNone:
      return "could be offered";
    case Hindrance::kNotConnected:
      return "not connected";
    case Hindrance::kDraining:
      return hindered.values.empty() ? "being drained"
                                     : text("taking no tasks: ", listed(hindered.values));
    case Hindrance::kConstraint:
      return text("not ", quoted(hindered.constraint), values_of(hindered));
    case Hindrance::kTotal:
      return text("not enough ", kind_of(hindered), " in total",
                  amounts_of(hindered, "on one agent"));
    case Hindrance::kPortsTotal:
      return text("not enough ports in total: a task takes ", hindered.wanted, ", at most ",
                  hindered.most, " on one agent");
    case Hindrance::kStaticPortTotal:
      return text("without port ", hindered.wanted, " among its ports");
    case Hindrance::kDeclinedForTime:
      return "declined by the framework itself, for a while";
    case Hindrance::kDeclinedTooLittle:
      return text("declined by the framework itself, until more ", kind_of(hindered), " is free");
    case Hindrance::kDeclinedAttributes:
      return "declined by the framework itself, until the agent's attributes change";
    case Hindrance::kAlreadyOffered:
      return "already offered to the framework";
    case Hindrance::kLimit:
      return text("above the limit of role ", quoted(hindered.role.str()), left_of(hindered),
                  holders_of(hindered, "; room is kept for "));
    case Hindrance::kTasksUnknown:
      return text("role ", quoted(hindered.role.str()),
                  " has a limit, and not all agents that may run its tasks are back");
    case Hindrance::kGuarantees:
      if (!hindered.role.empty()) {
        return text("kept for the guarantee of role ", quoted(hindered.role.str()),
                    ", which has taken it back repeatedly, and for short tasks", left_of(hindered));
      }
      return text("held for the guarantees of other roles", left_of(hindered));
    case Hindrance::kEntitlement:
      return text("above the entitlement of role ", quoted(hindered.role.str()),
                  ", and the ask may not borrow", left_of(hindered),
                  holders_of(hindered, "; the rest is used or wanted by "));
    case Hindrance::kMaxPer:
      return text("has the maximum number of tasks of the ask per ", quoted(hindered.constraint));
    case Hindrance::kNotPreferred:
      return "not a preferred host, and the locality wait has not ended";
    case Hindrance::kUsed:
      return text("not enough ", kind_of(hindered), " free", amounts_of(hindered, "free"),
                  holders_of(hindered, "; used by "));
    case Hindrance::kPortsUsed:
      return text("not enough ports free: a task takes ", hindered.wanted, ", at most ",
                  hindered.most, " free");
    case Hindrance::kStaticPortUsed:
      return text("port ", hindered.wanted, " is in use by a task");
    case Hindrance::kOffered:
      return text("held by outstanding offers", holders_of(hindered, " to "));
    case Hindrance::kReserved:
      return text("not enough ", kind_of(hindered), " outside reservations of other roles",
                  amounts_of(hindered, "for this role"));
    case Hindrance::kOwed:
      return text("held for ", owed_text(hindered.holders));
    case Hindrance::kGang:
      return text("has room for a task, but ", hindered.wanted,
                  " tasks must start together, and at most ", hindered.most, " fit now");
    case Hindrance::kClaimed:
      return text("claimed", holders_of(hindered, " for "), ", which has waited longer");
  }
  LOG(FATAL) << "hindrance " << static_cast<int>(hindered.why);
  return {};
}

std::string changes_text(const AskExplanation& ask) {
  std::string out;
  bool meets_constraints = true;
  for (const HinderedAgents& change : ask.changes) {
    if (!out.empty()) out += "; ";
    if (change.why == Hindrance::kConstraint) {
      out += change.constraint.empty()
                 ? "no agent meets all of its constraints"
                 : text("no agent meets ", quoted(change.constraint), values_of(change));
      meets_constraints = false;
    } else if (change.why == Hindrance::kLimit) {
      out +=
          text("it takes ", named_amount(*change.kind, change.wanted), ", but the limit of role ",
               quoted(change.role.str()), " is ", amount_text(*change.kind, change.most));
      meets_constraints = false;  // other values do not matter
    } else if (change.why == Hindrance::kGang) {
      out +=
          text(change.wanted, " tasks must start together, but ",
               change.constraint.empty() ? "" : text("by its maximum per ", change.constraint, " "),
               "at most ", change.most,
               change.constraint.empty() ? " fit on all agents together" : " can");
      meets_constraints = meets_constraints && change.constraint.empty();
    } else if (change.why == Hindrance::kStaticPortTotal) {
      out += text("no agent has port ", change.wanted, " among its ports (--resources of agents)");
    } else if (change.kind) {
      out += text("it takes ", named_amount(*change.kind, change.wanted),
                  ", but no agent has more than ", amount_text(*change.kind, change.most));
    } else {
      out += text("it takes ", change.wanted, " ports, but no agent has more than ", change.most);
    }
  }
  if (out.empty()) return "no single agent has all of these resources";
  return out + (meets_constraints && ask.constrained
                    ? ", counting only agents that meet its constraints"
                    : "");
}

}  // namespace proffer
