// Writes a scenario: one line each for an agent, a role and an entry of tasks. Rows omits defaults.

#include "sim/scenario_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/text.h"

namespace proffer::sim {
namespace {

// In double quotes, unless it certainly parses as itself without them.
std::string yaml_text(std::string_view raw) {
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool plain = !raw.empty() && is_letter(raw.front()) &&
                     std::all_of(raw.begin(), raw.end(),
                                 [&](char c) {
                                   return is_letter(c) || (c >= '0' && c <= '9') || c == '-' ||
                                          c == '_' || c == '.' || c == '/';
                                 }) &&
                     std::none_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) {
                       return word.size() == raw.size() &&
                              std::equal(raw.begin(), raw.end(), word.begin(),
                                         [](char a, char b) { return (a | 0x20) == b; });
                     });
  if (plain) return std::string(raw);
  std::string out = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

template <class Names>
std::string list_of(const Names& names) {
  std::string out = "[";
  for (const auto& name : names) out += text(out.size() > 1 ? ", " : "", yaml_text(name));
  return out + ']';
}

// The rows of a table in braces.
class Rows {
 public:
  // A value as YAML.
  Rows& add(std::string_view key, const std::string& yaml) {
    out_ += text(out_.empty() ? "" : ", ", key, ": ", yaml);
    return *this;
  }
  Rows& add_text(std::string_view key, std::string_view value) {
    return add(key, yaml_text(value));
  }
  // Omitted if it has its default.
  Rows& add_duration(std::string_view key, Duration value, Duration otherwise = {}) {
    return value == otherwise ? *this : add(key, proffer::to_text(value));
  }
  Rows& add_duration(std::string_view key, const std::optional<Duration>& value) {
    return value ? add(key, proffer::to_text(*value)) : *this;
  }
  Rows& add_number(std::string_view key, int64_t value, int64_t otherwise) {
    return value == otherwise ? *this : add(key, std::to_string(value));
  }
  std::string str() const { return "{" + out_ + "}"; }
  bool empty() const { return out_.empty(); }

