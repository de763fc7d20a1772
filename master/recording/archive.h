#pragma once

// Encoding of values for recordings only. Numbers have eight bytes, little-endian; texts and lists
// follow their length. A type is described once, for both directions, by
//
//   template <class A>
//   void fields(A& a, typename A::template Of<DrainAgent>& event) {
//     a(event.call)(event.by)(event.agent)(event.grace);
//   }
//
// A reader accepts hostile bytes: a length beyond the remaining bytes fails before memory is
// allocated.

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/ids.h"
#include "common/principal.h"
#include "common/resources.h"
#include "common/time.h"

namespace proffer::master {

class ArchiveWriter {
 public:
  static constexpr bool kReads = false;
  template <class T>
  using Of = const T;

  // `number_of`: the number under which a principal was written before.
  template <class NumberOf>
  ArchiveWriter(std::string& out, NumberOf number_of)
      : out_(out), number_of_(std::move(number_of)) {}

  template <class T>
  ArchiveWriter& operator()(const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      number(static_cast<uint64_t>(value));
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      const std::string_view bytes = value;
      number(bytes.size());
      out_ += bytes;
    } else {
      put(value);
    }
    return *this;
  }
  void number(uint64_t value) {
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(value >> (8 * i));
  }

 private:
  template <class Tag>
  void put(const Id<Tag>& id) {
    (*this)(id.str());
  }
  template <class Tag>
  void put(const Number<Tag>& one) {
    number(one.value());
  }
  void put(const Duration& duration) { (*this)(duration.nanos()); }
  void put(const Time& time) { (*this)(time.nanos()); }
  void put(const PrincipalPtr& by) { number(by == nullptr ? 0 : number_of_(by)); }
  void put(const ResourceVector& amounts) {
    for (const ResourceKind kind : kResourceKinds) (*this)(amounts[kind]);
  }
  void put(const Quota& quota) {
    for (const ResourceKind kind : kResourceKinds) (*this)(quota[kind]);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    number(value ? 1 : 0);
    if (value) (*this)(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    number(values.size());
    for (const T& value : values) (*this)(value);
  }
  template <class T>
  void put(const std::set<T>& values) {
    number(values.size());
    for (const T& value : values) (*this)(value);
  }
  template <class K, class V>
  void put(const std::map<K, V>& values) {
    number(values.size());
    for (const auto& [key, value] : values) (*this)(key)(value);
  }
  template <class T>
  requires requires(ArchiveWriter& a, const T& value) { fields(a, value); }
  void put(const T& value) { fields(*this, value); }

  std::string& out_;
  std::function<uint64_t(const PrincipalPtr&)> number_of_;
};

class ArchiveReader {
 public:
  static constexpr bool kReads = true;
  template <class T>
  using Of = T;

  // `principals`: by number, from 1.
  ArchiveReader(std::string_view bytes, const std::vector<PrincipalPtr>& principals)
      : bytes_(bytes), principals_(principals) {}

  // No error so far.
  bool ok() const { return ok_; }
  // No error, and no bytes left.
  bool is_done() const { return ok_ && bytes_.empty(); }
  std::string_view rest() const { return bytes_; }

  template <class T>
  ArchiveReader& operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = number_below(2) == 1;
    } else if constexpr (std::is_integral_v<T>) {
      const uint64_t read = number();
      value = static_cast<T>(read);
      // A narrower type cannot hold a value that does not come back equal.
      if (static_cast<uint64_t>(value) != read) fail();
    } else if constexpr (std::is_same_v<T, std::string>) {
      const uint64_t size = number();
      if (size > bytes_.size()) return fail();
      value = bytes_.substr(0, size);
      bytes_.remove_prefix(size);
    } else {
      get(value);
    }
    return *this;
  }
  // `count`: the number of enumerators.
  template <class T>
  ArchiveReader& enumerator(T& value, uint64_t count) {
    value = static_cast<T>(number_below(count));
    return *this;
  }
  uint64_t number() {
    uint64_t value = 0;
    if (bytes_.size() < 8) {
      fail();
      return 0;
    }
    for (int i = 0; i < 8; ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[static_cast<size_t>(i)]))
               << (8 * i);
    }
    bytes_.remove_prefix(8);
    return value;
  }
  ArchiveReader& fail() {
    ok_ = false;
    bytes_ = {};
    return *this;
  }

 private:
  uint64_t number_below(uint64_t count) {
    const uint64_t value = number();
    if (value < count) return value;
    fail();
    return 0;
  }
  template <class Tag>
  void get(Id<Tag>& id) {
    std::string value;
    (*this)(value);
    id = Id<Tag>(std::move(value));
  }
  template <class Tag>
  void get(Number<Tag>& one) {
    one = Number<Tag>(number());
  }
  void get(Duration& duration) { duration = Duration::nanos(static_cast<int64_t>(number())); }
  void get(Time& time) { time = Time::from_nanos(static_cast<int64_t>(number())); }
  void get(PrincipalPtr& by) {
    const uint64_t at = number_below(principals_.size() + 1);
    by = at == 0 ? nullptr : principals_[at - 1];
  }
  void get(ResourceVector& amounts) {
    for (const ResourceKind kind : kResourceKinds) (*this)(amounts[kind]);
  }
  void get(Quota& quota) {
    for (const ResourceKind kind : kResourceKinds) {
      std::optional<int64_t> amount;
      (*this)(amount);
      if (amount) quota.set(kind, *amount);
    }
  }
  template <class T>
  void get(std::optional<T>& value) {
    value.reset();
    if (number_below(2) == 1) (*this)(value.emplace());
  }
  template <class T>
  void get(std::vector<T>& values) {
    for (uint64_t left = number(); left > 0 && ok_; --left) (*this)(values.emplace_back());
  }
  template <class T>
  void get(std::set<T>& values) {
    for (uint64_t left = number(); left > 0 && ok_; --left) {
      T value{};
      (*this)(value);
      values.insert(std::move(value));
    }
  }
  template <class K, class V>
  void get(std::map<K, V>& values) {
    for (uint64_t left = number(); left > 0 && ok_; --left) {
      K key{};
      (*this)(key);
      (*this)(values[std::move(key)]);
    }
  }
  template <class T>
  requires requires(ArchiveReader& a, T& value) { fields(a, value); }
  void get(T& value) { fields(*this, value); }

  std::string_view bytes_;
  const std::vector<PrincipalPtr>& principals_;
  bool ok_ = true;
};

}  // namespace proffer::master
