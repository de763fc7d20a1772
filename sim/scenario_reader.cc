// Reads a scenario: one function for each of its tables. Read read_document first.

#include "sim/scenario_reader.h"

#include <algorithm>
#include <limits>

#include "common/text.h"
#include "sim/scenario_checker.h"
#include "yaml/read.h"

namespace proffer::sim {
namespace {

using yaml::at;
using yaml::read_list;
using yaml::read_table;
using yaml::read_text;
using yaml::read_value;
using yaml::text_of;
using yaml::texts_of;

Error at_line(const yaml::Node& node, Error error) {
  return std::move(error).in(text("line ", node.line));
}

template <class T>
Result<void> read_whole(std::string_view key, const yaml::Node& node, int64_t min, int64_t max,
                        T& place) {
  int64_t whole = 0;
  Result<void> read = yaml::read_whole(key, node, min, max, whole);
  if (read) place = static_cast<T>(whole);
  return read;
}

Result<void> read_duration(std::string_view key, const yaml::Node& node, Duration max,
                           Duration& place) {
  if (Result<void> ok = read_value(key, node, parse_duration, place); !ok) return ok;
  if (place <= max) return {};
  return at(node, text(key, " must be at most ", to_text(max), ", not ", to_text(place)));
}

Result<void> read_time(std::string_view key, const yaml::Node& node, Duration& place) {
  return read_duration(key, node, kScenarioUntilMax, place);
}

Result<void> read_truth(std::string_view key, const yaml::Node& node, bool& place) {
  const Result<std::string> value = text_of(key, node);
  if (!value) return value.error();
  if (*value != "true" && *value != "false") {
    return at(node, text(key, " must be true or false, not ", quoted(*value)));
  }
  place = *value == "true";
  return {};
}

// A fraction such as 0.015, in millionths.
Result<void> read_rate(std::string_view key, const yaml::Node& node, uint32_t most,
                       uint32_t& place) {
  const Result<std::string> value = text_of(key, node);
  if (!value) return value.error();
  const auto wrong = [&] {
    return at(node, text(key, " must be a fraction from 0 to ", print_milli(most / 1'000),
                         " with at most 6 decimals, for example 0.01, not ", quoted(*value)));
  };
  const size_t point = std::min(value->find('.'), value->size());
  std::string digits = value->substr(0, point);
  std::string decimals = point == value->size() ? "" : value->substr(point + 1);
  const bool has_decimals = !decimals.empty();
  if (digits.empty() || (point != value->size() && !has_decimals) || decimals.size() > 6) {
    return wrong();
  }
  decimals.resize(6, '0');
  const Result<int64_t> whole = parse_whole(key, digits + decimals, 0, most);
  if (!whole) return wrong();
  place = static_cast<uint32_t>(*whole);
  return {};
}

// --- agents --------------------------------------------------------------------------------------

Result<void> read_attributes(const yaml::Node& node, Attributes& place) {
  return read_table("attributes", node, {}, [&](const std::string& name, const yaml::Node& value) {
    if (Result<void> ok = read_text(name, value, place[name]); !ok) return ok;
    Result<void> checked = check_attribute(name, place[name]);
    if (checked && place.size() > kAttributesMax) {
      checked = Error::invalid_argument(text("an agent has at most ", kAttributesMax));
    }
    return checked ? checked : Result<void>(at(value, "attributes", std::move(checked).error()));
  });
}

Result<void> read_reserved(const yaml::Node& node, std::map<RoleName, ResourceVector>& place) {
  return read_table("reserved", node, {}, [&](const std::string& name, const yaml::Node& value) {
    Result<RoleName> role = parse_role(name);
    if (!role) return Result<void>(at(value, "reserved", std::move(role).error()));
    return read_value("reserved", value, parse_shape, place[*role]);
  });
}

Result<void> read_agent(const yaml::Node& node, ScenarioAgent& agent) {
  Result<void> read =
      read_table("an agent", node,
                 {"name", "count", "resources", "attributes", "reserved", "joins", "drains",
                  "drain_grace", "undrains", "leaves", "returns"},
                 [&](const std::string& key, const yaml::Node& value) -> Result<void> {
                   if (key == "name") return read_text(key, value, agent.name);
                   if (key == "count")
                     return read_whole(key, value, 1, kScenarioAgentsMax, agent.count);
                   if (key == "resources") {
                     return read_value(key, value, parse_agent_resources, agent.resources);
                   }
                   if (key == "attributes") return read_attributes(value, agent.attributes);
                   if (key == "reserved") return read_reserved(value, agent.reserved);
                   if (key == "joins") return read_time(key, value, agent.joins);
                   if (key == "drains") return read_time(key, value, agent.drains.emplace());
                   if (key == "drain_grace") return read_time(key, value, agent.drain_grace);
                   if (key == "undrains") return read_time(key, value, agent.undrains.emplace());
                   if (key == "leaves") return read_time(key, value, agent.leaves.emplace());
                   return read_time(key, value, agent.returns.emplace());
                 });
  if (!read) return read;
  if (agent.name.empty()) return at(node, "an agent has no name");
  if (agent.resources == Resources()) return at(node, "an agent has no resources");
  return {};
}

// --- roles ---------------------------------------------------------------------------------------

Result<int64_t> parse_weight(const std::string& value) {
  Result<int64_t> weight = parse_milli(value);
  if (weight && (*weight < kWeightMin || *weight > kWeightMax)) {
    return Error::invalid_argument(text("a weight must be between ", print_milli(kWeightMin),
                                        " and ", print_milli(kWeightMax), ", not ", value));
  }
  return weight;
}

Result<void> read_role(const yaml::Node& node, RoleTable& roles) {
  RoleName name;
  RoleSettings settings;
  Result<void> read =
      read_table("a role", node, {"name", "weight", "guarantee", "limit"},
                 [&](const std::string& key, const yaml::Node& value) -> Result<void> {
                   if (key == "name") return read_value(key, value, parse_role, name);
                   if (key == "weight")
                     return read_value(key, value, parse_weight, settings.weight);
                   return read_value(key, value, parse_quota,
                                     key == "limit" ? settings.limit : settings.guarantee);
                 });
  if (!read) return read;
  if (name.empty()) return at(node, "a role has no name");
  if (!roles.emplace(name, settings).second) {
    return at(node, text("role ", quoted(name.str()), " is given twice"));
  }
  return {};
}

// --- frameworks ----------------------------------------------------------------------------------

Result<void> read_constraints(const yaml::Node& node, std::vector<Constraint>& place) {
  const Result<std::vector<std::string>> all = texts_of("constraints", node);
  if (!all) return all.error();
  for (const std::string& one : *all) {
    Result<Constraint> parsed = parse_constraint(one);
    if (!parsed) return at(node, "constraints", std::move(parsed).error());
    place.push_back(*std::move(parsed));
  }
  return {};
}

Result<void> read_prefer(const yaml::Node& node, Preference& place) {
  return read_table("prefer", node, {"hosts", "racks", "wait"},
                    [&](const std::string& key, const yaml::Node& value) -> Result<void> {
                      if (key == "wait") return read_time(key, value, place.wait);
                      Result<std::vector<std::string>> names = texts_of(key, value);
                      if (!names) return std::move(names).error();
                      (key == "hosts" ? place.hosts : place.racks) = *std::move(names);
                      return {};
                    });
}

Result<void> read_max_per(const yaml::Node& node, std::vector<MaxPer>& place) {
  Result<void> read =
      read_table("max_per", node, {}, [&](const std::string& attribute, const yaml::Node& value) {
        MaxPer& one = place.emplace_back(MaxPer{.attribute = attribute});
        return read_whole(text("max_per ", attribute), value, 1, kAskCountMax, one.count);
      });
  std::sort(place.begin(), place.end(),
            [](const MaxPer& a, const MaxPer& b) { return a.attribute < b.attribute; });
  return read;
}

Result<void> read_running(const yaml::Node& node, std::vector<ScenarioRunning>& place) {
  return read_list("running", node, [&](const yaml::Node& entry) {
    ScenarioRunning& one = place.emplace_back();
    Result<void> read =
        read_table("running", entry, {"agent", "count", "since"},
                   [&](const std::string& key, const yaml::Node& value) -> Result<void> {
                     if (key == "count")
                       return read_whole(key, value, 1, kScenarioTasksMax, one.count);
                     if (key == "since") return read_time(key, value, one.since);
                     std::string agent;
                     Result<void> ok = read_text(key, value, agent);
                     one.agent = AgentId(std::move(agent));
                     return ok;
                   });
    if (read && one.agent.empty()) return Result<void>(at(entry, "running: no agent is named"));
    return read;
  });
}

// A time, forever, or {mean: 60s, spread: 0.5}.
Result<void> read_task_duration(const yaml::Node& node, ScenarioTasks& tasks) {
  if (node.kind != yaml::Node::Kind::kTable) {
    if (node.text == "forever") return {};
    return read_time("duration", node, tasks.duration.emplace());
  }
  Result<void> read = read_table(
      "duration", node, {"mean", "spread"}, [&](const std::string& key, const yaml::Node& value) {
        if (key == "mean") {
          return read_time(key, value, tasks.duration.emplace());
        }
        return read_rate(key, value, kScenarioSpreadMax, tasks.duration_spread);
      });
  if (read && !tasks.duration) {
    return at(node, "a duration needs a mean")
        .with_hint("for example duration: {mean: 60s, spread: 0.5}");
  }
  return read;
}

Result<void> read_arrives(const yaml::Node& node, ScenarioTasks& tasks) {
  constexpr std::string_view kEvery = "every ";
  const Result<std::string> value = text_of("arrives", node);
  if (!value) return value.error();
  const bool repeats = value->starts_with(kEvery);
  Result<Duration> parsed = parse_duration(
      repeats ? trimmed(std::string_view(*value).substr(kEvery.size())) : std::string_view(*value));
  if (parsed && *parsed > kScenarioUntilMax) {
    parsed = Error::invalid_argument(
        text("must be at most ", to_text(kScenarioUntilMax), ", not ", to_text(*parsed)));
  }
  if (!parsed) {
    return at(node, "arrives", std::move(parsed).error())
        .with_hint("for example arrives: 10s, or arrives: every 5s");
  }
  if (repeats) {
    tasks.every = *parsed;
  } else {
    tasks.arrives = *parsed;
  }
  return {};
}

Result<void> read_ask(const std::string& key, const yaml::Node& value, Ask& ask) {
  if (key == "priority")
    return read_whole(key, value, std::numeric_limits<int32_t>::min(),
                      std::numeric_limits<int32_t>::max(), ask.priority);
  if (key == "constraints") return read_constraints(value, ask.constraints);
  if (key == "role") return read_value(key, value, parse_role, ask.role);
  if (key == "spread") return read_text(key, value, ask.spread);
  if (key == "max_per") return read_max_per(value, ask.max_per);
  if (key == "group") return read_text(key, value, ask.group);
  if (key == "prefer") return read_prefer(value, ask.prefer);
  if (key == "gang") return read_whole(key, value, 1, kScenarioTasksMax, ask.gang);
  if (key == "borrow") return read_truth(key, value, ask.borrow);
  if (key == "revocable_ok") return read_truth(key, value, ask.revocable_ok);
  if (key == "time_limit") return read_time(key, value, ask.max_run_time);
  std::string band;
  if (Result<void> ok = read_text(key, value, band); !ok) return ok;
  const std::optional<Band> parsed = parse_band(band);
  if (!parsed) {
    return at(value,
              text("band must be monitoring, production, batch or free, not ", quoted(band)));
  }
  ask.band = *parsed;
  return {};
}

Result<void> read_waves(const yaml::Node& node, ScenarioTasks& tasks) {
  std::vector<ScenarioWave> waves;
  int64_t count = 0;
  Result<void> read = read_list("waves", node, [&](const yaml::Node& entry) -> Result<void> {
    ScenarioWave& wave = waves.emplace_back();
    bool has_duration = false;
    Result<void> one =
        read_table("a wave", entry, {"count", "arrives", "duration"},
                   [&](const std::string& key, const yaml::Node& value) -> Result<void> {
                     if (key == "count")
                       return read_whole(key, value, 1, kScenarioTasksMax, wave.count);
                     if (key == "arrives") return read_time(key, value, wave.arrives);
                     has_duration = true;
                     if (value.text == "forever") return {};
                     return read_time(key, value, wave.duration.emplace());
                   });
    if (!one) return one;
    if (!has_duration) return at(entry, "a wave has no duration");
    if (wave.count > kScenarioTasksMax - count) {
      return at(entry, text("with this wave there are more than the ", kScenarioTasksMax,
                            " tasks that can be simulated"));
    }
    count += wave.count;
    return {};
  });
  if (!read) return read;
  if (waves.empty()) return at(node, "waves must name at least one");
  tasks.set_waves(std::move(waves));
  return {};
}

Result<void> read_tasks(const yaml::Node& node, ScenarioTasks& tasks) {
  bool has_duration = false;
  std::string_view not_with_waves;  // the key that is given
  Result<void> read = read_table(
      "tasks", node,
      {"name", "count",    "resources",   "duration",     "declared_duration", "arrives", "waves",
       "role", "priority", "constraints", "spread",       "max_per",           "group",   "prefer",
       "gang", "band",     "borrow",      "revocable_ok", "time_limit",        "running"},
      [&](const std::string& key, const yaml::Node& value) -> Result<void> {
        for (const std::string_view one : {"count", "duration", "declared_duration", "arrives"}) {
          if (key == one) not_with_waves = one;
        }
        if (key == "waves") return read_waves(value, tasks);
        if (key == "name") return read_text(key, value, tasks.name);
        if (key == "count") return read_whole(key, value, 1, kScenarioTasksMax, tasks.count);
        if (key == "resources") return read_value(key, value, parse_shape, tasks.resources);
        if (key == "duration") {
          has_duration = true;
          return read_task_duration(value, tasks);
        }
        if (key == "declared_duration") return read_truth(key, value, tasks.declared_duration);
        if (key == "arrives") return read_arrives(value, tasks);
        if (key == "running") return read_running(value, tasks.running);
        return read_ask(key, value, tasks.ask);
      });
  if (!read) return read;
  if (tasks.name.empty()) return at(node, "tasks have no name");
  if (tasks.resources.is_zero()) return at(node, "tasks have no resources");
  if (!tasks.waves.empty() && !not_with_waves.empty()) {
    return at(node, text("tasks have waves and ", not_with_waves, "; each wave has its own"));
  }
  const Duration limit = tasks.ask.max_run_time;
  if (limit > Duration() && tasks.duration && *tasks.duration + tasks.duration_width() >= limit) {
    return at(node, text("tasks may run for ", to_text(*tasks.duration + tasks.duration_width()),
                         ", so their time_limit must be longer than that, not ", to_text(limit)));
  }
  if (!has_duration && tasks.waves.empty()) {
    return at(node, "tasks have no duration")
        .with_hint("for example duration: 60s, or duration: forever");
  }
  return {};
}

Result<void> read_framework(const yaml::Node& node, ScenarioFramework& framework) {
  Result<void> read = read_table(
      "a framework", node, {"name", "role", "takes", "answers_after", "joins", "leaves", "tasks"},
      [&](const std::string& key, const yaml::Node& value) -> Result<void> {
        if (key == "name") return read_text(key, value, framework.name);
        if (key == "role") return read_value(key, value, parse_role, framework.role);
        if (key == "answers_after") return read_time(key, value, framework.answers_after);
        if (key == "joins") return read_time(key, value, framework.joins);
        if (key == "leaves") return read_time(key, value, framework.leaves.emplace());
        if (key == "tasks") {
          return read_list(key, value, [&](const yaml::Node& entry) {
            return read_tasks(entry, framework.tasks.emplace_back());
          });
        }
        std::string takes;
        if (Result<void> ok = read_text(key, value, takes); !ok) return ok;
        const std::optional<Takes> parsed = parse_takes(takes);
        if (!parsed) {
          return at(value, text("takes must be asks, open, hoard or decline, not ", quoted(takes)));
        }
        framework.takes = *parsed;
        return {};
      });
  if (!read) return read;
  if (framework.name.empty()) return at(node, "a framework has no name");
  return {};
}

// --- the whole -----------------------------------------------------------------------------------

Result<void> read_network(const yaml::Node& node, ScenarioNetwork& network) {
  return read_table("network", node, {"delay", "loss", "duplicate"},
                    [&](const std::string& key, const yaml::Node& value) -> Result<void> {
                      if (key == "delay") {
                        return read_duration(key, value, kScenarioDelayMax, network.delay);
                      }
                      return read_rate(key, value, kScenarioLossMax,
                                       key == "loss" ? network.loss : network.duplicate);
                    });
}

Result<void> read_options(const yaml::Node& node, std::map<std::string, std::string>& place) {
  master::MasterOptions ignored;
  return read_table("options", node, {}, [&](const std::string& name, const yaml::Node& value) {
    if (Result<void> ok = read_text(name, value, place[name]); !ok) return ok;
    Result<void> set = set_option(name, place[name], ignored);
    return set ? set : Result<void>(at(value, "options", std::move(set).error()));
  });
}

Result<void> read_report_at(const yaml::Node& node, std::vector<Duration>& place) {
  Result<void> read;
  if (node.kind == yaml::Node::Kind::kText) {
    read = read_time("report_at", node, place.emplace_back());
  } else {
    read = read_list("report_at", node, [&](const yaml::Node& entry) {
      return read_time("report_at", entry, place.emplace_back());
    });
  }
  if (!read) return read;
  std::sort(place.begin(), place.end());
  place.erase(std::unique(place.begin(), place.end()), place.end());
  if (place.size() <= kScenarioReportsMax) return {};
  return at(node, text("report_at names ", place.size(), " times; at most ", kScenarioReportsMax,
                       " are allowed"));
}

Result<void> read_row(const std::string& key, const yaml::Node& node, Scenario& scenario,
                      ScenarioChecker& checker) {
  if (key == "seed") {
    return read_whole(key, node, 0, std::numeric_limits<int64_t>::max(), scenario.seed);
  }
  if (key == "until") return read_time(key, node, scenario.until.emplace());
  if (key == "report_at") return read_report_at(node, scenario.report_at);
  if (key == "options") return read_options(node, scenario.options);
  if (key == "network") return read_network(node, scenario.network);
  if (key == "roles") {
    Result<void> read = read_list(
        key, node, [&](const yaml::Node& entry) { return read_role(entry, scenario.roles); });
    if (!read) return read;
    if (scenario.roles.size() > kRolesMax) {
      return at(node, text("roles names ", scenario.roles.size(), " roles; at most ", kRolesMax,
                           " have settings of their own"));
    }
    Result<void> checked = check_roles(scenario.roles);
    return checked ? checked : Result<void>(at_line(node, std::move(checked).error()));
  }
  const auto checked = [&](const yaml::Node& entry, const auto& part) -> Result<void> {
    Result<void> ok = checker.add(part);
    return ok ? ok : Result<void>(at_line(entry, std::move(ok).error()));
  };
  if (key == "agents") {
    return read_list(key, node, [&](const yaml::Node& entry) {
      ScenarioAgent& agent = scenario.agents.emplace_back();
      Result<void> read = read_agent(entry, agent);
      return read ? checked(entry, agent) : read;
    });
  }
  return read_list(key, node, [&](const yaml::Node& entry) {
    ScenarioFramework& framework = scenario.frameworks.emplace_back();
    Result<void> read = read_framework(entry, framework);
    return read ? checked(entry, framework) : read;
  });
}

// Agents before frameworks, which name them, in any order of the text.
Result<Scenario> read_document(const yaml::Node& document) {
  const yaml::Keys keys = {"seed",    "until",  "report_at", "options",
                           "network", "agents", "roles",     "frameworks"};
  std::map<std::string, const yaml::Node*> rows;
  Result<void> read = read_table("a scenario", document, keys,
                                 [&](const std::string& key, const yaml::Node& value) {
                                   rows.emplace(key, &value);
                                   return Result<void>();
                                 });
  if (!read) return std::move(read).error();
  Scenario scenario;
  ScenarioChecker checker;
  for (const std::string_view key : keys) {
    const auto row = rows.find(std::string(key));
    if (row == rows.end()) continue;
    if (Result<void> ok = read_row(row->first, *row->second, scenario, checker); !ok) {
      return std::move(ok).error();
    }
  }
  if (Result<void> ok = checker.check_times(scenario); !ok) return std::move(ok).error();
  return scenario;
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view whole) {
  Result<Scenario> scenario = parse_scenario_part(whole);
  if (scenario && scenario->agents.empty()) {
    return Error::invalid_argument("the scenario has no agents");
  }
  return scenario;
}

Result<Scenario> parse_scenario_part(std::string_view whole) {
  const Result<yaml::Node> document = yaml::parse_document(whole, "a scenario", kScenarioBytesMax);
  if (!document) return document.error();
  return read_document(*document);
}

}  // namespace proffer::sim
