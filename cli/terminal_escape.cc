#include "cli/terminal_escape.h"

#include <utility>

namespace proffer::cli {

std::string TerminalEscape::take(std::string_view keys) {
  std::string taken;
  for (const char key : keys) {
    if (has_left_) break;
    if (std::exchange(holds_tilde_, false)) {
      has_left_ = key == '.';
      if (has_left_) break;
      taken += '~';
      is_at_start_ = false;
      if (key == '~') continue;
    } else if (is_at_start_ && key == '~') {
      holds_tilde_ = true;
      continue;
    }
    taken += key;
    is_at_start_ = key == '\r' || key == '\n';
  }
  return taken;
}

}  // namespace proffer::cli
