#include "common/amount_text.h"

#include "common/text.h"

namespace proffer {
namespace {

bool is_in_mebibytes(ResourceKind kind) {
  return kind == ResourceKind::kMem || kind == ResourceKind::kDisk;
}

}  // namespace

std::string amount_text(ResourceKind kind, int64_t milli) {
  if (!is_in_mebibytes(kind)) return print_milli(milli);
  constexpr int64_t kGibibyte = 1'024 * 1'000;
  if (milli != 0 && milli % kGibibyte == 0) return text(milli / kGibibyte, " GiB");
  return text(print_milli(milli), " MiB");
}

std::string named_amount(ResourceKind kind, int64_t milli) {
  return text(amount_text(kind, milli), is_in_mebibytes(kind) ? " of " : " ", to_text(kind));
}

}  // namespace proffer
