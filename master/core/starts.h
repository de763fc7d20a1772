#pragma once

// Whether an agent starts the tasks that it gets, as its master sees it. After several tasks in a
// row without a report, the agent gets no tasks for a while, and then one task as a trial (ADR
// 0067).

#include <cstdint>
#include <optional>
#include <string>

#include "common/time.h"

namespace proffer::master {

class Starts {
 public:
  // It did not report a task for `timeout`. True: it is closed from now on, until `until()`.
  bool note_missed(Duration timeout, Time now);
  // It reported a state of a task. True: it was closed or on trial, and is no longer.
  bool note_answered();
  // The pause is over: the next task is a trial.
  void end_pause();
  // True: this task is the trial.
  bool note_launched();
  // There will be no report of the trial task: the next task is the trial.
  void end_trial() { is_tried_ = false; }

  bool is_closed() const { return until_.has_value() || is_tried_; }
  std::optional<Time> until() const { return until_; }
  // Why it is closed, for people.
  const std::string& why() const { return why_; }

 private:
  int64_t missed_ = 0;  // in a row
  int64_t pauses_ = 0;  // in a row
  std::optional<Time> until_ = {};
  bool is_on_trial_ = false;
  bool is_tried_ = false;  // the trial task is launched and not reported yet
  std::string why_ = {};
};

}  // namespace proffer::master
