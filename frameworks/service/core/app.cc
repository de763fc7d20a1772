#include "frameworks/service/core/app.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "common/text.h"
#include "frameworks/service/core/files.h"
#include "proto/fetched_files.h"
#include "proto/task_group.h"

namespace proffer::service {
namespace {

Result<void> check_environment(const proto::Environment& env) {
  if (env.size() > kEnvironmentEntriesMax) {
    return Error::invalid_argument(text("env has ", env.size(), " variables; at most ",
                                        kEnvironmentEntriesMax, " are allowed"));
  }
  size_t bytes = 0;
  for (const auto& [name, value] : env) {
    if (name.empty() || name.find('=') != std::string::npos ||
        name.find('\0') != std::string::npos || value.find('\0') != std::string::npos) {
      return Error::invalid_argument(
          text("env: a variable's name must not be empty or have '=', and "
               "neither name nor value a NUL: ",
               quoted(name)));
    }
    bytes += name.size() + value.size();
  }
  if (bytes <= kAppEnvironmentBytesMax) return {};
  return Error::invalid_argument(
             text("env has ", bytes, " bytes; at most ", kAppEnvironmentBytesMax, " are allowed"))
      .with_hint("put large values into a file that the command reads");
}

bool is_port_name(std::string_view name) {
  return !name.empty() && name.size() <= kPortNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

Result<void> check_ports(const std::vector<std::string>& ports) {
  if (ports.size() > kPortNamesMax) {
    return Error::invalid_argument(
        text("ports has ", ports.size(), " names; at most ", kPortNamesMax, " are allowed"));
  }
  std::set<std::string> seen;
  for (const std::string& name : ports) {
    if (!is_port_name(name)) {
      return Error::invalid_argument(text("a port's name must be 1 to ", kPortNameBytesMax,
                                          " of A-Z a-z 0-9 _, not ", quoted(name)))
          .with_hint("the task gets the port in the shell variable $PORT_<name>");
    }
    if (!seen.insert(name).second) {
      return Error::invalid_argument(text("port ", quoted(name), " is given twice"));
    }
  }
  return {};
}

// Parses the whole text as a number without sign or leading zeros.
std::optional<uint64_t> parse_count(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  return value;
}

Result<void> check_max_per(const std::vector<MaxPer>& max_per) {
  if (max_per.size() > kMaxPerMax) {
    return Error::invalid_argument(
        text("max_per has ", max_per.size(), " attributes; at most ", kMaxPerMax, " are allowed"));
  }
  for (size_t i = 0; i < max_per.size(); ++i) {
    if (Result<void> ok = check_name("max_per", max_per[i].attribute); !ok) return ok;
    if (max_per[i].count < 1 || max_per[i].count > kInstancesMax) {
      return Error::invalid_argument(text("max_per: ", max_per[i].attribute, " must be from 1 to ",
                                          kInstancesMax, ", not ", max_per[i].count));
    }
    if (i > 0 && max_per[i].attribute <= max_per[i - 1].attribute) {
      return Error::invalid_argument("max_per must be sorted by attribute, without duplicates");
    }
  }
  return {};
}

Result<void> check_update(const UpdatePolicy& update) {
  for (const auto& [key, value] : {std::pair("max_unavailable", update.max_unavailable),
                                   {"max_surge", update.max_surge},
                                   {"canary", update.canary}}) {
    if (value < 0 || value > kInstancesMax) {
      return Error::invalid_argument(
          text(key, " must be from 0 to ", kInstancesMax, ", not ", value));
    }
  }
  if (update.max_unavailable == 0 && update.max_surge == 0) {
    return Error::invalid_argument("max_unavailable and max_surge must not both be 0")
        .with_hint("an update either ends old instances first or launches new ones first");
  }
  for (const auto& [key, value] : {std::pair("healthy_for", update.healthy_for),
                                   {"progress_deadline", update.progress_deadline}}) {
    if (value < Duration() || value > kUpdateTimeMax) {
      return Error::invalid_argument(text(key, " must be from 0 to ", to_text(kUpdateTimeMax),
                                          ", not ", value.nanos(), " ns"));
    }
  }
  if (update.progress_deadline > Duration() && update.progress_deadline <= update.healthy_for) {
    return Error::invalid_argument(text("progress_deadline must be longer than healthy_for, ",
                                        to_text(update.healthy_for), ", not ",
                                        to_text(update.progress_deadline)));
  }
  return {};
}

Result<void> check_name_of(const AppSpec& app) {
  if (Result<void> ok = check_name("name", app.name); !ok) return ok;
  if (app.name.size() <= kAppNameBytesMax) return {};
  return Error::invalid_argument(
      text("name must have at most ", kAppNameBytesMax, " bytes, not ", app.name.size()));
}

Result<void> check_instances(const AppSpec& app) {
  if (app.instances >= 0 && app.instances <= kInstancesMax) return {};
  return Error::invalid_argument(
      text("instances must be from 0 to ", kInstancesMax, ", not ", app.instances));
}

Result<void> check_command(const AppSpec& app) {
  if (!app.command.empty() && app.command.size() <= kCommandBytesMax &&
      app.command.find('\0') == std::string::npos) {
    return {};
  }
  return Error::invalid_argument(text("command must have 1 to ", kCommandBytesMax,
                                      " bytes and no NUL, not ", app.command.size(), " bytes"))
      .with_hint("it is a shell command line, for example: command: \"exec ./server $PORT_http\"");
}

Result<void> check_constraints(const AppSpec& app) {
  // The scheduler needs one constraint for daemons and one for `with`; those for `apart_from` use
  // the rest.
  const size_t constraints_max =
      kConstraintsMax - (app.daemon ? 1 : 0) - (app.with.empty() ? 0 : 1);
  if (app.constraints.size() > constraints_max) {
    return Error::invalid_argument(text("constraints has ", app.constraints.size(), "; at most ",
                                        constraints_max, " are allowed"));
  }
  for (const Constraint& constraint : app.constraints) {
    if (Result<void> ok = check_constraint(constraint); !ok) {
      return std::move(ok).error().in("constraints");
    }
  }
  return {};
}

Result<void> check_ready(const AppSpec& app) {
  if (!app.ready) return {};
  if (app.health) {
    return Error::invalid_argument("health and ready exclude each other")
        .with_hint(
            "leave ready out: with a health check, an instance is ready when the check passes");
  }
  return proto::check_readiness(*app.ready, app.ports);
}

// They are sent in the environment, and with the command.
Result<void> check_app_files(const AppSpec& app) {
  if (app.files.empty()) return {};
  if (Result<void> ok = check_files(app.files); !ok) return ok;
  size_t bytes = kFilesScriptBytesMax;
  for (const auto& [name, value] : app.env) bytes += name.size() + value.size();
  if (app.env.count(kFilesVariable) > 0 || app.env.size() >= kEnvironmentEntriesMax ||
      bytes > kAppEnvironmentBytesMax || app.command.size() + 32 > kCommandBytesMax) {
    return Error::invalid_argument(
               text("files need the variable ", kFilesVariable, " and ", kFilesScriptBytesMax,
                    " bytes beside env, and 32 bytes "
                    "beside the command; together at most ",
                    kAppEnvironmentBytesMax, " and ", kCommandBytesMax, " bytes are allowed"))
        .with_hint("fetch large files instead: fetch: [URI]");
  }
  return {};
}

// The group with the files, which its first command writes; without an init step, a step for them
// is added.
proto::TaskGroup group_of(const AppSpec& app) {
  proto::TaskGroup group;
  for (size_t i = 0; i < app.init.size(); ++i) {
    group.init.push_back({.name = std::to_string(i + 1), .command = app.init[i]});
  }
  for (const auto& [name, command] : app.sidecars) {
    group.sidecars.push_back({.name = name, .command = command});
  }
  if (group.empty() || app.files.empty()) return group;
  if (group.init.empty()) group.init.push_back({.name = "files", .command = ""});
  group.init.front().command = kFilesCommand + group.init.front().command;
  return group;
}

Result<void> check_group(const AppSpec& app) {
  const proto::TaskGroup group = group_of(app);
  if (group.empty()) return {};
  if (std::find(app.init.begin(), app.init.end(), "") != app.init.end()) {
    return Error::invalid_argument("a command in init is empty")
        .with_hint(
            "init is a list of shell command lines, for example: init: [./migrate, ./warm_up]");
  }
  if (Result<void> ok = proto::check_task_group(group); !ok) return ok;
  if (app.env.contains(std::string(proto::kGroupVariable))) {
    return Error::invalid_argument(text("env must not set the variable ", proto::kGroupVariable,
                                        ", which init steps and sidecars need"));
  }
  if (app.command.size() + proto::kGroupCommand.size() <= kCommandBytesMax) return {};
  return Error::invalid_argument(text("with init steps or sidecars, the command may have at most ",
                                      kCommandBytesMax - proto::kGroupCommand.size(),
                                      " bytes, not ", app.command.size()));
}

Result<void> check_app_names(std::string_view key, const std::vector<std::string>& names,
                             size_t names_max) {
  if (names.size() > names_max) {
    return Error::invalid_argument(
        text(key, " names ", names.size(), " apps; at most ", names_max, " are allowed"));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (Result<void> ok = check_name(key, names[i]); !ok) return ok;
    if (i > 0 && names[i] <= names[i - 1]) {
      return Error::invalid_argument(text(key, " must be sorted, with no app twice"));
    }
  }
  return {};
}

Result<void> check_after(const AppSpec& app) {
  if (Result<void> ok = check_app_names("after", app.after, kAfterMax); !ok) return ok;
  if (!std::binary_search(app.after.begin(), app.after.end(), app.name)) return {};
  return Error::invalid_argument(text("after: app ", quoted(app.name), " waits for itself"))
      .with_hint("name other apps, which must be ready before this one starts");
}

Result<void> check_neighbours(std::string_view key, const AppSpec& app,
                              const std::vector<std::string>& names) {
  if (Result<void> ok = check_app_names(key, names, kNeighboursMax); !ok) return ok;
  for (const std::string& name : names) {
    if (name == app.name) {
      return Error::invalid_argument(text(key, " names the app itself"))
          .with_hint("max_per: {host: 1} keeps its instances apart");
    }
    if (key == "with" && std::binary_search(app.apart_from.begin(), app.apart_from.end(), name)) {
      return Error::invalid_argument(text("with and apart_from both name app ", quoted(name)));
    }
  }
  return {};
}

Result<void> check_find(const AppSpec& app) {
  if (app.find.empty()) return {};
  if (Result<void> ok = check_app_names("find", app.find, kFindMax); !ok) return ok;
  for (const std::string& one : app.find) {
    for (const std::string& other : app.find) {
      if (one == other) continue;
      const std::string variable = find_variable(other);
      if (variable != find_variable(one) && !variable.starts_with(find_variable(one) + "_"))
        continue;
      return Error::invalid_argument(text("find: the variables of apps ", quoted(one), " and ",
                                          quoted(other), " have the same names: ", variable))
          .with_hint("find only one of them, or rename one");
    }
  }
  size_t bytes = kFoundBytesMax + (app.files.empty() ? 0 : kFilesScriptBytesMax);
  for (const auto& [name, value] : app.env) bytes += name.size() + value.size();
  const size_t entries = app.env.size() + app.find.size() * (1 + kPortNamesMax);
  if (bytes <= kAppEnvironmentBytesMax && entries <= kEnvironmentEntriesMax) return {};
  return Error::invalid_argument(text("find may need ", kFoundBytesMax, " bytes and ",
                                      app.find.size() * (1 + kPortNamesMax),
                                      " variables beside env; together at most ",
                                      kAppEnvironmentBytesMax, " bytes and ",
                                      kEnvironmentEntriesMax, " variables are allowed"))
      .with_hint("put large values into a file that the command reads");
}

Result<void> check_span(std::string_view key, Duration value) {
  if (value >= Duration() && value <= kKillGraceMax) return {};
  return Error::invalid_argument(
      text(key, " must be from 0 to ", to_text(kKillGraceMax), ", not ", value.nanos(), " ns"));
}

Result<void> in(std::string_view key, Result<void> checked) {
  if (checked) return checked;
  return std::move(checked).error().in(key);
}

Result<void> check_app_secrets(const AppSpec& app) {
  if (Result<void> checked = proto::check_secret_uses(app.secrets); !checked) {
    return in("secrets", std::move(checked));
  }
  for (size_t i = 0; i < app.secrets.size(); ++i) {
    const proto::SecretUse& use = app.secrets[i];
    if (i > 0 && use.name <= app.secrets[i - 1].name) {
      return Error::invalid_argument("secrets must be in order of their names");
    }
    if (use.variable.empty() || !app.env.contains(use.variable)) continue;
    return Error::invalid_argument(text("secret ", quoted(use.name),
                                        " and env both set the variable ", quoted(use.variable)))
        .with_hint("remove it from env, or use another variable for the secret");
  }
  return {};
}

bool has_port_of_scale(const AppSpec& app) {
  return app.scale->source != LoadSource::kHttp ||
         std::find(app.ports.begin(), app.ports.end(), app.scale->port) != app.ports.end();
}

Result<void> check_app_scale(const AppSpec& app) {
  if (!app.scale) return {};
  if (Result<void> ok = check_scale(*app.scale, kInstancesMax); !ok) return ok;
  if (app.daemon) {
    return Error::invalid_argument("scale: a daemon has one instance on each agent")
        .with_hint("leave out scale or daemon");
  }
  if (app.scale->source != LoadSource::kHttp) return {};
  if (!has_port_of_scale(app)) {
    return Error::invalid_argument(
        text("scale: port must be one of the app's, not ", quoted(app.scale->port)));
  }
  const std::string& path = app.scale->path;
  const bool is_printable =
      std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < 127; });
  if (path.starts_with('/') && is_printable && path.size() <= kHealthPathBytesMax) return {};
  return Error::invalid_argument(text("scale: path must begin with / and have at most ",
                                      kHealthPathBytesMax, " printable bytes, not ", quoted(path)));
}

struct Rule {
  std::string_view key;  // key in an app file
  Result<void> (*check)(const AppSpec& app);
};
constexpr Rule kRules[] = {
    {"name", check_name_of},
    {"instances", check_instances},
    {"command", check_command},
    {"resources", [](const AppSpec& app) { return in("resources", check_shape(app.resources)); }},
    {"fetch",
     [](const AppSpec& app) { return in("fetch", proto::check_fetched_files(app.fetch)); }},
    {"env", [](const AppSpec& app) { return check_environment(app.env); }},
    {"files", check_app_files},
    {"ports",
     [](const AppSpec& app) {
       Result<void> names = check_ports(app.ports);
       return names ? in("ports", proto::check_static_ports(app.static_ports, app.ports)) : names;
     }},
    {"secrets", check_app_secrets},
    {"init",
     [](const AppSpec& app) { return app.init.empty() ? Result<void>() : check_group(app); }},
    {"sidecars", check_group},
    {"constraints", check_constraints},
    {"spread",
     [](const AppSpec& app) {
       return app.spread.empty() ? Result<void>() : check_name("spread", app.spread);
     }},
    {"max_per", [](const AppSpec& app) { return check_max_per(app.max_per); }},
    {"health",
     [](const AppSpec& app) {
       return app.health ? proto::check_health_check(*app.health, app.ports) : Result<void>();
     }},
    {"ready", check_ready},
    {"update", [](const AppSpec& app) { return in("update", check_update(app.update)); }},
    {"scale", check_app_scale},
    {"after", check_after},
    {"with", [](const AppSpec& app) { return check_neighbours("with", app, app.with); }},
    {"apart_from",
     [](const AppSpec& app) { return check_neighbours("apart_from", app, app.apart_from); }},
    {"find", check_find},
    {"kill_grace", [](const AppSpec& app) { return check_span("kill_grace", app.kill_grace); }},
    {"drain_delay", [](const AppSpec& app) { return check_span("drain_delay", app.drain_delay); }},
    {"kill_signal", [](const AppSpec& app) { return proto::check_kill_signal(app.kill_signal); }},
};

}  // namespace

