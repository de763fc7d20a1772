#pragma once

// The part of /metrics that all daemons have: metrics of the process and its loop, after the
// daemon's own.

#include "net/http_server.h"
#include "net/loop.h"
#include "net/metrics_text.h"

namespace proffer {

// The format that the request asks for.
inline MetricsFormat wanted_format(const HttpRequest& request) {
  return metrics_format(request.header("accept").value_or(""));
}

// Answers with `page` and these metrics, at once, even if all workers wait for a disk.
void respond_metrics(Loop& loop, MetricsText page, HttpResponder responder);

}  // namespace proffer
