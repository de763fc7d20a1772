#pragma once

// What /metrics of every daemon has: the figures of its process and of its loop, behind those of
// its own.

#include "net/http_server.h"
#include "net/loop.h"
#include "net/metrics_text.h"

namespace proffer {

// The format of the page that the request asks for.
inline MetricsFormat wanted_format(const HttpRequest& request) {
  return metrics_format(request.header("accept").value_or(""));
}

// Answers with `page` and these, at once: also while all workers wait for a disk.
void respond_metrics(Loop& loop, MetricsText page, HttpResponder responder);

}  // namespace proffer
