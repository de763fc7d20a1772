// The flags that every scheduler has: options_from().

#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

#include "common/roles.h"
#include "common/text.h"
#include "net/address.h"
#include "sdk/scheduler.h"
#include "sdk/shell/complaints.h"

namespace proffer::sdk {
namespace {

constexpr uint16_t kMasterPort = 5050;

// The value of --NAME=VALUE or --NAME VALUE; the last one counts.
std::optional<std::string> flag(int argc, char** argv, std::string_view name) {
  std::optional<std::string> value;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") break;
    if (argument.substr(0, 2) != "--" || argument.substr(2, name.size()) != name) continue;
    const std::string_view rest = argument.substr(2 + name.size());
    if (!rest.empty() && rest.front() == '=') {
      value = std::string(rest.substr(1));
    } else if (rest.empty()) {
      if (i + 1 == argc) {
        exit_with(Error::invalid_argument(text("--", name, " needs a value"))
                      .with_hint(text("--", name, "=VALUE")));
      }
      value = argv[++i];
    }
  }
  return value;
}

std::string current_user() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : text("uid ", geteuid());
}

}  // namespace

SchedulerOptions options_from(int argc, char** argv, std::string_view name) {
  SchedulerOptions options{.name = std::string(name), .user = current_user()};
  std::string_view from = "--master";
  std::optional<std::string> master = flag(argc, argv, "master");
  if (const char* named = std::getenv("PROFFER_MASTER"); !master && named != nullptr) {
    from = "$PROFFER_MASTER";
    master = named;
  }
  if (master) {
    Result<Address> address = parse_socket_or_address(from, *master, kMasterPort);
    if (!address) {
      exit_with(std::move(address).error().with_hint(
          "as in --master=/run/proffer/master.sock or --master=127.0.0.1:5050"));
    }
    options.master = to_text(*address);
  }
  if (std::optional<std::string> role = flag(argc, argv, "role")) {
    Result<RoleName> parsed = parse_role(*role);
    if (!parsed) {
      exit_with(std::move(parsed).error().in("--role").with_hint("as in --role=ads/batch"));
    }
    options.role = *std::move(parsed);
  }
  if (std::optional<std::string> given = flag(argc, argv, "name")) {
    if (Result<void> checked = check_name("--name", *given); !checked) {
      exit_with(std::move(checked).error());
    }
    options.name = *std::move(given);
  }
  if (std::optional<std::string> path = flag(argc, argv, "session_file")) {
    if (path->empty()) {
      exit_with(Error::invalid_argument("--session_file must name a file, not ''")
                    .with_hint("leave it out to be a new framework each time"));
    }
    options.session_file = *std::move(path);
  }
  return options;
}

}  // namespace proffer::sdk
