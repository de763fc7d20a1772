#pragma once

// Looks at the cluster now and then, so that it is known since when something is wrong.

#include <functional>
#include <memory>

#include "master/shell/conditions.h"
#include "net/loop.h"
#include "net/process_figures.h"

namespace proffer::master {

class ConditionKeeper {
 public:
  // All of the circumstances but those of the process, which are added here.
  using Read = std::function<Circumstances()>;

  // A look every `every`, or as often as looks take a 200th of the loop's time if that is rarer.
  ConditionKeeper(Loop& loop, Duration every, Read read);
  ConditionKeeper(const ConditionKeeper&) = delete;
  ConditionKeeper& operator=(const ConditionKeeper&) = delete;

  // As of the last look, or of a new one if that is a second ago, and a look is quick.
  const ConditionWatch& current();
  // As of the last look.
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
