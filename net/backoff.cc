// When to try again.

#include "net/backoff.h"

#include <algorithm>

namespace proffer {
namespace {

constexpr int kDoublingsMax =
    30;  // keeps the product within 64 bits; the maximum comes long before

}  // namespace

Duration Backoff::next() {
  Duration wait = limits_.min;
  for (int i = 0; i < std::min(attempts_, kDoublingsMax) && wait < limits_.max; ++i) {
    wait = wait * 2;
  }
  wait = std::min(wait, limits_.max);
  ++attempts_;
  const int64_t half = wait.nanos() / 2;
  return Duration::nanos(prng_.between(wait.nanos() - half, wait.nanos()));
}

}  // namespace proffer
