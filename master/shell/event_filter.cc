#include "master/shell/event_filter.h"

#include <algorithm>

#include "common/text.h"
#include "proto/json/event_lines.h"

namespace proffer::master {
namespace {

bool has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

// `,"agent":"a1"`. It cannot occur within a text of a line, where quotes are escaped.
std::string member(std::string_view key, std::string_view value) {
  return value.empty() ? std::string() : text(",\"", key, "\":", proto::json_text(value));
}

}  // namespace

EventFilter::EventFilter(const proto::EventQuery& query, const Principal* by, bool is_operator)
    : framework_(query.framework), agent_(member("agent", query.agent)), is_operator_(is_operator) {
  if (const size_t slash = query.task.find('/'); slash != std::string::npos) {
    framework_ = query.task.substr(0, slash);
    task_ = member("task", std::string_view(query.task).substr(slash + 1));
  }
  if (!query.role.empty()) {
    role_ = member("role", query.role);
    role_.pop_back();  // and the roles below it
  }
  if (by != nullptr) user_ = member("user", audit_name(by));
  wants_all_ =
      is_operator && framework_.empty() && task_.empty() && agent_.empty() && role_.empty();
}

bool EventFilter::wants(std::string_view line) const {
  if (wants_all_ || has(line, R"("event":"gap")")) return true;
  if (!agent_.empty() && !has(line, agent_)) return false;
  if (!task_.empty() && !has(line, task_)) return false;
  if (!framework_.empty() && !is_of_framework(line, framework_)) return false;
  if (!role_.empty() && !has(line, role_ + '"') && !has(line, role_ + '/')) return false;
  return is_operator_ || may_see(line);
}

bool EventFilter::may_see(std::string_view line) const {
  if (has(line, ",\"user\":")) return !user_.empty() && has(line, user_);
  if (has(line, ",\"framework\":") || has(line, ",\"peer\":")) return false;
  return has(line, R"(,"level":"info")") || has(line, R"(,"level":"detail")");
}

// The framework is given by its id, NAME-EPOCH-COUNT, or by its name.
bool EventFilter::is_of_framework(std::string_view line, std::string_view framework) const {
  constexpr std::string_view kKey = ",\"framework\":\"";
  const size_t at = line.find(kKey);
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at + kKey.size());
  line = line.substr(0, line.find('"'));
  if (line == framework) return true;
  if (!line.starts_with(framework)) return false;
  line.remove_prefix(framework.size());
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() &&
           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const size_t dash = line.rfind('-');
  return line.starts_with('-') && dash > 0 && is_number(line.substr(1, dash - 1)) &&
         is_number(line.substr(dash + 1));
}

}  // namespace proffer::master
