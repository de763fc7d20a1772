#pragma once

// The GPUs of this machine.

#include <map>
#include <string>
#include <string_view>

#include "common/resources.h"
#include "common/time.h"
#include "slave/executor/gpus.h"

namespace proffer::agent {

// Reads the output of `nvidia-smi -L`: "GPU 0: Tesla T4 (UUID: GPU-…)". Other lines are ignored.
executor::Gpus parse_gpu_list(std::string_view printed);

// Runs nvidia-smi, if $PATH has it. If it is missing or does not answer, counts the devices
// /dev/nvidia0, 1, … in `devices`. Blocks for at most `within`, since a driver may hang. It waits
// for its child, so no other code may reap children meanwhile.
executor::Gpus find_gpus(Duration within = seconds(20), const std::string& devices = "/dev");

// The minor numbers of the devices by index: of each UUID, else in the order of the PCI bus, as
// NVIDIA's driver lists them in the directories of `driver`. Without a driver: the index itself.
std::map<int32_t, int64_t> minors_of(const executor::Gpus& gpus,
                                     const std::string& driver = "/proc/driver/nvidia/gpus");

// Adds the whole devices of `gpus` to `total`.
void add_gpus(const executor::Gpus& gpus, Resources& total);

}  // namespace proffer::agent
