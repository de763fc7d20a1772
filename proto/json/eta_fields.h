#pragma once

// When asks will probably start, in JSON. Inside of proto/json only.

#include "proto/forecast.h"
#include "proto/json/json_values.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<Eta>& eta) {
  f.about("the next task of the ask: half of the starts are at most so far from now");
  f.seconds("p50_s", eta.p50);
  f.about("likewise, nine of ten; left out: later than a forecast reaches");
  f.seconds("p90_s", eta.p90);
  f.about("the last task of the ask");
  f.seconds("all_p50_s", eta.all_p50);
  f.seconds("all_p90_s", eta.all_p90);
  f.about("when the state was taken that the forecast began with");
  f.seconds("as_of_s", eta.as_of);
  f.whole("runs", eta.runs);
}

template <class F>
void fields(F& f, typename F::template Of<PendingRow>& row) {
  f.text("framework", row.framework);
  f.text("name", row.name);
  f.text("user", row.user);
  f.text("role", row.role);
  f.text("ask", row.ask);
  f.value("shape", row.shape);
  f.whole("wanted", row.wanted);
  f.whole("offered", row.offered);
  f.word("reason", parse_wait_reason, row.reason);
  f.seconds("since_s", row.since);
  f.value("eta", row.eta);
  f.word("no_eta", parse_no_eta, row.no_eta);
  f.text_if_any("unknown", row.unknown);
}

}  // namespace proffer::proto
