#pragma once

// The options of `proffer conformance`.

#include <string>
#include <vector>

namespace proffer::cli {

struct ConformanceOptions {
  std::vector<std::string> command = {};  // the scheduler; the first word is a path
  std::string restart_with = {};          // a shell command line; empty: none
  std::string work = {};                  // likewise, run once after it has subscribed
  std::string only = {};                  // one item; empty: all
  std::string resources = "cpus:4;mem:4096";
  bool tasks_may_fail = false;
  bool may_stay_idle = false;
  bool json = false;
  bool keep = false;
};

}  // namespace proffer::cli
