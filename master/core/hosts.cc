#include "master/core/hosts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/text.h"

namespace proffer::master {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Resolvers accept "127.1", "0x7f000001" and "2130706433" as numbers, too.
bool is_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  return is_digits(last) || last.starts_with("0x");
}

// Exactly four numbers without leading zeros.
bool may_be_reached_by_ipv4(std::string_view host) {
  const std::vector<std::string_view> parts = split(host, '.');
  if (parts.size() != 4) return false;
  std::vector<int64_t> numbers;
  for (const std::string_view part : parts) {
    if (part.size() > 1 && part.front() == '0') return false;
    const Result<int64_t> number = parse_whole("part", part, 0, 255);
    if (!number || !is_digits(part)) return false;
    numbers.push_back(*number);
  }
  const bool is_link_local = numbers[0] == 169 && numbers[1] == 254;
  return numbers[0] != 0 && numbers[0] != 127 && numbers[0] < 224 && !is_link_local;
}

}  // namespace

bool is_of_this_machine(std::string_view host) {
  return host.starts_with("127.") || host == "::1" || host.starts_with("::ffff:127.");
}

bool may_be_reached(std::string_view text) {
  std::string host(text);
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (host.ends_with('.')) host.pop_back();
  // For IPv6, only routed addresses: global (2000::/3) and unique local (fc00::/7).
  if (host.find(':') != std::string::npos) {
    const bool is_whole = host.find(':') == 4;
    return is_whole &&
           (host[0] == '2' || host[0] == '3' || host.starts_with("fc") || host.starts_with("fd"));
  }
  if (is_number(host)) return may_be_reached_by_ipv4(host);
  return !host.empty() && host != "localhost" && !host.ends_with(".localhost");
}

}  // namespace proffer::master
