#pragma once

// How a task is told which GPUs are its own: by the variables that NVIDIA's libraries read. They
// see no other device then; a program that opens /dev/nvidia… itself does.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/resources.h"

namespace proffer::executor {

// The value of PROFFER_GPUS, from an agent to its executors: "0=GPU-5d5ba0d6,2".
inline constexpr const char* kGpusVariable = "PROFFER_GPUS";
// Variables of a task. No task and no framework chooses them where there are GPUs.
inline constexpr std::array<const char*, 3> kDeviceVariables = {
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};

// The GPUs of an agent: the UUID of each by its index, or "" if that is not known. None: the agent
// has no GPUs, and its tasks are told nothing.
using Gpus = std::map<int32_t, std::string>;

std::string print_gpus(const Gpus& gpus);
// The inverse; malformed parts are left out.
Gpus parse_gpus(std::string_view text);
// Letters, digits and '-', as in GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77.
bool is_valid_uuid(std::string_view text);

// Sets the variables for a task that has `devices`, whole or a part of one: those only, or none.
void show_devices(const Gpus& gpus, const std::vector<GpuDevice>& devices,
                  std::map<std::string, std::string>& variables);

}  // namespace proffer::executor
