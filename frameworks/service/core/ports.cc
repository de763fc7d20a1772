// A small JSON parser, since a core has no JSON library. Names of ports are plain (check_app), so
// there is nothing to unescape.

#include "frameworks/service/core/ports.h"

#include <charconv>

#include "common/limits.h"

namespace proffer::service {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view rest) : rest_(rest) {}
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // A string without escapes.
  bool word(std::string_view& out) {
    if (!take('"')) return false;
    const size_t end = rest_.find_first_of("\"\\");
    if (end == std::string_view::npos || rest_[end] != '"') return false;
    out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool port(uint16_t& out) {
    skip();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (error != std::errc() || out == 0) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }

 private:
  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  std::string_view rest_;
};

}  // namespace

std::map<std::string, uint16_t> parse_told_ports(std::string_view data) {
  const size_t at = data.find("\"ports\"");
  if (at == std::string_view::npos) return {};
  Scanner in(data.substr(at + 7));
  if (!in.take(':') || !in.take('{')) return {};
  std::map<std::string, uint16_t> ports;
  do {
    std::string_view name;
    uint16_t port = 0;
    if (!in.word(name) || !in.take(':') || !in.port(port)) return {};
    ports.emplace(name, port);
  } while (ports.size() < kPortNamesMax && in.take(','));
  return in.take('}') ? ports : std::map<std::string, uint16_t>();
}

}  // namespace proffer::service
