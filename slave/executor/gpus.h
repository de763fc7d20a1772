#pragma once

// Informs a task of its GPUs by the variables that NVIDIA's libraries read, so that they use no
// other device. This does not restrict programs that open /dev/nvidia… directly.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/resources.h"

namespace proffer::executor {

// The value of PROFFER_GPUS, which an agent gives to its executors: "0=GPU-5d5ba0d6,2".
inline constexpr const char* kGpusVariable = "PROFFER_GPUS";
// Variables of a task. On agents with GPUs, tasks and frameworks cannot set them.
inline constexpr std::array<const char*, 3> kDeviceVariables = {
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};

// The GPUs of an agent: UUIDs by index, "" if unknown. Empty: the agent has no GPUs, and its tasks
// get no variables.
using Gpus = std::map<int32_t, std::string>;

std::string print_gpus(const Gpus& gpus);
// Parses to_text(); malformed parts are left out.
Gpus parse_gpus(std::string_view text);
// Letters, digits and '-', as in GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77.
bool is_valid_uuid(std::string_view text);

// Sets the variables for a task with `devices`, whole or in part: exactly these devices, or none.
void show_devices(const Gpus& gpus, const std::vector<GpuDevice>& devices,
                  std::map<std::string, std::string>& variables);

}  // namespace proffer::executor
