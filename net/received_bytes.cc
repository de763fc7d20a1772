// The dynamic linker resolves recv() to this function instead of the C library's, also for
// libraries.

#include "net/received_bytes.h"

#include <array>
#include <atomic>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace proffer {
namespace {

constexpr size_t kPerPage = 1'024;
constexpr size_t kPages = 1'024;
using Page = std::array<std::atomic<uint64_t>, kPerPage>;

// Indexed by descriptor. Pages are made when needed, and stay.
std::array<std::atomic<Page*>, kPages> pages;

std::atomic<uint64_t>* counter_of(int fd, bool may_make) {
  if (fd < 0 || static_cast<size_t>(fd) >= kPages * kPerPage) return nullptr;
  std::atomic<Page*>& place = pages[static_cast<size_t>(fd) / kPerPage];
  Page* page = place.load(std::memory_order_acquire);
  if (page == nullptr) {
    if (!may_make) return nullptr;
    Page* made = new Page{};
    if (place.compare_exchange_strong(page, made, std::memory_order_acq_rel)) {
      page = made;
    } else {
      delete made;  // Another thread was faster.
    }
  }
  return &(*page)[static_cast<size_t>(fd) % kPerPage];
}

}  // namespace

uint64_t received_bytes(int fd) {
  const std::atomic<uint64_t>* counter = counter_of(fd, false);
  return counter == nullptr ? 0 : counter->load(std::memory_order_relaxed);
}

}  // namespace proffer

extern "C" ssize_t recv(int fd, void* into, size_t bytes, int flags) {
  const ssize_t received = syscall(SYS_recvfrom, fd, into, bytes, flags, nullptr, nullptr);
  if (received > 0) {
    if (std::atomic<uint64_t>* counter = proffer::counter_of(fd, true)) {
      counter->fetch_add(static_cast<uint64_t>(received), std::memory_order_relaxed);
    }
  }
  return received;
}