std::optional<WrongValue> find_wrong_value(const AppSpec& app) {
  for (const Rule& rule : kRules) {
    Result<void> ok = rule.check(app);
    if (!ok) return WrongValue{.key = rule.key, .error = std::move(ok).error()};
  }
  return std::nullopt;
}

Result<void> check_app(const AppSpec& app) {
  std::optional<WrongValue> wrong = find_wrong_value(app);
  if (wrong) return std::move(wrong->error);
  return {};
}

std::string find_variable(std::string_view app) {
  std::string variable = "PROFFER_SERVICE_";
  for (const char c : app) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    variable += is_lower ? static_cast<char>(c - 'a' + 'A') : is_plain ? c : '_';
  }
  return variable;
}

bool same_task(const AppSpec& a, const AppSpec& b) { return a == with_task_of(b, a); }

AppSpec with_task_of(const AppSpec& version, const AppSpec& now) {
  AppSpec spec = version;
  spec.instances = now.instances;
  spec.daemon = now.daemon;
  spec.spread = now.spread;
  spec.update = now.update;
  spec.scale = now.scale;
  // check_app() would refuse an app without that port, also when it is read from the store.
  if (spec.scale && !has_port_of_scale(spec)) spec.scale.reset();
  spec.after = now.after;
  spec.drain_delay = now.drain_delay;
  return spec;
}

