// The functions at the end replace those of libc in this program, because a program's own symbols
// come before those of libraries. They make the system calls themselves, or call the library's
// function.

#include "tests/frameworks/batch_disk/failing_disk.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/check.h"

namespace proffer::batch::disk_test {

struct FailingDisk::Shared {
  std::atomic<int64_t> counted = 0;
  std::atomic<bool> has_failed = false;
  std::atomic<bool> is_mended = false;
  std::atomic<bool> rest_fails = false;  // the rest of a short write fails
  char failed[256] = {};
};

namespace {

FailingDisk* active = nullptr;

constexpr size_t kBlockBytes = 512;  // the unit of st_blocks

}  // namespace

const char* to_text(Fault fault) {
  constexpr const char* kNames[] = {"ENOSPC", "EIO", "short write", "kill", "full"};
  return kNames[static_cast<size_t>(fault)];
}

FailingDisk::FailingDisk(std::string root, Fault fault, int64_t index)
    : root_(std::move(root)),
      fault_(fault),
      index_(index),
      shared_(new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared) {}
FailingDisk::~FailingDisk() { ::munmap(shared_, sizeof(Shared)); }
void FailingDisk::begin() {
  CHECK(active == nullptr);
  active = this;
}
void FailingDisk::mend() { shared_->is_mended = true; }
int64_t FailingDisk::counted() const { return shared_->counted; }
std::string FailingDisk::failed() const { return shared_->failed; }

// Decides whether a call fails.
class Calls {
 public:
  static bool is_here(const char* path) {
    if (active == nullptr || path == nullptr) return false;
    const std::string& root = active->root_;
    // A relative path is below the sandbox, or below an open directory of the test.
    return path[0] != '/' || std::strncmp(path, root.c_str(), root.size()) == 0 ||
           std::strncmp(path, "/proc/self/fd/", 14) == 0;
  }
  static bool is_here(int fd, char* path) {
    if (active == nullptr) return false;
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const auto length = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    return path[0] == '/' && is_here(path);
  }

  static bool is_full() { return active->fault_ == Fault::kFull; }

  // Counts a call on a file below the root. True: it fails, with errno set.
  static bool fails(const char* call, const char* path, bool needs_room) {
    const Fault fault = active->fault_;
    if (fault == Fault::kShortWrite) return false;
    if ((fault == Fault::kNoSpace || fault == Fault::kFull) && !needs_room) return false;
    const int64_t number = active->shared_->counted.fetch_add(1);
    if (active->index_ < 0) return false;
    if (fault == Fault::kFull) {
      if (number < active->index_ || active->shared_->is_mended) return false;
    } else if (number != active->index_) {
      return false;
    }
    note(call, path);
    if (fault == Fault::kKill) ::kill(::getpid(), SIGKILL);
    errno = fault == Fault::kError ? EIO : ENOSPC;
    return true;
  }

  // The number of bytes that a write may write: all, some, or none with errno set.
  static size_t room(const char* call, int fd, size_t bytes, off_t at) {
    char path[PATH_MAX];
    if (!is_here(fd, path)) return bytes;
    const Fault fault = active->fault_;
    if (fault != Fault::kShortWrite) {
      if (fault == Fault::kFull && has_room(fd, bytes, at)) return bytes;
      return fails(call, path, true) ? 0 : bytes;
    }
    if (active->shared_->rest_fails.exchange(false)) {
      errno = ENOSPC;
      return 0;
    }
    if (active->shared_->counted.fetch_add(1) != active->index_) return bytes;
    note(call, path);
    active->shared_->rest_fails = true;
    if (bytes >= 2) return bytes / 2;
    active->shared_->rest_fails = false;
    errno = ENOSPC;
    return 0;
  }

