#include "cli/programs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "common/text.h"

namespace proffer::cli {

Result<std::string> find_program(std::string_view name) {
  std::filesystem::path folder;
  const char* variable = std::getenv("PROFFER_BIN_DIR");
  if (variable != nullptr && *variable != '\0') {
    folder = variable;
  } else {
    std::error_code ignored;
    folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  }
  const std::string path = folder / ("proffer-" + std::string(name));
  if (::access(path.c_str(), X_OK) == 0) return path;
  return Error::not_found(text("there is no program ", quoted(path)))
      .with_hint("build all of Proffer, or say with $PROFFER_BIN_DIR where its programs are");
}

Error become(std::string_view name, const std::vector<std::string>& words) {
  Result<std::string> path = find_program(name);
  if (!path) return std::move(path).error();
  std::vector<char*> argv;
  argv.push_back(path->data());
  std::vector<std::string> copies = words;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(path->c_str(), argv.data());
  return Error::internal(text("cannot start ", quoted(*path), ": ", std::strerror(errno)));
}

Result<std::string> temporary_directory() {
  const char* variable = std::getenv("TMPDIR");
  const std::string path = variable == nullptr || *variable == '\0' ? "/tmp" : variable;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return path;
  return Error::failed_precondition(text("there is no directory ", quoted(path), " for files"))
      .with_hint("make it, or say with $TMPDIR where they may go");
}

}  // namespace proffer::cli
