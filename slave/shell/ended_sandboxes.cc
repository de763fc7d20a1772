#include "slave/shell/ended_sandboxes.h"

#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "net/fd.h"

namespace proffer::agent {
namespace {

// In addition to its content: its directory, the executor's directory, and two names (Sandboxes).
constexpr int64_t kFilesOfASandbox = 4;
constexpr int64_t kBlock = 512;

void measure(int in, const std::string& name, int depth, Held& held) {
  Fd fd(openat(in, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fd.get() < 0 ? nullptr : fdopendir(fd.get()),
                                                      &closedir);
  if (directory == nullptr) {  // Its user may have removed the permission.
    held.is_bare = false;
    return;
  }
  fd.release();
  const int at = dirfd(directory.get());
  while (const dirent* entry = readdir(directory.get())) {
    const std::string entry_name = entry->d_name;
    if (entry_name == "." || entry_name == "..") continue;
    if (held.files >= kMeasuredMax) return;
    struct stat status {};
    if (fstatat(at, entry_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    ++held.files;
    held.bytes += int64_t{status.st_blocks} * kBlock;
    const bool is_output = depth == 0 && (entry_name == "stdout" || entry_name == "stderr");
    if (!is_output || !S_ISREG(status.st_mode) || status.st_size > 0) held.is_bare = false;
    if (S_ISDIR(status.st_mode) && depth < kMeasuredDepth) {
      measure(at, entry_name, depth + 1, held);
    }
  }
}

}  // namespace

Held measure_sandbox(int in, const std::string& name) {
  Held held{.files = kFilesOfASandbox, .is_bare = true};
  measure(in, name, 0, held);
  return held;
}

void EndedSandboxes::add(const RunKey& run, int64_t since, const Held& held) {
  remove(run);
  by_run_.emplace(run, Known{.since = since, .held = held});
  by_end_.insert({.since = since, .run = run});
  if (held.is_bare) bare_.insert({.since = since, .run = run});
  ++of_framework_[run.framework];
  bytes_ += held.bytes;
  files_ += held.files;
}

void EndedSandboxes::remove(const RunKey& run) {
  const auto at = by_run_.find(run);
  if (at == by_run_.end()) return;
  const Ended ended{.since = at->second.since, .run = run};
  by_end_.erase(ended);
  bare_.erase(ended);
  bytes_ -= at->second.held.bytes;
  files_ -= at->second.held.files;
  const auto count = of_framework_.find(run.framework);
  if (--count->second == 0) of_framework_.erase(count);
  by_run_.erase(at);
}

size_t EndedSandboxes::size_of(const std::string& framework) const {
  const auto at = of_framework_.find(framework);
  return at == of_framework_.end() ? 0 : at->second;
}

const EndedSandboxes::Ended* EndedSandboxes::next(const Ended& after) const {
  const auto at = by_end_.upper_bound(after);
  return at == by_end_.end() ? nullptr : &*at;
}

const EndedSandboxes::Ended* EndedSandboxes::next_bare(const Ended& after) const {
  const auto at = bare_.upper_bound(after);
  return at == bare_.end() ? nullptr : &*at;
}

std::vector<RunKey> EndedSandboxes::that_begin(const std::string& framework,
                                               const std::string& begin) const {
  std::vector<RunKey> found;
  for (auto at = by_run_.lower_bound({.framework = framework, .executor = begin, .run = 0});
       at != by_run_.end(); ++at) {
    if (at->first.framework != framework || !at->first.executor.starts_with(begin)) break;
    found.push_back(at->first);
  }
  return found;
}

}  // namespace proffer::agent
