#include "cli/script_problem.h"

#include <cerrno>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/exec_problem.h"
#include "common/text.h"
#include "net/fd.h"

namespace proffer::cli {
namespace {

// Empty if there is none.
std::string path_of_program(const std::string& program) {
  if (program.starts_with('/')) return program;
  const char* directories = std::getenv("PATH");
  if (directories == nullptr || program.find('/') != std::string::npos) return {};
  for (const std::string_view directory : split(directories, ':')) {
    std::string path = text(directory, "/", program);
    if (path.starts_with('/') && access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::optional<std::string> head_of_file(const std::string& path) {
  struct stat seen = {};
  if (stat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) return std::nullopt;
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string head(kExecHeadBytes, '\0');
  const ssize_t got = file.get() < 0 ? -1 : read(file.get(), head.data(), head.size());
  if (got < 0) return std::nullopt;
  head.resize(static_cast<size_t>(got));
  return head;
}

}  // namespace

std::string script_problem(const std::string& program) {
  const std::string path = path_of_program(program);
  const std::optional<std::string> head = path.empty() ? std::nullopt : head_of_file(path);
  const std::string interpreter(head ? interpreter_of(*head) : std::string_view());
  if (interpreter.empty() || access(interpreter.c_str(), X_OK) == 0) return {};
  return text(path, ": ", exec_problem(path, ENOENT, head));
}

}  // namespace proffer::cli
