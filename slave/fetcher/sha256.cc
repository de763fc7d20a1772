#include "slave/fetcher/sha256.h"

#include <array>

#include <openssl/evp.h>

#include "common/check.h"

namespace proffer::fetcher {

struct Sha256::Context {
  Context() : md(EVP_MD_CTX_new()) { begin(); }
  ~Context() { EVP_MD_CTX_free(md); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  void begin() const {
    CHECK(md != nullptr && EVP_DigestInit_ex(md, EVP_sha256(), nullptr) == 1)
        << "libcrypto has no SHA-256";
  }
  EVP_MD_CTX* md;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;

void Sha256::add(const void* bytes, size_t size) {
  CHECK(EVP_DigestUpdate(context_->md, bytes, size) == 1) << "SHA-256";
}

std::string Sha256::take() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(context_->md, sum.data(), &size) == 1) << "SHA-256";
  context_->begin();
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (size_t i = 0; i < size; ++i) {
    digits += kDigits[sum[i] >> 4];
    digits += kDigits[sum[i] & 15];
  }
  return digits;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes.data(), bytes.size());
  return sum.take();
}

}  // namespace proffer::fetcher
