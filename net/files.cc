// Paths that cannot leave their root. First the path's text is refused if it is hostile by itself,
// then links are resolved and the result compared with the root, then the result is opened part by
// part without following links, so that a link swapped in meanwhile leads nowhere.

#include "net/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer {
namespace {

constexpr size_t kPathBytesMax = 4096;

Error world_error(std::string_view path, int error) {
  const std::string what = text(quoted(path), ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Error::not_found(text("there is no ", quoted(path)));
    case EACCES:
    case EPERM:
      return Error::failed_precondition(text(quoted(path), " may not be read"));
    case ELOOP:
      return Error::failed_precondition(text(quoted(path), " goes through too many links"));
    case ENAMETOOLONG:
      return Error::invalid_argument(text("path ", quoted(path), " is too long"));
    default:
      return Error::internal(what);
  }
}

Time modified_time(const struct stat& status) {
  return Time::from_nanos(int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec);
}

}  // namespace

Result<std::filesystem::path> confine(const std::filesystem::path& root,
                                      std::string_view relative) {
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
  std::error_code error;
  const std::filesystem::path top = std::filesystem::canonical(root, error);
  if (error) return world_error(root.native(), error.value());
  std::filesystem::path real = std::filesystem::canonical(top / relative, error);
  if (error) return world_error(relative, error.value());
  const auto [end_of_top, at] = std::mismatch(top.begin(), top.end(), real.begin(), real.end());
  static_cast<void>(at);
  if (end_of_top != top.end()) {
    return Error::failed_precondition(
        text(quoted(relative), " leads out of the directory that is served"));
  }
  return real;
}

Result<OpenFile> open_confined(const std::filesystem::path& root, std::string_view relative) {
  const Result<std::filesystem::path> real = confine(root, relative);
  if (!real) return real.error();
  std::error_code error;
  const std::filesystem::path top = std::filesystem::canonical(root, error);
  if (error) return world_error(root.native(), error.value());

  Fd at(open(top.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (at.get() < 0) return world_error(relative, errno);
  for (const std::filesystem::path& part : real->lexically_relative(top)) {
    if (part == "." || part.empty()) continue;
    if (part == "..") return world_error(relative, ENOENT);  // the root was moved meanwhile
    // O_NONBLOCK: opening a FIFO would wait for a writer.
    Fd next(
        openat(at.get(), part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (next.get() < 0) return world_error(relative, errno);
    at = std::move(next);
  }
  struct stat status {};
  if (fstat(at.get(), &status) != 0) return world_error(relative, errno);
  OpenFile file;
  file.is_directory = S_ISDIR(status.st_mode);
  if (!file.is_directory && !S_ISREG(status.st_mode)) {
    return Error::failed_precondition(text(quoted(relative), " is neither a file nor a directory"));
  }
  file.bytes = file.is_directory ? 0 : int64_t{status.st_size};
  file.fd = std::move(at);
  return file;
}

Result<std::vector<DirEntry>> list_directory(const OpenFile& directory) {
  // A descriptor of its own: the stream closes it.
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
