#include "net/exported_environment.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <pwd.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/text.h"
#include "net/process_settings.h"

extern char** environ;  // NOLINT: POSIX

namespace proffer {
namespace {

constexpr std::string_view kAll = "ALL";
constexpr std::string_view kNone = "NONE";

// The agent knows the name of the user of the task.
bool is_of_this_shell(std::string_view name) {
  constexpr std::string_view kOwn[] = {"PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "USER", "LOGNAME"};
  if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) return true;
  return name.starts_with("PROFFER_") && name != "PROFFER_MASTER";
}

std::map<std::string, std::string> whole_environment() {
  std::map<std::string, std::string> all;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view pair = *one;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    if (is_of_this_shell(pair.substr(0, equals))) continue;
    all.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return all;
}

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  const passwd* user = ::getpwuid(::geteuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "/";
}

// One entry of the list: ALL, a name, or NAME=VALUE.
Result<void> add_export(std::string_view entry, std::map<std::string, std::string>& out) {
  if (entry == kAll) {
    out.merge(whole_environment());
    return {};
  }
  const size_t equals = entry.find('=');
  const std::string name(entry.substr(0, equals));
  const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
  if (equals != std::string_view::npos && equals > 0) {
    out[name] = entry.substr(equals + 1);
  } else if (value != nullptr) {
    out[name] = value;
  } else {
    return Error::invalid_argument(text("--export must be ALL, NONE, or a list of variables that "
                                        "are set and NAME=VALUE, not ",
                                        quoted(entry)))
        .with_hint("set a variable for the command with --env NAME=VALUE");
  }
  return {};
}

Error too_large(std::string_view what) {
  return Error::invalid_argument(text("the environment of this shell has ", what))
      .with_hint(
          "name the variables that the command needs, as in --export=PATH,LANG, or --export=NONE");
}

}  // namespace

std::string login_shell() {
  const char* shell = std::getenv("SHELL");
  const std::string path = shell != nullptr ? shell : "";
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool is_known =
      name == "bash" || name == "sh" || name == "dash" || name == "zsh" || name == "ksh";
  return is_known && path.front() == '/' ? path : "/bin/sh";
}

Result<std::map<std::string, std::string>> exported_environment(const ExportChoice& choice) {
  std::map<std::string, std::string> out = {{"HOME", home_directory()}};
  if (choice.variables != kNone) {
    for (const std::string_view entry : split(choice.variables, ',')) {
      if (Result<void> ok = add_export(trimmed(entry), out); !ok) return std::move(ok).error();
    }
  }
  if (choice.has_sandbox_home) out.erase("HOME");
  for (auto& [name, value] : process_settings()) {
    if (choice.variables != kNone || name == "PROFFER_UMASK") out[name] = std::move(value);
  }
  size_t bytes = 0;
  for (const auto& [name, value] : out) bytes += name.size() + value.size();
  if (bytes > kEnvironmentBytesMax) {
    return too_large(text(bytes, " bytes; at most ", kEnvironmentBytesMax, " are allowed"));
  }
  if (out.size() > kEnvironmentEntriesMax) {
    return too_large(
        text(out.size(), " variables; at most ", kEnvironmentEntriesMax, " are allowed"));
  }
  return out;
}

}  // namespace proffer
