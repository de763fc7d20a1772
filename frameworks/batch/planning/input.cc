// Finds the input of a job: `find_input` walks it.

#include "frameworks/batch/planning/input.h"

#include <algorithm>
#include <array>
#include <memory>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/array.h"

namespace proffer::batch {
namespace {

Error system_error(std::string_view what, int error_number) {
  const char* words = ::strerrordesc_np(error_number);
  std::string message = text(what, ": ", words != nullptr ? words : "unknown error");
  if (error_number == ENOENT) return Error::not_found(std::move(message));
  return Error::unavailable(std::move(message));
}

struct CloseFd {
  explicit CloseFd(int descriptor) : fd(descriptor) {}
  ~CloseFd() {
    if (fd >= 0) ::close(fd);
  }
  CloseFd(const CloseFd&) = delete;
  CloseFd& operator=(const CloseFd&) = delete;
  const int fd;
};

// Lists the same files as `find -type f` under a path.
class Walk {
 public:
  // `decompresses`: check which files are packed.
  explicit Walk(bool decompresses) : decompresses_(decompresses) {}
  Result<void> add(const std::string& path) {
    struct stat seen = {};
    // A link that is named as an input is followed; links found on the way are not.
    if (::stat(path.c_str(), &seen) != 0) return system_error(text("input ", quoted(path)), errno);
    if (!S_ISDIR(seen.st_mode) && !S_ISREG(seen.st_mode)) {
      return Error::invalid_argument(
          text("input ", quoted(path), " is neither a regular file nor a directory"));
    }
    if (S_ISREG(seen.st_mode)) return add_file(path, seen);
    std::vector<std::string> directories = {path};
    while (!directories.empty()) {
      const std::string directory = std::move(directories.back());
      directories.pop_back();
      if (Result<void> ok = add_directory(directory, directories); !ok) return ok;
    }
    return {};
  }
  std::vector<InputFile> take() && {
    std::sort(files_.begin(), files_.end(),
              [](const InputFile& a, const InputFile& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  Result<void> add_directory(const std::string& path, std::vector<std::string>& directories) {
    struct Close {
      void operator()(DIR* directory) const { ::closedir(directory); }
    };
    const std::unique_ptr<DIR, Close> directory(::opendir(path.c_str()));
    if (directory == nullptr) return system_error(text("input directory ", quoted(path)), errno);
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const std::string child = text(path == "/" ? "" : path, "/", name);
      struct stat seen = {};
      if (::fstatat(::dirfd(directory.get()), entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // removed since it was listed
        return system_error(text("input ", quoted(child)), errno);
      }
      if (S_ISDIR(seen.st_mode)) directories.push_back(child);
      if (S_ISREG(seen.st_mode)) {
        if (Result<void> ok = add_file(child, seen); !ok) return ok;
      }
      errno = 0;
    }
    if (errno != 0) return system_error(text("input directory ", quoted(path)), errno);
    return {};
  }

  Result<void> add_file(const std::string& path, const struct stat& seen) {
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
      return system_error(text("input file ", quoted(path)), errno);
    }
    if (files_.size() >= kInputFilesMax) {
      return Error::resource_exhausted(
          text("the inputs have more than ", kInputFilesMax, " files; pack them together first"));
    }
    InputFile file{path, static_cast<int64_t>(seen.st_size)};
    if (decompresses_ && may_be_packed(path)) {
      const CloseFd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
      std::array<char, kMagicBytes> first = {};
      const ssize_t got = opened.fd < 0 ? -1 : ::pread(opened.fd, first.data(), first.size(), 0);
      if (got < 0) return system_error(text("reading input ", quoted(path)), errno);
      file.codec = codec_of(path, std::string_view(first.data(), static_cast<size_t>(got)));
    }
    files_.push_back(std::move(file));
    return {};
  }

  const bool decompresses_;
  std::vector<InputFile> files_;
};

// An array of more or longer arguments than this would be refused.
constexpr size_t kLinesBytesMax = size_t{512} << 20;

Result<void> add_argument(std::string argument, std::vector<std::string>& arguments) {
  if (argument.size() > kArgumentBytesMax || argument.find('\0') != std::string::npos) {
    return Error::invalid_argument(text("argument ", arguments.size() + 1, " has ", argument.size(),
                                        " bytes or a NUL; at most ", kArgumentBytesMax,
                                        " bytes are allowed"));
  }
  arguments.push_back(std::move(argument));
  if (arguments.size() <= kElementsMax) return {};
  return Error::resource_exhausted(
      text("there are more than ", kElementsMax, " arguments, the maximum of an array"));
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t bytes_max) {
  const CloseFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.fd < 0) return system_error(text("reading ", quoted(path)), errno);
  std::string content;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t got = ::read(file.fd, buffer, sizeof buffer);
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(text("reading ", quoted(path)), errno);
    content.append(buffer, static_cast<size_t>(got));
    if (content.size() > bytes_max) {
      return Error::resource_exhausted(
          text(quoted(path), " has more than ", bytes_max, " bytes, the maximum"));
    }
  }
}

Result<std::vector<InputFile>> find_input(const std::vector<std::string>& inputs, bool allow_empty,
                                          bool decompresses) {
  Walk walk(decompresses);
  for (const std::string& input : inputs) {
    if (Result<void> ok = walk.add(input); !ok) return std::move(ok).error();
  }
  std::vector<InputFile> files = std::move(walk).take();
  for (const InputFile& file : files) {
    if (file.size > 0) return files;
  }
  if (allow_empty) return files;
  return Error::failed_precondition(
             text("nothing to read: the inputs have ", files.size(), " regular files, all empty"))
      .with_hint(
          "links inside directories are not followed: name their targets. To accept empty input, "
          "add --allow-empty.");
}

Result<std::vector<std::string>> find_arguments(const std::string& lines_of,
                                                const std::vector<std::string>& files_of) {
  std::vector<std::string> arguments;
  if (!lines_of.empty()) {
    const Result<std::string> whole = read_file(lines_of, kLinesBytesMax);
    if (!whole) return Error(whole.error()).in("the file of the arguments");
    std::string_view rest = *whole;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      Result<void> ok = add_argument(std::string(rest.substr(0, end)), arguments);
      if (!ok) return std::move(ok).error();
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  } else {
    const Result<std::vector<InputFile>> files = find_input(files_of, true);
    if (!files) return files.error();
    for (const InputFile& file : *files) {
      if (Result<void> ok = add_argument(file.path, arguments); !ok) return std::move(ok).error();
    }
  }
  if (!arguments.empty()) return arguments;
  return Error::failed_precondition("no arguments to run the command for");
}

}  // namespace proffer::batch
