#include "master/shell/newest_events.h"

#include "master/core/trace.h"

namespace proffer::master {

void NewestEvents::note(const TraceEvent& event, const proto::EventPlace& place, Time at) {
  kinds_[event.what()] = {place, at};
  const auto* updated = event.as<TaskUpdated>();
  if (updated != nullptr && updated->ended) ends_[{updated->state, updated->reason}] = {place, at};
}

std::optional<Exemplar> NewestEvents::of_kind(std::string_view what) const {
  const auto found = kinds_.find(what);
  if (found == kinds_.end()) return std::nullopt;
  return exemplar(found->second);
}

std::optional<Exemplar> NewestEvents::of_end(proto::TaskState state,
                                             proto::TaskReason reason) const {
  const auto found = ends_.find({state, reason});
  if (found == ends_.end()) return std::nullopt;
  return exemplar(found->second);
}

Exemplar NewestEvents::exemplar(const Seen& seen) {
  return {.labels = {{"seq", to_text(seen.place)}}, .at = seen.at};
}

}  // namespace proffer::master
