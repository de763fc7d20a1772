#include "slave/executor/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slave/executor/task_environment.h"

namespace proffer::executor {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

TEST(Gpus, AreWhatWasPrinted) {
  const Gpus gpus = {{0, "GPU-aa-1"}, {2, ""}, {63, "GPU-b"}};
  EXPECT_EQ(print_gpus(gpus), "0=GPU-aa-1,2,63=GPU-b");
  EXPECT_EQ(parse_gpus(print_gpus(gpus)), gpus);
  EXPECT_EQ(parse_gpus(""), Gpus());
  EXPECT_EQ(parse_gpus("x,64,-1,1=a b"), (Gpus{{1, ""}}));
}

std::vector<std::string> environment_of(const Gpus& gpus, std::vector<GpuDevice> devices) {
  proto::TaskSpec spec{.id = TaskId("t")};
  spec.environment = {{"CUDA_VISIBLE_DEVICES", "all"}, {"NVIDIA_VISIBLE_DEVICES", "all"}};
  proto::Assignment assignment;
  assignment.resources.gpus = std::move(devices);
  return task_environment(FrameworkId("f"), spec, assignment, {.gpus = gpus});
}

TEST(Gpus, OfATaskAreAllThatItIsShown) {
  const Gpus named = {{0, "GPU-a"}, {1, "GPU-b"}, {2, "GPU-c"}};
  EXPECT_THAT(environment_of(named, {{0, 1000}, {2, 1000}}),
              Contains("CUDA_VISIBLE_DEVICES=GPU-a,GPU-c"));
  EXPECT_THAT(environment_of(named, {{0, 1000}, {2, 1000}}),
              Contains("NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-c"));
  // A fraction of a device makes that device visible.
  EXPECT_THAT(environment_of(named, {{1, 300}}), Contains("CUDA_VISIBLE_DEVICES=GPU-b"));
  // Without GPUs, the task must see none.
  EXPECT_THAT(environment_of(named, {}), Contains("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(environment_of(named, {}), Contains("NVIDIA_VISIBLE_DEVICES="));
  // Devices are named by index, in nvidia-smi's order, if not all UUIDs are known.
  const Gpus declared = {{0, "GPU-a"}, {2, ""}};
  EXPECT_THAT(environment_of(declared, {{0, 1000}, {2, 1000}}),
              Contains("CUDA_VISIBLE_DEVICES=0,2"));
  EXPECT_THAT(environment_of(declared, {{2, 1000}}), Contains("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
}

TEST(Gpus, WhereThereAreNoneTasksAreToldNothing) {
  EXPECT_THAT(environment_of({}, {}), Contains("CUDA_VISIBLE_DEVICES=all"));
  EXPECT_THAT(environment_of({}, {}), Not(Contains(StartsWith("CUDA_DEVICE_ORDER"))));
}

}  // namespace
}  // namespace proffer::executor
