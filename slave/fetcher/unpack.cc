// Read Unpacking::take first: the kinds of entries. parts_of() decides where an entry may lie, and
// check_target() where a link may lead.
//
// The target of a link may have ".." only at its beginning, and not above `into`. The names after
// it may themselves be links, which obey the same rule, so no chain of links leads out.

#include "slave/fetcher/unpack.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fetch_uri.h"
#include "common/limits.h"
#include "common/text.h"
#include "net/fd.h"

namespace proffer::fetcher {
namespace {

constexpr size_t kBlockBytes = 256 * 1024;
constexpr size_t kPartsMax = 128;
constexpr mode_t kFileModes = 0755;  // neither set-user-id nor writable for other users
constexpr mode_t kOwnersRead = 0600;
constexpr mode_t kDirectoryMode = 0755;

using Parts = std::vector<std::string>;

Error refused(std::string_view entry, std::string_view why) {
  return Error::invalid_argument(text("the archive's entry ", quoted(entry), " ", why));
}

Error cannot_make(std::string_view entry, int error) {
  const std::string message =
      text("the archive's entry ", quoted(entry), " cannot be created: ", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? Error::resource_exhausted(message)
                                            : Error::unavailable(message);
}

// The components of `path` below the destination; none for the destination itself.
Result<Parts> parts_of(std::string_view entry, std::string_view path) {
  if (path.starts_with('/')) return refused(entry, "has an absolute path");
  Parts parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return refused(entry, "has '..' in its path");
    if (part.size() > kFileNameBytesMax) return refused(entry, "has a name that is too long");
    parts.emplace_back(part);
  }
  if (parts.size() > kPartsMax) return refused(entry, "is nested too deeply");
  if (!parts.empty()) {
    if (Result<void> top = check_fetched_name(parts.front()); !top) {
      return refused(entry, text("is not unpacked: ", top.error().message()));
    }
  }
  return parts;
}

// Checks a link that lies `depth` directories below the destination.
Result<void> check_target(std::string_view entry, std::string_view target, size_t depth) {
  if (target.empty()) return refused(entry, "is a link without a target");
  if (target.starts_with('/')) return refused(entry, "is a link to an absolute path");
  size_t up = 0;
  bool has_name = false;
  for (const std::string_view part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      has_name = true;
    } else if (has_name) {
      return refused(entry, "is a link with '..' after a name");
    } else if (++up > depth) {
      return refused(entry, "is a link that leads out of the sandbox");
    }
  }
  return {};
}

class Unpacking {
 public:
  Unpacking(int into, Room& room) : into_(into), room_(room), archive_(archive_read_new()) {}

  Result<void> all(int fd) {
    archive* const from = archive_.get();
    if (from == nullptr) return Error::resource_exhausted("libarchive has no memory");
    archive_read_support_filter_gzip(from);
    archive_read_support_filter_bzip2(from);
    archive_read_support_filter_xz(from);
    archive_read_support_filter_zstd(from);
    archive_read_support_format_tar(from);
    archive_read_support_format_zip(from);
    if (archive_read_open_fd(from, fd, kBlockBytes) != ARCHIVE_OK) return damaged();
    for (size_t count = 0;; ++count) {
      archive_entry* entry = nullptr;
      const int got = archive_read_next_header(from, &entry);
      if (got == ARCHIVE_EOF) break;
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return damaged();
      if (count == kArchiveEntriesMax) {
        return Error::invalid_argument(
            text("the archive has more than ", kArchiveEntriesMax, " entries"));
      }
      if (Result<void> taken = take(entry); !taken) return taken;
    }
    return {};
  }

 private:
  struct Free {
    void operator()(archive* a) const { archive_read_free(a); }
  };

  Error damaged() const {
    const char* why = archive_error_string(archive_.get());
    return Error::invalid_argument(
        text("it is not a tar or zip archive, or is damaged: ", why == nullptr ? "" : why));
  }

