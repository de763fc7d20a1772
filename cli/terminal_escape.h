#pragma once

#include <string>
#include <string_view>

namespace proffer::cli {

// Finds the keys with which a user leaves a terminal that does not answer: `~.` at the start of a
// line, as in ssh. `~~` there is one `~`.
class TerminalEscape {
 public:
  // Returns the keys for the task. A `~` at the start of a line waits for the key that follows.
  std::string take(std::string_view keys);
  // `~.` was typed; no later key is for the task.
  bool has_left() const { return has_left_; }

 private:
  bool is_at_start_ = true;
  bool holds_tilde_ = false;
  bool has_left_ = false;
};

}  // namespace proffer::cli
