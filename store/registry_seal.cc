#include "store/registry_seal.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "common/text.h"
#include "store/crc32c.h"

namespace proffer {
namespace {

std::string line_of(const RegistryProgress& progress) {
  const std::string said =
      fmt::format("epoch {:018} commits {:018}", progress.epoch, progress.commits);
  return fmt::format("{} crc {:08x}\n", said, crc32c(said));
}

constexpr size_t kLines = 2;
size_t line_bytes() { return line_of({}).size(); }

// A registry that continued from an older one has a later epoch with fewer commits.
bool is_before(const RegistryProgress& a, const RegistryProgress& b) {
  return std::tie(a.epoch, a.commits) < std::tie(b.epoch, b.commits);
}

// None: it is not a valid line.
std::optional<RegistryProgress> parsed(const std::string& line) {
  constexpr size_t kDigits = 18;
  const std::string form = line_of({});
  if (line.size() != form.size()) return {};
  const auto number = [&](size_t at) {
    return parse_whole("number", std::string_view(line).substr(at, kDigits), 0,
                       std::numeric_limits<int64_t>::max());
  };
  const Result<int64_t> epoch = number(form.find('0'));
  const Result<int64_t> commits = number(form.find('0', form.find("commits")));
  if (!epoch || !commits) return {};
  const RegistryProgress progress{.epoch = *epoch, .commits = *commits};
  if (line_of(progress) != line) return {};
  return progress;
}

}  // namespace

Result<RegistrySeal> RegistrySeal::open(const std::string& path) {
  RegistrySeal seal(path, ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (seal.fd_ < 0 && errno == ENOENT) return seal;
  if (seal.fd_ < 0) return seal.failure("cannot open");
  if (Result<void> read = seal.read(); !read) return std::move(read).error();
  return seal;
}

Result<std::optional<RegistryProgress>> RegistrySeal::read(const std::string& path) {
  RegistrySeal seal(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (seal.fd_ < 0 && errno == ENOENT) return std::optional<RegistryProgress>();
  if (seal.fd_ < 0) return seal.failure("cannot open");
  if (Result<void> read = seal.read(); !read) return std::move(read).error();
  return seal.found_;
}

Result<void> RegistrySeal::read() {
  std::array<char, 256> buffer{};
  const ssize_t size = ::pread(fd_, buffer.data(), buffer.size(), 0);
  if (size < 0) return failure("cannot read");
  const std::string bytes(buffer.data(), static_cast<size_t>(size));
  for (size_t line = 0; line < kLines && line * line_bytes() < bytes.size(); ++line) {
    const auto said = parsed(bytes.substr(line * line_bytes(), line_bytes()));
    if (!said || (found_ && is_before(*said, *found_))) continue;
    found_ = said;
    newest_ = line;
  }
  if (!found_ || bytes.size() > kLines * line_bytes()) {
    return Error::corruption(text(quoted(path_),
                                  ", which has the registry's last epoch and commit, is ",
                                  size == 0 ? "empty" : "damaged"))
        .with_hint(
            "restore the newest copy of all files of the directory; or start once with "
            "--accept_older_registry, and the registry beside it is accepted as it is: what it may "
            "lack is lost");
  }
  return {};
}

RegistrySeal::~RegistrySeal() {
  if (fd_ < 0) return;
  leave_one_line();
  ::close(fd_);
}

// At the first place. If that fails, two lines are left, which only a master of an earlier version
// refuses.
void RegistrySeal::leave_one_line() {
  if (!written_) return;
  if (newest_ != 0 && !write(*written_)) return;
  (void)!::ftruncate(fd_, static_cast<off_t>(line_bytes()));
}

RegistrySeal::RegistrySeal(RegistrySeal&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      found_(other.found_),
      newest_(other.newest_),
      written_(other.written_) {}

Result<void> RegistrySeal::write(const RegistryProgress& progress) {
  const std::string line = line_of(progress);
  if (fd_ < 0) {
    if (Result<void> made = make(line); !made) return made;
    newest_ = 0;
    written_ = progress;
    return {};
  }
  const size_t place = newest_ ? (*newest_ + 1) % kLines : 0;
  const auto at = static_cast<off_t>(place * line.size());
  errno = ENOSPC;  // A short write means that the disk is full.
  const ssize_t written = ::pwrite(fd_, line.data(), line.size(), at);
  if (written == static_cast<ssize_t>(line.size())) {
    newest_ = place;
    written_ = progress;
    return {};
  }
  Error error = failure("cannot write");
  if (!newest_ && ::ftruncate(fd_, 0) != 0) return failure("cannot cut");  // A part of a line.
  return error;
}

// The name is durable after sync().
Result<void> RegistrySeal::make(const std::string& line) {
  const std::string fresh = path_ + ".new";
  constexpr int kFlags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const int fd = ::open(fresh.c_str(), kFlags, 0600);
  if (fd < 0) return failure("cannot make");
  errno = ENOSPC;  // A short write means that the disk is full.
  const bool is_made =
      ::pwrite(fd, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()) &&
      ::fsync(fd) == 0 && ::rename(fresh.c_str(), path_.c_str()) == 0;
  if (!is_made) {
    Error error = failure("cannot make");
    ::close(fd);
    ::unlink(fresh.c_str());
    return error;
  }
  fd_ = fd;
  return {};
}

Result<void> RegistrySeal::sync() {
  if (::fsync(fd_) != 0) return failure("cannot flush");
  const std::string directory = std::filesystem::path(path_).parent_path().string();
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failure("cannot open the directory of");
  const bool is_flushed = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  if (!is_flushed) return failure("cannot flush the directory of");
  return {};
}

Error RegistrySeal::failure(const char* what) const {
  const int error = errno;
  const std::string message = text(what, " ", quoted(path_), ": ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    return Error::resource_exhausted(message).with_hint("make room on the disk, then start again");
  }
  return Error::unavailable(message);
}

}  // namespace proffer
