#pragma once

// Opens files below a root directory only, for the file part of the HTTP server.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "net/fd.h"

namespace proffer {

struct DirEntry {
  std::string name = {};
  bool is_directory = false;
  int64_t bytes = 0;
  Time modified = {};
  bool operator==(const DirEntry&) const = default;
};

// Maximum of listed entries per directory; the rest is left out.
inline constexpr size_t kDirEntriesMax = 10'000;

// An open directory; nothing outside it is served. It stays the same directory if it is moved or a
// link replaces it.
struct FilesRoot {
  Fd directory = {};
  std::filesystem::path path = {};  // its real path; absolute links inside must begin with it
};

// Follows links in `path`, which must be trusted. Errors: kNotFound, kPermissionDenied.
Result<FilesRoot> open_root(const std::filesystem::path& path);

// A user whose rights are used to open files.
struct FileUser {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups = {};
};

struct OpenFile {
  Fd fd = {};
  bool is_directory = false;
  int64_t bytes = 0;
};

// Opens a regular file or a directory for reading. Symbolic links that stay inside are resolved
// here, component by component, so replacing a component by a link during the call has no effect.
// Never opens a FIFO or a device. Errors: kInvalidArgument (absolute, a NUL, a ".." component, too
// long), kNotFound, kPermissionDenied (a link leads out of the root, or there are too many links; a
// device or FIFO; a hard link to a file of another user than the root's owner; an unreadable file).
//
// With `user`, only files that this user can read are opened. Only a process of root can use other
// users' rights; other processes use their own.
Result<OpenFile> open_confined(const FilesRoot& root, std::string_view relative,
                               const std::optional<FileUser>& user = {});

// Regular files and directories, sorted by the bytes of their names. Links are left out.
Result<std::vector<DirEntry>> list_directory(const OpenFile& directory);

// The range that a `Range` header requests from a file of `bytes`.
struct ByteRange {
  enum class Kind : uint8_t { kWhole, kPart, kUnsatisfiable };
  Kind kind = Kind::kWhole;
  int64_t first = 0;
  int64_t count = 0;
  bool operator==(const ByteRange&) const = default;
};
// "bytes=a-b", "bytes=a-", "bytes=-n". Several ranges, other units and malformed headers mean the
// whole file (RFC 9110 §14.2 lets a server ignore the header).
ByteRange parse_byte_range(std::string_view header, int64_t bytes);

}  // namespace proffer
