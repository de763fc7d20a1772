#pragma once

// SHA-256 of a stream of bytes.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace proffer::fetcher {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(const void* bytes, size_t size);
  // In lower-case hexadecimal digits; resets the sum.
  std::string take();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_of(std::string_view bytes);

}  // namespace proffer::fetcher
