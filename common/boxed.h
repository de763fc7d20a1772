#pragma once

// A large value that moves as a pointer. A message passes through many hands, from the core that
// sends it through outbox, network and event to its receiver. In a box it is built once and stays
// in its place.

#include <memory>
#include <type_traits>
#include <utility>

namespace proffer {

// Copies and compares as the T that it holds. An empty box, made by default or moved from, equals
// T{}.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  // From any value that converts to T.
  template <class Of>
  requires(std::is_convertible_v<Of&&, T> && !std::is_same_v<std::remove_cvref_t<Of>, Boxed>)
      Boxed(Of&& value)
      : value_(std::make_unique<T>(std::forward<Of>(value))) {}
  Boxed(const Boxed& other) : value_(copy(other)) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) value_ = copy(other);
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;

  const T& operator*() const { return value_ != nullptr ? *value_ : nothing(); }
  T& operator*() {
    if (value_ == nullptr) value_ = std::make_unique<T>();
    return *value_;
  }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }

  bool operator==(const Boxed& other) const { return **this == *other; }

 private:
  static std::unique_ptr<T> copy(const Boxed& other) {
    return other.value_ != nullptr ? std::make_unique<T>(*other.value_) : nullptr;
  }
  static const T& nothing() {
    static const T value{};
    return value;
  }

  std::unique_ptr<T> value_;
};

}  // namespace proffer
