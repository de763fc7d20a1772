#include "frameworks/batch/shell/why.h"

#include <algorithm>

#include "common/explanation.h"
#include "common/text.h"
#include "frameworks/batch/core/elements.h"
#include "frameworks/batch/shell/calls.h"
#include "proto/json/json.h"
#include "sdk/shell/master_call.h"

namespace proffer::batch {
namespace {

// More reasons would not help people.
constexpr size_t kReasonsMax = 3;

// For tasks that would run now if the job had a shorter time limit. The limit of a task with
// several elements is longer than that of the job (Job::time_limit).
std::string limit_text(std::string_view kind, const Remedy& remedy) {
  if (remedy.kind != RemedyKind::kShorterLimit) return "";
  if (!kind.starts_with("map") && !kind.starts_with("reduce") && !kind.starts_with("range")) {
    return "";
  }
  Duration limit = remedy.time_limit;
  if (kind.starts_with("range")) limit = limit - kRangeTime - kRangeMargin;
  if (limit < seconds(1)) return "";
  return text("  with a time_limit of at most ", to_text(seconds(limit.millis() / 1'000)),
              " it could run now, before the claim of ", remedy.framework.str(), " is complete");
}

}  // namespace

std::vector<std::string> why_lines(const std::string& job, const proto::Explanation& all) {
  std::vector<std::string> lines;
  for (const AskExplanation& ask : all.fair.asks) {
    const std::string& name = ask.ask.str();
    if (!name.starts_with(job + ".") || ask.wanted <= ask.offered) continue;
    const std::string kind = name.substr(job.size() + 1);
    const int64_t wanted = ask.wanted - ask.offered;
    lines.push_back(text(kind, ": ", wanted, wanted == 1 ? " task waits" : " tasks wait", " for ",
                         to_text(ask.shape), wanted == 1 ? "" : " each"));
    if (!ask.could_ever_fit) lines.push_back(text("  it fits no agent: ", changes_text(ask)));
    if (ask.usable > 0) {
      lines.push_back(text("  ", ask.usable, " of ", all.fair.agents,
                           " agents could be offered; this framework is number ", all.fair.place,
                           " of ", all.fair.with_demand, " by share"));
    }
    for (size_t i = 0; i < std::min(ask.hindered.size(), kReasonsMax); ++i) {
      lines.push_back(text("  ", ask.hindered[i].agents, " of ", all.fair.agents,
                           " agents: ", to_text(ask.hindered[i])));
    }
    for (const Remedy& remedy : ask.remedies) {
      if (const std::string said = limit_text(kind, remedy); !said.empty()) lines.push_back(said);
    }
    if (!ask.first.empty()) lines.push_back(text("  first: ", owed_text(ask.first)));
  }
  return lines;
}

Result<proto::Explanation> ask_why(const CommandOptions& options, const proto::BatchJob& job) {
  const Result<Masters> masters = sdk::masters_at(options.master);
  if (!masters) return masters.error();
  const Result<sdk::MasterReply> answer =
      sdk::call_master(*masters, "explain",
                       proto::explain_call_json({.framework = job.framework.str()}), kAnswerMax);
  if (!answer) return answer.error();
  return proto::parse_explanation(answer->json);
}

}  // namespace proffer::batch
