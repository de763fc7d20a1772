#include "proto/shape_usage.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "common/text.h"

namespace proffer::proto {
namespace {

constexpr int64_t kCpuStep = 100;             // milli-CPUs
constexpr int64_t kMemStep = 16'000;          // milli-MiB
constexpr int64_t kCpusShort = 950;           // thousandths of the ask
constexpr Duration kLongEnough = seconds(1);  // for a mean of CPUs

// Adds a fifth, in whole steps; at least one step.
int64_t with_margin(int64_t amount, int64_t step) {
  const int64_t more = amount + amount / 5;
  return std::max<int64_t>(1, (more + step - 1) / step) * step;
}

int64_t milli_mebibytes(int64_t bytes) { return bytes / 1024 * 1000 / 1024; }

// CPU time divided by time, in milli-CPUs.
int64_t mean_cpus(int64_t cpu_nanos, int64_t ran_nanos) {
  __extension__ typedef __int128 Int128;
  return ran_nanos <= 0 ? 0 : static_cast<int64_t>(Int128{cpu_nanos} * 1000 / ran_nanos);
}

void advise(ShapeUsage& shape) {
  if (!shape.cpus_most && !shape.memory_peak_bytes) return;
  ResourceVector advised = shape.asked;
  std::vector<std::string> why;
  if (shape.cpus_most) {
    int64_t& cpus = advised[ResourceKind::kCpus];
    const int64_t wanted = with_margin(*shape.cpus_most, kCpuStep);
    const bool is_short = *shape.cpus_most * 1000 >= cpus * kCpusShort;
    // A task that is throttled at its limit might use more.
    if (shape.throttled_nanos > 0 && is_short) {
      why.push_back("it waited for CPUs");
      cpus = std::max(cpus, wanted);
    } else if (wanted != cpus && (wanted < cpus || is_short)) {
      why.push_back(wanted < cpus ? "fewer CPUs are enough" : "it uses more CPUs than it asks for");
      cpus = wanted;
    }
  }
  if (shape.memory_peak_bytes) {
    int64_t& mem = advised[ResourceKind::kMem];
    const int64_t wanted = with_margin(milli_mebibytes(*shape.memory_peak_bytes), kMemStep);
    if (shape.out_of_memory > 0) {
      why.push_back(text(shape.out_of_memory, " ran out of memory"));
      mem = std::max(wanted, mem + mem / 2);
    } else if (wanted < mem) {
      // A peak near the limit has no meaning, since cached files fill free memory.
      why.push_back("less memory is enough");
      mem = wanted;
    }
  }
  shape.why = why.empty() ? "it fits" : why.front();
  for (size_t i = 1; i < why.size(); ++i) shape.why += ", " + why[i];
  shape.advised = advised;
}

}  // namespace

std::vector<ShapeUsage> by_shape(const std::vector<TaskSample>& samples) {
  struct Sum {
    ShapeUsage shape = {};
    int64_t ran_nanos = 0;
    std::optional<int64_t> most_of_short = {};
  };
  std::map<std::tuple<std::string, AskName, std::string>, Sum> sums;
  for (const TaskSample& sample : samples) {
    Sum& sum = sums[{sample.framework, sample.ask, to_text(sample.asked)}];
    ShapeUsage& shape = sum.shape;
    shape.framework = sample.framework;
    shape.ask = sample.ask;
    shape.asked = sample.asked;
    ++(sample.ended ? shape.ended : shape.running);
    if (!sample.usage) continue;
    const TaskUsage& usage = *sample.usage;
    ++shape.counted;
    if (usage.cpu_nanos) {
      shape.cpu_nanos += *usage.cpu_nanos;
      sum.ran_nanos += sample.ran.nanos();
      const int64_t mean = mean_cpus(*usage.cpu_nanos, sample.ran.nanos());
      std::optional<int64_t>& most =
          sample.ran >= kLongEnough ? shape.cpus_most : sum.most_of_short;
      most = std::max(most.value_or(0), mean);
    }
    shape.throttled_nanos += usage.throttled_nanos.value_or(0);
    if (usage.out_of_memory.value_or(0) > 0) ++shape.out_of_memory;
    if (usage.memory_peak_bytes) {
      shape.memory_peak_bytes =
          std::max(shape.memory_peak_bytes.value_or(0), *usage.memory_peak_bytes);
    }
  }
  std::vector<ShapeUsage> shapes;
  for (auto& [key, sum] : sums) {
    ShapeUsage& shape = sum.shape;
    if (!shape.cpus_most) shape.cpus_most = sum.most_of_short;
    if (shape.cpus_most) shape.cpus_mean = mean_cpus(shape.cpu_nanos, sum.ran_nanos);
    advise(shape);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace proffer::proto
