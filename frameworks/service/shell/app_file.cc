#include "frameworks/service/shell/app_file.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/constraint_matcher.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/fetched_files.h"
#include "proto/private_tmp.h"
#include "yaml/foreign.h"
#include "yaml/read.h"

namespace proffer::service {
namespace {

using yaml::at;
using yaml::keep;
using yaml::read_duration;
using yaml::read_table;
using yaml::read_text;
using yaml::read_value;
using yaml::read_whole;
using yaml::texts_of;

Result<void> read_constraints(const yaml::Node& node, std::vector<Constraint>& place) {
  // A constraint of Marathon is a list: [hostname, UNIQUE]. It is refused by its words.
  yaml::Node flat = node;
  for (yaml::Node& entry : flat.entries) {
    if (entry.kind != yaml::Node::Kind::kList) continue;
    std::string words;
    for (const yaml::Node& word : entry.entries) {
      words += text(words.empty() ? "" : ":", word.text);
    }
    entry = {.kind = yaml::Node::Kind::kText, .line = entry.line, .text = words, .rows = {}};
  }
  const Result<std::vector<std::string>> texts = texts_of("constraints", flat);
  if (!texts) return texts.error();
  for (const std::string& one : *texts) {
    Result<Constraint> parsed = parse_constraint(one);
    if (!parsed) return at(node, "constraints", std::move(parsed).error());
    place.push_back(*std::move(parsed));
  }
  const Result<ConstraintMatcher> compiled = ConstraintMatcher::compile(place);
  if (!compiled) return at(node, "constraints", compiled.error());
  return {};
}

Result<void> read_files(const yaml::Node& node, std::vector<proto::FetchedFile>& place) {
  const auto read = [&](const yaml::Node& entry) {
    return read_value("fetch", entry, proto::parse_fetched_file, place.emplace_back());
  };
  return node.kind == yaml::Node::Kind::kText ? read(node) : yaml::read_list("fetch", node, read);
}

// A name, or {name: number}. A number alone would look like the port itself.
Result<void> read_port(const yaml::Node& node, AppSpec& app) {
  if (node.kind == yaml::Node::Kind::kTable) {
    if (node.rows.size() != 1) {
      return at(node, text("ports: an entry with a number has one name and one number, not ",
                           node.rows.size(), " of them"))
          .with_hint("for example: ports: [http, {admin: 8080}]");
    }
    int64_t number = 0;
    const yaml::Row& row = node.rows.front();
    if (Result<void> read = read_whole(text("ports.", row.key), row.value, 1, 65'535, number);
        !read) {
      return read;
    }
    app.ports.push_back(row.key);
    app.static_ports[row.key] = static_cast<uint16_t>(number);
    return {};
  }
  Result<std::string> name = yaml::text_of("ports", node);
  if (!name) return std::move(name).error();
  if (!name->empty() && name->find_first_not_of("0123456789") == std::string::npos) {
    return at(node, text("ports has the number ", *name, " without a name"))
        .with_hint(text("for this fixed port on each agent: ports: [{http: ", *name,
                        "}], with one instance per agent; for any free port, which the command "
                        "gets as $PORT_http: ports: [http]"));
  }
  // "8080:80" of docker compose.
  const size_t colon = name->find(':');
  if (colon != std::string::npos && colon > 0 &&
      name->find_first_not_of("0123456789:") == std::string::npos) {
    return at(node, text("ports has ", quoted(*name),
                         "; a port has a name, as in http, or a name "
                         "and a number, as in {http: 8080}"))
        .with_hint(text(
            "tasks have the ports of their agent: write ports: [{http: ", name->substr(0, colon),
            "}], or ports: [http] for any free port in "
            "$PORT_http"));
  }
  app.ports.push_back(*std::move(name));
  return {};
}

Result<void> read_ports(const yaml::Node& node, AppSpec& app) {
  if (node.kind == yaml::Node::Kind::kText) return read_port(node, app);
  return yaml::read_list("ports", node,
                         [&](const yaml::Node& entry) { return read_port(entry, app); });
}

// {db_password: {env: DB_PASSWORD}, tls_key: {file: tls.key}}, in any order.
Result<void> read_secrets(const yaml::Node& node, std::vector<proto::SecretUse>& place) {
  Result<void> read =
      read_table("secrets", node, {}, [&](const std::string& name, const yaml::Node& value) {
        proto::SecretUse& use = place.emplace_back();
        use.name = name;
        return read_table(text("secrets.", name), value, {"env", "file"},
                          [&](const std::string& key, const yaml::Node& inner) {
                            return read_text(key, inner, key == "env" ? use.variable : use.file);
                          });
      });
  if (!read) return read;
  std::sort(place.begin(), place.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return {};
}

// Names of apps, in any order.
Result<void> read_app_names(const std::string& key, const yaml::Node& node,
                            std::vector<std::string>& place) {
  Result<std::vector<std::string>> names = texts_of(key, node);
  if (!names) return std::move(names).error();
  std::sort(names->begin(), names->end());
  const auto twice = std::adjacent_find(names->begin(), names->end());
  if (twice != names->end()) {
    return at(node, text(key, " names app ", quoted(*twice), " twice"));
  }
  place = *std::move(names);
  return {};
}

// {host: 1, rack: 3}, in any order.
Result<void> read_max_per(const yaml::Node& node, std::vector<MaxPer>& place) {
  std::map<std::string, int64_t> counts;
  Result<void> read =
      read_table("max_per", node, {}, [&](const std::string& attribute, const yaml::Node& value) {
        return read_whole(text("max_per: ", printable(attribute)), value, 1, kInstancesMax,
                          counts[attribute]);
      });
  if (!read) return read;
  for (const auto& [attribute, count] : counts) {
    place.push_back({.attribute = attribute, .count = count});
  }
  return {};
}

// http: {port, path}, tcp: {port} or command: TEXT, and the times.
Result<void> read_health(const yaml::Node& node, std::optional<proto::HealthCheck>& place) {
  using Kind = proto::HealthCheck::Kind;
  if (node.kind == yaml::Node::Kind::kText) {
    const bool is_path = node.text.starts_with('/');
    return at(node,
              text("health must be a table with http, tcp or command, not ", quoted(node.text)))
        .with_hint(is_path ? text("write health: {http: {port: http, path: ", node.text, "}}")
                           : text("write health: {command: ", quoted(node.text), "}"));
  }
  proto::HealthCheck check;
  int kinds = 0;
  const auto read_target = [&](const std::string& key, const yaml::Node& target) -> Result<void> {
    ++kinds;
    check.kind = key == "http" ? Kind::kHttp : Kind::kTcp;
    std::vector<std::string_view> keys = {"port"};
    if (check.kind == Kind::kHttp) keys.push_back("path");
    return read_table(text("health.", key), target, keys,
                      [&](const std::string& inner, const yaml::Node& value) {
                        return read_text(inner, value, inner == "port" ? check.port : check.path);
                      });
  };
  Result<void> read = read_table(
      "health", node, {"http", "tcp", "command", "interval", "timeout", "grace", "failures"},
      [&](const std::string& key, const yaml::Node& value) -> Result<void> {
        if (key == "http" || key == "tcp") return read_target(key, value);
        if (key == "interval") return read_duration(key, value, check.interval);
        if (key == "timeout") return read_duration(key, value, check.timeout);
        if (key == "grace") return read_duration(key, value, check.grace);
        if (key == "failures") return read_whole(key, value, 1, kHealthFailuresMax, check.failures);
        ++kinds;
        check.kind = Kind::kCommand;
        return read_text(key, value, check.command);
      });
  if (!read) return read;
  if (kinds != 1) {
    return at(node, text("health must have one of http, tcp and command, not ", kinds))
        .with_hint("for example: health: {http: {port: http, path: /}, interval: 10s}");
  }
  place = check;
  return {};
}

// {after: 5s}, {ports: [http]}, or both.
Result<void> read_ready(const yaml::Node& node, std::optional<proto::Readiness>& place) {
  proto::Readiness ready;
  bool says_something = false;
  Result<void> read = read_table("ready", node, {"after", "ports"},
                                 [&](const std::string& key, const yaml::Node& value) {
                                   says_something = true;
                                   return key == "after" ? read_duration(key, value, ready.after)
                                                         : keep(texts_of(key, value), ready.ports);
                                 });
  if (!read) return read;
  if (!says_something) {
    return at(node, "ready must have after, ports, or both")
        .with_hint("for example: ready: {after: 5s}, or ready: {ports: [http]}");
  }
  place = std::move(ready);
  return {};
}

Result<bool> parse_truth(std::string_view given) {
  if (given == "true" || given == "false") return given == "true";
  return Error::invalid_argument(text("must be true or false, not ", quoted(given)));
}

Result<void> read_update(const yaml::Node& node, UpdatePolicy& update) {
  return read_table(
      "update", node,
      {"max_unavailable", "max_surge", "canary", "healthy_for", "progress_deadline", "rollback"},
      [&](const std::string& key, const yaml::Node& value) -> Result<void> {
        const auto whole = [&](int64_t& place) {
          return read_whole(key, value, 0, kInstancesMax, place);
        };
        if (key == "max_unavailable") return whole(update.max_unavailable);
        if (key == "max_surge") return whole(update.max_surge);
        if (key == "canary") return whole(update.canary);
        if (key == "healthy_for") return read_duration(key, value, update.healthy_for);
        if (key == "progress_deadline") {
          return read_duration(key, value, update.progress_deadline);
        }
        return read_value(key, value, parse_truth, update.rolls_back);
      });
}

// "60%" of an instance's resources, as thousandths; for http any number, in thousandths of one.
Result<int64_t> parse_share(std::string_view given) {
  const bool is_share = given.ends_with('%');
  const Result<int64_t> percent =
      is_share ? parse_whole("target", given.substr(0, given.size() - 1), 1, 1'000)
               : Error::invalid_argument("");
  if (percent) return *percent * 10;
  return Error::invalid_argument(
      text("must be from 1% to 1000% of the resources of an instance, not ", quoted(given)));
}

Result<void> read_scale(const yaml::Node& node, std::optional<ScalePolicy>& place) {
  ScalePolicy scale;
  int sources = 0;
  const auto read_http = [&](const yaml::Node& target) {
    return read_table("scale.http", target, {"port", "path", "target"},
                      [&](const std::string& key, const yaml::Node& value) -> Result<void> {
                        if (key == "port") return read_text(key, value, scale.port);
                        if (key == "path") return read_text(key, value, scale.path);
                        const auto parse = [](std::string_view given) {
                          return parse_milli(given);
                        };
                        return read_value(key, value, parse, scale.target);
                      });
  };
  Result<void> read = read_table(
      "scale", node, {"min", "max", "cpu", "memory", "http", "up_after", "down_after", "dry_run"},
      [&](const std::string& key, const yaml::Node& value) -> Result<void> {
        if (key == "min") return read_whole(key, value, 1, kInstancesMax, scale.min);
        if (key == "max") return read_whole(key, value, 1, kInstancesMax, scale.max);
        if (key == "up_after") return read_duration(key, value, scale.up_after);
        if (key == "down_after") return read_duration(key, value, scale.down_after);
        if (key == "dry_run") return read_value(key, value, parse_truth, scale.is_dry_run);
        ++sources;
        scale.source = key == "cpu"      ? LoadSource::kCpu
                       : key == "memory" ? LoadSource::kMemory
                                         : LoadSource::kHttp;
        return key == "http" ? read_http(value) : read_value(key, value, parse_share, scale.target);
      });
  if (!read) return read;
  if (sources != 1) {
    return at(node, text("scale must have one of cpu, memory and http, not ", sources))
        .with_hint("for example: scale: {min: 2, max: 10, cpu: 60%}");
  }
  place = std::move(scale);
  return {};
}

Result<void> read_row(const std::string& key, const yaml::Node& node, AppSpec& app) {
  if (key == "name") return read_text(key, node, app.name);
  if (key == "instances") return read_whole(key, node, 0, kInstancesMax, app.instances);
  if (key == "command") return read_text(key, node, app.command);
  if (key == "resources") {
    Result<void> read = read_value(key, node, parse_shape, app.resources);
    if (read || node.kind != yaml::Node::Kind::kTable) return read;
    return std::move(read).error().with_hint(yaml::hint_for_resources(node));
  }
  if (key == "env") {
    return read_table(key, node, {}, [&](const std::string& name, const yaml::Node& value) {
      return read_text(name, value, app.env[name]);
    });
  }
  if (key == "files") {
    return read_table(key, node, {}, [&](const std::string& name, const yaml::Node& value) {
      return read_text(name, value, app.files[name]);
    });
  }
  if (key == "init") return keep(texts_of(key, node), app.init);
  if (key == "sidecars") {
    return read_table(key, node, {}, [&](const std::string& name, const yaml::Node& value) {
      return read_text(text("sidecars.", name), value, app.sidecars[name]);
    });
  }
  if (key == "fetch") return read_files(node, app.fetch);
  if (key == "ports") return read_ports(node, app);
  if (key == "secrets") return read_secrets(node, app.secrets);
  if (key == "constraints") return read_constraints(node, app.constraints);
  if (key == "spread") {
    Result<void> read = read_text(key, node, app.spread);
    if (app.spread == "none") app.spread.clear();
    return read;
  }
  if (key == "max_per") return read_max_per(node, app.max_per);
  if (key == "health") return read_health(node, app.health);
  if (key == "ready") return read_ready(node, app.ready);
  if (key == "scale") return read_scale(node, app.scale);
  if (key == "daemon") return read_value(key, node, parse_truth, app.daemon);
  if (key == "after") return read_app_names(key, node, app.after);
  if (key == "with") return read_app_names(key, node, app.with);
  if (key == "apart_from") return read_app_names(key, node, app.apart_from);
  if (key == "find") return read_app_names(key, node, app.find);
  if (key == "kill_signal") {
    return read_value(key, node, proto::parse_kill_signal, app.kill_signal);
  }
  if (key == "drain_delay") return read_duration(key, node, app.drain_delay);
  if (key == "kill_grace") return read_duration(key, node, app.kill_grace);
  return read_update(node, app.update);
}

// The line of this key in the document, or else of the document.
int line_of(const yaml::Node& document, std::string_view key) {
  for (const yaml::Row& row : document.rows) {
    if (row.key == key) return row.line;
  }
  return document.line;
}

Result<AppSpec> read_document(const yaml::Node& document) {
  if (Result<void> ok = yaml::check_is_ours(document, yaml::FileFor::kApp); !ok) {
    return std::move(ok).error();
  }
  AppSpec app;
  bool has_private_tmp = false;
  Result<void> read = read_table(
      "an app file", document,
      {"name",   "instances",   "command", "resources",   "fetch",      "files",       "env",
       "ports",  "constraints", "spread",  "max_per",     "daemon",     "health",      "ready",
       "update", "after",       "find",    "drain_delay", "kill_grace", "kill_signal", "secrets",
       "init",   "sidecars",    "scale",   "with",        "apart_from", "private_tmp"},
      [&](const std::string& key, const yaml::Node& node) {
        return key == "private_tmp" ? read_value(key, node, parse_truth, has_private_tmp)
                                    : read_row(key, node, app);
      });
  if (!read) return std::move(read).error();
  if (has_private_tmp) {
    app.env.insert_or_assign(std::string(proto::kPrivateTmpVariable),
                             std::string(proto::kPrivateTmp));
  }
  for (const auto& [key, value] : {std::pair("name", &app.name), {"command", &app.command}}) {
    if (value->empty()) {
      return Error::invalid_argument(text("the app file has no ", key))
          .with_hint("an app needs at least a name and a command");
    }
  }
  if (app.scale) app.instances = std::clamp(app.instances, app.scale->min, app.scale->max);
  for (const yaml::Row& row : document.rows) {
    if (!app.daemon || (row.key != "instances" && row.key != "spread" && row.key != "max_per")) {
      continue;
    }
    return Error::invalid_argument(
               text("line ", row.line, ": ", row.key, ": a daemon has one instance on each agent"))
        .with_hint(text("leave ", row.key, " or daemon out; constraints choose the agents"));
  }
  if (std::optional<WrongValue> wrong = find_wrong_value(app)) {
    return std::move(wrong->error).in(text("line ", line_of(document, wrong->key)));
  }
  return app;
}

// The name in the file, even if the rest of the document is invalid.
std::string name_in(const yaml::Node& document) {
  for (const yaml::Row& row : document.rows) {
    if (row.key == "name" && is_valid_name(row.value.text)) {
      return text("app ", quoted(row.value.text), " (line ", document.line, ")");
    }
  }
  return text("the app that begins in line ", document.line);
}

}  // namespace

Result<AppFile> parse_apps(std::string_view whole) {
  if (Result<void> ok = yaml::check_is_yaml(whole, yaml::FileFor::kApp); !ok) {
    return std::move(ok).error();
  }
  const Result<std::vector<yaml::Node>> documents = yaml::parse_documents(
      whole, "an app file", kAppFileBytesMax, static_cast<int>(kAppsPerFileMax));
  if (!documents) return documents.error();
  AppFile file;
  std::map<std::string, int> lines;  // by name
  for (const yaml::Node& document : *documents) {
    Result<AppSpec> app = read_document(document);
    if (!app) {
      if (documents->size() == 1) return app.error();
      return std::move(app).error().in(name_in(document));
    }
    const auto [first, is_new] = lines.emplace(app->name, document.line);
    if (!is_new) {
      return at(document,
                text("app ", quoted(app->name),
                     " is in the file twice; the first one begins in line ", first->second))
          .with_hint("give each app of a file its own name");
    }
    file.apps.push_back(*std::move(app));
    file.lines.push_back(document.line);
  }
  return file;
}

Result<AppSpec> parse_app_file(std::string_view whole) {
  Result<AppFile> file = parse_apps(whole);
  if (!file) return std::move(file).error();
  if (file->apps.size() == 1) return std::move(file->apps.front());
  return Error::invalid_argument(text("line ", file->lines[1], ": app ", quoted(file->apps[1].name),
                                      " begins, but an attached run takes one app only"))
      .with_hint("apply the file instead: proffer service apply FILE");
}

}  // namespace proffer::service
