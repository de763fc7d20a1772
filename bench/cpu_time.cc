#include "bench/cpu_time.h"

#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::bench {

int64_t micros_of(const rusage& used) {
  const auto micros = [](const timeval& time) {
    return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
  };
  return micros(used.ru_utime) + micros(used.ru_stime);
}

CpuTime cpu_time_of(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/stat"));
  std::string line;
  std::getline(in, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  int64_t children_user = 0;
  int64_t children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  const int64_t tick = 1'000'000 / sysconf(_SC_CLK_TCK);
  return {(user + system) * tick, (children_user + children_system) * tick};
}

int64_t cpu_time_of_children() {
  rusage used{};
  CHECK_EQ(getrusage(RUSAGE_CHILDREN, &used), 0);
  return micros_of(used);
}

}  // namespace proffer::bench
