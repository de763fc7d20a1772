#include "slave/shell/shell_program.h"

#include "common/text.h"

namespace proffer::agent {
namespace {

// Any character that makes the line more than one program and its arguments.
constexpr std::string_view kSpecial = ";&|<>()`$\\\n";
constexpr std::string_view kPatterns = "*?[]{}~#!='\"";

}  // namespace

std::optional<std::string> absolute_program_of(std::string_view line) {
  line = trimmed(line);
  constexpr std::string_view kExec = "exec ";
  if (line.starts_with(kExec)) line = trimmed(line.substr(kExec.size()));
  if (line.empty() || line.find_first_of(kSpecial) != std::string_view::npos) return std::nullopt;
  const bool is_quoted = line.front() == '\'' || line.front() == '"';
  const size_t end = is_quoted ? line.find(line.front(), 1) : line.find_first_of(" \t");
  if (is_quoted && end == std::string_view::npos) return std::nullopt;
  const std::string_view word = is_quoted ? line.substr(1, end - 1) : line.substr(0, end);
  const std::string_view rest = is_quoted ? line.substr(end + 1) : std::string_view();
  const bool is_whole = rest.empty() || rest.front() == ' ' || rest.front() == '\t';
  if (!is_whole || !word.starts_with('/')) return std::nullopt;
  if (!is_quoted && word.find_first_of(kPatterns) != std::string_view::npos) return std::nullopt;
  return std::string(word);
}

}  // namespace proffer::agent
