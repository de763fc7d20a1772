#pragma once

// Whether an agent starts the tasks that it takes, as its master sees it: one that says nothing of
// several tasks in a row is closed for a while, and tried with one task after that (ADR 0067).

#include <cstdint>
#include <optional>
#include <string>

#include "common/time.h"

namespace proffer::master {

class Starts {
 public:
  // It said nothing of a task for `timeout`. True: it is closed from now on, until `until()`.
  bool note_missed(Duration timeout, Time now);
  // It told a state of a task. True: it was closed, or on trial, and is so no longer.
  bool note_answered();
  // The time is over: it is tried.
  void end_pause();
  // True: this task is the one that it is tried with.
  bool note_launched();
  // Nothing will be heard of the task that it is tried with: another one is next.
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
  bool is_tried_ = false;  // with a task that it has not answered for yet
  std::string why_ = {};
};

}  // namespace proffer::master