  Result<void> take(archive_entry* entry) {
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr) return Error::invalid_argument("a name in the archive cannot be read");
    Result<Parts> parts = parts_of(path, path);
    if (!parts) return std::move(parts).error();
    if (const char* target = archive_entry_hardlink(entry)) {
      return make_hard_link(path, *parts, target);
    }
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return enter(path, *parts, parts->size()).in_result();
      case AE_IFREG:
        return write_file(path, *parts, entry);
      case AE_IFLNK:
        return make_link(path, *parts, archive_entry_symlink(entry));
      default:
        return refused(path, "is neither a file, a directory nor a link");
    }
  }

  // A descriptor, or the reason why there is none.
  struct Entered {
    Fd fd = {};
    std::optional<Error> error = {};
    Result<void> in_result() && {
      if (error) return *std::move(error);
      return {};
    }
  };

  // Opens the directory of the first `count` components, and makes it if necessary.
  Entered enter(std::string_view entry, const Parts& parts, size_t count) const {
    Entered at{.fd = Fd(fcntl(into_, F_DUPFD_CLOEXEC, 0))};
    if (at.fd.get() < 0) return {.error = cannot_make(entry, errno)};
    constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    for (size_t i = 0; i < count; ++i) {
      const char* name = parts[i].c_str();
      if (mkdirat(at.fd.get(), name, kDirectoryMode) != 0 && errno != EEXIST) {
        return {.error = cannot_make(entry, errno)};
      }
      Fd next(openat(at.fd.get(), name, kFolder));
      if (next.get() < 0) {
        const int why = errno;
        if (why == ELOOP || why == ENOTDIR) {
          return {.error = refused(
                      entry, text("is below ", quoted(parts[i]), ", which is not a directory"))};
        }
        return {.error = cannot_make(entry, why)};
      }
      at.fd = std::move(next);
    }
    return at;
  }

  // Opens the entry's directory, after removing anything with the entry's name.
  Entered make_place(std::string_view entry, const Parts& parts) const {
    if (parts.empty()) return {.error = refused(entry, "has no name")};
    Entered at = enter(entry, parts, parts.size() - 1);
    if (at.error) return at;
    if (unlinkat(at.fd.get(), parts.back().c_str(), 0) != 0 && errno != ENOENT) {
      return {.error = cannot_make(entry, errno)};
    }
    return at;
  }

  Result<void> write_file(std::string_view path, const Parts& parts, archive_entry* entry) {
    Entered at = make_place(path, parts);
    if (at.error) return *std::move(at.error);
    const mode_t mode = (archive_entry_perm(entry) & kFileModes) | kOwnersRead;
    const Fd file(openat(at.fd.get(), parts.back().c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnersRead));
    if (file.get() < 0) return cannot_make(path, errno);
    int64_t end = 0;
    while (true) {
      const void* bytes = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int got = archive_read_data_block(archive_.get(), &bytes, &size, &offset);
      if (got == ARCHIVE_EOF) {
        end = std::max<int64_t>(end, offset);
        break;
      }
      if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return damaged();
      if (offset < 0) return refused(path, "is damaged");
      if (Result<void> taken = room_.take(size); !taken) return taken;
      if (Result<void> written = write_at(file.get(), bytes, size, offset); !written) {
        return written;
      }
      end = std::max<int64_t>(end, offset + static_cast<int64_t>(size));
    }
    // A sparse file may end in a hole.
    if (ftruncate(file.get(), end) != 0 || fchmod(file.get(), mode) != 0) {
      return cannot_make(path, errno);
    }
    if (archive_entry_mtime_is_set(entry) != 0) {
      const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                                {.tv_sec = archive_entry_mtime(entry), .tv_nsec = 0}};
      futimens(file.get(), times);
    }
    return {};
  }

  Result<void> make_link(std::string_view path, const Parts& parts, const char* target) const {
    Entered at = make_place(path, parts);
    if (at.error) return *std::move(at.error);
    if (target == nullptr) return refused(path, "is a link that cannot be read");
    if (Result<void> inside = check_target(path, target, parts.size() - 1); !inside) return inside;
    if (symlinkat(target, at.fd.get(), parts.back().c_str()) != 0) return cannot_make(path, errno);
    return {};
  }

  Result<void> make_hard_link(std::string_view path, const Parts& parts, const char* target) const {
    Result<Parts> source = parts_of(path, target);
    if (!source) return std::move(source).error();
    if (source->empty()) return refused(path, "is a link without a target");
    Entered from = enter(path, *source, source->size() - 1);
    if (from.error) return *std::move(from.error);
    struct stat status {};
    if (fstatat(from.fd.get(), source->back().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      return refused(path, text("is a link to ", quoted(target), ", which is not a file"));
    }
    if (*source == parts) return {};
    Entered at = make_place(path, parts);
    if (at.error) return *std::move(at.error);
    if (linkat(from.fd.get(), source->back().c_str(), at.fd.get(), parts.back().c_str(), 0) != 0) {
      return cannot_make(path, errno);
    }
    return {};
  }

  int into_;
  Room& room_;
  std::unique_ptr<archive, Free> archive_;
};

}  // namespace

Result<void> unpack(int fd, int into, Room& room) { return Unpacking(into, room).all(fd); }

}  // namespace proffer::fetcher
