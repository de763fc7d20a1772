// From listening sockets to the update: on_looked. Below it are the parsers of two texts of the
// kernel.

#include "slave/executor/readiness.h"

#include <algorithm>
#include <charconv>

#include "common/check.h"
#include "common/text.h"

namespace proffer::executor {
namespace {

template <class T>
std::optional<T> whole(std::string_view digits, int base) {
  T value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

ReadinessWatch::ReadinessWatch(const proto::Readiness& readiness,
                               const std::map<std::string, uint16_t>& ports, Time started)
    : from_(started + readiness.after), due_(from_) {
  for (const std::string& name : readiness.ports) {
    const auto at = ports.find(name);
    ports_.push_back({.name = name, .port = at == ports.end() ? uint16_t{0} : at->second});
  }
  ready_ = ports_.empty() && readiness.after <= Duration();
}

std::optional<ReadyNews> ReadinessWatch::on_looked(const std::vector<PortSeen>& seen, Time now) {
  CHECK(!ready_) << "the check of readiness";
  std::string why = why_not_ready(seen);
  if (why.empty()) {
    ready_ = true;
    return ReadyNews{.ready = true};
  }
  const Duration waited = now - from_;
  due_ = now + std::clamp(waited / 4, kReadyLookMin, kReadyLookMax);
  if (waited < kWhyNotReadyAfter || why == told_) return std::nullopt;
  if (!told_.empty() && now < told_at_ + kWhyNotReadyAfter) return std::nullopt;
  told_ = why;
  told_at_ = now;
  return ReadyNews{.ready = false, .message = std::move(why)};
}

std::string why_not_ready(const std::vector<PortSeen>& seen) {
  const auto named = [&](Listener listener) {
    std::string names;
    for (const PortSeen& one : seen) {
      if (one.listener != listener) continue;
      names += text(names.empty() ? "" : ", ", one.name, " (", one.port, ")");
    }
    return names;
  };
  std::string why;
  const auto say = [&](std::string_view before, const std::string& names, std::string_view after) {
    if (!names.empty()) why += text(why.empty() ? "" : "; ", before, names, after);
  };
  say("does not listen on port ", named(Listener::kNobody), "");
  say("another process listens on port ", named(Listener::kAnother), "");
  say("cannot check whether it listens on port ", named(Listener::kHidden),
      ": the descriptors of one of its processes are not readable; use a health check");
  return why;
}

std::optional<TcpSocket> parse_tcp_socket(std::string_view line) {
  // "   0: 0100007F:7918 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 4711 1 …"
  constexpr size_t kLocal = 1;
  constexpr size_t kState = 3;
  constexpr size_t kInode = 9;
  constexpr std::string_view kListen = "0A";
  std::vector<std::string_view> fields;
  while (fields.size() <= kInode) {
    const size_t begin = line.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return std::nullopt;
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  const size_t colon = fields[kLocal].rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = whole<uint16_t>(fields[kLocal].substr(colon + 1), 16);
  const auto inode = whole<uint64_t>(fields[kInode], 10);
  if (!port || !inode) return std::nullopt;
  return TcpSocket{.port = *port, .is_listening = fields[kState] == kListen, .inode = *inode};
}

std::optional<uint64_t> parse_socket_link(std::string_view link) {
  constexpr std::string_view kPrefix = "socket:[";
  if (!link.starts_with(kPrefix) || !link.ends_with(']')) return std::nullopt;
  link.remove_prefix(kPrefix.size());
  link.remove_suffix(1);
  return whole<uint64_t>(link, 10);
}

}  // namespace proffer::executor
