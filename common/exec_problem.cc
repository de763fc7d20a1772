#include "common/exec_problem.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/text.h"

namespace proffer {
namespace {

std::string why_not_found(std::string_view program, const std::optional<std::string>& head) {
  if (!head) {
    return program.find('/') == program.npos
               ? "no directory of PATH has this program"
               : "a relative path begins in the working directory; the file must be on each agent";
  }
  if (!head->starts_with("#!")) {
    return "the file exists, but the loader that it needs does not: it was built for another "
           "system";
  }
  const std::string_view interpreter = interpreter_of(*head);
  const std::string_view first = std::string_view(*head).substr(0, head->find('\n'));
  if (first.ends_with('\r')) {
    return text("its first line, ", quoted(trimmed(first)),
                ", ends with a carriage return of Windows: remove them, as with "
                "sed -i 's/\\r$//' ",
                program);
  }
  return text("its first line names the interpreter ", quoted(interpreter),
              ", which this machine does not have");
}

}  // namespace

std::string_view interpreter_of(std::string_view head) {
  if (!head.starts_with("#!")) return {};
  std::string_view line = head.substr(2, head.find('\n') - 2);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.substr(0, line.find_first_of(" \t"));
}

std::string exec_problem(std::string_view program, int error_number,
                         const std::optional<std::string>& head) {
  const char* words = ::strerrordesc_np(error_number);
  const std::string said = words == nullptr ? text("error ", error_number) : std::string(words);
  if (error_number == ENOENT) return text(said, ": ", why_not_found(program, head));
  if (error_number == EACCES && head) {
    return text(said, ": the file is not executable: chmod +x ", program,
                ", or run it by its interpreter, as in sh ", program);
  }
  if (error_number == EACCES || error_number == EISDIR) {
    return text(said,
                ": a command is an executable file, and neither a directory nor a file that "
                "you may not read");
  }
  return said;
}

}  // namespace proffer
