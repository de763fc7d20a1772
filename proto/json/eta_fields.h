#pragma once

// Estimated start times of asks in JSON. For proto/json only.

#include "proto/forecast.h"
#include "proto/json/json_values.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<Eta>& eta) {
  f.about("seconds until the next task of the ask starts: median");
  f.seconds("p50_s", eta.p50);
  f.about("the same, 90th percentile; absent: later than the end of the forecast");
  f.seconds("p90_s", eta.p90);
  f.about("seconds until the last task of the ask starts");
  f.seconds("all_p50_s", eta.all_p50);
  f.seconds("all_p90_s", eta.all_p90);
  f.about("time of the state on which the forecast is based");
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
