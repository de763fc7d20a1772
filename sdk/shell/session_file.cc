// The lock is on the file itself and moves with it: a new version is locked before it replaces the
// old one, and a process that gets the lock checks that the file is still the one at the path. A
// file gets its name only when its content is complete, so an empty file is damage and not a new
// start.

#include "sdk/shell/session_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/durable_files.h"
#include "net/randomness.h"

namespace proffer::sdk {
namespace {

constexpr std::string_view kHeader = "proffer session 1";
constexpr size_t kFileBytesMax = 1'024;

Error failed(std::string_view doing, const std::string& path) {
  const int error_number = errno;
  const size_t slash = path.rfind('/');
  const bool lacks_directory = error_number == ENOENT && slash != std::string::npos && slash > 0;
  const std::string parent = lacks_directory ? path.substr(0, slash) : std::string();
  return Error::unavailable(text("cannot ", doing, " the session file ", quoted(path), ": ",
                                 strerror(error_number)))
      .with_hint(
          text(parent.empty() ? "" : text("make its directory with: mkdir -p ", parent, "; or "),
               "choose a file in your own directory: --session_file=PATH"));
}

bool is_at(const Fd& fd, const std::string& path) {
  struct stat open = {};
  struct stat named = {};
  return fstat(fd.get(), &open) == 0 && stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

Result<std::string> read_all(const Fd& fd, const std::string& path) {
  std::string bytes(kFileBytesMax, '\0');
  const ssize_t got = pread(fd.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return failed("read", path);
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

Error in_use(const std::string& path) {
  return Error::failed_precondition(text("another scheduler uses the session file ", quoted(path)))
      .with_hint("end it first, or choose another file: --session_file=PATH");
}

// A new framework in its place would start the tasks of the old one again.
Error refused(const std::string& path, std::string_view bytes) {
  return Error::corruption(text("the session file ", quoted(path),
                                bytes.empty() ? " is empty" : " is damaged, or is something else"))
      .with_hint(
          "restore it from a copy. Or remove it to start as a new framework, and end the old one "
          "(proffer frameworks, proffer teardown FRAMEWORK): its tasks keep running, and the new "
          "one does not know them");
}

std::string bytes_of(const FrameworkId& framework, const Secret& secret) {
  return with_sum(text(kHeader, "\nframework ", framework.str(), "\nsecret ", secret.str(), '\n'));
}

// Writes and flushes; false with errno.
bool write_whole(const Fd& fd, std::string_view bytes) {
  errno = ENOSPC;  // the meaning of a short write
  return write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
         fsync(fd.get()) == 0;
}

// The rest of "word rest", or empty.
std::string_view after_word(std::string_view line, std::string_view word) {
  if (line.substr(0, word.size()) != word || line.size() <= word.size()) return {};
  return trimmed(line.substr(word.size()));
}

}  // namespace

Result<SessionFile> SessionFile::open(std::string path) {
  while (true) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (fd.get() < 0 && errno == ENOENT) {
      Result<std::optional<SessionFile>> made = make(path);
      if (!made) return std::move(made).error();
      if (*made) return **std::move(made);
      continue;  // another scheduler's file was there first
    }
    if (fd.get() < 0) return failed("open", path);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return failed("lock", path);
      return in_use(path);
    }
    if (!is_at(fd, path)) continue;  // replaced between opening and locking
    if (fchmod(fd.get(), 0600) != 0) return failed("protect", path);

    Result<std::string> bytes = read_all(fd, path);
    if (!bytes) return std::move(bytes).error();
    SessionFile file(std::move(path), std::move(fd));
    const std::vector<std::string_view> lines = split(*bytes, '\n');
    if (lines.size() >= 3 && lines[0] == kHeader && is_sum_right(*bytes)) {
      file.framework_ = FrameworkId(std::string(after_word(lines[1], "framework")));
      file.secret_ = Secret(std::string(after_word(lines[2], "secret")));
    }
    if (!is_valid_secret(file.secret_.str()) ||
        !(file.framework_.empty() || is_valid_name(file.framework_.str()))) {
      return refused(file.path_, *bytes);
    }
    return file;
  }
}

// Makes the first file, with a new secret; it gets its name only when it is whole. None: another
// file exists by now.
Result<std::optional<SessionFile>> SessionFile::make(const std::string& path) {
  const std::string next = path + ".new";
  Fd fd(::open(next.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd.get() < 0) return failed("make", path);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed("lock", path);
    return in_use(path);
  }
  if (!is_at(fd, next)) return std::optional<SessionFile>();
  SessionFile file(path, std::move(fd));
  file.secret_ = random_secret();
  file.is_new_ = true;
  const std::string bytes = bytes_of(file.framework_, file.secret_);
  if (ftruncate(file.locked_.get(), 0) != 0 || fchmod(file.locked_.get(), 0600) != 0 ||
      !write_whole(file.locked_, bytes)) {
    return failed("write", path);
  }
  // link() does not replace an existing file
  const bool is_made = link(next.c_str(), path.c_str()) == 0;
  const int error = errno;
  unlink(next.c_str());
  if (!is_made && error == EEXIST) return std::optional<SessionFile>();
  errno = error;
  if (!is_made) return failed("make", path);
  if (!sync_folder_of(path)) return failed("flush the directory of", path);
  return std::optional(std::move(file));
}

Result<void> SessionFile::save(const FrameworkId& framework, const Secret& secret) {
  const std::string next = path_ + ".new";
  unlink(next.c_str());  // left by a crash here; the lock is ours
  Fd fd(::open(next.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0 || flock(fd.get(), LOCK_EX | LOCK_NB) != 0 ||
      !write_whole(fd, bytes_of(framework, secret)) || rename(next.c_str(), path_.c_str()) != 0) {
    return failed("write", path_);
  }
  // the name is durable when its folder is
  if (!sync_folder_of(path_)) return failed("write", path_);
  locked_ = std::move(fd);
  framework_ = framework;
  secret_ = secret;
  return {};
}

void SessionFile::remove() { unlink(path_.c_str()); }

}  // namespace proffer::sdk
