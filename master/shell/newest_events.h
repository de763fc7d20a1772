#pragma once

// The newest event of each kind, and of each way in which tasks end. They are the exemplars of
// counters, so that a point in a graph leads to the event log.

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "common/literal_map.h"
#include "common/time.h"
#include "common/trace.h"
#include "net/metrics_text.h"
#include "proto/events.h"
#include "proto/task_state.h"

namespace proffer::master {

// One entry per kind of event and per way to end.
class NewestEvents {
 public:
  void note(const TraceEvent& event, const proto::EventPlace& place, Time at);

  // {seq="17.4021"}, a value for `proffer events --from`; none: no such event yet.
  std::optional<Exemplar> of_kind(std::string_view what) const;
  std::optional<Exemplar> of_end(proto::TaskState state, proto::TaskReason reason) const;

 private:
  struct Seen {
    proto::EventPlace place = {};
    Time at = {};
  };
  static Exemplar exemplar(const Seen& seen);
  LiteralMap<std::pair<std::string_view, Seen>> kinds_;  // a kind may be listed twice
  std::map<std::pair<proto::TaskState, proto::TaskReason>, Seen> ends_;
};

}  // namespace proffer::master
