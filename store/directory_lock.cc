// A lock with flock on a file in the directory. The file stays when the lock is released, since
// removing it would let two processes lock two files with the same name. A child has its parent's
// locks until it runs its own program, even if the parent was killed in that moment: take() waits
// for such children.

#include "store/directory_lock.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer {
namespace {

// `proffer::quoted` is qualified: <filesystem> brings std::quoted, which a std::string would find
// too.

Error failure(std::string_view what, const std::string& path, int code) {
  return Error::unavailable(text(what, " ", proffer::quoted(path), ": ", std::strerror(code)))
      .with_hint(
          "choose one that this user may write: --data_dir of a master, --work_dir of an agent");
}

// How long a child of an ended process may hold the lock before it runs another program, on a busy
// machine, and the interval of checks.
constexpr int kHeirsMillis = 5'000;
constexpr int kLookMillis = 5;

// Makes the directory, and makes its name in the parent durable.
Result<void> make_directory(const std::string& directory, mode_t mode) {
  std::error_code code;
  const std::filesystem::path path = std::filesystem::absolute(directory, code);
  if (code) return failure("cannot use directory", directory, code.value());
  if (std::filesystem::is_directory(path, code)) return {};
  std::filesystem::create_directories(path.parent_path(), code);
  if (code) return failure("cannot make directory", path.parent_path().string(), code.value());
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return failure("cannot make directory", directory, errno);
  }
  const int parent = ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0) {
    ::fsync(parent);
    ::close(parent);
  }
  return {};
}

// The process id that the holder wrote, or empty.
std::string holder(int fd) {
  char buffer[32] = {};
  const ssize_t size = ::pread(fd, buffer, sizeof(buffer) - 1, 0);
  if (size <= 0) return {};
  std::string_view id = trimmed(std::string_view(buffer, static_cast<size_t>(size)));
  if (id.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return std::string(id);
}

// Whether this process has ended, including one that is not reaped yet.
bool has_ended(const std::string& id) {
  pid_t pid = 0;
  std::from_chars(id.data(), id.data() + id.size(), pid);
  if (pid <= 0) return false;
  if (::kill(pid, 0) != 0) return errno == ESRCH;
  std::ifstream file("/proc/" + id + "/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") == 0;
}

}  // namespace

Result<DirectoryLock> DirectoryLock::take(const std::string& directory) {
  if (Result<void> made = make_directory(directory, 0700); !made) return std::move(made).error();
  return lock(directory + "/lock", "directory " + proffer::quoted(directory),
              "use another directory for this process");
}

Result<DirectoryLock> DirectoryLock::take_socket(const std::string& socket) {
  const std::string folder = std::filesystem::path(socket).parent_path().string();
  if (!folder.empty()) {
    if (Result<void> made = make_directory(folder, 0755); !made) return std::move(made).error();
  }
  struct stat found = {};
  if (::lstat(socket.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return Error::failed_precondition(
        text("a file that is not a socket is at ", proffer::quoted(socket)));
  }
  return lock(socket + ".lock", "socket " + proffer::quoted(socket),
              "use another socket for this process");
}

Result<DirectoryLock> DirectoryLock::lock(const std::string& path, const std::string& what,
                                          const std::string& hint) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failure("cannot open", path, errno);
  DirectoryLock taken(fd);
  int waited_millis = 0;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return failure("cannot lock", path, errno);
    const std::string id = holder(fd);
    if (waited_millis < kHeirsMillis && has_ended(id)) {
      const timespec pause = {.tv_sec = 0, .tv_nsec = kLookMillis * 1'000'000};
      ::nanosleep(&pause, nullptr);
      waited_millis += kLookMillis;
      continue;
    }
    return Error::failed_precondition(text(what, " is in use by another process",
                                           id.empty() ? std::string() : " (pid " + id + ")"))
        .with_hint("end that process first, or " + hint);
  }
  // For people only: the kernel has the lock itself.
  const std::string id = text(::getpid(), "\n");
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, id.data(), id.size(), 0) < 0) {
    return failure("cannot write", path, errno);
  }
  return taken;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }

}  // namespace proffer
