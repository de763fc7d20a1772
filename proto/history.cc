#include "proto/history.h"

#include "common/roles.h"

namespace proffer::proto {

Time time_of(const HistoryRecord& record) {
  struct {
    Time operator()(const EndedTask& ended) const { return ended.status.at; }
    Time operator()(const RoleUse& use) const { return use.until; }
    Time operator()(const RoleWait& wait) const { return wait.until; }
    Time operator()(const LifeBegan& life) const { return life.at; }
    Time operator()(const LifeEnded& life) const { return life.at; }
    Time operator()(const HistoryGap& gap) const { return gap.until; }
  } time;
  return std::visit(time, record);
}

bool matches(const HistoryQuery& query, const EndedTask& ended) {
  if (query.roles || query.waits) return false;
  if (query.since && ended.status.at < *query.since) return false;
  if (query.state && ended.status.state != *query.state) return false;
  if (!query.user.empty() && ended.user != query.user) return false;
  if (!query.role.empty() && !is_within(ended.role, query.role)) return false;
  if (!query.framework.empty() && ended.framework.str() != query.framework &&
      ended.framework_name != query.framework) {
    return false;
  }
  return query.task.empty() || ended.status.task.str().starts_with(query.task) ||
         (ended.framework.str() + "/" + ended.status.task.str()).starts_with(query.task);
}

bool matches(const HistoryQuery& query, const RoleUse& use) {
  return query.roles && (!query.since || use.until >= *query.since) &&
         (query.role.empty() || is_within(use.role, query.role));
}

bool matches(const HistoryQuery& query, const RoleWait& wait) {
  return query.waits && (!query.since || wait.until >= *query.since) &&
         (query.role.empty() || is_within(wait.role, query.role));
}

}  // namespace proffer::proto
