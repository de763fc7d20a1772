#include "master/shell/newest_events.h"

#include "master/core/trace.h"

namespace proffer::master {

void NewestEvents::note(const TraceEvent& event, const proto::EventPlace& place, Time at) {
  const std::string_view what = event.what();
  kinds_[what.data()] = {what, {place, at}};
  const auto* updated = event.as<TaskUpdated>();
  if (updated != nullptr && updated->ended) ends_[{updated->state, updated->reason}] = {place, at};
}

std::optional<Exemplar> NewestEvents::of_kind(std::string_view what) const {
  const Seen* newest = nullptr;
  kinds_.each([&](const std::pair<std::string_view, Seen>& kind) {
    const auto& [words, seen] = kind;
    if (words == what && (newest == nullptr || newest->place < seen.place)) newest = &seen;
  });
  if (newest == nullptr) return std::nullopt;
  return exemplar(*newest);
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
