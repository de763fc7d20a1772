#include "slave/executor/gpus.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::executor {

bool is_valid_uuid(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::string print_gpus(const Gpus& gpus) {
  std::string out;
  for (const auto& [index, uuid] : gpus) {
    out += text(out.empty() ? "" : ",", index, uuid.empty() ? "" : "=", uuid);
  }
  return out;
}

Gpus parse_gpus(std::string_view whole) {
  Gpus gpus;
  for (const std::string_view part : split(whole, ',')) {
    const size_t equals = part.find('=');
    const Result<int64_t> index =
        parse_whole("a device", part.substr(0, equals), 0, int64_t{kGpuDevicesMax} - 1);
    if (!index) continue;
    const std::string_view uuid =
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    gpus[static_cast<int32_t>(*index)] = is_valid_uuid(uuid) ? uuid : std::string_view();
  }
  return gpus;
}

void show_devices(const Gpus& gpus, const std::vector<GpuDevice>& devices,
                  std::map<std::string, std::string>& variables) {
  if (gpus.empty()) return;
  const auto uuid_of = [&](const GpuDevice& device) {
    const auto at = gpus.find(device.index);
    return at == gpus.end() ? std::string() : at->second;
  };
  // A list must contain only UUIDs or only indices.
  const bool by_uuid = std::none_of(devices.begin(), devices.end(), [&](const GpuDevice& device) {
    return uuid_of(device).empty();
  });
  std::string shown;
  for (const GpuDevice& device : devices) {
    if (!shown.empty()) shown += ',';
    shown += by_uuid ? uuid_of(device) : std::to_string(device.index);
  }
  variables["CUDA_VISIBLE_DEVICES"] = shown;
  variables["NVIDIA_VISIBLE_DEVICES"] = shown;
  // Otherwise CUDA counts the fastest device as the first, unlike nvidia-smi and the agent.
  variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
}

}  // namespace proffer::executor
