// The asks that frameworks declare, and the reports of asks that no agent could ever meet. Begin
// with on_declare_asks and report_asks, which runs after a decision, at most once a second.

#include <algorithm>

#include "common/amount_text.h"
#include "common/constraint_matcher.h"
#include "common/roles.h"
#include "common/text.h"
#include "common/unfit.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

constexpr Duration kReportInterval = seconds(1);

// Text for the scheduler's author; a report of all asks must fit into a frame.
constexpr size_t kWhyBytesMax = 1'024;

Result<void> check_role(const Ask& ask, const RoleName& role) {
  if (ask.role.empty() || is_within(ask.role, role)) return {};
  return Error::invalid_argument(text("it names the role ", quoted(ask.role.str()),
                                      "; that must be the framework's, ", quoted(role.str()),
                                      ", or one below it"));
}

}  // namespace

// An invalid ask is rejected alone, and reported in an AskReport; the others are taken.
void Master::State::on_declare_asks(Framework& framework, proto::DeclareAsks&& message,
                                    Step& step) {
  if (message.asks.size() > kAsksMax) {
    return reject_asks(framework,
                       Error::resource_exhausted(text("a framework declares at most ", kAsksMax,
                                                      " asks, not ", message.asks.size())),
                       step);
  }
  framework.generation = message.generation;
  framework.asks.clear();
  framework.rejected_asks.clear();
  std::set<AskName> names;
  std::map<RoleName, Result<void>> allowed;  // its own role was checked at its subscription
  allowed.emplace(framework.record.role, Result<void>());
  allowed.emplace(RoleName(), Result<void>());
  std::vector<Ask> declared;
  for (Ask& ask : message.asks) {
    Result<void> checked = check_ask(ask);
    if (checked && !names.insert(ask.name).second) {
      checked = Error::invalid_argument(
          text("the ask ", quoted(ask.name.str()), " is declared twice: the first one counts"));
    }
    if (!checked && (!is_valid_name(ask.name.str()) || framework.asks.contains(ask.name))) {
      reject_asks(framework, checked.error(), step);
      continue;
    }
    if (checked) checked = check_role(ask, framework.record.role);
    if (checked) {
      auto known = allowed.find(ask.role);
      if (known == allowed.end()) {
        const PrincipalPtr& by = sessions_.find(framework.peer)->by;
        known = allowed.emplace(ask.role, may_use_role(by, ask.role, step)).first;
      }
      checked = known->second;
    }
    if (!checked) {
      step.trace(AskRejected{framework.id(), ask.name, checked.error().message()});
      framework.rejected_asks.emplace(ask.name, checked.error().message());
      continue;
    }
    framework.asks.emplace(ask.name, ask);
    declared.push_back(std::move(ask));
  }
  allocator_.declare_asks(framework.id(), std::move(declared), step.now);
  framework.offer_waits.keep_only(framework.asks);
  keep_ledger_of_asks(framework, step.now);
  refresh_waits(framework, step.now);
  framework.back_off.keep_only(names);
  pause_waiting(framework);
  if (!framework.rejected_asks.empty()) report(framework, {}, step);
  declared_.insert(framework.id());
  report_dirty(step);
}

// Errors that belong to no row of a report.
void Master::State::reject_asks(const Framework& framework, const Error& why, Step& step) {
  step.trace(AsksRejected{framework.id(), why.message()});
  send_error(framework.peer, why, false, false, step);
}

// Many changes may come at once, so reports are sent at most every kReportInterval.
void Master::State::report_dirty(Step& step) {
  const DeadlineKey key{.kind = DeadlineKind::kAskReport, .peer = {}, .id = {}};
  if (deadlines_.armed(key)) return;
  deadlines_.arm(key,
                 reported_at_ ? std::max(step.now, *reported_at_ + kReportInterval) : step.now);
}

// Reports on the frameworks with new declarations, or on all if the cluster or its roles have
// changed.
void Master::State::report_asks(Step& step) {
  report_due_ = false;
  reported_at_ = step.now;
  // While agents are missing, it is unknown which asks could never be met.
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
  std::vector<proto::AskReport::Row> rows;
  for (const AskStatus& ask : allocator_.asks(framework.id())) {
    const auto declared = framework.asks.find(ask.ask);
    if (declared == framework.asks.end()) continue;
    std::string why = limit_against(declared->second, framework.record.role);
    if (why.empty() && !ask.could_ever_fit) {
      why = why_unfit(declared->second, framework.record.role);
    }
    const bool could_ever_fit = why.empty();
    if (could_ever_fit) why = missing_hosts(declared->second);
    rows.push_back({.ask = ask.ask, .could_ever_fit = could_ever_fit, .why = std::move(why)});
  }
  report(framework, std::move(rows), step);
}

