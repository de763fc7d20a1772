// Reading an app file. yaml-cpp stays in this file, and its exceptions in parse_app_file. It
// accepts duplicate keys and ignores further documents: both are refused here.

#include "frameworks/service/shell/app_file.h"

#include <functional>
#include <map>
#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "common/constraint_matcher.h"
#include "common/printable.h"
#include "common/text.h"

namespace proffer::service {
namespace {

Error at(const YAML::Node& node, std::string_view what) {
  return Error::invalid_argument(text("line ", node.Mark().line + 1, ": ", what));
}
// An error about a value, with its line and key.
Error at(const YAML::Node& node, std::string_view key, Error error) {
  return std::move(error).in(text("line ", node.Mark().line + 1, ": ", key));
}

Result<std::string> scalar(std::string_view key, const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  return at(node, text("the value of ", quoted(key), " must be one text or number"));
}

using ReadRow = std::function<Result<void>(const std::string& key, const YAML::Node& value)>;

// Each row of a table, each key once and one of these.
Result<void> read_table(std::string_view what, const YAML::Node& table,
                        const std::vector<std::string_view>& keys, const ReadRow& read) {
  if (!table.IsMap()) return at(table, text(what, " is a table of KEY: value"));
  std::set<std::string> seen;
  for (const auto& row : table) {
    const Result<std::string> key = scalar("a key", row.first);
    if (!key) return key.error();
    bool known = keys.empty();
    for (const std::string_view one : keys) known = known || *key == one;
    if (!known) {
      const std::string_view near = nearest(*key, keys);
      std::string all;
      for (const std::string_view one : keys) all += text(all.empty() ? "" : ", ", one);
      return at(row.first, text("unknown key ", quoted(*key),
                                near.empty() ? "" : text("; did you mean ", quoted(near), "?")))
          .with_hint(text("the keys of ", what, " are ", all));
    }
    if (!seen.insert(*key).second) {
      return at(row.first, text("key ", quoted(*key), " is given twice"));
    }
    if (Result<void> ok = read(*key, row.second); !ok) return ok;
  }
  return {};
}

template <class T>
Result<void> keep(Result<T> value, T& place) {
  if (!value) return std::move(value).error();
  place = *std::move(value);
  return {};
}

Result<void> read_text(std::string_view key, const YAML::Node& node, std::string& place) {
  return keep(scalar(key, node), place);
}

Result<void> read_whole(std::string_view key, const YAML::Node& node, int64_t min, int64_t max,
                        int64_t& place) {
  const Result<std::string> value = scalar(key, node);
  if (!value) return value.error();
  Result<int64_t> parsed = parse_whole(key, *value, min, max);
  if (!parsed) return at(node, parsed.error().message());
  place = *parsed;
  return {};
}

Result<void> read_duration(std::string_view key, const YAML::Node& node, Duration& place) {
  const Result<std::string> value = scalar(key, node);
  if (!value) return value.error();
  Result<Duration> parsed = parse_duration(*value);
  if (!parsed) return at(node, key, std::move(parsed).error());
  place = *parsed;
  return {};
}

// A list of texts, or one.
Result<std::vector<std::string>> list(std::string_view key, const YAML::Node& node) {
  std::vector<std::string> values;
  if (node.IsScalar()) {
    values.push_back(node.Scalar());
    return values;
  }
  if (!node.IsSequence()) {
    return at(node, text("the value of ", quoted(key), " must be a text or a list"));
  }
  for (const YAML::Node& one : node) {
    Result<std::string> value = scalar(key, one);
    if (!value) return std::move(value).error();
    values.push_back(*std::move(value));
  }
  return values;
}

Result<void> read_constraints(const YAML::Node& node, std::vector<Constraint>& place) {
  const Result<std::vector<std::string>> texts = list("constraints", node);
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

// {host: 1, rack: 3}, in any order.
Result<void> read_max_per(const YAML::Node& node, std::vector<MaxPer>& place) {
  std::map<std::string, int64_t> counts;
  Result<void> read =
      read_table("max_per", node, {}, [&](const std::string& attribute, const YAML::Node& value) {
        return read_whole(text("max_per: ", attribute), value, 1, kInstancesMax, counts[attribute]);
      });
  if (!read) return read;
  for (const auto& [attribute, count] : counts) {
    place.push_back({.attribute = attribute, .count = count});
  }
  return {};
}

// http: {port, path}, tcp: {port} or command: TEXT, and when.
Result<void> read_health(const YAML::Node& node, std::optional<proto::HealthCheck>& place) {
  using Kind = proto::HealthCheck::Kind;
  proto::HealthCheck check;
  int kinds = 0;
  const auto read_target = [&](const std::string& key, const YAML::Node& target) -> Result<void> {
    ++kinds;
    check.kind = key == "http" ? Kind::kHttp : Kind::kTcp;
    std::vector<std::string_view> keys = {"port"};
    if (check.kind == Kind::kHttp) keys.push_back("path");
    return read_table(text("health.", key), target, keys,
                      [&](const std::string& inner, const YAML::Node& value) {
                        return read_text(inner, value, inner == "port" ? check.port : check.path);
                      });
  };
  Result<void> read = read_table(
      "health", node, {"http", "tcp", "command", "interval", "timeout", "grace", "failures"},
      [&](const std::string& key, const YAML::Node& value) -> Result<void> {
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
        .with_hint("as in health: {http: {port: http, path: /}, interval: 10s}");
  }
  place = check;
  return {};
}

// Counts documents without keeping them: YAML::LoadAll never ends on some malformed texts (0.7.0).
class DocumentCounter : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count_;
    line_ = mark.line + 1;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  int count() const { return count_; }
  int line() const { return line_; }  // of the last one

 private:
  int count_ = 0;
  int line_ = 0;
};

Result<void> check_one_document(const std::string& yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  DocumentCounter documents;
  while (documents.count() < 2 && parser.HandleNextDocument(documents)) {
  }
  if (documents.count() == 0) return Error::invalid_argument("the app file is empty");
  if (documents.count() == 1) return {};
  return Error::invalid_argument(
      text("line ", documents.line(), ": a second document begins; an app file has one"));
}

Result<void> read_row(const std::string& key, const YAML::Node& node, AppSpec& app) {
  if (key == "name") return read_text(key, node, app.name);
  if (key == "instances") return read_whole(key, node, 0, kInstancesMax, app.instances);
  if (key == "command") return read_text(key, node, app.command);
  if (key == "resources") {
    const Result<std::string> value = scalar(key, node);
    if (!value) return value.error();
    Result<ResourceVector> parsed = parse_shape(*value);
    if (!parsed) return at(node, key, std::move(parsed).error());
    app.resources = *parsed;
    return {};
  }
  if (key == "env") {
    return read_table(key, node, {}, [&](const std::string& name, const YAML::Node& value) {
      return read_text(name, value, app.env[name]);
    });
  }
  if (key == "ports") return keep(list(key, node), app.ports);
  if (key == "constraints") return read_constraints(node, app.constraints);
  if (key == "spread") {
    Result<void> read = read_text(key, node, app.spread);
    if (app.spread == "none") app.spread.clear();
    return read;
  }
  if (key == "max_per") return read_max_per(node, app.max_per);
  if (key == "health") return read_health(node, app.health);
  if (key == "kill_grace") return read_duration(key, node, app.kill_grace);
  return read_table(key, node, {"max_unavailable"},
                    [&](const std::string& inner, const YAML::Node& value) {
                      return read_whole(inner, value, 1, kInstancesMax, app.max_unavailable);
                    });
}

Result<AppSpec> read_document(const YAML::Node& document) {
  AppSpec app;
  Result<void> read = read_table(
      "an app file", document,
      {"name", "instances", "command", "resources", "env", "ports", "constraints", "spread",
       "max_per", "health", "update", "kill_grace"},
      [&](const std::string& key, const YAML::Node& node) { return read_row(key, node, app); });
  if (!read) return std::move(read).error();
  for (const auto& [key, value] : {std::pair("name", &app.name), {"command", &app.command}}) {
    if (value->empty()) {
      return Error::invalid_argument(text("the app file has no ", key))
          .with_hint("an app needs at least a name and a command");
    }
  }
  if (Result<void> ok = check_app(app); !ok) return std::move(ok).error();
  return app;
}

}  // namespace

Result<AppSpec> parse_app_file(std::string_view yaml) {
  if (yaml.size() > kAppFileBytesMax) {
    return Error::invalid_argument(
        text("an app file of ", yaml.size(), " bytes; at most ", kAppFileBytesMax, " are allowed"));
  }
  try {
    const std::string whole(yaml);
    if (Result<void> ok = check_one_document(whole); !ok) return std::move(ok).error();
    return read_document(YAML::Load(whole));
  } catch (const YAML::Exception& e) {
    return Error::invalid_argument(text("line ", e.mark.line + 1, ": ", printable(e.msg)));
  } catch (const std::exception& e) {
    return Error::invalid_argument(text("the app file cannot be read: ", printable(e.what())));
  }
}

}  // namespace proffer::service
