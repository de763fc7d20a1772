// proffer explain framework NAME | role PATH | task FRAMEWORK/TASK: why a framework, role or task
// waits. explain_lines() writes the text.

#include "cli/explain.h"

#include <algorithm>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/pending.h"
#include "common/text.h"
#include "proto/json/forecast_json.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr size_t kHeadColumns = 12;

std::string line(const std::string& head, const std::string& rest) {
  const size_t spaces = head.size() < kHeadColumns ? kHeadColumns - head.size() : 1;
  return head + std::string(spaces, ' ') + rest;
}

std::string amounts_or_nothing(const ResourceVector& amounts) {
  const std::string words = to_text(amounts);
  return words.empty() ? "nothing" : words;
}

std::string agents_text(int64_t count, int64_t all) {
  return text(count, " of ", all, all == 1 ? " agent" : " agents");
}

// One line per reason; the reason with most agents comes first.
void add_reasons(const std::vector<HinderedAgents>& hindered, int64_t usable, int64_t agents,
                 Time now, std::vector<std::string>& lines) {
  if (usable > 0) {
    lines.push_back(line("", text(agents_text(usable, agents), ": could be offered")));
  }
  for (const HinderedAgents& row : hindered) {
    std::string said = text(agents_text(row.agents, agents), ": ", to_text(row));
    if (row.until) said += text(", the first one ends in ", age(*row.until - now));
    if (!row.example.empty()) said += text(" [", row.example.str(), "]");
    lines.push_back(line("", said));
  }
}

void add_ask(const AskExplanation& ask, int64_t agents, Time now, std::vector<std::string>& lines) {
  std::string said;
  if (ask.ask.empty()) {
    said = text("implied by its answers, or guessed: tasks of ", to_text(ask.shape));
  } else {
    said = text(quoted(ask.ask.str()), " wants ", ask.wanted, " of ", to_text(ask.shape));
  }
  if (ask.ports > 0) said += text(" and ", ask.ports, ask.ports == 1 ? " port" : " ports");
  if (!ask.ask.empty()) said += text("; ", ask.offered, " offered");
  if (!ask.claimed.empty()) said += text("; agent ", ask.claimed.str(), " has a claim for it");
  if (ask.claim_complete_at) {
    said +=
        text(", with room in ", age(*ask.claim_complete_at - now), " if tasks end when they say");
  }
  lines.push_back(line("ask", said));
  if (!ask.could_ever_fit) lines.push_back(line("", text("fits no agent: ", changes_text(ask))));
  add_reasons(ask.hindered, ask.usable, agents, now, lines);
  if (!ask.first.empty()) lines.push_back(line("first", owed_text(ask.first)));
  for (size_t i = 0; i < ask.remedies.size(); ++i) {
    const Remedy& remedy = ask.remedies[i];
    std::string what = to_text(remedy);
    if (remedy.until) what += text(", within ", age(*remedy.until - now));
    if (!remedy.first.empty()) what += text(", unless taken first by ", listed(remedy.first));
    lines.push_back(line(i == 0 ? "would fit" : "", what));
  }
}

// "no offers for another 2.1s, since 5 accepts in a row launched nothing".
std::string wait_text(const proto::ExplainedWait& wait, Time now) {
  return text("no offers for another ", age(wait.until - now), ", since ", wait.failures,
              wait.failures == 1 ? " accept launched" : " accepts in a row launched", " nothing");
}

// Hindrances that the scheduler itself causes.
void add_behaviour(const proto::Explanation& all, std::vector<std::string>& lines) {
  std::string head = "waits";
  for (const proto::ExplainedWait& wait : all.waits) {
    lines.push_back(
        line(head, text(wait.ask.empty() ? "" : text("ask ", quoted(wait.ask.str()), ": "),
                        wait_text(wait, all.now))));
    head.clear();
  }
  if (all.refusals.count > 0) {
    std::string reasons;
    for (const proto::ExplainedRefusals::OfReason& one : all.refusals.by_reason) {
      reasons += text(reasons.empty() ? "" : ", ", one.count, " ", proto::to_text(one.reason));
    }
    lines.push_back(line(
        "refused",
        text(all.refusals.count, all.refusals.count == 1 ? " launch: " : " launches: ", reasons)));
    std::string last = text("the last ", age(all.now - all.refusals.at), " ago, task ",
                            quoted(all.refusals.task.str()));
    if (!all.refusals.message.empty()) last += text(": ", all.refusals.message);
    lines.push_back(line("", last));
  }
  for (const proto::ExplainedRemark& remark : all.remarks) {
    lines.push_back(line(remark.rejected ? "rejected" : "remark",
                         text("ask ", quoted(remark.ask.str()), ": ", remark.why)));
  }
  if (all.unanswered > 0) {
    lines.push_back(line("unanswered", text(all.unanswered, " offers in all, ",
                                            all.unanswered_in_a_row, " since its last answer")));
  }
}

}  // namespace

