// ConditionWatch::look() makes one examination: each rule reports its findings, and a repeated
// finding keeps the time of the first one.

#include "master/shell/conditions.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::master {
namespace {

using proto::Severity;

constexpr ConditionKind kKinds[] = {
    {Condition::kRegistryStuck, "RegistryStuck", Severity::kCritical},
    {Condition::kAgentsHeldBack, "AgentsHeldBack", Severity::kCritical},
    {Condition::kDescriptorsShort, "DescriptorsShort", Severity::kCritical},
    {Condition::kAgentLost, "AgentLost", Severity::kWarning},
    {Condition::kAgentTakesNoTasks, "AgentTakesNoTasks", Severity::kWarning},
    {Condition::kSchedulerSilent, "SchedulerSilent", Severity::kWarning},
    {Condition::kFrameworkDisconnected, "FrameworkDisconnected", Severity::kWarning},
    {Condition::kRoleBelowGuarantee, "RoleBelowGuarantee", Severity::kWarning},
    {Condition::kAskFitsNowhere, "AskFitsNowhere", Severity::kWarning},
    {Condition::kHistoryNotKept, "HistoryNotKept", Severity::kWarning},
    {Condition::kMasterTimeTaken, "MasterTimeTaken", Severity::kWarning},
};

bool is_away(proto::AgentState state) {
  return state == proto::AgentState::kDisconnected || state == proto::AgentState::kUnreachable;
}

}  // namespace

std::span<const ConditionKind> condition_kinds() { return kKinds; }

class ConditionWatch::Findings {
 public:
  void add(Condition condition, Found found) { found_[condition].push_back(std::move(found)); }
  std::vector<Found> take(Condition condition) { return std::move(found_[condition]); }

 private:
  std::map<Condition, std::vector<Found>> found_;
};

namespace {

template <class Findings>
void look_at_master(const Circumstances& now, Findings& findings) {
  if (now.oldest_write >= kRegistryStuckAfter) {
    findings.add(
        Condition::kRegistryStuck,
        {"registry",
         text("a write has waited for ", to_text(seconds(now.oldest_write.millis() / 1000)),
              ": the master sends no decision made since then"),
         text("df -h ", now.data_dir)});
  }
  if (now.descriptors_max > 0 &&
      now.descriptors * 100 >= now.descriptors_max * kDescriptorsPercent) {
    findings.add(Condition::kDescriptorsShort,
                 {"master",
                  text(now.descriptors, " descriptors are open of ", now.descriptors_max,
                       " that are allowed: at that limit, new connections fail"),
                  text("prlimit --nofile --pid ", now.pid)});
  }
  for (const LoopUse& use : now.loop) {
    findings.add(Condition::kMasterTimeTaken,
                 {use.object,
                  text("it takes ", use.percent, " % of the master's time, with ",
                       use.frames_per_second, " messages a second, for work that starts no task"),
                  "proffer events -f"});
  }
  const auto not_kept = [&](std::string_view log, const std::string& why) {
    if (why.empty()) return;
    findings.add(Condition::kHistoryNotKept, {std::string(log), text("it cannot be written: ", why),
                                              text("df -h ", now.data_dir)});
  };
  not_kept("history", now.status.history);
  not_kept("events", now.event_log);
}

template <class Findings>
void look_at_agents(const Circumstances& now, Findings& findings) {
  for (const proto::AgentRow& row : now.agents) {
    const std::string& name = row.agent.str();
    const std::string events = text("proffer events --agent=", name);
    if (row.held_back) {
      findings.add(Condition::kAgentsHeldBack,
                   {name, "silent but held back by the brake: too many agents are silent at once",
                    "proffer agents"});
    } else if (is_away(row.state)) {
      findings.add(
          Condition::kAgentLost,
          {name, text("it is ", to_text(row.state), ", with ", row.tasks, " tasks"), events});
    } else if (row.state == proto::AgentState::kConnected && !row.trouble.empty()) {
      findings.add(Condition::kAgentTakesNoTasks,
                   {name, text("it takes no tasks: ", row.trouble), events});
    }
  }
}

template <class Findings>
void look_at_asks(const Circumstances& now, Findings& findings) {
  for (const proto::FrameworkRow& row : now.frameworks) {
    const std::string& name = row.framework.str();
    if (row.state == proto::FrameworkState::kDisconnected) {
      findings.add(Condition::kFrameworkDisconnected,
                   {name,
                    text("its scheduler is not connected; its ", row.tasks,
                         " tasks are killed after ", to_text(row.failover_timeout)),
                    text("proffer events --framework=", name), row.user});
    }
    int64_t impossible = 0;
    std::string first;
    for (const proto::AskRow& ask : row.asks) {
      if (ask.could_ever_fit || ask.wanted == 0) continue;
      if (impossible == 0) first = to_text(ask.shape);
      impossible += ask.wanted;
    }
    if (impossible == 0) continue;
    findings.add(Condition::kAskFitsNowhere,
                 {name,
                  text(impossible,
                       impossible == 1 ? " task fits on no agent: "
                                       : " tasks fit on no agent, such as one of ",
                       first),
                  text("proffer explain framework ", name), row.user});
  }
}

template <class Findings>
void look_at_roles(const Circumstances& now, Findings& findings) {
  for (const proto::RoleRow& row : now.roles) {
    if (row.guarantee_met || row.guarantee.empty()) continue;
    const std::string use = to_text(row.allocated);
    findings.add(Condition::kRoleBelowGuarantee,
                 {row.role.str(),
                  text("it wants more, its guarantee is ", to_text(row.guarantee), ", and it uses ",
                       use.empty() ? "nothing" : use),
                  text("proffer explain role ", row.role.str())});
  }
}

}  // namespace

