#include "frameworks/service/core/versions.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/printable.h"
#include "common/text.h"
#include "proto/fetched_files.h"

namespace proffer::service {
namespace {

size_t bytes_of(const AppSpec& spec) {
  size_t bytes = 256 + spec.name.size() + spec.command.size();
  for (const auto& [name, value] : spec.env) bytes += name.size() + value.size() + 32;
  for (const std::string& name : spec.ports) bytes += name.size() + 16;
  for (const Constraint& constraint : spec.constraints) bytes += to_text(constraint).size() + 64;
  for (const proto::FetchedFile& file : spec.fetch) bytes += to_text(file).size() + 128;
  for (const proto::SecretUse& use : spec.secrets) {
    bytes += use.name.size() + use.variable.size() + use.file.size() + 48;
  }
  for (const auto& [name, port] : spec.static_ports) bytes += name.size() + 24;
  if (spec.scale) bytes += spec.scale->port.size() + spec.scale->path.size() + 128;
  for (const std::string& name : spec.with) bytes += name.size() + 16;
  for (const std::string& name : spec.apart_from) bytes += name.size() + 16;
  for (const std::string& name : spec.find) bytes += name.size() + 16;
  for (const std::string& command : spec.init) bytes += command.size() + 16;
  for (const auto& [name, command] : spec.sidecars) bytes += name.size() + command.size() + 32;
  for (const auto& [name, content] : spec.files) bytes += name.size() + content.size() + 32;
  if (spec.health) bytes += spec.health->command.size() + spec.health->path.size() + 256;
  return bytes;
}

auto last_applied(const std::pair<const uint64_t, Version>& one) {
  return std::tuple(one.second.applied_at, one.first);
}

// --- differences -------------------------------------------------------------------------------

using Values = std::map<std::string, std::string>;  // by key

template <class Range, class ToText>
std::string joined(const Range& range, ToText to_text) {
  std::string out;
  for (const auto& one : range) out += text(out.empty() ? "" : ", ", to_text(one));
  return out.empty() ? out : text('[', out, ']');
}

std::string words_of(const proto::HealthCheck& check) {
  using Kind = proto::HealthCheck::Kind;
  return text('{',
              check.kind == Kind::kHttp
                  ? text("http: {port: ", check.port, ", path: ", check.path, '}')
              : check.kind == Kind::kTcp ? text("tcp: {port: ", check.port, '}')
                                         : text("command: ", check.command),
              ", interval: ", to_text(check.interval), ", timeout: ", to_text(check.timeout),
              ", grace: ", to_text(check.grace), ", failures: ", check.failures, '}');
}

std::string words_of(const proto::Readiness& ready) {
  return text("{after: ", to_text(ready.after),
              ", ports: ", joined(ready.ports, [](const std::string& port) { return port; }), '}');
}

Values values_of(const AppSpec& spec) {
  Values values;
  const auto as_is = [](const std::string& value) { return value; };
  values["instances"] = spec.daemon ? "one on each agent" : std::to_string(spec.instances);
  values["command"] = spec.command;
  values["resources"] = to_text(spec.resources);
  for (const auto& [name, value] : spec.env) values["env." + name] = value;
  for (const auto& [name, content] : spec.files) values["files." + name] = content;
  values["fetch"] =
      joined(spec.fetch, [](const proto::FetchedFile& file) { return proto::to_text(file); });
  values["ports"] = joined(spec.ports, [&](const std::string& name) {
    const auto given = spec.static_ports.find(name);
    return given == spec.static_ports.end() ? name : text('{', name, ": ", given->second, '}');
  });
  for (const proto::SecretUse& use : spec.secrets) {
    const bool has_both = !use.variable.empty() && !use.file.empty();
    values["secrets." + use.name] =
        text('{', use.variable.empty() ? "" : text("env: ", use.variable), has_both ? ", " : "",
             use.file.empty() ? "" : text("file: ", use.file), '}');
  }
  for (size_t i = 0; i < spec.init.size(); ++i) values[text("init.", i + 1)] = spec.init[i];
  for (const auto& [name, command] : spec.sidecars) values["sidecars." + name] = command;
  values["constraints"] =
      joined(spec.constraints, [](const Constraint& one) { return to_text(one); });
  values["spread"] = spec.spread.empty() ? "none" : spec.spread;
  values["max_per"] = joined(
      spec.max_per, [](const MaxPer& most) { return text(most.attribute, ": ", most.count); });
  if (spec.health) values["health"] = words_of(*spec.health);
  if (spec.ready) values["ready"] = words_of(*spec.ready);
  if (spec.scale) {
    values["scale.bounds"] = text(spec.scale->min, " to ", spec.scale->max);
    values["scale.target"] =
        text(to_text(spec.scale->source), ' ', print_milli(spec.scale->target));
    values["scale.from"] = spec.scale->port.empty() ? "" : text(spec.scale->port, spec.scale->path);
    values["scale.up_after"] = to_text(spec.scale->up_after);
    values["scale.down_after"] = to_text(spec.scale->down_after);
    values["scale.dry_run"] = spec.scale->is_dry_run ? "true" : "false";
  }
  if (!spec.after.empty()) values["after"] = joined(spec.after, as_is);
  if (!spec.with.empty()) values["with"] = joined(spec.with, as_is);
  if (!spec.apart_from.empty()) values["apart_from"] = joined(spec.apart_from, as_is);
  if (!spec.find.empty()) values["find"] = joined(spec.find, as_is);
  values["drain_delay"] = to_text(spec.drain_delay);
  values["kill_grace"] = to_text(spec.kill_grace);
  values["kill_signal"] = std::to_string(spec.kill_signal);
  const UpdatePolicy& update = spec.update;
  values["update.max_unavailable"] = std::to_string(update.max_unavailable);
  values["update.max_surge"] = std::to_string(update.max_surge);
  values["update.canary"] = std::to_string(update.canary);
  values["update.healthy_for"] = to_text(update.healthy_for);
  values["update.progress_deadline"] = to_text(update.progress_deadline);
  values["update.rolls_back"] = update.rolls_back ? "true" : "false";
  return values;
}

// Printable; for long values the part from shortly before the first difference.
std::string excerpt(const std::string& value, const std::string& other) {
  constexpr size_t kWhole = 160;
  constexpr size_t kBefore = 40;
  if (value.size() <= kWhole && other.size() <= kWhole) return printable(value);
  const auto [differs, unused] =
      std::mismatch(value.begin(), value.end(), other.begin(), other.end());
  const auto at = static_cast<size_t>(differs - value.begin());
  if (at <= kBefore) return printable(value);
  return text("… ", printable(std::string_view(value).substr(at - kBefore)));
}

}  // namespace

std::optional<uint64_t> find_version(const Versions& versions, const AppSpec& spec) {
  for (const auto& [number, version] : versions) {
    if (same_task(version.spec, spec)) return number;
  }
  return std::nullopt;
}

std::optional<uint64_t> version_before(const Versions& versions) {
  const auto best = std::max_element(versions.begin(), versions.end(), [](auto& a, auto& b) {
    return std::tuple(a.second.was_ready, last_applied(a)) <
           std::tuple(b.second.was_ready, last_applied(b));
  });
  if (best == versions.end()) return std::nullopt;
  return best->first;
}

size_t bytes_of(const Versions& versions) {
  size_t bytes = 0;
  for (const auto& [number, version] : versions) bytes += bytes_of(version.spec);
  return bytes;
}

void trim(Versions& versions, uint64_t pinned, size_t bytes_max) {
  std::vector<uint64_t> order;  // the first are kept first
  for (const auto& [number, version] : versions) order.push_back(number);
  std::sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) {
    return std::tuple(a == pinned, versions.at(a).applied_at, a) >
           std::tuple(b == pinned, versions.at(b).applied_at, b);
  });
  size_t bytes = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    bytes += bytes_of(versions.at(order[i]).spec);
    if (order[i] == pinned) continue;
    if (i >= kVersionsKept || bytes > bytes_max) versions.erase(order[i]);
  }
}

std::vector<Difference> differences(const AppSpec& before, const AppSpec& after) {
  std::map<std::string, Difference> found;
  const Values old_values = values_of(before);
  const Values new_values = values_of(after);
  for (const auto& [key, value] : old_values) found[key].before = value;
  for (const auto& [key, value] : new_values) found[key].after = value;
  std::vector<Difference> out;
  for (const auto& [key, one] : found) {
    if (one.before == one.after) continue;
    out.push_back({.key = key,
                   .before = excerpt(one.before, one.after),
                   .after = excerpt(one.after, one.before)});
  }
  return out;
}

}  // namespace proffer::service
