// In a round, the walk over each run with a limit continues for some entries. A walk that has
// reached its end, or the limit, is a measurement, and a new walk begins. So a sandbox with a
// million files delays neither the disk nor the measurement of others.

#include "slave/shell/disk_limits.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/task_state.h"

namespace proffer::agent {
namespace {

constexpr int kWatchNiceness = 5;
constexpr int64_t kBytesOfMib = int64_t{1} << 20;
constexpr int64_t kFileBytesMin = 4'096;
constexpr int64_t kBlockBytes = 512;
constexpr Duration kPauseMin = milliseconds(10);  // shorter pauses are added up

int64_t bytes_of(int64_t milli_mib) {
  return milli_mib / 1000 * kBytesOfMib + milli_mib % 1000 * kBytesOfMib / 1000;
}

// No component of the path may be a link, since a task may put one there at any time.
int open_folder(int at, const char* path) {
  open_how how = {};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const long fd = syscall(SYS_openat2, at, path, &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) return static_cast<int>(fd);
  return openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

}  // namespace

// --- a walk --------------------------------------------------------------------------------------

SandboxWalk::SandboxWalk(const std::string& sandbox) : reading_(nullptr, &closedir) {
  auto root =
      std::make_shared<Fd>(open(sandbox.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (root->get() < 0 || fstat(root->get(), &status) != 0) return;
  device_ = status.st_dev;
  pending_.push_back({.from = std::move(root), .path = "."});
}

bool SandboxWalk::open_next() {
  while (!pending_.empty()) {
    at_ = std::move(pending_.back());
    pending_.pop_back();
    Fd fd(open_folder(at_.from->get(), at_.path.c_str()));
    struct stat status {};
    if (fd.get() < 0 || fstat(fd.get(), &status) != 0 || status.st_dev != device_) continue;
    if (at_.path.size() > kPathMax) {
      if (at_.anchors == kAnchorsMax) continue;
      auto anchor = std::make_shared<Fd>(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
      at_ = {.from = std::move(anchor), .path = ".", .anchors = at_.anchors + 1};
    }
    reading_.reset(fdopendir(fd.get()));
    if (reading_ == nullptr) continue;
    fd.release();
    return true;
  }
  return false;
}

bool SandboxWalk::advance(size_t entries) {
  while (entries > 0) {
    if (reading_ == nullptr && !open_next()) return false;
    const dirent* entry = readdir(reading_.get());
    if (entry == nullptr) {
      reading_.reset();
      continue;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    look_at(entry->d_name);
    --entries;
  }
  return true;
}

void SandboxWalk::look_at(const char* name) {
  struct stat status {};
  if (fstatat(dirfd(reading_.get()), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (status.st_dev != device_) return;
  const int64_t bytes = std::max(int64_t{status.st_blocks} * kBlockBytes, kFileBytesMin);
  if (!S_ISDIR(status.st_mode)) {
    bytes_ += bytes / std::max<int64_t>(1, static_cast<int64_t>(status.st_nlink));
    return;
  }
  bytes_ += bytes;
  if (pending_.size() == kPendingMax) return;
  pending_.push_back({.from = at_.from, .path = at_.path + "/" + name, .anchors = at_.anchors});
}

// --- limits of sandboxes -------------------------------------------------------------------------

// A shared executor has one sandbox for all its tasks, so the owner of a file is unknown.
void DiskLimits::follow(const proto::CheckpointRecord& record) {
  const std::lock_guard lock(mutex_);
  const auto forget = [this](const TaskName& name) {
    const auto at = runs_.find(name);
    if (at == runs_.end()) return;
    limits_.erase(at->second);
    runs_.erase(at);
  };
  if (const auto* task = std::get_if<proto::TaskRecord>(&record)) {
    const TaskName name(task->framework, task->spec.id);
    const int64_t disk = task->assignment.resources.amounts[ResourceKind::kDisk];
    forget(name);
    if (disk == 0 || task->run == 0 || !task->spec.executor_id.empty()) return;
    const RunKey run{task->framework.str(), task->executor.str(), task->run};
    runs_[name] = run;
    limits_[run] = {.framework = task->framework, .task = task->spec.id, .bytes = bytes_of(disk)};
  } else if (const auto* update = std::get_if<proto::UpdateRecord>(&record)) {
    if (proto::is_terminal(update->status.state)) forget({update->framework, update->status.task});
  }
}

std::map<RunKey, DiskLimits::Limit> DiskLimits::all() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

// --- the watch -----------------------------------------------------------------------------------

DiskWatch::DiskWatch(const Sandboxes& sandboxes, const DiskLimits& limits,
                     std::function<void(const Over&)> on_over, DiskWatchOptions options)
    : sandboxes_(sandboxes),
      limits_(limits),
      on_over_(std::move(on_over)),
      options_(options),
      thread_([this] { go(); }) {}

DiskWatch::~DiskWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

bool DiskWatch::wait(Duration span) {
  std::unique_lock lock(mutex_);
  return !wakes_.wait_for(lock, std::chrono::nanoseconds(span.nanos()),
                          [this] { return is_over_; });
}

void DiskWatch::go() {
  // On Linux this applies to the thread only.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kWatchNiceness);
  while (round()) {
  }
}

bool DiskWatch::round() {
  using Clock = std::chrono::steady_clock;
  const std::map<RunKey, DiskLimits::Limit> limits = limits_.all();
  std::erase_if(walks_, [&](const auto& walk) { return !limits.contains(walk.first); });
  Duration used;
  Duration owed;
  for (const auto& [run, limit] : limits) {
    const auto begin = Clock::now();
    const auto at = walks_.try_emplace(run, sandboxes_.path_of(run)).first;
    const bool has_more = at->second.advance(options_.entries);
    const int64_t bytes = at->second.bytes();
    if (!has_more || bytes > limit.bytes) walks_.erase(at);
    if (bytes > limit.bytes) on_over_({.limit = limit, .run = run.run, .bytes = bytes});
    const Duration worked = Duration::nanos(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
    owed = owed + worked * options_.rest_for_work;
    used = used + worked;
    if (owed < kPauseMin) continue;
    used = used + owed;
    if (!wait(std::exchange(owed, Duration()))) return false;
  }
  return wait(std::max(options_.every - used, Duration()));
}

}  // namespace proffer::agent
