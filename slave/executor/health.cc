// The health state of a task: on_tick decides when to check, and on_looked applies a result. Also
// two formats that checks need: the first line of an HTTP answer, and the reported ports.

#include "slave/executor/health.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"

namespace proffer::executor {

Health::Health(proto::HealthCheck check, Time started)
    : check_(std::move(check)), started_(started), due_(started) {}

bool Health::on_tick(Time now) {
  if (!due_ || now < *due_) return false;
  due_.reset();
  began_ = now;
  return true;
}

std::optional<HealthNews> Health::on_looked(const Looked& looked, Time now) {
  CHECK(!due_) << "the end of a check that never began";
  due_ = now + check_.interval;
  if (looked.is_good()) {
    was_good_ = true;
    failures_ = 0;
    if (told_ == std::optional(true)) return std::nullopt;
    told_ = true;
    return HealthNews{.healthy = true};
  }
  if (!was_good_ && began_ < started_ + check_.grace) return std::nullopt;
  failures_ = std::min(failures_ + 1, check_.failures);
  if (failures_ < check_.failures || told_ == std::optional(false)) return std::nullopt;
  told_ = false;
  const std::string what = check_.failures == 1
                               ? "a health check failed: "
                               : text(check_.failures, " health checks in a row failed: ");
  return HealthNews{.healthy = false, .message = what + looked.failure};
}

std::optional<Looked> judge_answer(std::string_view received) {
  constexpr std::string_view kVersion = "HTTP/1.x ";
  constexpr size_t kStatusBytes = 3;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const Looked no_http{"the answer is not HTTP/1"};
  // Received bytes that cannot begin a status line are a failure at once, since the sender may
  // never send a line end.
  for (size_t i = 0; i < std::min(received.size(), kVersion.size()); ++i) {
    if (kVersion[i] == 'x' ? !is_digit(received[i]) : received[i] != kVersion[i]) return no_http;
  }
  const size_t end = received.find('\n');
  if (end == std::string_view::npos) {
    if (received.size() < kStatusLineBytesMax) return std::nullopt;
    return Looked{text("the first line of the answer is longer than ", kStatusLineBytesMax)};
  }
  std::string_view line = received.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() < kVersion.size() + kStatusBytes) return no_http;
  line.remove_prefix(kVersion.size());
  int status = 0;
  for (size_t i = 0; i < kStatusBytes; ++i) {
    if (!is_digit(line[i])) return no_http;
    status = status * 10 + (line[i] - '0');
  }
  if (line.size() > kStatusBytes && line[kStatusBytes] != ' ') return no_http;
  if (status >= 200 && status <= 399) return Looked{};
  return Looked{text("it answered with status ", status)};
}

std::string told_ports(const std::map<std::string, uint16_t>& ports) {
  if (ports.empty()) return {};
  std::string out = "{\"ports\":{";
  for (const auto& [name, port] : ports) {
    if (out.back() != '{') out += ',';
    out += text('"', name, "\":", port);
  }
  return out + "}}";
}

}  // namespace proffer::executor
