// Read take_in_one() first: a file in a user's sandbox is opened component by component and never
// through a link, and copied. The copy gets its name only if it has the checksum in the key. So the
// content of an entry matches its name, even if the user changes the file meanwhile.

#include "slave/shell/file_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "slave/fetcher/plan.h"
#include "slave/fetcher/sha256.h"

namespace proffer::agent {
namespace {

constexpr mode_t kFolderMode = 0711;  // names cannot be listed, since knowing a name gives access
constexpr mode_t kEntryMode = 0444;
constexpr size_t kCopyBytes = 256 * 1024;
constexpr char kTemporary = '~';  // no key begins with it
constexpr int kEnter = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

struct Entry {
  timespec used = {};
  int64_t bytes = 0;
  std::string name = {};
};

bool is_older(const Entry& one, const Entry& other) {
  if (one.used.tv_sec != other.used.tv_sec) return one.used.tv_sec < other.used.tv_sec;
  return one.used.tv_nsec < other.used.tv_nsec;
}

// Removes names that begin with kTemporary, which are of an earlier life.
std::vector<Entry> entries_of(const Fd& folder, bool is_tidying) {
  std::vector<Entry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> names(fdopendir(openat(folder.get(), ".", kEnter)),
                                                  &closedir);
  while (const dirent* entry = names == nullptr ? nullptr : readdir(names.get())) {
    struct stat status {};
    if (fstatat(folder.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    if (entry->d_name[0] == kTemporary) {
      if (is_tidying) unlinkat(folder.get(), entry->d_name, 0);
      continue;
    }
    entries.push_back({status.st_mtim, int64_t{status.st_blocks} * 512, entry->d_name});
  }
  return entries;
}

}  // namespace

FileCache::FileCache(const std::string& work_dir, Options options) : options_(options) {
  if (options_.bytes_max <= 0) return;
  const std::string path = work_dir + "/cache";
  if (mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST) {
    folder_ = Fd(open(path.c_str(), kEnter));
  }
  if (folder_.get() < 0) {
    LOG(WARNING) << "fetched files are not cached: no folder " << quoted(path) << " reason=\""
                 << std::strerror(errno) << '"';
    return;
  }
  fchmod(folder_.get(), kFolderMode);
  path_ = path;
  entries_of(folder_, true);
  make_room();
  thread_ = std::thread([this] { go(); });
}

FileCache::~FileCache() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wakes_.notify_all();
  thread_.join();
}

bool FileCache::use(const std::string& key) const {
  if (path_.empty()) return false;
  const timespec now[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                          {.tv_sec = 0, .tv_nsec = UTIME_NOW}};
  return utimensat(folder_.get(), key.c_str(), now, AT_SYMLINK_NOFOLLOW) == 0;
}

void FileCache::take_in(std::vector<Candidate> candidates, std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(candidates), std::move(done)});
  }
  wakes_.notify_all();
}

void FileCache::go() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wakes_.wait(lock, [this] { return is_over_ || !jobs_.empty(); });
      if (is_over_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    for (const Candidate& candidate : job.candidates) take_in_one(candidate);
    make_room();
    job.done();
  }
}

void FileCache::take_in_one(const Candidate& candidate) {
  const Fd sandbox(open(candidate.sandbox.c_str(), kEnter));
  const Fd work(openat(sandbox.get(), fetcher::kWorkFolder, kEnter));
  const Fd from(openat(work.get(), candidate.key.c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  const bool is_theirs = from.get() >= 0 && fstat(from.get(), &status) == 0 &&
                         S_ISREG(status.st_mode) && status.st_uid == candidate.uid;
  const int64_t size = status.st_size;
  if (is_theirs && size <= options_.bytes_max && !use(candidate.key) && !is_short_of_disk(size)) {
    const std::string fresh = text(kTemporary, ++temporary_);
    const bool is_whole =
        copy(from, fresh, candidate, size) &&
        renameat(folder_.get(), fresh.c_str(), folder_.get(), candidate.key.c_str()) == 0;
    if (!is_whole) unlinkat(folder_.get(), fresh.c_str(), 0);
  }
  unlinkat(work.get(), candidate.key.c_str(), 0);
  unlinkat(sandbox.get(), fetcher::kWorkFolder, AT_REMOVEDIR);  // succeeds for the last one
}

bool FileCache::copy(const Fd& from, const std::string& to, const Candidate& candidate,
                     int64_t size) const {
  const Fd out(openat(folder_.get(), to.c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (out.get() < 0) return false;
  const auto buffer = std::make_unique<char[]>(kCopyBytes);
  fetcher::Sha256 sum;
  int64_t copied = 0;
  while (true) {
    const ssize_t got = read(from.get(), buffer.get(), kCopyBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) break;
    copied += got;
    // Its user may still be writing to it.
    if (got < 0 || copied > size || !write_all(out.get(), buffer.get(), static_cast<size_t>(got))) {
      return false;
    }
    sum.add(buffer.get(), static_cast<size_t>(got));
  }
  return sum.take() == candidate.key.substr(0, kSha256TextBytes) &&
         fchmod(out.get(), kEntryMode) == 0;
}

bool FileCache::is_short_of_disk(int64_t wanted) const {
  struct statvfs disk = {};
  if (fstatvfs(folder_.get(), &disk) != 0) return false;
  return static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize) - wanted <
         options_.disk_reserve;
}

void FileCache::make_room() {
  if (path_.empty()) return;
  const std::lock_guard one_at_a_time(collecting_);
  std::vector<Entry> entries = entries_of(folder_, false);
  std::sort(entries.begin(), entries.end(), is_older);
  int64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  size_t removed = 0;
  for (const Entry& entry : entries) {
    if (bytes <= options_.bytes_max && !is_short_of_disk(0)) break;
    // A task that is copying it has it open, and is not disturbed.
    if (unlinkat(folder_.get(), entry.name.c_str(), 0) != 0) continue;
    bytes -= entry.bytes;
    ++removed;
  }
  if (removed > 0) LOG(INFO) << "cached files removed count=" << removed;
  const std::lock_guard lock(mutex_);
  bytes_ = bytes;
}

int64_t FileCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace proffer::agent
