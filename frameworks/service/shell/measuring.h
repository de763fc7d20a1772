#pragma once

// The process `proffer service autoscale`, which measures apps that are scaled by their load. It
// runs while there are such apps, and ends with this scheduler.

#include <functional>
#include <string>

#include <sys/types.h>

#include "common/ids.h"
#include "common/time.h"
#include "sdk/scheduler.h"

namespace proffer::service {

class Measuring {
 public:
  struct Options {
    std::string master = {};
    Duration every = {};  // zero: this scheduler starts no such process
  };
  // `is_wanted` is called every second.
  Measuring(sdk::Scheduler& scheduler, Options options, std::function<bool()> is_wanted);

 private:
  void look();
  void start();
  void reap();

  sdk::Scheduler& scheduler_;
  const Options options_;
  const std::function<bool()> is_wanted_;
  pid_t pid_ = 0;  // 0: it does not run
  bool is_ending_ = false;
  Time started_at_ = {};
  Time not_before_ = {};
  Duration pause_;  // before the next start
};

}  // namespace proffer::service
