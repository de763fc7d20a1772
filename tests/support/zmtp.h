#pragma once

// ZeroMQ's wire protocol by hand, for peers that do things that libzmq would not.

#include <cstdint>
#include <string>
#include <string_view>

namespace proffer::test {

// The bytes that a DEALER sends before its first message: ZMTP 3.0 with the mechanism NULL. A
// ROUTER's answer has the same length; libzmq closes a connection that sends more before that
// answer.
inline std::string zmtp_handshake() {
  std::string greeting = "\xff" + std::string(8, '\0') + "\x7f\x03" + std::string(1, '\0') + "NULL";
  greeting.resize(64, '\0');
  const std::string property = std::string("\x0bSocket-Type") + std::string(3, '\0') + "\x06" +
                               "DEALER" + "\x08Identity" + std::string(4, '\0');
  const std::string body = "\x05READY" + property;
  return greeting + "\x04" + static_cast<char>(body.size()) + body;
}
inline constexpr size_t kZmtpHandshakeBytes = 64 + 2 + 41;

// A message of one frame; with `more`, a part that others follow.
inline std::string zmtp_frame(std::string_view frame, bool more = false) {
  constexpr char kMore = 1;
  constexpr char kLong = 2;
  const char flags = more ? kMore : '\0';
  if (frame.size() < 256) {
    return std::string{flags, static_cast<char>(frame.size())} + std::string(frame);
  }
  std::string framed(1, static_cast<char>(flags | kLong));
  for (int shift = 56; shift >= 0; shift -= 8) {
    framed += static_cast<char>(uint64_t{frame.size()} >> shift & 0xff);
  }
  return framed.append(frame);
}

}  // namespace proffer::test
