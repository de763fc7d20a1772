// The flags that every scheduler has: options_from().

#include <algorithm>
#include <cstdlib>
#include <iterator>

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

constexpr std::string_view kFlags[] = {"master", "role", "name", "session_file"};

// Probably a typing error: without this check the intended setting would silently keep its default.
void refuse_unknown_flags(int argc, char** argv, const std::vector<std::string_view>& own_flags) {
  std::vector<std::string_view> known(std::begin(kFlags), std::end(kFlags));
  known.insert(known.end(), own_flags.begin(), own_flags.end());
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    if (argument.substr(0, 2) != "--") continue;
    const size_t end = argument.find('=');
    const std::string_view name = argument.substr(2, end == argument.npos ? end : end - 2);
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      // For the SDK's flags the next word is the value; for the author's flags this is unknown
      // here.
      const bool is_ours =
          std::find(std::begin(kFlags), std::end(kFlags), name) != std::end(kFlags);
      if (is_ours && end == argument.npos) ++i;
      continue;
    }
    std::string all;
    for (const std::string_view one : known) all += text(all.empty() ? "--" : ", --", one);
    const std::string_view near = nearest(name, known);
    exit_with(Error::invalid_argument(text("there is no flag ", quoted(text("--", name))))
                  .with_hint(near.empty()
                                 ? text("the flags are ", all)
                                 : text("did you mean --", near, "? The flags are ", all)));
  }
}

// An error that has no hint of its own gets an example.
Error with_example(Error error, std::string example) {
  if (!error.hint().empty()) return error;
  return std::move(error).with_hint(std::move(example));
}

std::string current_user() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : text("uid ", geteuid());
}

}  // namespace

SchedulerOptions options_from(int argc, char** argv, std::string_view name,
                              const std::vector<std::string_view>& own_flags) {
  refuse_unknown_flags(argc, argv, own_flags);
  SchedulerOptions options{.name = std::string(name), .user = current_user()};
  std::string_view from = "--master";
  std::optional<std::string> master = flag(argc, argv, "master");
  const char* named = std::getenv("PROFFER_MASTER");
  if (!master && named != nullptr && *named != '\0') {
    from = "$PROFFER_MASTER";
    master = named;
  }
  if (master) {
    Result<Masters> masters = parse_masters(from, *master, kMasterPort);
    if (!masters) {
      exit_with(
          with_example(std::move(masters).error(),
                       "for example --master=/run/proffer/master.sock or --master=127.0.0.1:5050"));
    }
    options.master = to_text(*masters);
  }
  if (std::optional<std::string> role = flag(argc, argv, "role")) {
    Result<RoleName> parsed = parse_role(*role);
    if (!parsed) {
      exit_with(
          with_example(std::move(parsed).error().in("--role"), "for example --role=ads/batch"));
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
                    .with_hint("leave it out to start as a new framework each time"));
    }
    options.session_file = *std::move(path);
  }
  return options;
}

}  // namespace proffer::sdk
