#include "cli/ui/link_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <stdlib.h>

#include "common/text.h"
#include "net/trace_log.h"

namespace proffer::cli {

LinkFile::LinkFile(std::string directory) : directory_(std::move(directory)) {}
LinkFile::LinkFile(LinkFile&& other) noexcept
    : directory_(std::exchange(other.directory_, std::string())) {}

LinkFile::~LinkFile() {
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<LinkFile> LinkFile::write(std::string_view link) {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code error;
  std::string below = runtime != nullptr ? runtime : std::filesystem::temp_directory_path(error);
  std::string directory = below + "/proffer-ui-XXXXXX";
  if (error || ::mkdtemp(directory.data()) == nullptr) {
    return Error::unavailable(
        text("cannot make a directory in ", quoted(below), ": ", std::strerror(errno)));
  }
  LinkFile file(std::move(directory));
  constexpr mode_t kOnlyForItsUser = 0600;
  const std::string page =
      text("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=", link, "\"><a href=\"",
           link, "\">The page of the cluster</a>\n");
  if (Result<void> written = write_file_atomically(file.path(), page, kOnlyForItsUser); !written) {
    return std::move(written).error();
  }
  return file;
}

}  // namespace proffer::cli
