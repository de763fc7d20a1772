#pragma once

// Which GPUs this machine has.

#include <string>
#include <string_view>

#include "common/resources.h"
#include "common/time.h"
#include "slave/executor/gpus.h"

namespace proffer::agent {

// Reads output of `nvidia-smi -L`: "GPU 0: Tesla T4 (UUID: GPU-…)". Other lines are passed over.
executor::Gpus parse_gpu_list(std::string_view printed);

// Asks nvidia-smi, where $PATH has one; where it does not answer, or is missing, devices are
// counted by /dev/nvidia0, 1, … of `devices`. Blocks for `within` at most: a driver may hang. It
// waits for its child, so nobody else may reap children meanwhile.
executor::Gpus find_gpus(Duration within = seconds(20), const std::string& devices = "/dev");

// The whole devices of `gpus` become part of `total`.
void add_gpus(const executor::Gpus& gpus, Resources& total);

}  // namespace proffer::agent
