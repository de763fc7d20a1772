#include "net/received_frame.h"

#include <cstring>

#include <zmq.h>

#include "common/check.h"

namespace proffer {
namespace {

static_assert(sizeof(zmq_msg_t) <= 64 && alignof(zmq_msg_t) <= alignof(void*));

zmq_msg_t* as_message(void* storage) { return static_cast<zmq_msg_t*>(storage); }

}  // namespace

ReceivedFrame::ReceivedFrame() { zmq_msg_init(as_message(message())); }

ReceivedFrame::~ReceivedFrame() { zmq_msg_close(as_message(message())); }

ReceivedFrame::ReceivedFrame(ReceivedFrame&& from) noexcept : ReceivedFrame() {
  zmq_msg_move(as_message(message()), as_message(from.message()));
}

ReceivedFrame& ReceivedFrame::operator=(ReceivedFrame&& from) noexcept {
  if (this != &from) zmq_msg_move(as_message(message()), as_message(from.message()));
  return *this;
}

ReceivedFrame ReceivedFrame::copy_of(std::span<const std::byte> bytes) {
  ReceivedFrame copy;
  CHECK_EQ(zmq_msg_init_size(as_message(copy.message()), bytes.size()), 0);
  if (!bytes.empty()) {
    std::memcpy(zmq_msg_data(as_message(copy.message())), bytes.data(), bytes.size());
  }
  return copy;
}

std::span<const std::byte> ReceivedFrame::bytes() const {
  // libzmq's function is not const-correct, and changes nothing.
  zmq_msg_t* message = as_message(const_cast<std::byte*>(message_.data()));
  return {static_cast<const std::byte*>(zmq_msg_data(message)), zmq_msg_size(message)};
}

}  // namespace proffer