 private:
  std::string out_;
};

// 15000 millionths: "0.015".
std::string rate(uint32_t millionths) {
  return fmt::format("{}.{:06}", millionths / 1'000'000, millionths % 1'000'000);
}

std::string agent_yaml(const ScenarioAgent& agent) {
  Rows rows;
  rows.add_text("name", agent.name).add_number("count", agent.count, 1);
  rows.add_text("resources", proffer::to_text(agent.resources));
  if (!agent.attributes.empty()) {
    Rows attributes;
    for (const auto& [name, value] : agent.attributes) {
      attributes.add_text(yaml_text(name), value);
    }
    rows.add("attributes", attributes.str());
  }
  if (!agent.reserved.empty()) {
    Rows reserved;
    for (const auto& [role, amounts] : agent.reserved) {
      reserved.add_text(yaml_text(role.str()), proffer::to_text(amounts));
    }
    rows.add("reserved", reserved.str());
  }
  rows.add_duration("joins", agent.joins);
  rows.add_duration("drains", agent.drains);
  rows.add_duration("drain_grace", agent.drain_grace, ScenarioAgent().drain_grace);
  rows.add_duration("undrains", agent.undrains);
  rows.add_duration("leaves", agent.leaves).add_duration("returns", agent.returns);
  return rows.str();
}

std::string role_yaml(const RoleName& role, const RoleSettings& settings) {
  Rows rows;
  rows.add_text("name", role.str());
  if (settings.weight != kWeightOne) rows.add("weight", print_milli(settings.weight));
  if (!settings.guarantee.empty()) rows.add_text("guarantee", to_text(settings.guarantee));
  if (!settings.limit.empty()) rows.add_text("limit", to_text(settings.limit));
  return rows.str();
}

void add_ask(const Ask& ask, Rows& rows) {
  if (!ask.role.empty()) rows.add_text("role", ask.role.str());
  rows.add_number("priority", ask.priority, 0);
  if (!ask.constraints.empty()) {
    std::vector<std::string> constraints;
    for (const Constraint& one : ask.constraints) constraints.push_back(to_text(one));
    rows.add("constraints", list_of(constraints));
  }
  if (!ask.spread.empty()) rows.add_text("spread", ask.spread);
  if (!ask.max_per.empty()) {
    Rows max_per;
    for (const MaxPer& one : ask.max_per) {
      max_per.add(yaml_text(one.attribute), std::to_string(one.count));
    }
    rows.add("max_per", max_per.str());
  }
  if (!ask.group.empty()) rows.add_text("group", ask.group);
  Rows prefer;
  if (!ask.prefer.hosts.empty()) prefer.add("hosts", list_of(ask.prefer.hosts));
  if (!ask.prefer.racks.empty()) prefer.add("racks", list_of(ask.prefer.racks));
  prefer.add_duration("wait", ask.prefer.wait);
  if (!prefer.empty()) rows.add("prefer", prefer.str());
  rows.add_number("gang", ask.gang, 1);
  if (ask.band != Band::kBatch) rows.add_text("band", to_text(ask.band));
  if (!ask.borrow) rows.add("borrow", "false");
  if (ask.revocable_ok) rows.add("revocable_ok", "true");
  rows.add_duration("time_limit", ask.max_run_time);
}

std::string waves_yaml(const std::vector<ScenarioWave>& waves) {
  std::string out;
  for (const ScenarioWave& wave : waves) {
    Rows row;
    row.add_number("count", wave.count, 1).add_duration("arrives", wave.arrives);
    row.add("duration", wave.duration ? proffer::to_text(*wave.duration) : "forever");
    out += text(out.empty() ? "" : ", ", row.str());
  }
  return "[" + out + "]";
}

std::string tasks_yaml(const ScenarioTasks& tasks) {
  Rows rows;
  rows.add_text("name", tasks.name);
  if (tasks.waves.empty()) rows.add_number("count", tasks.count, 1);
  rows.add_text("resources", proffer::to_text(tasks.resources));
  if (!tasks.waves.empty()) {
    rows.add("waves", waves_yaml(tasks.waves));
  } else if (tasks.duration && tasks.duration_spread > 0) {
    Rows duration;
    duration.add("mean", proffer::to_text(*tasks.duration));
    duration.add("spread", rate(tasks.duration_spread));
    rows.add("duration", duration.str());
  } else {
    rows.add("duration", tasks.duration ? proffer::to_text(*tasks.duration) : "forever");
  }
  if (tasks.declared_duration) rows.add("declared_duration", "true");
  if (tasks.every) {
    rows.add_text("arrives", text("every ", proffer::to_text(*tasks.every)));
  } else {
    rows.add_duration("arrives", tasks.arrives);
  }
  add_ask(tasks.ask, rows);
  if (!tasks.running.empty()) {
    std::string running;
    for (const ScenarioRunning& one : tasks.running) {
      Rows row;
      row.add_text("agent", one.agent.str()).add_number("count", one.count, 1);
      row.add_duration("since", one.since);
      running += text(running.empty() ? "" : ", ", row.str());
    }
    rows.add("running", text("[", running, "]"));
  }
  return rows.str();
}

void add_framework(const ScenarioFramework& framework, std::string& out) {
  out += text("  - name: ", yaml_text(framework.name), "\n");
  if (framework.role != ScenarioFramework().role) {
    out += text("    role: ", yaml_text(framework.role.str()), "\n");
  }
  if (framework.takes != Takes::kAsks) out += text("    takes: ", to_text(framework.takes), "\n");
  if (framework.answers_after > Duration()) {
    out += text("    answers_after: ", proffer::to_text(framework.answers_after), "\n");
  }
  if (framework.joins > Duration()) {
    out += text("    joins: ", proffer::to_text(framework.joins), "\n");
  }
  if (framework.leaves) out += text("    leaves: ", proffer::to_text(*framework.leaves), "\n");
  if (framework.tasks.empty()) return;
  out += "    tasks:\n";
  for (const ScenarioTasks& tasks : framework.tasks) {
    out += text("      - ", tasks_yaml(tasks), "\n");
  }
}

}  // namespace

std::string to_yaml(const Scenario& scenario) {
  std::string out = text("seed: ", scenario.seed, "\n");
  if (scenario.until) out += text("until: ", proffer::to_text(*scenario.until), "\n");
  if (!scenario.report_at.empty()) {
    std::string times;
    for (const Duration at : scenario.report_at) {
      times += text(times.empty() ? "" : ", ", proffer::to_text(at));
    }
    out += text("report_at: [", times, "]\n");
  }
  if (!scenario.options.empty()) {
    Rows options;
    for (const auto& [name, value] : scenario.options) options.add_text(name, value);
    out += text("options: ", options.str(), "\n");
  }
  if (scenario.network != ScenarioNetwork()) {
    Rows network;
    network.add_duration("delay", scenario.network.delay, ScenarioNetwork().delay);
    if (scenario.network.loss > 0) network.add("loss", rate(scenario.network.loss));
    if (scenario.network.duplicate > 0) network.add("duplicate", rate(scenario.network.duplicate));
    out += text("network: ", network.str(), "\n");
  }
  out += "agents:\n";
  for (const ScenarioAgent& agent : scenario.agents) {
    out += text("  - ", agent_yaml(agent), "\n");
  }
  if (!scenario.roles.empty()) {
    out += "roles:\n";
    for (const auto& [role, settings] : scenario.roles) {
      out += text("  - ", role_yaml(role, settings), "\n");
    }
  }
  if (!scenario.frameworks.empty()) {
    out += "frameworks:\n";
    for (const ScenarioFramework& framework : scenario.frameworks) add_framework(framework, out);
  }
  return out;
}

}  // namespace proffer::sim
