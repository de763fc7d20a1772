// Advice of `proffer usage` from the use of tasks.

#include "proto/shape_usage.h"

#include <gtest/gtest.h>

namespace proffer::proto::shape_usage_test {
namespace {

constexpr int64_t kMebi = int64_t{1} << 20;

TaskSample sample(const char* asked, int64_t cpu_seconds, int64_t ran_seconds, int64_t peak_mib) {
  return {.framework = "sort",
          .ask = AskName("map"),
          .asked = *parse_shape(asked),
          .ran = seconds(ran_seconds),
          .ended = true,
          .usage = proto::TaskUsage{.cpu_nanos = cpu_seconds * 1'000'000'000,
                                    .memory_peak_bytes = peak_mib * kMebi}};
}
ShapeUsage only(const std::vector<TaskSample>& samples) {
  const std::vector<ShapeUsage> shapes = by_shape(samples);
  EXPECT_EQ(shapes.size(), 1u);
  return shapes.empty() ? ShapeUsage() : shapes[0];
}

TEST(Usage, OfTasksThatUseLessAdvisesAFifthAboveTheMost) {
  const ShapeUsage shape =
      only({sample("cpus:4;mem:1GiB", 10, 10, 100), sample("cpus:4;mem:1GiB", 30, 20, 200)});
  EXPECT_EQ(shape.ended, 2);
  EXPECT_EQ(shape.cpus_mean, 1333);
  EXPECT_EQ(shape.cpus_most, 1500);
  EXPECT_EQ(shape.memory_peak_bytes, 200 * kMebi);
  EXPECT_EQ(to_text(*shape.advised), "cpus:1.8;mem:240");
  EXPECT_EQ(shape.why, "fewer CPUs are enough, less memory is enough");
}

TEST(Usage, NeverAdvisesMoreMemoryUnlessItRanOut) {
  // Cached files fill free memory.
  ShapeUsage shape = only({sample("cpus:1;mem:256", 1, 1, 256)});
  EXPECT_EQ(to_text((*shape.advised)), "cpus:1.2;mem:256");
  std::vector<TaskSample> samples = {sample("cpus:1;mem:256", 8, 10, 256)};
  samples[0].usage->out_of_memory = 1;
  shape = only(samples);
  EXPECT_EQ((*shape.advised)[ResourceKind::kMem], 384'000);
  EXPECT_EQ(shape.why, "1 ran out of memory");
}

TEST(Usage, AdvisesMoreCpusToWhatUsesMoreThanItAskedFor) {
  const ShapeUsage shape = only({sample("cpus:0.5;mem:64", 19, 10, 50)});
  EXPECT_EQ(to_text(*shape.advised), "cpus:2.3;mem:64");
  EXPECT_EQ(shape.why, "it uses more CPUs than it asks for");
}

TEST(Usage, JudgesCpusByTasksThatRanForASecond) {
  std::vector<TaskSample> samples = {sample("cpus:2;mem:64", 1, 10, 16)};
  TaskSample burst = sample("cpus:2;mem:64", 0, 0, 16);
  burst.ran = milliseconds(10);
  burst.usage->cpu_nanos = 30'000'000;
  samples.push_back(burst);
  EXPECT_EQ(only(samples).cpus_most, 100);
  EXPECT_EQ(only({burst}).cpus_most, 3000);
}

TEST(Usage, OfWhatWasNotCountedAdvisesNothing) {
  TaskSample unknown = sample("cpus:1;mem:64", 0, 1, 0);
  unknown.usage.reset();
  const ShapeUsage shape = only({unknown});
  EXPECT_EQ(shape.ended, 1);
  EXPECT_EQ(shape.counted, 0);
  EXPECT_FALSE(shape.advised);
}

TEST(Usage, IsByFrameworkAskAndShape) {
  std::vector<TaskSample> samples = {sample("cpus:1;mem:64", 1, 1, 1),
                                     sample("cpus:2;mem:64", 1, 1, 1),
                                     sample("cpus:1;mem:64", 1, 1, 1)};
  samples[2].ask = AskName("reduce");
  samples.push_back(samples[0]);
  samples.back().ended = false;
  const std::vector<ShapeUsage> shapes = by_shape(samples);
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].running, 1);
  EXPECT_EQ(shapes[0].ended, 1);
  EXPECT_EQ(shapes[2].ask, AskName("reduce"));
}

TEST(Usage, OfTheLargestTasksDoesNotOverflow) {
  const ShapeUsage shape = only({sample("cpus:1000;mem:64", 3'000'000'000, 3'000'000, 64)});
  EXPECT_EQ(shape.cpus_most, 1'000'000);
}

}  // namespace
}  // namespace proffer::proto::shape_usage_test
