// Uses a program in $PATH that prints like nvidia-smi.

#include "slave/shell/gpus.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/net/support.h"

namespace proffer::agent {
namespace {

using executor::Gpus;
using net_test::TempDir;

class FindGpus : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    setenv("PATH", (tools_.path().string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  void make_tool(const std::string& script) {
    tools_.write("nvidia-smi", "#!/bin/sh\n" + script);
    std::filesystem::permissions(tools_.path() / "nvidia-smi", std::filesystem::perms(0755));
  }

  std::string path_;
  TempDir tools_;
  TempDir devices_;
};

TEST_F(FindGpus, ByTheToolsOfNvidia) {
  make_tool(R"(test "$1" = -L && cat <<END
GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
GPU 1: NVIDIA A100 (40GB) (UUID: GPU-c6d4e0b8)
  MIG 1g.5gb Device 0: (UUID: MIG-c6d4)
GPU 3: Odd (UUID: GPU=,)
END
)");
  const Gpus expected = {
      {0, "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"}, {1, "GPU-c6d4e0b8"}, {3, ""}};
  EXPECT_EQ(find_gpus(seconds(20), devices_.path()), expected);
}

TEST_F(FindGpus, ByTheirDevicesWhereTheToolFailsOrHangs) {
  for (const char* name : {"nvidia0", "nvidia7", "nvidiactl", "nvidia-uvm", "null"}) {
    devices_.write(name, "");
  }
  const Gpus two = {{0, ""}, {1, ""}};
  make_tool("echo NVIDIA-SMI has failed; exit 9");
  EXPECT_EQ(find_gpus(seconds(20), devices_.path()), two);
  make_tool("echo 'GPU 0: half'; exec sleep 1000");
  EXPECT_EQ(find_gpus(milliseconds(50), devices_.path()), two);
}

TEST_F(FindGpus, NoneWhereThereIsNothing) {
  EXPECT_EQ(find_gpus(seconds(20), devices_.path()), Gpus());
  make_tool("echo No devices were found; exit 0");
  EXPECT_EQ(find_gpus(seconds(20), devices_.path()), Gpus());
}

TEST_F(FindGpus, TheDriverKnowsTheirMinorNumbers) {
  const Gpus three = {{0, "GPU-aa"}, {1, "GPU-bb"}, {2, ""}};
  EXPECT_EQ(minors_of(three, devices_.path() / "none"),
            (std::map<int32_t, int64_t>{{0, 0}, {1, 1}, {2, 2}}));
  const auto device = [&](const std::string& address, const std::string& uuid, int minor) {
    std::filesystem::create_directories(devices_.path() / address);
    devices_.write(address + "/information",
                   text("Model: \t\t T4\nGPU UUID: \t ", uuid, "\nDevice Minor: \t ", minor, "\n"));
  };
  device("0000:01:00.0", "GPU-bb", 2);
  device("0000:02:00.0", "GPU-aa", 0);
  device("0000:03:00.0", "GPU-cc", 1);
  // The last by its place on the bus.
  EXPECT_EQ(minors_of(three, devices_.path()),
            (std::map<int32_t, int64_t>{{0, 0}, {1, 2}, {2, 1}}));
}

TEST_F(FindGpus, TheyAreWholeDevicesOfTheAgent) {
  Resources total = *parse_agent_resources("cpus:2");
  add_gpus({{0, ""}, {3, "GPU-a"}}, total);
  EXPECT_EQ(total, *parse_agent_resources("cpus:2;gpus:[0,3]"));
}

}  // namespace
}  // namespace proffer::agent
