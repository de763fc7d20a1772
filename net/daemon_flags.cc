#include "net/daemon_flags.h"

#include <cstdio>
#include <cstdlib>

#include "common/intervals.h"
#include "common/text.h"
#include "net/terminal.h"
#include "net/users.h"

namespace proffer {

void exit_with(const Error& error, int status) {
  print_error_text(error);
  std::exit(status);
}

Duration flag_duration(std::string_view flag, std::string_view text) {
  const Result<Duration> interval = parse_interval(proffer::text("--", flag), text);
  if (!interval) exit_with(interval.error(), 2);
  return *interval;
}

std::optional<uint32_t> flag_group(std::string_view flag, const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::optional<uint32_t> group = find_group(name);
  if (group) return group;
  exit_with(Error::invalid_argument(text("--", flag, ": there is no group ", quoted(name)))
                .with_hint("create it: groupadd --system " + name),
            2);
}

uint16_t flag_port(std::string_view flag, int64_t port) {
  if (port < 0 || port > 65535) {
    exit_with(Error::invalid_argument(
                  text("--", flag, " must be from 0 (any free port) to 65535, not ", port)),
              2);
  }
  return static_cast<uint16_t>(port);
}

}  // namespace proffer
