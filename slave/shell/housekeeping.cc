// One round: collect() takes ended sandboxes, oldest first, moves those to be removed into the
// folder `trash`, where they are no longer served, and empties it. remove_released() does the same
// with sandboxes that their framework no longer needs. The records say which sandboxes have ended
// (note_ended); the disk is searched at the beginning and then rarely (find_ended). A directory in
// the trash is emptied entry by entry, and its subdirectories are moved up beside it, so that the
// depth that a task has made does not matter. The next round finds the rest of an interrupted one.

#include "slave/shell/housekeeping.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "slave/shell/disk_reserve.h"

namespace proffer::agent {
namespace {

constexpr int kNiceness = 5;
constexpr size_t kEndedMax = 200'000;    // per round; the next round continues
constexpr size_t kRunsAtOnce = 100;      // between two checks for the end
constexpr size_t kReleasedMax = 10'000;  // prefixes of ids that wait for this thread
constexpr int64_t kReleasedOutputMax = int64_t{1} << 20;  // of a failed task, for each output
constexpr int64_t kHoleBytes = 64 * 1024;                 // holes begin and end at its multiples
constexpr int64_t kPunchBytes = int64_t{8} << 20;
constexpr int kRestForWork = 100;
constexpr int64_t kRoundsPerWalk = 60;  // of the disk, for sandboxes that no record names
constexpr size_t kNamesPerRemoved = 10;
constexpr Duration kRestMax = hours(1);  // sandboxes outlive their age by this at most
constexpr Duration kProgressEvery = seconds(10);
constexpr const char* kOutputs[] = {"stdout", "stderr"};

Time system_time() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return Time::from_nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

int64_t changed_at(const struct stat& status) {
  return int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
}

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// Opens a directory for its entries; nullptr if it does not exist, or is a link.
Directory open_directory(int at, const std::string& name) {
  Fd fd(openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  // Its user may have removed the permission.
  if (fd.get() < 0 && errno == EACCES && geteuid() != 0 &&
      fchmodat(at, name.c_str(), 0700, 0) == 0) {
    fd = Fd(openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  Directory directory(fd.get() < 0 ? nullptr : fdopendir(fd.get()), &closedir);
  if (directory != nullptr) fd.release();
  return directory;
}

// The next entry except "." and ".."; nullptr: there is none.
const dirent* next_entry(const Directory& directory) {
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry;
  }
  return nullptr;
}

// Punches a hole from the beginning of the file to `end`, in steps: a kernel without preemption
// runs nothing else on this CPU during a step. False: it failed with errno.
bool punch(int fd, int64_t end) {
  for (int64_t at = 0; at < end; at += kPunchBytes) {
    at = lseek(fd, at, SEEK_DATA);
    if (at < 0) return errno == ENXIO;  // nothing but holes
    const int64_t bytes = std::min(end - at, kPunchBytes);
    if (bytes <= 0) return true;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes) != 0) return false;
  }
  return true;
}

// A task may have made anything at this name.
void bound_output(int sandbox, const char* name, uid_t owner, int64_t bytes_max) {
  struct stat status {};
  if (fstatat(sandbox, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
      int64_t{status.st_blocks} * 512 <= bytes_max) {
    return;
  }
  const Fd fd(openat(sandbox, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // The opened file is checked: a task may exchange it, and must not cut files of others.
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != owner || status.st_nlink != 1) {
    return;
  }
  // Three quarters of the limit are kept, so that the next cut is some time away.
  const int64_t end = (status.st_size - bytes_max / 4 * 3) / kHoleBytes * kHoleBytes;
  if (end <= 0) return;
  if (punch(fd.get(), end)) return;
  // The file system has no holes. Tasks append to the file, so it may begin anew.
  if (errno != EOPNOTSUPP || ftruncate(fd.get(), 0) != 0) {
    LOG_EVERY_N(WARNING, 60) << "the output of a task is larger than --output_max and cannot be "
                                "cut reason=\""
                             << std::strerror(errno) << '"';
  }
}

}  // namespace

void bound_outputs(const std::string& sandbox, int64_t bytes_max) {
  struct stat status {};
  const auto is_large = [&](const char* name) {
    return lstat(text(sandbox, "/", name).c_str(), &status) == 0 &&
           int64_t{status.st_blocks} * 512 > bytes_max;
  };
  if (!std::any_of(std::begin(kOutputs), std::end(kOutputs), is_large)) return;
  const Fd fd(open(sandbox.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0) return;
  const uid_t owner = status.st_uid;
  for (const char* const name : kOutputs) bound_output(fd.get(), name, owner, bytes_max);
}

void remove_dead_sockets(const std::string& folder, Duration age) {
  if (folder.empty()) return;
  const Directory all = open_directory(AT_FDCWD, folder);
  while (const dirent* entry = all == nullptr ? nullptr : next_entry(all)) {
    const std::string path = text(folder, "/", entry->d_name);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    struct stat status {};
    if (path.size() >= sizeof address.sun_path || !path.ends_with(".sock") ||
        lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) ||
        status.st_uid != geteuid() || Time::from_nanos(changed_at(status)) + age > system_time()) {
      continue;
    }
    path.copy(address.sun_path, path.size());
    const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
        errno == ECONNREFUSED) {
      unlinkat(dirfd(all.get()), entry->d_name, 0);
    }
  }
}

Clocks system_clocks() {
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(steady);
  return {.wall = system_time(), .steady = Time::from_nanos(nanos.count())};
}

Duration rest_after(Duration round, Duration every) {
  const Duration most = std::max(every, kRestMax);
  if (round >= most) return most;  // The multiple might overflow.
  return std::clamp(round * kRestForWork, every, most);
}

Housekeeping::Housekeeping(std::string work_dir, const Sandboxes& sandboxes, RunsInUse& in_use,
                           HousekeepingOptions options)
    : work_dir_(std::move(work_dir)),
      sandboxes_(sandboxes),
      in_use_(in_use),
      options_(options),
      thread_([this] { go(); }) {}

Housekeeping::~Housekeeping() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

bool Housekeeping::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

bool Housekeeping::wait(Duration span) {
  std::unique_lock lock(mutex_);
  return !wakes_.wait_for(lock, std::chrono::nanoseconds(span.nanos()),
                          [this] { return is_over_; });
}

void Housekeeping::go() {
  // On Linux this applies to the thread only.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNiceness);
  const std::string trash = work_dir_ + "/trash";
  if (mkdir(trash.c_str(), 0700) != 0 && errno != EEXIST) {
    LOG(ERROR) << "sandboxes cannot be removed: no folder " << quoted(trash) << " reason=\""
               << std::strerror(errno) << '"';
  }
  trash_number_ = static_cast<uint64_t>(system_time().nanos());  // No earlier life used it.
  trash_ = Fd(open(trash.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  remove_dead_sockets(options_.sockets);
  bytes_max_ = options_.bytes_max == HousekeepingOptions::kHalfOfTheDisk
                   ? disk_room(work_dir_).bytes / 2
                   : options_.bytes_max;
  Time last_round;
  Time next_round;
  do {
    if (options_.output_max > 0) {
      for_each_executor([this](const RunKey& run) {
        bound_outputs(sandboxes_.path_of(run), options_.output_max);
      });
    }
    if (now() >= next_walk_) find_ended();
    remove_released();
    const Time begun = now();
    const bool is_due = begun >= next_round || (begun >= last_round + options_.every &&
                                                (is_beyond_bounds() || is_short_of_disk()));
    if (trash_.get() < 0 || !is_due) continue;
    collect();
    last_round = now();
    next_round = last_round + rest_after(last_round - begun, options_.every);
  } while (wait(std::min(options_.output_every, options_.every)));
}

void Housekeeping::for_each_executor(const std::function<void(const RunKey&)>& what) const {
  RunKey last;
  while (!is_over()) {
    const std::vector<RunKey> some = in_use_.executors_after(last, kRunsAtOnce);
    if (some.empty()) return;
    for (const RunKey& run : some) what(run);
    last = some.back();
  }
}

bool Housekeeping::is_short_of_disk() const {
  if (options_.disk_reserve == 0) return false;
  const DiskRoom disk = disk_room(work_dir_);
  return disk.free_bytes < options_.disk_reserve || disk.free_files < files_to_stay_free(disk);
}

bool Housekeeping::is_beyond_bounds() const {
  return (options_.count_max > 0 && static_cast<int64_t>(ended_.size()) > options_.count_max) ||
         (bytes_max_ > 0 && ended_.bytes() > bytes_max_) ||
         (options_.files_max > 0 && ended_.files() > options_.files_max);
}

void Housekeeping::collect() {
  empty_trash();  // The trash of an earlier life.
  // Files that can be fetched again are removed before the output of tasks.
  if (options_.make_room) options_.make_room();
  // The age of a sandbox counts from its end, so a sandbox in use stays young.
  for_each_executor([this](const RunKey& run) { sandboxes_.touch(run); });
  note_ended();
  std::map<std::string, size_t> removed_of;
  remove_beyond(removed_of);
  size_t removed = 0;
  for (const auto& [framework, count] : removed_of) {
    removed += count;
    named_[framework] += count;
  }
  // One search through the names of a framework serves many removals.
  for (auto at = named_.begin(); at != named_.end() && !is_over();) {
    const bool is_worth_it = at->second * kNamesPerRemoved >= ended_.size_of(at->first);
    if (is_worth_it) sandboxes_.forget_removed(at->first);
    at = is_worth_it ? named_.erase(at) : std::next(at);
  }
  if (removed > 0) {
    LOG(INFO) << "sandboxes removed count=" << removed << " left=" << ended_.size()
              << " left_bytes=" << ended_.bytes() << " left_files=" << ended_.files();
  }
}

// Removes sandboxes that are old enough; while limits are exceeded, the oldest; and empty ones.
void Housekeeping::remove_beyond(std::map<std::string, size_t>& removed_of) {
  const int64_t until = now().nanos();
  const auto age_of = [until](const Ended& ended) { return nanoseconds(until - ended.since); };
  Ended last;
  for (const Ended* oldest = ended_.oldest(); oldest != nullptr; oldest = ended_.next(last)) {
    last = *oldest;
    const Duration age = age_of(last);
    if (is_over()) return;
    if (age < options_.sandbox_age &&
        (age < options_.least_age || !(is_beyond_bounds() || is_short_of_disk()))) {
      break;
    }
    remove(last.run, removed_of);
  }
  last = {};
  for (const Ended* bare = ended_.oldest_bare(); bare != nullptr; bare = ended_.next_bare(last)) {
    last = *bare;
    if (is_over() || age_of(last) < options_.least_age) return;
    remove(last.run, removed_of);
  }
}

// Returns false if the sandbox stays.
bool Housekeeping::remove(const RunKey& run, std::map<std::string, size_t>& removed_of) {
  if (in_use_.contains(run)) {  // It is in use again; its next end will be noted.
    ended_.remove(run);
    return false;
  }
  const bool is_moved = sandboxes_.move_run(run, trash_, std::to_string(++trash_number_));
  // If it cannot be moved, the next search finds it.
  ended_.remove(run);
  if (!is_moved) return false;
  empty_trash();
  note_progress(++removed_of[run.framework]);
  return true;
}

void Housekeeping::note_ended() {
  bool was_full = false;
  const std::vector<RunKey> ended = in_use_.take_ended(was_full);
  if (was_full) next_walk_ = {};
  int64_t since = now().nanos();
  for (const RunKey& run : ended) {
    if (is_over()) return;
    if (in_use_.contains(run)) continue;
    sandboxes_.touch(run);
    note(run, since++);  // in the order of their ends
  }
}

void Housekeeping::note(const RunKey& run, int64_t since) {
  std::optional<Held> held = sandboxes_.measure(run);
  if (!held) return ended_.remove(run);
  held->is_bare = held->is_bare && !sandboxes_.has_failed(run);
  ended_.add(run, since, *held);
}

void Housekeeping::remove_released(const FrameworkId& framework,
                                   const std::vector<std::string>& begins) {
  const std::lock_guard lock(mutex_);
  for (const std::string& begin : begins) {
    if (released_waiting_ == kReleasedMax) {
      LOG_EVERY_N(WARNING, 100) << "too many sandboxes are released at once; they stay until they "
                                   "are old framework="
                                << framework.str();
      return;
    }
    if (released_[framework.str()].insert(begin).second) ++released_waiting_;
  }
}

void Housekeeping::remove_released() {
  std::map<std::string, Beginnings> released;
  {
    const std::lock_guard lock(mutex_);
    released = std::exchange(released_, {});
    released_waiting_ = 0;
  }
  note_ended();
  if (trash_.get() < 0) return;
  for (const auto& [framework, begins] : released) {
    if (is_over()) return;
    remove_released(framework, begins);
  }
}

void Housekeeping::remove_released(const std::string& framework, const Beginnings& begins) {
  size_t removed = 0;
  std::map<std::string, size_t> removed_of;
  for (const std::string& begin : begins) {
    for (const RunKey& run : ended_.that_begin(framework, begin)) {
      if (is_over()) return;
      if (!in_use_.contains(run) && sandboxes_.has_failed(run)) {
        keep_outputs(run);
        note_progress(++removed);
      } else if (remove(run, removed_of)) {
        ++removed;
      }
    }
  }
  for (const auto& [of, count] : removed_of) named_[of] += count;
  if (removed > 0) {
    LOG(INFO) << "released sandboxes removed framework=" << framework << " count=" << removed;
  }
}

// Removes everything in the sandbox except the outputs.
void Housekeeping::keep_outputs(const RunKey& run) {
  const int64_t since = ended_.since(run);
  const Directory of =
      open_directory(AT_FDCWD, text(sandboxes_.root(), "/", run.framework, "/", run.executor));
  if (of != nullptr) empty(dirfd(of.get()), std::to_string(run.run), true);
  bound_outputs(sandboxes_.path_of(run), kReleasedOutputMax);
  empty_trash();
  note(run, since);
}

// The end of a sandbox of an earlier life is the time of its last change, by the current wall
// clock. From then on its age is a duration: setting the clock makes no sandbox old.
void Housekeeping::find_ended() {
  const Clocks begun = options_.clocks();
  const auto age_of = [&begun](int64_t changed) {
    return std::max(int64_t{0}, begun.wall.nanos() - changed);
  };
  if (next_walk_ == Time()) {
    // Sandboxes in the records of an earlier life did not end now: their files show the time.
    bool was_full = false;
    in_use_.take_ended(was_full);
  } else {
    note_ended();
  }
  size_t found = 0;
  const auto is_enough = [&] { return found == kEndedMax || is_over(); };
  const Directory all = open_directory(AT_FDCWD, sandboxes_.root());
  while (const dirent* framework = all == nullptr ? nullptr : next_entry(all)) {
    const Directory executors = open_directory(dirfd(all.get()), framework->d_name);
    while (const dirent* executor = executors == nullptr ? nullptr : next_entry(executors)) {
      const Directory runs = open_directory(dirfd(executors.get()), executor->d_name);
      while (const dirent* entry = runs == nullptr ? nullptr : next_entry(runs)) {
        const Result<int64_t> number = parse_whole("run", entry->d_name, 1, INT64_MAX);
        struct stat status {};
        if (!number ||
            fstatat(dirfd(runs.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(status.st_mode)) {
          continue;  // The agent did not make it.
        }
        const RunKey run{framework->d_name, executor->d_name, static_cast<uint64_t>(*number)};
        if (in_use_.contains(run) || ended_.contains(run)) continue;
        int64_t changed = changed_at(status);
        for (const char* const output : kOutputs) {
          const std::string path = text(entry->d_name, "/", output);
          if (fstatat(dirfd(runs.get()), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
            changed = std::max(changed, changed_at(status));
          }
        }
        note(run, begun.steady.nanos() - age_of(changed));
        ++found;
        if (is_enough()) break;
      }
      if (is_enough()) break;
    }
    if (is_enough()) break;
  }
  const Time end = now();
  const bool is_whole = found < kEndedMax;
  next_walk_ = end + (is_whole ? rest_after(end - begun.steady, options_.every * kRoundsPerWalk)
                               : options_.every);
  // The next round searches the remaining names, even if few sandboxes were removed.
  for (auto& [framework, count] : named_) count += ended_.size_of(framework);
}

void Housekeeping::empty_trash() {
  while (!is_over()) {
    // A directory that is moved up during the reading may be missed, so the trash is read again
    // until it is empty.
    const Directory trash = open_directory(trash_.get(), ".");
    bool found = false;
    bool is_stuck = true;
    while (const dirent* entry = trash == nullptr ? nullptr : next_entry(trash)) {
      if (is_over()) return;
      found = true;
      const std::string name = entry->d_name;
      empty(trash_.get(), name, false);
      if (unlinkat(trash_.get(), name.c_str(), AT_REMOVEDIR) == 0 ||
          unlinkat(trash_.get(), name.c_str(), 0) == 0) {
        is_stuck = false;
      }
    }
    if (!found) return;
    if (is_stuck) {
      LOG_EVERY_N(WARNING, 60) << "the content of " << quoted(work_dir_ + "/trash")
                               << " cannot be removed reason=\"" << std::strerror(errno) << '"';
      return;
    }
  }
}

// Empties a directory; its subdirectories are moved into the trash, beside each other.
void Housekeeping::empty(int in, const std::string& name, bool keeps_output) {
  const Directory directory = open_directory(in, name);
  if (directory == nullptr) return;
  const int at = dirfd(directory.get());
  fchmod(at, 0700);  // Its user may have removed the permission.
  while (const dirent* entry = next_entry(directory)) {
    if (is_over()) return;
    const bool is_output = std::find(std::begin(kOutputs), std::end(kOutputs),
                                     std::string_view(entry->d_name)) != std::end(kOutputs);
    if (keeps_output && is_output) continue;
    if (unlinkat(at, entry->d_name, 0) == 0 || unlinkat(at, entry->d_name, AT_REMOVEDIR) == 0) {
      continue;
    }
    if (errno != ENOTEMPTY && errno != EEXIST) continue;
    const std::string to = std::to_string(++trash_number_) + "~";
    // A directory that is moved must be writable. Root needs no permission, and must not set one:
    // chmod would follow a link that a task has put there meanwhile.
    if (geteuid() != 0 && fchmodat(at, entry->d_name, 0700, 0) != 0) continue;
    renameat(at, entry->d_name, trash_.get(), to.c_str());
  }
}

void Housekeeping::note_progress(size_t removed) {
  const Time at = now();
  if (removed == 1) next_progress_ = at + kProgressEvery;
  if (at < next_progress_) return;
  next_progress_ = at + kProgressEvery;
  LOG(INFO) << "removing sandboxes count=" << removed;
}

}  // namespace proffer::agent
