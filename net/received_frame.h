#pragma once

// One received frame with its memory, so that it can be kept without a copy. Small frames share
// memory with others that came together, so a frame that is kept for long should be copied
// (copy_of).

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

  // Not aligned; valid until this is destroyed or moved from.
  std::span<const std::byte> bytes() const;
  operator std::span<const std::byte>() const { return bytes(); }
  size_t size() const { return bytes().size(); }

  // libzmq's zmq_msg_t, for net/ only.
  void* message() { return message_.data(); }

 private:
  alignas(void*) std::array<std::byte, 64> message_;
};

}  // namespace proffer