TaskId to_task_id(const InstanceId& id) {
  return TaskId(text(id.app, '.', id.version, '.', id.slot, '-', id.unique));
}

std::optional<InstanceId> parse_task_id(const TaskId& id) {
  const std::string& whole = id.str();
  const size_t dash = whole.rfind('-');
  if (dash == std::string::npos || dash == 0) return std::nullopt;
  const size_t slot_dot = whole.rfind('.', dash);
  if (slot_dot == std::string::npos || slot_dot == 0) return std::nullopt;
  const size_t version_dot = whole.rfind('.', slot_dot - 1);
  if (version_dot == std::string::npos || version_dot == 0) return std::nullopt;
  const std::string_view view = whole;
  const auto version = parse_count(view.substr(version_dot + 1, slot_dot - version_dot - 1));
  const auto slot = parse_count(view.substr(slot_dot + 1, dash - slot_dot - 1));
  if (!version || !slot || *slot > static_cast<uint64_t>(kInstancesMax) * 2) return std::nullopt;
  InstanceId parts{.app = whole.substr(0, version_dot),
                   .version = *version,
                   .slot = static_cast<int64_t>(*slot),
                   .unique = whole.substr(dash + 1)};
  if (!is_valid_name(parts.app) || parts.unique.empty()) return std::nullopt;
  return parts;
}

