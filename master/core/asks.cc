// What frameworks declare that they could use, and the report of what no agent could ever meet.
// on_declare_asks takes; report_asks tells, after a decision and at most once a second.

#include <algorithm>

#include "common/constraint_matcher.h"
#include "common/roles.h"
#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

constexpr Duration kReportInterval = seconds(1);

Result<void> check_asks(const std::vector<Ask>& asks, const RoleName& role) {
  if (asks.size() > kAsksMax) {
    return Error::resource_exhausted(
        text("a framework declares at most ", kAsksMax, " asks, not ", asks.size()));
  }
  std::set<AskName> names;
  for (const Ask& ask : asks) {
    if (Result<void> checked = check_ask(ask); !checked) return checked;
    if (!names.insert(ask.name).second) {
      return Error::invalid_argument(
          text("the ask ", quoted(ask.name.str()), " is declared twice"));
    }
    if (!ask.role.empty() && !is_within(ask.role, role)) {
      return Error::invalid_argument(
          text("the ask ", quoted(ask.name.str()), " names the role ", quoted(ask.role.str()),
               "; it must be that of the framework, ", quoted(role.str()), ", or one below it"));
    }
  }
  return {};
}

}  // namespace

// Refused as a whole: the asks before it stay.
void Master::State::on_declare_asks(Framework& framework, proto::DeclareAsks&& message,
                                    Step& step) {
  Result<void> checked = check_asks(message.asks, framework.record.role);
  // Its own role was looked at when it began.
  for (const Ask& ask : message.asks) {
    if (!checked || ask.role.empty() || ask.role == framework.record.role) continue;
    checked = may_use_role(sessions_.find(framework.peer)->by, ask.role, step);
  }
  if (!checked) {
    step.trace(TraceLevel::kMisbehaved, "asks refused",
               {{"framework", framework.id().str()}, {"error", checked.error().message()}});
    return send_error(framework.peer, checked.error(), false, false, step);
  }
  framework.generation = message.generation;
  framework.asks.clear();
  for (const Ask& ask : message.asks) framework.asks.emplace(ask.name, ask);
  allocator_.declare_asks(framework.id(), std::move(message.asks), step.now);
  declared_.insert(framework.id());
  report_dirty(step);
}

// Many things may change at once, and each would be told anew: hence not more often than each
// kReportInterval.
void Master::State::report_dirty(Step& step) {
  const DeadlineKey key{.kind = DeadlineKind::kAskReport, .peer = {}, .id = {}};
  if (deadlines_.armed(key)) return;
  deadlines_.arm(key,
                 reported_at_ ? std::max(step.now, *reported_at_ + kReportInterval) : step.now);
}

// About those that declared anew, or all if the cluster or its roles have changed.
void Master::State::report_asks(Step& step) {
  report_due_ = false;
  reported_at_ = step.now;
  // Of a cluster that is not complete yet nobody can say what could never be met.
  if (awaited_ > 0 || allocator_.total().is_zero()) return;
  std::set<FrameworkId> ids = std::exchange(declared_, {});
  if (reported_version_ != allocator_.fit_version()) {
    reported_version_ = allocator_.fit_version();
    for (const auto& [id, framework] : frameworks_.all()) ids.insert(id);
  }
  for (const FrameworkId& id : ids) {
    if (Framework* framework = connected_framework(id)) report_asks(*framework, step);
  }
}

void Master::State::report_asks(Framework& framework, Step& step) {
  proto::AskReport report{.generation = framework.generation, .rows = {}};
  std::set<AskName> unfit;
  for (const AskStatus& ask : allocator_.asks(framework.id())) {
    const auto declared = framework.asks.find(ask.ask);
    if (declared == framework.asks.end()) continue;
    std::string why = limit_against(declared->second, framework.record.role);
    if (why.empty() && !ask.could_ever_fit) {
      why = why_unfit(declared->second, framework.record.role);
    }
    if (!why.empty()) unfit.insert(ask.ask);
    report.rows.push_back({.ask = ask.ask, .could_ever_fit = why.empty(), .why = std::move(why)});
  }
  if (unfit == framework.reported_unfit) return;
  framework.reported_unfit = std::move(unfit);
  step.trace(TraceLevel::kShortLived, "asks reported",
             {{"framework", framework.id().str()},
              {"unfit", std::to_string(framework.reported_unfit.size())}});
  send(framework.peer, std::move(report), step);
}

// Whatever becomes free, its role or one above may not have so much.
std::string Master::State::limit_against(const Ask& ask, const RoleName& role) const {
  const RoleTable& table = allocator_.role_table();
  for (RoleName at = ask.role.empty() ? role : ask.role; !at.empty(); at = parent_of(at)) {
    const auto found = table.find(at);
    if (found == table.end()) continue;
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> limit = found->second.limit[kind];
      if (!limit || ask.shape[kind] * ask.gang <= *limit || ask.count == 0) continue;
      return text("it takes ", print_milli(ask.shape[kind] * ask.gang), " ", to_text(kind),
                  ask.gang > 1 ? text(" for its gang of ", ask.gang) : std::string(),
                  ", but the limit of role ", quoted(at.str()), " is ", print_milli(*limit));
    }
  }
  return "";
}

// The first thing that no agent has enough of.
std::string Master::State::why_unfit(const Ask& ask, const RoleName& of_framework) const {
  const RoleName& role = ask.role.empty() ? of_framework : ask.role;
  const Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(ask.constraints);
  if (!matcher) return matcher.error().message();
  ResourceVector largest;
  int64_t ports = 0;
  bool meets_constraints = false;
  for (const auto& [id, agent] : agents_.all()) {
    if (!agent.allocatable || !matcher->matches(id, agent.attributes)) continue;
    meets_constraints = true;
    ResourceVector usable;
    for (const Slice& slice : agent.slices) {
      if (!is_within(role, slice.reserved_for)) continue;
      if (slice.revocable && !ask.revocable_ok) continue;
      usable += slice.resources.amounts;
    }
    largest = largest.max(usable);
    ports = std::max(ports, agent.ports.size());
  }
  if (!meets_constraints) {
    std::string wanted;
    for (const Constraint& constraint : ask.constraints) {
      if (!wanted.empty()) wanted += " and ";
      wanted += to_text(constraint);
    }
    return text("no agent meets ", quoted(wanted));
  }
  const std::string_view which = ask.constraints.empty() ? "" : " that meets the constraints";
  for (const ResourceKind kind : kResourceKinds) {
    if (ask.shape[kind] <= largest[kind]) continue;
    return text("it takes ", print_milli(ask.shape[kind]), " ", to_text(kind),
                ", but the largest agent", which, " has ", print_milli(largest[kind]));
  }
  if (ask.ports > ports) {
    return text("it takes ", ask.ports, " ports, but no agent", which, " has more than ", ports);
  }
  return text("no single agent", which, " has all of ", to_text(ask.shape), " together");
}

}  // namespace proffer::master
