#pragma once

// Values that many objects have in common, stored once: a hundred thousand tasks of one ask share
// one claim. Such a value never changes: a task whose value changes gets another block.

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

namespace proffer {

// A pointer to such a value. An empty one reads as T{}. It takes one pointer, and all pointers to a
// value belong to one thread; a std::shared_ptr takes two, and counts for several threads.
template <class T>
class Shared {
 public:
  Shared() = default;
  explicit Shared(T value) : block_(new Block{std::move(value)}) {}
  Shared(const Shared& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->users;
  }
  Shared(Shared&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Shared() {
    if (block_ != nullptr && --block_->users == 0) delete block_;
  }

  const T& operator*() const { return block_ != nullptr ? block_->value : nothing(); }
  const T* operator->() const { return &**this; }
  // False if it is empty.
  explicit operator bool() const { return block_ != nullptr; }
  // True if both point to the same block, so that they are equal.
  bool is_same(const Shared& other) const { return block_ == other.block_; }

 private:
  struct Block {
    const T value;
    size_t users = 1;
  };
  static const T& nothing() {
    static const T value{};
    return value;
  }

  Block* block_ = nullptr;
};

// The hash of several values: hashed(a, b, c).
inline size_t hashed() { return 0; }
template <class First, class... Rest>
size_t hashed(const First& first, const Rest&... rest) {
  constexpr size_t kOdd = 0x9e37'79b9'7f4a'7c15;
  const size_t mixed = (hashed(rest...) ^ std::hash<First>()(first)) * kOdd;
  return mixed ^ (mixed >> 32);
}

// Finds the block of an equal value that was shared recently. It keeps at most kBlocksMax unused
// blocks. If there are more, an equal value may get a second block, which only costs memory.
// Hash()(value) may omit parts of the value.
template <class T, class Hash>
class SharedValues {
 public:
  static constexpr size_t kBlocksMax = 512;

  // O(1): at most kProbes comparisons.
  Shared<T> share(T value) {
    const size_t home = Hash()(value) % (kBlocksMax / kProbes) * kProbes;
    for (size_t i = 0; i < kProbes; ++i) {
      Slot& slot = slots_[home + i];
      if (slot.is_used && *slot.block == value) return slot.block;
    }
    Slot& slot = slots_[home + next_++ % kProbes];
    slot = {Shared<T>(std::move(value)), true};
    return slot.block;
  }

 private:
  static constexpr size_t kProbes = 4;
  struct Slot {
    Shared<T> block = {};
    bool is_used = false;
  };

  std::array<Slot, kBlocksMax> slots_ = {};
  size_t next_ = 0;
};

}  // namespace proffer