std::vector<std::string> explain_lines(const proto::Explanation& all) {
  const FrameworkExplanation& fair = all.fair;
  std::vector<std::string> lines;
  lines.push_back(line("answer", all.answer));
  lines.push_back(
      line("framework",
           text(fair.framework.str(), ", role ", fair.role.str(), " of weight ",
                print_milli(fair.weight), ", ", fair.active ? "connected" : "not connected",
                ", gets ", fair.mode == OfferMode::kOpen ? "open offers" : "offers for asks",
                fair.suppressed ? ", suppressed" : "")));
  lines.push_back(
      line("share", text(percent(fair.share_millionths), " of the cluster, by ",
                         to_text(fair.dominant_kind), ": ", amounts_or_nothing(fair.allocated),
                         " allocated, ", amounts_or_nothing(fair.offered), " offered")));
  if (fair.place == 0) {
    const bool waits = !all.waits.empty();
    const std::string_view others = fair.with_demand == 1 ? " other wants" : " others want";
    lines.push_back(
        line("place", text(waits ? wait_text(all.waits.front(), all.now) : "it wants nothing now",
                           "; ", fair.with_demand, others, " resources")));
  } else {
    std::string place =
        text(fair.place, " of ", fair.with_demand, " by share, of those that want resources");
    for (size_t i = 0; i < fair.before.size(); ++i) {
      place += text(i == 0 ? "; lower shares: " : ", ", fair.before[i].framework.str(), " (",
                    percent(fair.before[i].share_millionths), ")");
    }
    if (fair.place > static_cast<int64_t>(fair.before.size()) + 1) place += ", …";
    lines.push_back(line("place", place));
  }
  std::string head = "offers";
  if (all.offers.empty()) lines.push_back(line(head, "none outstanding"));
  for (const proto::OfferRow& row : all.offers) {
    lines.push_back(
        line(head, text(row.offer.value(), ": ", to_text(row.resources), " of ", row.agent.str(),
                        ", for another ", age(row.expires - all.now))));
    head.clear();
  }
  if (fair.declined > 0) {
    lines.push_back(line("declined", text(agents_text(fair.declined, fair.agents), " for now")));
  }
  if (fair.mode == OfferMode::kOpen) {
    add_reasons(fair.hindered, fair.usable, fair.agents, all.now, lines);
  }
  add_behaviour(all, lines);
  for (const AskExplanation& ask : fair.asks) add_ask(ask, fair.agents, all.now, lines);
  if (const int64_t rest = fair.asks_unmet - static_cast<int64_t>(fair.asks.size()); rest > 0) {
    lines.push_back(line("", text("and ", rest, " more unmet")));
  }
  return lines;
}

