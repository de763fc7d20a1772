#include "sdk/shell/given_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer::sdk {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEntriesMax = 1'000;  // of a directory that are looked at

// The names of the regular files of a directory, in order.
std::vector<std::string> files_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  size_t seen = 0;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (++seen > kEntriesMax) break;
    std::error_code ignored;
    if (at->is_regular_file(ignored)) names.push_back(at->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_yaml(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

Error no_file(const std::string& path, std::string_view what) {
  const fs::path directory = fs::path(path).parent_path();
  const std::vector<std::string> names = files_in(directory.empty() ? "." : directory);
  const std::string wanted = fs::path(path).filename();
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string near(nearest(wanted, known));
  std::error_code error;
  if (!directory.empty() && !fs::is_directory(directory, error)) {
    return Error::invalid_argument(text("there is no file ", quoted(path)))
        .with_hint(text("there is no directory ", quoted(directory.string()), ", either; name ",
                        what, " that exists"));
  }
  const std::string from = path.starts_with('/')
                               ? std::string()
                               : text(", relative to ", quoted(fs::current_path(error).string()));
  return Error::invalid_argument(text("there is no file ", quoted(path)))
      .with_hint(near.empty() ? text("name ", what, " that exists", from)
                              : text("did you mean ", quoted((directory / near).string()), "?"));
}

Error is_directory(const std::string& path, std::string_view what) {
  std::vector<std::string> names = files_in(path);
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const std::string& name) { return !is_yaml(name); }),
              names.end());
  for (std::string& name : names) name = (fs::path(path) / name).string();
  return Error::invalid_argument(text(quoted(path), " is a directory, not ", what))
      .with_hint(names.empty() ? text("name ", what, "; this directory has none (*.yaml)")
                               : text("name one of its files: ", listed(names)));
}

}  // namespace

Result<std::string> read_given_file(const std::string& path, std::string_view what,
                                    size_t bytes_max) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) {
    const int failed = errno;
    if (failed == ENOENT || failed == ENOTDIR) return no_file(path, what);
    return Error::invalid_argument(text("cannot read ", quoted(path), ": ", std::strerror(failed)))
        .with_hint(failed == EACCES ? text("you must have the right to read it: ls -l ", path)
                                    : text("name ", what, " that can be read"));
  }
  std::string content;
  char buffer[16 * 1024];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EISDIR) return is_directory(path, what);
    if (got < 0) {
      return Error::invalid_argument(text("cannot read ", quoted(path), ": ", std::strerror(errno)))
          .with_hint(text("name ", what, " that can be read"));
    }
    content.append(buffer, static_cast<size_t>(got));
    if (content.size() > bytes_max) {
      return Error::invalid_argument(
                 text(quoted(path), " has more than ", bytes_max, " bytes, the maximum of ", what))
          .with_hint(text("name ", what, "; long values belong into files of their own"));
    }
  }
}

}  // namespace proffer::sdk
