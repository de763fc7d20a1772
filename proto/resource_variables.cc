#include "proto/resource_variables.h"

#include <algorithm>
#include <cstdint>

namespace proffer::proto {
namespace {

constexpr int64_t kThousandths = 1'000;

// "2", "0.5", "0.125": an amount in thousandths.
std::string decimal(int64_t amount) {
  std::string digits = std::to_string(amount % kThousandths + kThousandths).substr(1);
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  const std::string whole = std::to_string(amount / kThousandths);
  return digits.empty() ? whole : whole + "." + digits;
}

}  // namespace

std::map<std::string, std::string> resource_variables(const ResourceVector& amounts) {
  const int64_t cpus = amounts[ResourceKind::kCpus];
  std::map<std::string, std::string> variables = {
      {"PROFFER_CPUS", decimal(cpus)},
      {"PROFFER_MEM_MIB", std::to_string(amounts[ResourceKind::kMem] / kThousandths)},
      {"PROFFER_DISK_MIB", std::to_string(amounts[ResourceKind::kDisk] / kThousandths)},
      {"OMP_NUM_THREADS", std::to_string(std::max<int64_t>(cpus / kThousandths, 1))}};
  if (const int64_t gpus = amounts[ResourceKind::kGpus]; gpus > 0) {
    variables["PROFFER_GPU_COUNT"] = decimal(gpus);
  }
  return variables;
}

}  // namespace proffer::proto
