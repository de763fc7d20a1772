#include "slave/shell/gpus.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/fd.h"

extern char** environ;  // NOLINT: POSIX

namespace proffer::agent {
namespace {

constexpr const char* kTool = "nvidia-smi";
constexpr size_t kPrintedMax = 64 * 1024;

bool is_in_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return false;
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.empty() && access(text(folder, "/", program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// The whole output of the tool.
Result<std::string> ask_tool(Duration within) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return Error::unavailable(std::strerror(errno));
  const Fd out(ends[0]);
  Fd in(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, in.get(), STDOUT_FILENO);
  std::string tool = kTool;
  std::string list = "-L";
  char* arguments[] = {tool.data(), list.data(), nullptr};
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, kTool, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Error::unavailable(std::strerror(failed));
  in = Fd();

  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(within.nanos());
  std::string printed;
  bool is_whole = false;
  while (printed.size() < kPrintedMax) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd waits{.fd = out.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waits, 1, static_cast<int>(left.count())) == 0) break;
    char bytes[4096];
    const ssize_t count = read(out.get(), bytes, sizeof bytes);
    if (count > 0) printed.append(bytes, static_cast<size_t>(count));
    if (count == 0) is_whole = true;
    if (is_whole || (count < 0 && errno != EAGAIN && errno != EINTR)) break;
  }
  // A tool that hangs in its driver may not even die, so there is no wait for its end.
  if (!is_whole) ::kill(pid, SIGKILL);
  int status = 0;
  if (waitpid(pid, &status, is_whole ? 0 : WNOHANG) == pid && WIFEXITED(status) &&
      WEXITSTATUS(status) == 0) {
    return printed;
  }
  if (!is_whole) return Error::timeout(text("it did not end within ", to_text(within)));
  return Error::unavailable(WIFEXITED(status) ? text("it ended with code ", WEXITSTATUS(status))
                                              : text("signal ", WTERMSIG(status), " ended it"));
}

executor::Gpus count_devices(const std::string& folder) {
  executor::Gpus found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("nvidia") || !parse_whole("a device", name.substr(6), 0, 1023)) continue;
    // The numbers in the names differ from those of the tools, so they are only counted.
    if (found.size() < kGpuDevicesMax) found[static_cast<int32_t>(found.size())] = "";
  }
  return found;
}

}  // namespace

executor::Gpus parse_gpu_list(std::string_view printed) {
  constexpr std::string_view kBegins = "GPU ";
  constexpr std::string_view kUuid = "(UUID: ";
  executor::Gpus found;
  for (const std::string_view line : split(printed, '\n')) {
    const size_t colon = line.find(':');
    if (!line.starts_with(kBegins) || colon == std::string_view::npos) continue;
    const Result<int64_t> index =
        parse_whole("a device", line.substr(kBegins.size(), colon - kBegins.size()), 0,
                    int64_t{kGpuDevicesMax} - 1);
    if (!index) continue;
    std::string& uuid = found[static_cast<int32_t>(*index)];
    const size_t begin = line.rfind(kUuid);
    if (begin == std::string_view::npos) continue;
    const std::string_view words = line.substr(begin + kUuid.size());
    const std::string_view told = words.substr(0, words.find(')'));
    if (executor::is_valid_uuid(told)) uuid = told;
  }
  return found;
}

executor::Gpus find_gpus(Duration within, const std::string& devices) {
  if (!is_in_path(kTool)) return count_devices(devices);
  const Result<std::string> printed = ask_tool(within);
  if (printed) return parse_gpu_list(*printed);
  executor::Gpus counted = count_devices(devices);
  LOG(WARNING) << "nvidia-smi -L does not list the GPUs reason=\"" << printed.error().message()
               << "\" counted_in_dev=" << counted.size();
  return counted;
}

std::map<int32_t, int64_t> minors_of(const executor::Gpus& gpus, const std::string& driver) {
  std::vector<std::filesystem::path> folders;  // by address on the bus
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(driver, none)) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<int64_t> in_order;
  std::map<std::string, int64_t> by_uuid;
  for (const std::filesystem::path& folder : folders) {
    // "GPU UUID: \t GPU-5d5ba0d6-…" and "Device Minor: \t 0".
    std::ifstream file(folder / "information");
    std::string uuid;
    std::optional<int64_t> minor;
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string_view value = trimmed(std::string_view(line).substr(colon + 1));
      if (line.starts_with("GPU UUID")) uuid = value;
      if (!line.starts_with("Device Minor")) continue;
      if (const Result<int64_t> number = parse_whole("a minor", value, 0, 1023)) minor = *number;
    }
    if (!minor) continue;
    in_order.push_back(*minor);
    if (!uuid.empty()) by_uuid[uuid] = *minor;
  }
  std::map<int32_t, int64_t> minors;
  for (const auto& [index, uuid] : gpus) {
    const auto known = by_uuid.find(uuid);
    const auto at = static_cast<size_t>(index);
    minors[index] = known != by_uuid.end() ? known->second
                    : at < in_order.size() ? in_order[at]
                                           : index;
  }
  return minors;
}

void add_gpus(const executor::Gpus& gpus, Resources& total) {
  Resources found;
  for (const auto& [index, uuid] : gpus) found.gpus.push_back({index, kWholeDevice});
  found.amounts[ResourceKind::kGpus] = static_cast<int64_t>(gpus.size()) * kWholeDevice;
  total += found;
}

}  // namespace proffer::agent
