// Paths that cannot leave their root. A path with invalid text is refused. Then Walk descends
// component by component from the root's descriptor. The kernel is never asked to follow a link or
// to go up: Walk reads links itself, and goes up by descending again from the root.

#include "net/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr size_t kPathBytesMax = 4096;
constexpr int kLinksMax = 40;     // as in the kernel
constexpr int kStepsMax = 4'096;  // the maximum cost of links that go up and down again

Error world_error(std::string_view path, int error) {
  const std::string what = text(quoted(path), ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Error::not_found(text("there is no ", quoted(path)));
    case EACCES:
    case EPERM:
      return Error::permission_denied(text(quoted(path), " may not be read"));
    case ELOOP:
      return Error::permission_denied(text(quoted(path), " has too many symbolic links"));
    case ENAMETOOLONG:
      return Error::invalid_argument(text("path ", quoted(path), " is too long"));
    default:
      return Error::internal(what);
  }
}

Time modified_time(const struct stat& status) {
  return Time::from_nanos(int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec);
}

Result<void> check_text(std::string_view relative) {
  if (relative.size() > kPathBytesMax) {
    return Error::invalid_argument(text("path ", quoted(relative), " is too long"));
  }
  if (relative.find('\0') != std::string_view::npos) {
    return Error::invalid_argument(text("path ", quoted(relative), " contains a NUL"));
  }
  if (relative.starts_with('/')) {
    return Error::invalid_argument(text("path ", quoted(relative), " must be relative"));
  }
  for (const std::string_view part : split(relative, '/')) {
    if (part == "..") {
      return Error::invalid_argument(text("path ", quoted(relative), " must not contain '..'"));
    }
  }
  return {};
}

// While the object lives, this thread opens files with the rights of `user`; other threads are not
// affected. The C library would change the groups of all threads, so this makes the system calls
// directly.
class OpenAs {
 public:
  explicit OpenAs(const std::optional<FileUser>& user) {
    if (!user || user->uid == 0 || geteuid() != 0) return;
    is_ready_ = false;
    const int count = getgroups(0, nullptr);
    former_.resize(static_cast<size_t>(std::max(count, 0)));
    if (count < 0 || getgroups(count, former_.data()) != count) return;
    is_other_ = true;
    is_ready_ = set_groups({user->groups.begin(), user->groups.end()});
    setfsgid(user->gid);
    setfsuid(user->uid);  // Also drops root's capabilities for files.
    // The only way to check the result of the call.
    is_ready_ = is_ready_ && static_cast<uint32_t>(setfsuid(static_cast<uid_t>(-1))) == user->uid;
  }
  ~OpenAs() {
    if (!is_other_) return;
    setfsuid(geteuid());
    setfsgid(getegid());
    CHECK(set_groups(former_)) << "the groups of a thread cannot be set back";
  }
  OpenAs(const OpenAs&) = delete;
  OpenAs& operator=(const OpenAs&) = delete;

  // False: the change failed, and nothing may be opened.
  bool is_ready() const { return is_ready_; }

 private:
  static bool set_groups(const std::vector<gid_t>& groups) {
    return syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
  }

  bool is_ready_ = true;
  bool is_other_ = false;
  std::vector<gid_t> former_;
};

// Resolves a path from a root.
class Walk {
 public:
  Walk(const FilesRoot& root, std::string_view relative) : root_(root), relative_(relative) {
    add(relative);
  }

  Result<void> go() {
    if (Result<void> begun = descend(); !begun) return begun;
    user_ = status_.st_uid;
    while (!todo_.empty()) {
      const std::string part = std::move(todo_.back());
      todo_.pop_back();
      if (!S_ISDIR(status_.st_mode)) return world_error(relative_, ENOTDIR);
      if (part.empty() || part == ".") continue;
      if (part == "..") {
        if (done_.empty()) return leads_out();
        done_.pop_back();
        if (Result<void> down = descend(); !down) return down;
        continue;
      }
      Fd next;
      if (Result<void> stepped = step(at_.get(), part, next); !stepped) return stepped;
      if (S_ISLNK(status_.st_mode)) {
        if (Result<void> followed = follow(next.get()); !followed) return followed;
        continue;
      }
      at_ = std::move(next);
      done_.push_back(part);
    }
    return {};
  }

  int at() const { return at_.get(); }
  const struct stat& status() const { return status_; }  // of the result
  uid_t user() const { return user_; }                   // the owner of the root

 private:
  Error leads_out() const {
    return Error::permission_denied(text(quoted(relative_), " leads out of the served directory"));
  }