namespace {

std::string quota_or_none(const Quota& quota) {
  return quota.empty() ? "none" : proffer::to_text(quota);
}

// "ops 12.5%: cpus:2 used, entitled to cpus:1, borrowed cpus:1".
std::string node_text(const NodeStanding& node) {
  std::string said = text(node.is_framework ? "framework " : "", node.name, " ",
                          percent(node.place_share_millionths), ": ", amounts_or_nothing(node.use),
                          " used, entitled to ", amounts_or_nothing(node.entitlement));
  if (!node.borrowed.is_zero()) said += text(", borrowed ", to_text(node.borrowed));
  if (node.wants) said += ", wants more";
  if (node.lag >= seconds(1)) said += text(", lag ", age(node.lag));
  return said;
}

void add_held(const proto::ExplainedRole& all, std::vector<std::string>& lines) {
  std::string head = "held back";
  for (const HeldAsks& held : all.fair.held) {
    std::string said = text(held.asks, held.asks == 1 ? " ask for " : " asks for ", held.tasks,
                            held.tasks == 1 ? " task: " : " tasks: ", to_text(held));
    if (held.until) said += text(", within ", age(*held.until - all.now));
    if (held.lag >= seconds(1)) said += text("; lag ", age(held.lag));
    lines.push_back(
        line(head, text(said, " [", held.framework.str(), " ", quoted(held.ask.str()), "]")));
    head.clear();
  }
}

void add_nodes(std::string head, const std::vector<NodeStanding>& nodes,
               std::vector<std::string>& lines) {
  for (const NodeStanding& node : nodes) {
    lines.push_back(line(head, node_text(node)));
    head.clear();
  }
}

// What protects the task from preemption, and what may preempt it.
void add_standing(const TaskStanding& standing, Time now, std::vector<std::string>& lines) {
  std::string takes = text(amounts_or_nothing(standing.amounts), " in role ", standing.role.str(),
                           ", band ", to_text(standing.band));
  if (standing.priority != 0) takes += text(", priority ", standing.priority);
  if (standing.gang != 0) takes += text(", in gang ", standing.gang);
  if (standing.is_lent) takes += ", lent from what is kept for others";
  if (standing.is_estimated) takes += ", from resources that its agent estimates to be free";
  lines.push_back(line("takes", takes));
  std::string head = "borrowed";
  for (const OverStanding& over : standing.over) {
    lines.push_back(line(
        head, text(over.name, " has ", to_text(over.borrowed), " more than it is entitled to")));
    head.clear();
  }
  if (!standing.guaranteed_by.empty()) {
    lines.push_back(
        line("protected", text("by the guarantee of role ", standing.guaranteed_by.str())));
  }
  if (standing.protected_until) {
    lines.push_back(line("protected", text("by the minimum runtime for another ",
                                           age(*standing.protected_until - now))));
  }
  head = "victim";
  for (const Beneficiary& one : standing.victim_for) {
    std::string said = text("would be preempted for the ask ", quoted(one.ask.str()), " of ",
                            one.framework.str(), " in role ", one.role.str());
    if (one.from && *one.from > now) said += text(", in ", age(*one.from - now));
    lines.push_back(line(head, said));
    head.clear();
  }
}

}  // namespace

std::vector<std::string> explain_lines(const proto::ExplainedRole& all) {
  const RoleExplanation& fair = all.fair;
  std::vector<std::string> lines;
  lines.push_back(line("answer", all.answer));
  lines.push_back(line("role", text(fair.role.str(), ", weight ", print_milli(fair.settings.weight),
                                    ", guarantee ", quota_or_none(fair.settings.guarantee),
                                    fair.guarantee_met ? "" : " (not reached)", ", limit ",
                                    quota_or_none(fair.settings.limit))));
  lines.push_back(
      line("share", text(percent(fair.share_millionths), " of the cluster, by ",
                         to_text(fair.dominant_kind), ": ", amounts_or_nothing(fair.allocated),
                         " allocated, ", amounts_or_nothing(fair.offered), " offered")));
  lines.push_back(line("entitled", text("to ", amounts_or_nothing(fair.entitlement), "; borrowed ",
                                        amounts_or_nothing(fair.borrowed))));
  lines.push_back(line("lag", text(age(fair.lag), " behind its entitlement; at most ",
                                   age(fair.lag_most), " until now")));
  if (fair.place == 0) {
    lines.push_back(
        line("place", text("it wants nothing now; ", fair.with_demand, " of its siblings ",
                           fair.with_demand == 1 ? "wants resources" : "want resources")));
  } else {
    lines.push_back(line("place", text(fair.place, " of ", fair.with_demand,
                                       " siblings that want resources; weighted share ",
                                       percent(fair.place_share_millionths))));
    add_nodes("before it", fair.before, lines);
  }
  std::string head = "limits";
  for (const LimitStanding& limit : fair.limits) {
    lines.push_back(line(head, text(limit.role.str(), ": ", amounts_or_nothing(limit.use), " of ",
                                    proffer::to_text(limit.limit))));
    head.clear();
  }
  if (!fair.headroom.is_zero()) {
    lines.push_back(
        line("headroom", text(to_text(fair.headroom), " guaranteed and not used, ",
                              fair.headroom_is_held ? "held for it" : "lent to others for now")));
  }
  add_held(all, lines);
  add_nodes("borrowers", fair.borrowers, lines);
  head = "coming";
  for (const ComingTask& task : fair.coming) {
    lines.push_back(
        line(head, text(task.framework.str(), "/", task.task.str(), " of role ", task.role.str(),
                        " ends on ", task.agent.str(), " within ", age(task.deadline - all.now))));
    head.clear();
  }
  add_nodes("in it", fair.children, lines);
  if (const int64_t rest = fair.children_all - static_cast<int64_t>(fair.children.size());
      rest > 0) {
    lines.push_back(line("", text("and ", rest, " more")));
  }
  return lines;
}

