#pragma once

// A part that most values of a type do not have. A value without it spends one pointer on it.

#include <memory>
#include <utility>

namespace proffer {

// Holds T{} until another value is set.
template <class T>
class Rare {
 public:
  const T& operator*() const { return value_ != nullptr ? *value_ : nothing(); }
  const T* operator->() const { return &**this; }
  bool takes_memory() const { return value_ != nullptr; }

  void set(T value) {
    if (value == nothing()) {
      value_.reset();
    } else if (value_ != nullptr) {
      *value_ = std::move(value);
    } else {
      value_ = std::make_unique<T>(std::move(value));
    }
  }
  // Changes the value: calls change(value) with `value` as a T&.
  template <class Change>
  void change(Change change) {
    if (value_ == nullptr) value_ = std::make_unique<T>();
    change(*value_);
    if (*value_ == nothing()) value_.reset();
  }

 private:
  static const T& nothing() {
    static const T value{};
    return value;
  }

  std::unique_ptr<T> value_;
};

}  // namespace proffer
