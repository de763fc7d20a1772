#pragma once

// The answer to "why has this framework no offer", as a plain value: proto/json prints it.

#include <string>
#include <vector>

#include "common/explanation.h"
#include "proto/status.h"

namespace proffer::proto {

struct Explanation {
  std::string answer = {};  // one sentence
  std::string name = {};
  std::string user = {};
  Duration failover_timeout = {};
  Time now = {};
  FrameworkExplanation fair = {};
  std::vector<OfferRow> offers = {};  // outstanding to it
  bool operator==(const Explanation&) const = default;
};

}  // namespace proffer::proto