AskName ask_name(const std::string& app, uint64_t version) {
  return AskName(text(app, '.', version));
}

Ask make_ask(const AppSpec& app, uint64_t version, int64_t count) {
  Ask ask;
  ask.name = ask_name(app.name, version);
  ask.shape = app.resources;
  ask.count = count;
  ask.constraints = app.constraints;
  ask.ports = static_cast<int64_t>(app.ports.size());
  for (const auto& [name, port] : app.static_ports) ask.static_ports.push_back(port);
  std::sort(ask.static_ports.begin(), ask.static_ports.end());
  ask.spread = app.spread;
  ask.max_per = app.max_per;
  if (app.daemon) {
    ask.spread.clear();
    ask.max_per = {{.attribute = "host", .count = 1}};
  }
  return ask;
}

proto::Readiness default_readiness(const AppSpec& app) {
  return app.ports.empty() ? proto::Readiness{.after = kReadyAfter}
                           : proto::Readiness{.ports = app.ports};
}

proto::TaskSpec make_task(const AppSpec& app, const InstanceId& id) {
  proto::TaskSpec task;
  task.id = to_task_id(id);
  task.ask = ask_name(id.app, id.version);
  task.shape = app.resources;
  task.command = app.command;
  task.fetch = app.fetch;
  task.environment = app.env;
  const proto::TaskGroup group = group_of(app);
  if (!app.files.empty()) task.environment[kFilesVariable] = files_script(app.files);
  if (!group.empty()) {
    task.data = proto::encode_task_group(group);
    task.command = std::string(proto::kGroupCommand) + app.command;
  } else if (!app.files.empty()) {
    task.command = kFilesCommand + app.command;
  }
  task.port_names = app.ports;
  task.static_ports = app.static_ports;
  task.secrets = app.secrets;
  task.kill_grace = app.kill_grace;
  task.kill_signal = app.kill_signal;
  task.health = app.health;
  if (!app.health) task.readiness = app.ready.value_or(default_readiness(app));
  return task;
}

}  // namespace proffer::service
