#include "sim/history.h"

#include <cstring>
#include <ostream>

#include <fmt/format.h>

namespace proffer::sim {

void History::mix(std::string_view bytes) {
  const size_t size = bytes.size();
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    mix(word);
  }
  uint64_t rest = size << 8;
  for (const char c : bytes) rest = rest << 8 | static_cast<unsigned char>(c);
  mix(rest);
}

void History::mix(uint64_t number) {
  hash_ ^= number;
  hash_ *= 0x100000001B3u;
  hash_ ^= hash_ >> 29;
}

void History::add(Time at, const std::string& who, TraceEvent event) {
  ++events_;
  mix(static_cast<uint64_t>(at.nanos()));
  mix(who);
  mix(event.what());
  for (const auto& [key, value] : fields_of(event)) {
    mix(key);
    mix(value);
  }
  if (last_.size() == kKept) last_.pop_front();
  last_.push_back(Entry{at, who, std::move(event)});
  if (live_ != nullptr) *live_ << to_text(last_.back()) << '\n';
}

std::string History::to_text(const Entry& entry) const {
  const int64_t micros = (entry.at - zero_).micros();
  const int64_t size = micros < 0 ? -micros : micros;
  return fmt::format("{}{}.{:06} {} {}", micros < 0 ? "-" : "", size / 1'000'000, size % 1'000'000,
                     entry.who, proffer::to_text(entry.event));
}

std::vector<std::string> History::last() const {
  std::vector<std::string> lines;
  for (const Entry& entry : last_) lines.push_back(to_text(entry));
  return lines;
}

}  // namespace proffer::sim