 private:
  static void note(const char* call, const char* path) {
    if (active->shared_->has_failed.exchange(true)) return;
    const size_t root = std::strncmp(path, active->root_.c_str(), active->root_.size()) == 0
                            ? active->root_.size()
                            : 0;
    std::snprintf(active->shared_->failed, sizeof active->shared_->failed, "%s of %s", call,
                  path + root);
  }
  // A full disk still accepts bytes in blocks that the file already has.
  static bool has_room(int fd, size_t bytes, off_t at) {
    struct stat seen = {};
    if (::syscall(SYS_newfstatat, fd, "", &seen, AT_EMPTY_PATH) != 0) return false;
    if (at < 0) at = seen.st_size;  // it appends
    return static_cast<size_t>(at) + bytes <= static_cast<size_t>(seen.st_blocks) * kBlockBytes;
  }
};

namespace {

bool fails(const char* call, const char* path, bool needs_room) {
  return Calls::is_here(path) && Calls::fails(call, path, needs_room);
}
bool fails(const char* call, int fd, bool needs_room) {
  char path[PATH_MAX];
  return Calls::is_here(fd, path) && Calls::fails(call, path, needs_room);
}

// A directory on a full disk usually has room for one more name.
bool fails_to_move(const char* call, const char* to) {
  return Calls::is_here(to) && Calls::fails(call, to, !Calls::is_full());
}

int open_or_fail(int directory, const char* path, int flags, mode_t mode) {
  bool needs_room = (flags & O_CREAT) != 0;
  // An existing file needs no new room.
  if (needs_room && ::syscall(SYS_faccessat, directory, path, F_OK) == 0) needs_room = false;
  if (fails("open", path, needs_room)) return -1;
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

mode_t mode_of(int flags, va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

ssize_t write_or_fail(const char* call, int fd, const void* from, size_t bytes, off_t at) {
  const size_t room = Calls::room(call, fd, bytes, at);
  if (room == 0 && bytes > 0) return -1;
  if (at < 0) return ::syscall(SYS_write, fd, from, room);
  return ::syscall(SYS_pwrite64, fd, from, room, at);
}

// The function with this name in the libraries.
template <class Function>
Function* behind(const char* name) {
  void* found = ::dlsym(RTLD_NEXT, name);
  CHECK(found != nullptr) << name;
  Function* function = nullptr;
  std::memcpy(&function, &found, sizeof function);
  return function;
}

}  // namespace
}  // namespace proffer::batch::disk_test

namespace disk = proffer::batch::disk_test;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = disk::mode_of(flags, arguments);
  va_end(arguments);
  return disk::open_or_fail(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = disk::mode_of(flags, arguments);
  va_end(arguments);
  return disk::open_or_fail(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = disk::mode_of(flags, arguments);
  va_end(arguments);
  return disk::open_or_fail(directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = disk::mode_of(flags, arguments);
  va_end(arguments);
  return disk::open_or_fail(directory, path, flags, mode);
}
ssize_t read(int fd, void* to, size_t bytes) {
  if (disk::fails("read", fd, false)) return -1;
  return syscall(SYS_read, fd, to, bytes);
}
ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  if (disk::fails("pread", fd, false)) return -1;
  return syscall(SYS_pread64, fd, to, bytes, at);
}
ssize_t pread64(int fd, void* to, size_t bytes, off64_t at) { return pread(fd, to, bytes, at); }
ssize_t write(int fd, const void* from, size_t bytes) {
  return disk::write_or_fail("write", fd, from, bytes, -1);
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return disk::write_or_fail("pwrite", fd, from, bytes, at);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t at) {
  return pwrite(fd, from, bytes, at);
}
int ftruncate(int fd, off_t size) noexcept {
  if (disk::fails("ftruncate", fd, false)) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}
int ftruncate64(int fd, off64_t size) noexcept { return ftruncate(fd, size); }
int fallocate(int fd, int mode, off_t at, off_t bytes) {
  if (disk::fails("fallocate", fd, true)) return -1;
  return static_cast<int>(syscall(SYS_fallocate, fd, mode, at, bytes));
}
int fallocate64(int fd, int mode, off64_t at, off64_t bytes) {
  return fallocate(fd, mode, at, bytes);
}
int fsync(int fd) {
  // fsync on a full disk works: its data has blocks already.
  if (disk::fails("fsync", fd, false)) return -1;
  return static_cast<int>(syscall(SYS_fsync, fd));
}
int rename(const char* from, const char* to) noexcept {
  if (disk::fails_to_move("rename", to)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int renameat2(int from_directory, const char* from, int to_directory, const char* to,
              unsigned flags) noexcept {
  if (disk::fails_to_move("renameat2", to)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}
int link(const char* from, const char* to) noexcept {
  if (disk::fails("link", to, true)) return -1;
  return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int symlink(const char* target, const char* path) noexcept {
  if (disk::fails("symlink", path, true)) return -1;
  return static_cast<int>(syscall(SYS_symlinkat, target, AT_FDCWD, path));
}
int unlink(const char* path) noexcept {
  if (disk::fails("unlink", path, false)) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  if (disk::fails("unlinkat", path, false)) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, directory, path, flags));
}
int rmdir(const char* path) noexcept {
  if (disk::fails("rmdir", path, false)) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (disk::fails("mkdir", path, true)) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int access(const char* path, int mode) noexcept {
  if (disk::fails("access", path, false)) return -1;
  return static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, path, mode));
}
int stat(const char* path, struct stat* seen) noexcept {
  if (disk::fails("stat", path, false)) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, seen, 0));
}
int lstat(const char* path, struct stat* seen) noexcept {
  if (disk::fails("lstat", path, false)) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, seen, AT_SYMLINK_NOFOLLOW));
}
int fstat(int fd, struct stat* seen) noexcept {
  if (disk::fails("fstat", fd, false)) return -1;
  return static_cast<int>(syscall(SYS_newfstatat, fd, "", seen, AT_EMPTY_PATH));
}
DIR* opendir(const char* path) {
  static auto* const behind = disk::behind<DIR*(const char*)>("opendir");
  if (disk::fails("opendir", path, false)) return nullptr;
  return behind(path);
}
struct dirent* readdir(DIR* directory) {
  static auto* const behind = disk::behind<struct dirent*(DIR*)>("readdir");
  if (disk::fails("readdir", dirfd(directory), false)) return nullptr;
  return behind(directory);
}

}  // extern "C"
