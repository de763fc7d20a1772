#include "net/descriptors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/resource.h>

#include "common/check.h"

namespace proffer {
namespace {

// "Unlimited" would be a very large number.
constexpr rlim_t kDescriptorsMax = 1 << 30;

}  // namespace

DescriptorLimits raise_descriptor_limit() {
  rlimit limit = {};
  CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (limit.rlim_cur != before && setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    LOG(WARNING) << "the limit of open descriptors cannot be raised limit=" << before
                 << " hard=" << limit.rlim_max << " reason=\"" << std::strerror(errno) << '"';
    limit.rlim_cur = before;
  }
  return {.at_start = static_cast<size_t>(std::min(before, kDescriptorsMax)),
          .now = static_cast<size_t>(std::min(limit.rlim_cur, kDescriptorsMax))};
}

}  // namespace proffer
