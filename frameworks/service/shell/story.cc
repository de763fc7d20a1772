#include "frameworks/service/shell/story.h"

#include <algorithm>
#include <map>
#include <vector>

#include "common/printable.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::service {
namespace {

// One member for each key; ports, of which there may be several, are joined.
std::map<std::string_view, std::string> members_of(const TraceEvent& event) {
  std::map<std::string_view, std::string> fields;
  for (const auto& [key, value] : fields_of(event)) {
    std::string& field = fields[key];
    field += text(field.empty() ? "" : " ", printable(value));
  }
  return fields;
}

}  // namespace

std::string story_line(const TraceEvent& event) {
  const std::map<std::string_view, std::string> fields = members_of(event);
  const auto field = [&](std::string_view key) {
    const auto found = fields.find(key);
    return found == fields.end() ? std::string() : found->second;
  };
  constexpr std::string_view kInstance = "instance ";
  if (field("instance").empty()) return to_text(event);
  std::string line = text(
      field("instance"), ' ',
      event.what().starts_with(kInstance) ? event.what().substr(kInstance.size()) : event.what());
  if (!field("agent").empty()) line += text(" on ", field("agent"));
  if (!field("port").empty()) line += text(", ", field("port"));
  if (!field("reason").empty()) line += text(": ", field("reason"));
  if (!field("again_in").empty()) line += text("; again in ", field("again_in"));
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
