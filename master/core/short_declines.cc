#include "master/core/short_declines.h"

#include "common/limits.h"
#include "master/core/back_off.h"

namespace proffer::master {

Duration ShortDeclines::note(const AgentId& agent, Time now) {
  // The longest wait, plus time for an answer.
  constexpr Duration kInARow = kDeclineFilter * 3;
  Row& row = rows_[agent];
  if (now - row.last > kInARow) row.declines = 0;
  row.last = now;
  return doubled_wait(++row.declines - kFreeDeclines, kDeclineFilter);
}

void ShortDeclines::keep_only(size_t agents, const std::function<bool(const AgentId&)>& is_agent) {
  if (rows_.size() <= agents) return;
  std::erase_if(rows_, [&](const auto& row) { return !is_agent(row.first); });
}

}  // namespace proffer::master
