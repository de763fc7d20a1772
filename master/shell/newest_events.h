#pragma once

// The newest event of each kind, and of each way in which tasks end: the exemplars of counters, so
// that a look at a graph leads to the event log.

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

// As many entries as there are kinds of events, and ways to end.
class NewestEvents {
 public:
  void note(const TraceEvent& event, const proto::EventPlace& place, Time at);

  // {seq="17.4021"}, which `proffer events --from` takes; none: no such event yet.
  std::optional<Exemplar> of_kind(std::string_view what) const;
  std::optional<Exemplar> of_end(proto::TaskState state, proto::TaskReason reason) const;

 private:
  struct Seen {
    proto::EventPlace place = {};
    Time at = {};
  };
  static Exemplar exemplar(const Seen& seen);
  LiteralMap<std::pair<std::string_view, Seen>> kinds_;  // one kind may be there twice
  std::map<std::pair<proto::TaskState, proto::TaskReason>, Seen> ends_;
};

}  // namespace proffer::master
