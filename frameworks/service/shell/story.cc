#include "frameworks/service/shell/story.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/printable.h"
#include "common/text.h"
#include "frameworks/service/core/trace.h"
#include "proto/json/json.h"

namespace proffer::service {
namespace {

// One member for each key; several ports are joined.
std::map<std::string_view, std::string> members_of(const TraceEvent& event) {
  std::map<std::string_view, std::string> fields;
  for (const auto& [key, value] : fields_of(event)) {
    std::string& field = fields[key];
    field += text(field.empty() ? "" : " ", printable(value));
  }
  return fields;
}

// The parts of a line about an instance, besides the words of the event.
struct InstanceNews {
  TaskId instance;
  AgentId agent = {};
  std::string reason = {};
  std::map<std::string, uint16_t> ports = {};
  std::optional<Duration> again_in = {};
};

// None: the event is not about an instance.
std::optional<InstanceNews> news_of(const TraceEvent& event) {
  if (const auto* launched = event.as<InstanceLaunched>()) {
    return InstanceNews{launched->instance, launched->agent};
  }
  if (const auto* changed = event.as<InstanceChanged>()) {
    return InstanceNews{changed->instance, changed->agent, changed->reason, changed->ports};
  }
  if (const auto* ended = event.as<InstanceEnded>()) {
    return InstanceNews{.instance = ended->instance,
                        .agent = ended->agent,
                        .reason = ended->reason,
                        .again_in = ended->again_in};
  }
  if (const auto* killed = event.as<InstanceKilled>()) {
    return InstanceNews{.instance = killed->instance,
                        .reason = std::string(to_text(killed->reason))};
  }
  if (const auto* unknown = event.as<UnknownInstanceKilled>()) {
    return InstanceNews{unknown->instance, unknown->agent};
  }
  if (const auto* leaves = event.as<InstanceToLeave>()) {
    return InstanceNews{leaves->instance, leaves->agent, std::string(to_text(leaves->reason))};
  }
  if (const auto* stays = event.as<InstanceToStay>()) {
    return InstanceNews{stays->instance, stays->agent};
  }
  return std::nullopt;
}

}  // namespace

std::string story_line(const TraceEvent& event) {
  const std::optional<InstanceNews> news = news_of(event);
  if (!news) return to_text(event);
  constexpr std::string_view kInstance = "instance ";
  std::string line = text(
      news->instance.str(), ' ',
      event.what().starts_with(kInstance) ? event.what().substr(kInstance.size()) : event.what());
  if (!news->agent.empty()) line += text(" on ", news->agent.str());
  std::string_view separator = ", ";
  for (const auto& [name, port] : news->ports) {
    line += text(std::exchange(separator, " "), printable(name), ':', port);
  }
  if (!news->reason.empty()) line += text(": ", printable(news->reason));
  if (news->again_in) line += text("; again in ", to_text(*news->again_in));
  return line;
}

std::string story_json(const TraceEvent& event) {
  std::string name(event.what());
  std::replace(name.begin(), name.end(), ' ', '_');
  std::vector<std::pair<std::string_view, proto::JsonValue>> members = {{"event", name}};
  const std::map<std::string_view, std::string> fields = members_of(event);
  for (const auto& [key, value] : fields) members.emplace_back(key, value);
  return proto::json_line(members);
}

std::string app_line(const proto::ServiceAppRow& row) {
  return text(row.app, ": ", row.ready, " of ", row.instances, " ready",
              row.outdated > 0 ? text(", ", row.outdated, " of an older version") : "",
              row.why.empty() ? "" : text("; ", printable(row.why)));
}

}  // namespace proffer::service