// Sends these rows and those of the rejected asks, if they differ from the last report.
void Master::State::report(Framework& framework, std::vector<proto::AskReport::Row>&& rows,
                           Step& step) {
  for (const auto& [ask, why] : framework.rejected_asks) {
    rows.push_back({.ask = ask, .could_ever_fit = false, .why = why});
  }
  std::map<AskName, bool> now;
  for (proto::AskReport::Row& row : rows) {
    row.why = row.why.substr(0, kWhyBytesMax);
    if (!row.why.empty()) now.emplace(row.ask, row.could_ever_fit);
  }
  if (now == framework.reported) return;
  framework.reported = std::move(now);
  step.trace(AsksReported{framework.id(), framework.reported.size()});
  send(framework.peer,
       proto::AskReport{.generation = framework.generation, .rows = std::move(rows)}, step);
}

// Preferred hosts without an agent; empty: none.
std::string Master::State::missing_hosts(const Ask& ask) const {
  std::vector<std::string> missing;
  for (const std::string& host : ask.prefer.hosts) {
    if (agents_.find(AgentId(host)) == nullptr) missing.push_back(host);
  }
  if (missing.empty()) return "";
  const bool is_one = missing.size() == 1;
  return text("it prefers ", listed(missing),
              is_one ? ", which is not an agent" : ", which are not agents",
              " of this cluster: a preferred host must be the name of an agent");
}

// A limit of its role, or of a role above, that is too small for the ask.
std::string Master::State::limit_against(const Ask& ask, const RoleName& role) const {
  const RoleTable& table = allocator_.role_table();
  for (RoleName at = ask.role.empty() ? role : ask.role; !at.empty(); at = parent_of(at)) {
    const auto found = table.find(at);
    if (found == table.end()) continue;
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> limit = found->second.limit[kind];
      if (!limit || ask.shape[kind] * ask.gang <= *limit || ask.count == 0) continue;
      return text("it takes ", named_amount(kind, ask.shape[kind] * ask.gang),
                  ask.gang > 1 ? text(" for its gang of ", ask.gang) : std::string(),
                  ", but the limit of role ", quoted(at.str()), " is ", amount_text(kind, *limit));
    }
  }
  return "";
}

// The first resource or constraint that no agent meets.
std::string Master::State::why_unfit(const Ask& ask, const RoleName& of_framework) const {
  const RoleName& role = ask.role.empty() ? of_framework : ask.role;
  const Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(ask.constraints);
  if (!matcher) return matcher.error().message();
  ResourceVector largest;
  int64_t ports = 0;
  bool meets_constraints = false;
  std::vector<uint16_t> absent = ask.static_ports;  // missing on all agents so far
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
    std::erase_if(absent, [&there = agent.ports](uint16_t port) { return there.contains(port); });
  }
  if (!meets_constraints) {
    std::string wanted;
    for (const Constraint& constraint : ask.constraints) {
      if (!wanted.empty()) wanted += " and ";
      wanted += to_text(constraint);
    }
    return text(kNoAgentMeets, quoted(wanted));
  }
  const std::string_view which = ask.constraints.empty() ? "" : " that meets the constraints";
  if (!absent.empty()) {
    return text("no agent", which, " has port ", absent.front(), " among its ports");
  }
  for (const ResourceKind kind : kResourceKinds) {
    if (ask.shape[kind] <= largest[kind]) continue;
    return text("it takes ", named_amount(kind, ask.shape[kind]), ", but the largest agent", which,
                " has ", amount_text(kind, largest[kind]));
  }
  if (ask.ports > ports) {
    return text("it takes ", ask.ports, " ports, but no agent", which, " has more than ", ports);
  }
  if (ask.gang > 1) {
    return text(ask.gang, " tasks of ", to_text(ask.shape), " must start together, and the agents",
                which.empty() ? "" : " that meet the constraints",
                " have no room for all of them at once");
  }
  return text("no single agent", which, " has all of ", to_text(ask.shape), " at once");
}

}  // namespace proffer::master
