// proffer snapshot: writes the live cluster as a scenario to standard output.

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/live_snapshot.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "proto/json/live_snapshot_json.h"
#include "sim/live_scenario.h"

namespace proffer::cli {

Result<proto::LiveSnapshot> take_snapshot(const Masters& master) {
  proto::LiveSnapshot all;
  std::string after;
  do {
    Result<CallResult> page =
        call(master, "snapshot", proto::live_snapshot_call_json(after), seconds(30));
    if (!page) return std::move(page).error();
    Result<void> parsed = proto::parse_live_snapshot_page(page->json, all);
    if (!parsed) return std::move(parsed).error().in("the master's answer");
    after = std::move(page->next);
  } while (!after.empty());
  return all;
}

int run_snapshot(const Words& words) {
  std::string master_flag;
  std::string until;
  bool json = false;
  Arguments arguments(
      "proffer snapshot [--until TIME] > live.yaml",
      "print the live cluster as a scenario: its agents, roles, frameworks, running tasks and "
      "asks. Edit the scenario, and simulate the effect with `proffer simulate live.yaml`.");
  arguments.master(&master_flag);
  arguments.option("--until", &until,
                   text("end of the scenario, as in 1h (default ", to_text(sim::kLiveUntil), ")"));
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.examples({"proffer snapshot --until 1h > live.yaml", "proffer simulate live.yaml"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  Duration end = sim::kLiveUntil;
  if (!until.empty()) {
    Result<Duration> parsed = parse_duration(until);
    if (parsed && (*parsed <= Duration() || *parsed > sim::kScenarioUntilMax)) {
      parsed = Error::invalid_argument(text("must be above zero and at most ",
                                            to_text(sim::kScenarioUntilMax), ", not ", until));
    }
    if (!parsed) return usage_error(std::move(parsed).error().in("--until"), json);
    end = *parsed;
  }
  const Result<proto::LiveSnapshot> live = take_snapshot(*master);
  if (!live) return print_error(live.error(), json);
  const Result<sim::LiveScenario> scenario = sim::scenario_of(*live, end);
  if (!scenario) return print_error(scenario.error(), json);
  print_lines(sim::to_yaml(*scenario));
  return 0;
}

}  // namespace proffer::cli
