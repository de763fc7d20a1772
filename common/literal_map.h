#pragma once

// A map with string literals as keys. A key is the literal's address, so comparing and hashing cost
// nothing. The same text may have several addresses, one in each translation unit.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace proffer {

template <class Value>
class LiteralMap {
 public:
  // A new value is Value(). O(1).
  Value& operator[](const char* literal) {
    Slot* slot = find(literal);
    if (slot->literal == literal) return slot->value;
    if (2 * ++size_ > slots_.size()) {
      grow();
      slot = find(literal);
    }
    slot->literal = literal;
    return slot->value;
  }

  // In no particular order.
  template <class Take>
  void each(Take&& take) const {
    for (const Slot& slot : slots_) {
      if (slot.literal != nullptr) take(slot.value);
    }
  }

 private:
  struct Slot {
    const char* literal = nullptr;
    Value value = {};
  };

  // The slot of the literal, or the free slot for it. At least half of the slots are free.
  Slot* find(const char* literal) {
    constexpr uint64_t kGolden = 0x9e37'79b9'7f4a'7c15;  // Knuth, volume 3, section 6.4
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>(reinterpret_cast<uintptr_t>(literal) * kGolden >> 32) & mask;
    while (slots_[at].literal != nullptr && slots_[at].literal != literal) at = (at + 1) & mask;
    return &slots_[at];
  }

  void grow() {
    std::vector<Slot> before(slots_.size() * 2);
    std::swap(before, slots_);
    for (Slot& slot : before) {
      if (slot.literal != nullptr) *find(slot.literal) = std::move(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(128);  // a power of two
  size_t size_ = 0;
};

}  // namespace proffer
