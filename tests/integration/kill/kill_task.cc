// kill_task JOURNAL CPUS MEM MILLISECONDS exit:N|signal:N [orphan]: the command of one task of a
// kill storm. It records its start, signs of life and its end. With `orphan` it leaves a process
// behind in a session of its own, which Proffer has to kill.

#include <csignal>
#include <cstdlib>
#include <cstring>

#include <poll.h>

#include "tests/integration/kill/record.h"

namespace {

using proffer::test::now_nanos;
using proffer::test::RecordFile;

constexpr int kLifeSignMillis = 40;
constexpr int kOrphanMillis = 30'000;

void live(const RecordFile& journal, const std::string& task, int millis) {
  const int64_t end = now_nanos() + int64_t{millis} * 1'000'000;
  for (int64_t left = millis; left > 0; left = (end - now_nanos()) / 1'000'000) {
    ::poll(nullptr, 0, static_cast<int>(left < kLifeSignMillis ? left : kLifeSignMillis));
    if (left > kLifeSignMillis) journal.write("alive", task);
  }
}

// The process that started this one; 0 if that was killed before this process could read its pid,
// because the parent is the subreaper of orphans then.
pid_t executor() {
  while (true) {
    const pid_t parent = getppid();
    char name[32] = {};
    const int fd = ::open(("/proc/" + std::to_string(parent) + "/comm").c_str(), O_RDONLY);
    const ssize_t size = fd < 0 ? 0 : ::read(fd, name, sizeof name - 1);
    ::close(fd);
    if (parent != getppid()) continue;
    return size > 0 && std::strncmp(name, "proffer-executor", 15) == 0 ? parent : 0;
  }
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "0" : value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 97;
  const RecordFile journal(argv[1]);
  const std::string task = variable("PROFFER_TASK_ID");
  const std::string how = argv[5];
  journal.write("start", task + ' ' + variable("PROFFER_AGENT") + ' ' + std::to_string(getpid()) +
                             ' ' + std::to_string(executor()) + ' ' + argv[2] + ' ' + argv[3] +
                             ' ' + variable("PORT_main"));
  if (argc > 6 && ::fork() == 0) {
    ::setsid();
    live(journal, task, kOrphanMillis);
    return 0;
  }
  live(journal, task, std::atoi(argv[4]));
  const int number = std::atoi(how.c_str() + how.find(':') + 1);
  journal.write("end", task + ' ' + how);
  if (how.compare(0, 7, "signal:") != 0) return number;
  ::kill(getpid(), number);
  ::pause();
}
