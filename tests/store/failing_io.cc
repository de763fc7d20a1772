// The functions at the end replace those of libc in this program, because a program's own symbols
// come before those of libraries. They make the system calls themselves.

#include "tests/store/failing_io.h"

#include <cerrno>
#include <cstdarg>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/check.h"

namespace proffer::store_test {
namespace {

thread_local FailingIo* active = nullptr;

bool is_write(IoFault fault) { return fault == IoFault::kShortWrite; }

}  // namespace

FailingIo::FailingIo(IoFault fault, size_t index) : fault_(fault), left_(index) {
  CHECK(active == nullptr);
  active = this;
}
FailingIo::~FailingIo() { active = nullptr; }

int FailingIo::error() const { return fault_ == IoFault::kError ? EIO : ENOSPC; }

bool FailingIo::fails(const char* call, bool needs_room) {
  if (has_failed() || is_write(fault_)) return false;
  if (fault_ == IoFault::kNoSpace && !needs_room) return false;
  if (left_-- > 0) return false;
  failed_ = call;
  return true;
}

bool FailingIo::fails_write(const char* call, size_t bytes, size_t& written) {
  written = 0;
  if (!is_write(fault_)) return fails(call, true);
  if (rest_fails_) {
    rest_fails_ = false;
    return true;
  }
  if (has_failed() || left_-- > 0) return false;
  failed_ = call;
  rest_fails_ = true;
  written = bytes / 2;
  return true;
}

namespace {

bool fails(const char* call, bool needs_room) {
  if (active == nullptr || !active->fails(call, needs_room)) return false;
  errno = active->error();
  return true;
}

template <class Write>
ssize_t write_or_fail(const char* call, size_t bytes, const Write& write) {
  size_t written = 0;
  if (active == nullptr || !active->fails_write(call, bytes, written)) return write(bytes);
  if (written > 0) return write(written);
  errno = active->error();
  return -1;
}

int open_or_fail(int directory, const char* path, int flags, mode_t mode) {
  if (fails("open", (flags & O_CREAT) != 0)) return -1;
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

mode_t mode_of(int flags, va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

}  // namespace
}  // namespace proffer::store_test

namespace io = proffer::store_test;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = io::mode_of(flags, arguments);
  va_end(arguments);
  return io::open_or_fail(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = io::mode_of(flags, arguments);
  va_end(arguments);
  return io::open_or_fail(AT_FDCWD, path, flags, mode);
}
ssize_t read(int fd, void* to, size_t bytes) {
  if (io::fails("read", false)) return -1;
  return syscall(SYS_read, fd, to, bytes);
}
ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  if (io::fails("pread", false)) return -1;
  return syscall(SYS_pread64, fd, to, bytes, at);
}
ssize_t pread64(int fd, void* to, size_t bytes, off64_t at) { return pread(fd, to, bytes, at); }
ssize_t write(int fd, const void* from, size_t bytes) {
  return io::write_or_fail("write", bytes, [&](size_t now) {
    return static_cast<ssize_t>(syscall(SYS_write, fd, from, now));
  });
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return io::write_or_fail("pwrite", bytes, [&](size_t now) {
    return static_cast<ssize_t>(syscall(SYS_pwrite64, fd, from, now, at));
  });
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t at) {
  return pwrite(fd, from, bytes, at);
}
int ftruncate(int fd, off_t size) {
  if (io::fails("ftruncate", true)) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }
int fsync(int fd) {
  if (io::fails("fsync", true)) return -1;
  return static_cast<int>(syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  if (io::fails("fdatasync", true)) return -1;
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}
int rename(const char* from, const char* to) noexcept {
  if (io::fails("rename", true)) return -1;
  return static_cast<int>(syscall(SYS_rename, from, to));
}
int unlink(const char* path) noexcept {
  if (io::fails("unlink", false)) return -1;
  return static_cast<int>(syscall(SYS_unlink, path));
}

}  // extern "C"