// An expired offer, or one that was rescinded since it stayed unanswered, is made again and ends
// again: the count grows as long as the scheduler is silent.
void ConditionWatch::look_at_schedulers(const Circumstances& now, Findings& findings) {
  std::map<std::string, Expired> seen;
  for (const FrameworkSeriesRow& row : now.series) {
    Expired next{.count = row.figures.expired + row.figures.unanswered};
    if (const auto before = expired_.find(row.framework); before != expired_.end()) {
      const Expired& was = before->second;
      next.grew = next.count > was.count ? now.status.now : was.grew;
      next.is_growing = next.count > was.count || was.is_growing;
    } else if (next.count > 0) {
      next.grew = now.status.now;
      next.is_growing = true;
    }
    next.is_growing = next.is_growing && now.status.now - next.grew <= kSilentFor;
    if (next.is_growing) {
      const bool is_one = row.framework != "other";
      findings.add(
          Condition::kSchedulerSilent,
          {row.framework,
           text("it does not answer offers: ", row.figures.expired, " have expired, ",
                row.figures.unanswered,
                " were rescinded earlier, and others could not use their resources ", "meanwhile"),
           is_one ? text("proffer explain framework ", row.framework) : "proffer offers"});
    }
    seen.emplace(row.framework, next);
  }
  expired_ = std::move(seen);
}

// The frameworks of one user must not hide those of others.
std::vector<ConditionWatch::Found> ConditionWatch::sums_by_user(std::vector<Found> found) {
  std::map<std::string, size_t> frameworks;
  for (const Found& one : found) {
    if (!one.user.empty()) ++frameworks[one.user];
  }
  std::vector<Found> sums;
  std::map<std::string, size_t> at;  // in `sums`
  for (Found& one : found) {
    const size_t all = one.user.empty() ? 0 : frameworks[one.user];
    if (all <= kConditionsOfUserMax) {
      sums.push_back(std::move(one));
    } else if (at.try_emplace(one.user, sums.size()).second) {
      sums.push_back({.object = text("user ", one.user),
                      .message = text(all, " frameworks, such as ", one.object, ": ", one.message),
                      .command = "proffer frameworks",
                      .objects = static_cast<int64_t>(all)});
    }
  }
  return sums;
}

void ConditionWatch::look(const Circumstances& now) {
  Findings findings;
  look_at_master(now, findings);
  look_at_agents(now, findings);
  look_at_schedulers(now, findings);
  look_at_asks(now, findings);
  look_at_roles(now, findings);

  std::map<Key, Time> since;
  rows_.clear();
  for (const ConditionKind& kind : kKinds) {
    std::vector<Found> found = findings.take(kind.condition);
    counts_[kind.condition] = static_cast<int64_t>(found.size());
    found = sums_by_user(std::move(found));
    if (found.size() > kConditionsOfKindMax) {
      int64_t rest = 0;
      for (size_t i = kConditionsOfKindMax - 1; i < found.size(); ++i) rest += found[i].objects;
      found.resize(kConditionsOfKindMax - 1);
      found.push_back({"others", text(rest, " more"), found.front().command});
    }
    for (Found& one : found) {
      const Key key(kind.condition, one.object);
      const auto known = since_.find(key);
      const Time begin = known == since_.end() ? now.status.now : known->second;
      since.emplace(key, begin);
      rows_.push_back({.condition = std::string(kind.name),
                       .severity = kind.severity,
                       .object = std::move(one.object),
                       .message = std::move(one.message),
                       .since = begin,
                       .command = std::move(one.command)});
    }
  }
  since_ = std::move(since);
}

int64_t ConditionWatch::count(Condition condition) const {
  const auto found = counts_.find(condition);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace proffer::master
