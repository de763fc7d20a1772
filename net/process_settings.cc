#include "net/process_settings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>

#include <sys/resource.h>
#include <sys/stat.h>

#include "common/text.h"

namespace proffer {
namespace {

constexpr std::string_view kLimit = "PROFFER_RLIMIT_";
constexpr std::string_view kUnlimited = "unlimited";
// This process needs some descriptors itself.
constexpr rlim_t kDescriptorsMin = 256;

struct Limit {
  std::string_view name;
  decltype(RLIMIT_CORE) resource;
  char flag;       // of a shell's ulimit
  uint64_t unit;   // of its argument, in units of the system
  bool is_shared;  // this process can have it, too
};
constexpr Limit kLimits[] = {
    {"AS", RLIMIT_AS, 'v', 1'024, false},     {"CORE", RLIMIT_CORE, 'c', 512, true},
    {"CPU", RLIMIT_CPU, 't', 1, false},       {"DATA", RLIMIT_DATA, 'd', 1'024, false},
    {"FSIZE", RLIMIT_FSIZE, 'f', 512, false}, {"NOFILE", RLIMIT_NOFILE, 'n', 1, true},
    {"STACK", RLIMIT_STACK, 's', 1'024, true}};

std::optional<uint64_t> number(std::string_view text, int base = 10) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// RLIM_INFINITY for "unlimited". None: the value is no limit.
std::optional<rlim_t> limit_of(std::string_view text) {
  if (text == kUnlimited) return RLIM_INFINITY;
  return number(text);
}

// The file mode mask that the environment asks for.
std::optional<mode_t> mask_of(std::string_view text) {
  const std::optional<uint64_t> mask = number(text, 8);
  return mask && *mask <= 0777 ? std::optional(static_cast<mode_t>(*mask)) : std::nullopt;
}

std::string as_shell(const Limit& limit, rlim_t value) {
  return text("ulimit -S -", limit.flag, " ",
              value == RLIM_INFINITY ? std::string(kUnlimited) : std::to_string(value / limit.unit),
              " 2>/dev/null;");
}

// Calls `set_mask` and `set_limit` for what the environment asks for.
void for_each_setting(const std::vector<std::string>& environment,
                      const std::function<void(mode_t)>& set_mask,
                      const std::function<void(const Limit&, rlim_t)>& set_limit) {
  for (const std::string& variable : environment) {
    const std::string_view pair = variable;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = pair.substr(equals + 1);
    if (name == kUmaskVariable) {
      if (const std::optional<mode_t> mask = mask_of(value)) set_mask(*mask);
    } else if (name.starts_with(kLimit)) {
      const auto* limit =
          std::find_if(std::begin(kLimits), std::end(kLimits),
                       [&](const Limit& one) { return one.name == name.substr(kLimit.size()); });
      const std::optional<rlim_t> soft = limit_of(value);
      if (limit != std::end(kLimits) && soft) set_limit(*limit, *soft);
    }
  }
}

std::string mask_text(mode_t mask) {
  char digits[8];
  std::snprintf(digits, sizeof digits, "%04o", static_cast<unsigned>(mask));
  return digits;
}

}  // namespace

std::map<std::string, std::string> process_settings() {
  std::map<std::string, std::string> settings;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  settings[std::string(kUmaskVariable)] = mask_text(mask);
  for (const Limit& limit : kLimits) {
    rlimit now = {};
    if (::getrlimit(limit.resource, &now) != 0) continue;
    settings[text(kLimit, limit.name)] =
        now.rlim_cur == RLIM_INFINITY ? std::string(kUnlimited) : std::to_string(now.rlim_cur);
  }
  return settings;
}

std::string settings_as_shell(const std::vector<std::string>& environment) {
  std::string commands;
  for_each_setting(
      environment, [&](mode_t mask) { commands += text("umask ", mask_text(mask), ";"); },
      [&](const Limit& limit, rlim_t value) { commands += as_shell(limit, value); });
  return commands;
}

std::string apply_settings(const std::vector<std::string>& environment) {
  std::string others;
  for_each_setting(
      environment, [](mode_t mask) { ::umask(mask); },
      [&](const Limit& limit, rlim_t value) {
        rlimit now = {};
        if (::getrlimit(limit.resource, &now) != 0 || now.rlim_cur == value) return;
        if (!limit.is_shared || (limit.resource == RLIMIT_NOFILE && value < kDescriptorsMin)) {
          others += as_shell(limit, value);
          return;
        }
        now.rlim_cur = std::min(value, now.rlim_max);
        ::setrlimit(limit.resource, &now);
      });
  return others;
}

}  // namespace proffer
