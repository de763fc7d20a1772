#pragma once

// Valid messages, which codec tests then make invalid.

#include <string>
#include <vector>

#include "common/check.h"
#include "common/limits.h"
#include "proto/codec/codec.h"
#include "proto/messages.h"

namespace proffer::proto::test {

using Bytes = std::vector<std::byte>;

inline Bytes encoded(const Message& message) {
  Encoder encoder;
  const auto frame = encoder.encode({.sequence = 1, .message = message});
  CHECK(frame.has_value()) << frame.error().message();
  return {frame->begin(), frame->end()};
}

inline std::string refusal_of(const Bytes& frame) {
  const Result<Envelope> decoded = decode(frame);
  return decoded ? "accepted" : decoded.error().message();
}

inline std::string letters(size_t size) { return std::string(size, 'a'); }
inline std::string role_of(size_t size) {
  std::string out(size, 'a');
  for (size_t i = 100; i < size; i += 100) out[i] = '/';
  return out;
}
inline const Secret kSecret(std::string(32, '7'));

inline TaskSpec valid_spec() { return {.id = TaskId("t"), .command = "true"}; }
inline RunTask run(TaskSpec spec) {
  return {.framework = FrameworkId("f"), .spec = std::move(spec)};
}
inline RunTask run_with(Resources resources) {
  return {.framework = FrameworkId("f"),
          .spec = valid_spec(),
          .assignment = {.resources = std::move(resources)}};
}
// A task with this health check and a port named http.
inline RunTask checked(HealthCheck check) {
  TaskSpec spec = valid_spec();
  spec.port_names = {"http"};
  spec.health = std::move(check);
  return run(std::move(spec));
}
inline TaskStatus valid_status() { return {.task = TaskId("t")}; }
inline Subscribe valid_subscribe() {
  return {.name = "n", .role = RoleName("r"), .secret = kSecret};
}
inline RegisterAgent valid_agent() { return {.agent = AgentId("a"), .secret = kSecret}; }
inline Ask valid_ask() { return {.name = AskName("x")}; }
inline DeclareAsks asking(Ask ask) { return {.asks = {std::move(ask)}}; }
inline Offer valid_offer() { return {.id = OfferId(1), .agent = AgentId("a")}; }
inline Constraint listing(size_t values, size_t bytes) {
  return {.attribute = "rack",
          .op = Constraint::Operator::kIn,
          .values = std::vector<std::string>(values, letters(bytes))};
}
template <class Change, class Value>
Message with(Value value, const Change& change) {
  change(value);
  return value;
}

}  // namespace proffer::proto::test
