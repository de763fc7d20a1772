#include "frameworks/batch/executor/memory_kills.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/posix.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kCounter = "oom_kill ";

// The beginning of a small file of the kernel; empty if it cannot be read.
std::string read_small(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(4'096, '\0');
  const ssize_t got = file.get() < 0 ? 0 : ::read(file.get(), bytes.data(), bytes.size());
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

// The lines of /proc/self/cgroup are HIERARCHY:CONTROLLERS:PATH; version 2 has no controllers.
std::string counter_file() {
  std::string path;
  for (const std::string_view line : split(read_small("/proc/self/cgroup"), '\n')) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers == "memory") {
      return text("/sys/fs/cgroup/memory", group, "/memory.oom_control");
    }
    if (controllers.empty()) path = text("/sys/fs/cgroup", group, "/memory.events");
  }
  return path;
}

}  // namespace

MemoryKills::MemoryKills() : path_(counter_file()), seen_(read()) {}

int64_t MemoryKills::read() const {
  const std::string bytes = path_.empty() ? "" : read_small(path_);
  const size_t at = bytes.find(kCounter);
  return at == std::string::npos ? 0 : std::atoll(bytes.c_str() + at + kCounter.size());
}

int64_t MemoryKills::take_new() {
  const int64_t now = read();
  return std::max<int64_t>(now - std::exchange(seen_, now), 0);
}

}  // namespace proffer::batch
