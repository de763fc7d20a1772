#pragma once

// One frame as it came from a socket, with the memory that it lies in: it can be kept without a
// copy. A small frame shares its memory with those that came beside it, so one that is to be kept
// for long is copied (copy_of).

#include <array>
#include <cstddef>
#include <span>

namespace proffer {

class ReceivedFrame {
 public:
  ReceivedFrame();  // empty
  ~ReceivedFrame();
  ReceivedFrame(ReceivedFrame&& from) noexcept;
  ReceivedFrame& operator=(ReceivedFrame&& from) noexcept;
  ReceivedFrame(const ReceivedFrame&) = delete;
  ReceivedFrame& operator=(const ReceivedFrame&) = delete;

  static ReceivedFrame copy_of(std::span<const std::byte> bytes);

  // Not aligned; valid while this lives and is not moved from.
  std::span<const std::byte> bytes() const;
  operator std::span<const std::byte>() const { return bytes(); }
  size_t size() const { return bytes().size(); }

  // libzmq's zmq_msg_t, for net/ alone.
  void* message() { return message_.data(); }

 private:
  alignas(void*) std::array<std::byte, 64> message_;
};

}  // namespace proffer
