#include "cli/programs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

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

Result<std::string> output_of(std::string_view name, const std::vector<std::string>& words) {
  Result<std::string> path = find_program(name);
  if (!path) return std::move(path).error();
  std::vector<std::string> copies = words;
  std::vector<char*> argv = {path->data()};
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error::internal(text("cannot make a pipe: ", std::strerror(errno)));
  }
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, path->c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  writing = Fd();
  if (failed != 0) {
    return Error::internal(text("cannot start ", quoted(*path), ": ", std::strerror(failed)));
  }
  std::string output;
  char buffer[65'536];
  while (true) {
    const ssize_t got = ::read(reading.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output.append(buffer, static_cast<size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  return Error::internal(text("proffer ", name, " did not finish"));
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
