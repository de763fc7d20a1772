#include "sim/sim_task.h"

#include "common/text.h"

namespace proffer::sim {

std::string to_command(const SimTask& task) {
  return text(task.stubborn ? "trap '' TERM; " : "", "sleep ", task.runs.millis(),
              task.signal != 0 ? "; kill -" : "; exit ",
              task.signal != 0 ? task.signal : task.exit_code);
}

SimTask parse_sim_task(std::string_view command) {
  SimTask task{.runs = seconds(1)};
  for (const std::string_view part : split(command, ';')) {
    const size_t blank = part.rfind(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view word = part.substr(0, blank);
    const auto number = [&](std::string_view digits, int64_t max) {
      const Result<int64_t> value = parse_whole("number", digits, 0, max);
      return value ? *value : 0;
    };
    if (word == "sleep") {
      task.runs = milliseconds(number(part.substr(blank + 1), hours(1'000).millis()));
    } else if (word == "exit") {
      task.exit_code = static_cast<int32_t>(number(part.substr(blank + 1), 255));
    } else if (word == "kill") {
      task.signal = static_cast<int32_t>(number(part.substr(blank + 2), 64));
    } else if (part.substr(0, 4) == "trap") {
      task.stubborn = true;
    }
  }
  return task;
}

}  // namespace proffer::sim
