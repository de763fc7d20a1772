#pragma once

// Opening what lies under a root directory and nothing else, for the file part of the HTTP server.

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

// Entries of one directory that are listed; the rest is left out.
inline constexpr size_t kDirEntriesMax = 10'000;

// An open directory; nothing outside it is served. It stays the same
// directory when somebody moves it, or puts a link in its place.
struct FilesRoot {
  Fd directory = {};
  std::filesystem::path path = {};  // real: what an absolute link inside must begin with
};

// Follows links in `path`, which is not a stranger's. Errors: kNotFound, kPermissionDenied.
Result<FilesRoot> open_root(const std::filesystem::path& path);

// A user with whose rights files are opened.
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

// Opens a regular file or a directory for reading. Symbolic links are followed here, part by part,
// as long as they stay inside, so there is no check that somebody could outrun by swapping a link
// in. Never opens a FIFO or a device. Errors: kInvalidArgument (absolute, a NUL, a ".." part, too
// long), kNotFound, kPermissionDenied (a link leads out of the root, or to too many others; a
// device or FIFO; a hard link to a file of another user than the root's; what may not be read).
//
// With `user`, what that user may not read is not opened; only a process of root can be another
// user, others open with their own rights.
Result<OpenFile> open_confined(const FilesRoot& root, std::string_view relative,
                               const std::optional<FileUser>& user = {});

// Regular files and directories, bytewise by name. Links are listed as what they are not: left out.
Result<std::vector<DirEntry>> list_directory(const OpenFile& directory);

// What one `Range` header asks for, in bytes of a file of `bytes`.
struct ByteRange {
  enum class Kind : uint8_t { kWhole, kPart, kUnsatisfiable };
  Kind kind = Kind::kWhole;
  int64_t first = 0;
  int64_t count = 0;
  bool operator==(const ByteRange&) const = default;
};
// "bytes=a-b", "bytes=a-", "bytes=-n". Several ranges, other units and nonsense mean the whole file
// (RFC 9110 §14.2 lets a server ignore the header).
ByteRange parse_byte_range(std::string_view header, int64_t bytes);

}  // namespace proffer
