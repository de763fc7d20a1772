// proffer explain framework NAME: why it has no offer. explain_lines() says it for people.

#include "cli/explain.h"

#include <algorithm>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
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

// One line for each reason, most agents first.
void add_reasons(const std::vector<HinderedAgents>& hindered, int64_t usable,
                 const proto::Explanation& all, std::vector<std::string>& lines) {
  if (usable > 0) {
    lines.push_back(line("", text(agents_text(usable, all.fair.agents), ": could be offered")));
  }
  for (const HinderedAgents& row : hindered) {
    std::string said = text(agents_text(row.agents, all.fair.agents), ": ", to_text(row));
    if (row.until) said += text(", the first for another ", age(*row.until - all.now));
    if (!row.example.empty()) said += text(" [", row.example.str(), "]");
    lines.push_back(line("", said));
  }
}

void add_ask(const AskExplanation& ask, const proto::Explanation& all,
             std::vector<std::string>& lines) {
  std::string said = text(quoted(ask.ask.str()), " wants ", ask.wanted, " of ", to_text(ask.shape));
  if (ask.ports > 0) said += text(" and ", ask.ports, ask.ports == 1 ? " port" : " ports");
  said += text("; ", ask.offered, " offered");
  if (!ask.claimed.empty()) said += text("; agent ", ask.claimed.str(), " is set aside for it");
  lines.push_back(line("ask", said));
  if (!ask.could_ever_fit) lines.push_back(line("", text("fits no agent: ", changes_text(ask))));
  add_reasons(ask.hindered, ask.usable, all, lines);
  for (size_t i = 0; i < ask.remedies.size(); ++i) {
    const Remedy& remedy = ask.remedies[i];
    std::string what = to_text(remedy);
    if (remedy.until) what += text(", within ", age(*remedy.until - all.now));
    lines.push_back(line(i == 0 ? "would fit" : "", what));
  }
}

}  // namespace

std::vector<std::string> explain_lines(const proto::Explanation& all) {
  const FrameworkExplanation& fair = all.fair;
  std::vector<std::string> lines;
  lines.push_back(line("answer", all.answer));
  lines.push_back(line(
      "framework", text(fair.framework.str(), ", role ", fair.role.str(), " of weight ",
                        print_milli(fair.weight), ", ", fair.active ? "connected" : "not connected",
                        ", takes ", fair.mode == OfferMode::kOpen ? "open offers" : "asks",
                        fair.suppressed ? ", suppressed" : "")));
  lines.push_back(
      line("share", text(percent(fair.share_millionths), " of the cluster, by ",
                         to_text(fair.dominant_kind), ": ", amounts_or_nothing(fair.allocated),
                         " allocated, ", amounts_or_nothing(fair.offered), " offered")));
  if (fair.place == 0) {
    lines.push_back(line("place", text("it wants nothing now; ", fair.with_demand,
                                       fair.with_demand == 1 ? " other does" : " others do")));
  } else {
    std::string place = text(fair.place, " of ", fair.with_demand, " with demand");
    for (size_t i = 0; i < fair.before.size(); ++i) {
      place += text(i == 0 ? "; less has " : ", ", fair.before[i].framework.str(), " (",
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
    add_reasons(fair.hindered, fair.usable, all, lines);
  }
  for (const AskExplanation& ask : fair.asks) add_ask(ask, all, lines);
  if (const int64_t rest = fair.asks_unmet - static_cast<int64_t>(fair.asks.size()); rest > 0) {
    lines.push_back(line("", text("and ", rest, " more that are not met")));
  }
  return lines;
}

int run_explain(const Words& words) {
  std::string master_flag;
  std::string what;
  std::string name;
  bool json = false;
  Arguments arguments("proffer explain framework NAME [--json]",
                      "why a framework has no offer, or no more of them");
  arguments.option("--master", &master_flag, "the master's HOST:PORT");
  arguments.flag("--json", &json, "print one JSON object");
  arguments.required("WHAT", &what, "framework");
  arguments.required("NAME", &name, "its id, its name or a unique prefix of its id");
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Address> master = master_address(master_flag);
  if (!master) {
    print_error(master.error(), json);
    return kExitUsage;
  }
  if (what != "framework") {
    print_error(
        Error::invalid_argument(text("what can be explained is a framework, not a ", quoted(what)))
            .with_hint("proffer explain framework NAME"),
        json);
    return kExitUsage;
  }
  const Result<CallResult> answer = call(*master, "explain", proto::explain_call_json(name));
  if (!answer) return print_error(answer.error(), json);
  if (json) {
    print_line(answer->json);
    return 0;
  }
  const Result<proto::Explanation> explanation = proto::parse_explanation(answer->json);
  if (!explanation) return print_error(explanation.error(), false);
  for (const std::string& said : explain_lines(*explanation)) print_line(said);
  return 0;
}

}  // namespace proffer::cli
