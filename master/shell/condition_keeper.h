#pragma once

// Examines the cluster periodically, to record since when each problem exists.

#include <functional>
#include <memory>

#include "master/shell/conditions.h"
#include "net/loop.h"
#include "net/process_figures.h"

namespace proffer::master {

class ConditionKeeper {
 public:
  // Returns all circumstances but those of the process, which are added here.
  using Read = std::function<Circumstances()>;

  // Examines every `every`, or less often if the examinations would take more than a 200th of the
  // loop's time.
  ConditionKeeper(Loop& loop, Duration every, Read read);
  ConditionKeeper(const ConditionKeeper&) = delete;
  ConditionKeeper& operator=(const ConditionKeeper&) = delete;

  // The result of the last examination, or of a new one if the last is a second old and an
  // examination is quick.
  const ConditionWatch& current();
  // The result of the last examination.
  const ConditionWatch& last() const { return watch_; }

 private:
  void look();
  void look_again();

  Loop& loop_;
  const Duration every_;
  const Read read_;
  ConditionWatch watch_;
  Time looked_at_ = {};
  Duration took_ = {};
  Timer timer_;
};

}  // namespace proffer::master