  // Adds components before the remaining ones; an empty last component stands for "is a directory".
  void add(std::string_view path) {
    std::vector<std::string_view> parts = split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) todo_.emplace_back(*part);
  }

  Result<void> step(int from, const std::string& part, Fd& next) {
    if (++steps_ > kStepsMax) return world_error(relative_, ELOOP);
    next = Fd(openat(from, part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (next.get() < 0 || fstat(next.get(), &status_) != 0) return world_error(relative_, errno);
    return {};
  }

  // Enters the directory that done_ names, which a task may have replaced by a link meanwhile.
  Result<void> descend() {
    Fd next;
    if (Result<void> begun = step(root_.directory.get(), ".", next); !begun) return begun;
    at_ = std::move(next);
    for (const std::string& part : done_) {
      if (Result<void> stepped = step(at_.get(), part, next); !stepped) return stepped;
      if (!S_ISDIR(status_.st_mode)) return world_error(relative_, ENOTDIR);
      at_ = std::move(next);
    }
    return {};
  }

  // Resolves a link in the present directory; afterwards status_ is that of the directory to which
  // its target is relative.
  Result<void> follow(int link) {
    if (++links_ > kLinksMax) return world_error(relative_, ELOOP);
    char buffer[kPathBytesMax];
    const ssize_t bytes = readlinkat(link, "", buffer, sizeof buffer);
    if (bytes < 0) return world_error(relative_, errno);
    std::string_view target(buffer, static_cast<size_t>(bytes));
    if (!target.starts_with('/')) {
      add(target);
      if (fstat(at_.get(), &status_) != 0) return world_error(relative_, errno);
      return {};
    }
    const std::string& top = root_.path.native();
    const bool is_inside = !top.empty() && target.starts_with(top) &&
                           (target.size() == top.size() || target[top.size()] == '/');
    if (!is_inside) return leads_out();
    add(target.substr(top.size()));
    done_.clear();
    return descend();
  }

  const FilesRoot& root_;
  const std::string_view relative_;  // the requested path
  std::vector<std::string> todo_;    // the next component is last
  std::vector<std::string> done_;    // directories, and at the end the result
  Fd at_;
  struct stat status_ = {};
  uid_t user_ = 0;
  int links_ = 0;
  int steps_ = 0;
};

}  // namespace

Result<FilesRoot> open_root(const std::filesystem::path& path) {
  std::error_code error;
  FilesRoot root{.path = std::filesystem::canonical(path, error)};
  if (error) return world_error(path.native(), error.value());
  root.directory = Fd(open(root.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (root.directory.get() < 0) return world_error(path.native(), errno);
  return root;
}

Result<OpenFile> open_confined(const FilesRoot& root, std::string_view relative,
                               const std::optional<FileUser>& user) {
  if (Result<void> valid = check_text(relative); !valid) return std::move(valid).error();
  const OpenAs as(user);
  if (!as.is_ready()) return world_error(relative, EPERM);
  Walk walk(root, relative);
  if (Result<void> arrived = walk.go(); !arrived) return std::move(arrived).error();
  const struct stat& status = walk.status();
  OpenFile file;
  file.is_directory = S_ISDIR(status.st_mode);
  if (!file.is_directory && !S_ISREG(status.st_mode)) {
    return Error::permission_denied(text(quoted(relative), " is neither a file nor a directory"));
  }
  // This process may read more than the root's owner, who can make hard links to unreadable files.
  if (!file.is_directory && status.st_nlink > 1 && status.st_uid != walk.user()) {
    return Error::permission_denied(text(quoted(relative), " is a file of another user"));
  }
  file.bytes = file.is_directory ? 0 : int64_t{status.st_size};
  // Opens the checked file, even if its name now refers to another.
  file.fd = Fd(open(text("/proc/self/fd/", walk.at()).c_str(),
                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.fd.get() < 0) return world_error(relative, errno);
  return file;
}

Result<std::vector<DirEntry>> list_directory(const OpenFile& directory) {
  // A separate descriptor, since the stream closes it.
  Fd again(openat(directory.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (again.get() < 0) return world_error("directory", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(again.get()), &closedir);
  if (stream == nullptr) return world_error("directory", errno);
  again.release();
  std::vector<DirEntry> entries;
  while (entries.size() < kDirEntriesMax) {
    const dirent* next = readdir(stream.get());
    if (next == nullptr) break;
    const std::string_view name = next->d_name;
    if (name == "." || name == "..") continue;
    struct stat status {};
    if (fstatat(directory.fd.get(), next->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool is_directory = S_ISDIR(status.st_mode);
    if (!is_directory && !S_ISREG(status.st_mode)) continue;
    entries.push_back({.name = std::string(name),
                       .is_directory = is_directory,
                       .bytes = is_directory ? 0 : int64_t{status.st_size},
                       .modified = modified_time(status)});
  }
  std::sort(entries.begin(), entries.end(),
            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

ByteRange parse_byte_range(std::string_view header, int64_t bytes) {
  constexpr std::string_view kUnit = "bytes=";
  const ByteRange whole{.kind = ByteRange::Kind::kWhole, .first = 0, .count = bytes};
  const ByteRange nothing{.kind = ByteRange::Kind::kUnsatisfiable, .first = 0, .count = 0};
  if (!header.starts_with(kUnit)) return whole;
  const std::string_view range = trimmed(header.substr(kUnit.size()));
  const size_t dash = range.find('-');
  if (dash == std::string_view::npos) return whole;
  const std::string_view from = range.substr(0, dash);
  const std::string_view to = range.substr(dash + 1);
  constexpr int64_t kMax = int64_t{1} << 62;

  if (from.empty()) {  // The last `to` bytes.
    const Result<int64_t> suffix = parse_whole("range", to, 0, kMax);
    if (!suffix) return whole;
    const int64_t count = std::min(*suffix, bytes);
    if (count == 0) return nothing;
    return {.kind = ByteRange::Kind::kPart, .first = bytes - count, .count = count};
  }
  const Result<int64_t> first = parse_whole("range", from, 0, kMax);
  if (!first) return whole;
  int64_t last = bytes - 1;
  if (!to.empty()) {
    const Result<int64_t> end = parse_whole("range", to, 0, kMax);
    if (!end || *end < *first) return whole;
    last = std::min(last, *end);
  }
  if (*first >= bytes) return nothing;
  return {.kind = ByteRange::Kind::kPart, .first = *first, .count = last - *first + 1};
}

}  // namespace proffer
