#pragma once

// Values as bytes: texts with their length before them, and numbers in base 128, low digits first
// (LEB128, as in Protocol Buffers). After the first malformed value a ByteReader returns zeros, and
// it reports the fault at the end.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "common/limits.h"

namespace proffer {

inline constexpr int64_t kBytesAmountMax = int64_t{1} << 60;

class ByteWriter {
 public:
  ByteWriter() = default;
  explicit ByteWriter(std::string_view tag) : out_(tag) {}

  void number(uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }
  // Must not be negative.
  void signed_number(int64_t value) {
    CHECK_GE(value, 0);
    number(static_cast<uint64_t>(value));
  }
  // Signs alternate (zigzag), so that small values of both signs are short.
  void whole(int64_t value) {
    number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void bytes(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  void pairs(const std::map<std::string, std::string>& values) {
    number(values.size());
    for (const auto& [name, value] : values) {
      bytes(name);
      bytes(value);
    }
  }

  size_t size() const { return out_.size(); }
  std::string_view view() const { return out_; }  // valid until something is added
  std::string take() && { return std::move(out_); }
  // Keeps its memory.
  void clear() { out_.clear(); }

 private:
  std::string out_;
};

class ByteReader {
 public:
  // Fails if `bytes` do not begin with `tag`. The bytes must outlive the reader and the texts that
  // it returns.
  explicit ByteReader(std::string_view bytes, std::string_view tag = {}) : rest_(bytes) {
    if (rest_.starts_with(tag)) {
      rest_.remove_prefix(tag.size());
    } else {
      fail();
    }
  }

  // A number above `max` is malformed.
  uint64_t number(uint64_t max = UINT64_MAX) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return fail();
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) return fail();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value <= max ? value : fail();
    }
    return fail();
  }
  uint32_t number32(uint32_t max) { return static_cast<uint32_t>(number(max)); }
  int64_t amount(int64_t max = kBytesAmountMax) {
    return static_cast<int64_t>(number(static_cast<uint64_t>(max)));
  }
  int64_t whole() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }
  // The number of entries that follow, each of at least one byte.
  size_t count(size_t max) {
    const uint64_t value = number(max);
    return value <= rest_.size() ? static_cast<size_t>(value) : static_cast<size_t>(fail());
  }
  std::string_view bytes(size_t max) {
    const uint64_t size = number(max);
    if (size > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }
  // Names must rise, so that a map has one encoding.
  std::map<std::string, std::string> pairs(size_t count_max, size_t bytes_max) {
    std::map<std::string, std::string> values;
    const size_t size = count(count_max);
    for (size_t i = 0; ok_ && i < size; ++i) {
      std::string name(bytes(kNameBytesMax));
      std::string value(bytes(bytes_max));
      if (!values.empty() && name <= values.rbegin()->first) fail();
      values.emplace_hint(values.end(), std::move(name), std::move(value));
    }
    return values;
  }

  uint64_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  bool ok() const { return ok_; }
  size_t left() const { return rest_.size(); }  // bytes
  bool ended_well() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace proffer
