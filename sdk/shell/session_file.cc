// The lock is on the file itself and moves with it: a new version is locked before it takes the old
// one's place, and who gets the lock looks whether the file is still the one at the path.

#include "sdk/shell/session_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::sdk {
namespace {

constexpr std::string_view kHeader = "proffer session 1";
constexpr size_t kFileBytesMax = 1'024;

Error failed(std::string_view doing, const std::string& path) {
  return Error::unavailable(
             text("cannot ", doing, " the session file ", quoted(path), ": ", strerror(errno)))
      .with_hint("name a file in a directory of your own: --session_file=PATH");
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

// The rest of "word rest", or empty.
std::string_view after_word(std::string_view line, std::string_view word) {
  if (line.substr(0, word.size()) != word || line.size() <= word.size()) return {};
  return trimmed(line.substr(word.size()));
}

}  // namespace

Result<SessionFile> SessionFile::open(std::string path) {
  while (true) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd.get() < 0) return failed("open", path);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return failed("lock", path);
      return Error::failed_precondition(
                 text("another scheduler is running with the session file ", quoted(path)))
          .with_hint("end it first, or name another file: --session_file=PATH");
    }
    if (!is_at(fd, path)) continue;  // replaced between opening and locking
    if (fchmod(fd.get(), 0600) != 0) return failed("protect", path);

    Result<std::string> bytes = read_all(fd, path);
    if (!bytes) return std::move(bytes).error();
    SessionFile file(std::move(path), std::move(fd));
    if (bytes->empty()) return file;
    const std::vector<std::string_view> lines = split(*bytes, '\n');
    if (lines.size() >= 3 && lines[0] == kHeader) {
      file.framework_ = FrameworkId(std::string(after_word(lines[1], "framework")));
      file.secret_ = Secret(std::string(after_word(lines[2], "secret")));
    }
    if (!is_valid_secret(file.secret_.str()) ||
        !(file.framework_.empty() || is_valid_name(file.framework_.str()))) {
      return Error::corruption(text(quoted(file.path_), " is not a session file"))
          .with_hint("name another file, or remove this one to start as a new framework");
    }
    return file;
  }
}

Result<void> SessionFile::save(const FrameworkId& framework, const Secret& secret) {
  const std::string next = path_ + ".new";
  const std::string bytes =
      text(kHeader, "\nframework ", framework.str(), "\nsecret ", secret.str(), '\n');
  unlink(next.c_str());  // of a crash in here; the lock is ours
  Fd fd(::open(next.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0 || flock(fd.get(), LOCK_EX | LOCK_NB) != 0 ||
      write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      fsync(fd.get()) != 0 || rename(next.c_str(), path_.c_str()) != 0) {
    return failed("write", path_);
  }
  // The name is durable with its directory.
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || fsync(folder.get()) != 0) return failed("write", path_);
  locked_ = std::move(fd);
  framework_ = framework;
  secret_ = secret;
  return {};
}

void SessionFile::remove() { unlink(path_.c_str()); }

}  // namespace proffer::sdk