std::vector<std::string> explain_lines(const proto::ExplainedTask& all) {
  std::vector<std::string> lines;
  const proto::TaskRow& row = all.row;
  const std::string name = text(row.framework.str(), "/", row.task.str());
  lines.push_back(line("answer", all.answer));
  if (!all.is_known) {
    lines.push_back(line("task", text(name, ", not known")));
    for (const AskExplanation& ask : all.asks) add_ask(ask, all.agents, all.now, lines);
    return lines;
  }
  lines.push_back(line(
      "task",
      text(name, " on agent ", row.agent.str(), ", ", proto::to_text(row.state), " for ",
           age(all.now - row.changed_at), ", launched ", age(all.now - row.launched_at), " ago")));
  if (row.exit_code) lines.push_back(line("exit", text("code ", *row.exit_code)));
  if (row.signal) lines.push_back(line("exit", text("signal ", *row.signal)));
  if (all.standing) add_standing(*all.standing, all.now, lines);
  if (all.notice) {
    std::string said = text("must end within ", age(all.notice->deadline - all.now), ": ",
                            to_text(all.notice->reason));
    if (!all.notice->beneficiary.empty()) {
      said += text(" for role ", all.notice->beneficiary.str());
    }
    lines.push_back(line("notice", said));
  }
  if (all.drained_by) lines.push_back(line("draining", text("agent ", row.agent.str())));
  return lines;
}

// Start forecasts of the first asks, as many as are explained.
std::vector<std::string> start_lines(const std::vector<proto::PendingRow>& pending) {
  std::vector<std::string> lines;
  for (const proto::PendingRow& row : pending) {
    if (lines.size() == kAsksExplainedMax) break;
    lines.push_back(line(lines.empty() ? "start" : "",
                         text("ask ", quoted(row.ask.str()), ": ", start_text(row))));
  }
  return lines;
}

namespace {

// Prints the master's answer, the JSON form of a Value.
template <class Value>
int print_explanation(const std::string& json, Result<Value> (*parse)(std::string_view)) {
  const Result<Value> value = parse(json);
  if (!value) return print_error(value.error(), false);
  for (const std::string& said : explain_lines(*value)) print_line(said);
  return 0;
}

// Limits the wait for a forecast to 2 s, so that the rest of an explanation is not late.
constexpr int kForecastAsks = 10;

constexpr std::string_view kExplainUsage = "proffer explain framework|role|task NAME [--json]";

}  // namespace

int run_explain(const Words& words) {
  std::string master_flag;
  std::string what;
  std::string name;
  bool json = false;
  Arguments arguments(
      std::string(kExplainUsage),
      "explain why a framework, role or task waits, and name the change that would make it fit");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.required("WHAT", &what, "framework, role or task");
  arguments.optional(
      "NAME", &name,
      "framework id, name or id prefix; role path; or FRAMEWORK/TASK or a unique prefix of it");
  arguments.examples({"proffer explain framework web", "proffer explain role eng/ads",
                      "proffer explain task web-17-3/web.1"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  proto::ExplainCall asked;
  if (what == "framework") {
    asked.framework = name;
  } else if (what == "role") {
    asked.role = name;
  } else if (what == "task") {
    asked.task = name;
  } else {
    return usage_error(
        Error::invalid_argument(text("WHAT must be framework, role or task, not ", quoted(what)))
            .with_hint(text("usage: ", kExplainUsage)),
        json);
  }
  if (name.empty()) {
    return usage_error(no_name("explain", what), json);
  }
  Result<CallResult> answer = CallResult();
  std::vector<proto::PendingRow> pending;
  const auto ask = [&]() -> Result<void> {
    answer = call(*master, "explain", proto::explain_call_json(asked));
    if (!answer) return answer.error();
    if (asked.framework.empty()) return {};
    Result<std::vector<proto::PendingRow>> rows = proto::parse_pending_of_explanation(answer->json);
    if (!rows) return std::move(rows).error().in("the master's answer");
    pending = *std::move(rows);
    return {};
  };
  Result<void> told = ask();
  // An explanation is costly for the master, so poll the cheap list until the forecast is there.
  if (told && waits_for_forecast(pending)) {
    proto::PendingPage page;
    const std::string own = text(pending.front().framework.str(), "/");
    told = ask_until_forecast([&] { return read_pending(*master, own, page); }, page.asks,
                              kForecastAsks);
    if (told) told = ask();
  }
  if (!told) return print_error(told.error(), json);
  if (json) {
    print_json(answer->json);
    return 0;
  }
  if (what == "role") return print_explanation(answer->json, proto::parse_explained_role);
  if (what == "task") return print_explanation(answer->json, proto::parse_explained_task);
  if (const int failed = print_explanation(answer->json, proto::parse_explanation)) return failed;
  for (const std::string& said : start_lines(pending)) print_line(said);
  return 0;
}

}  // namespace proffer::cli
