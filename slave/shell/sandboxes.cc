#include "slave/shell/sandboxes.h"

#include <filesystem>
#include <system_error>

#include "common/text.h"

namespace proffer::agent {

namespace fs = std::filesystem;

std::string Sandboxes::path_of(const FrameworkId& framework, const ExecutorId& executor,
                               uint64_t run) const {
  return text(root_, "/", framework.str(), "/", executor.str(), "/", run);
}

Result<std::string> Sandboxes::make(const FrameworkId& framework, const ExecutorId& executor,
                                    uint64_t run) const {
  const std::string path = path_of(framework, executor, run);
  std::error_code error;
  // An executor's directory may have been the link of a task that shared another one.
  const fs::path parent = fs::path(path).parent_path();
  if (fs::is_symlink(parent, error)) fs::remove(parent, error);
  error.clear();
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, fs::perms::owner_all, error);
  if (error) {
    const std::string message =
        text("cannot make the sandbox ", quoted(path), ": ", error.message());
    return error == std::errc::no_space_on_device ? Error::resource_exhausted(message)
                                                  : Error::unavailable(message);
  }
  return path;
}

void Sandboxes::link_task(const FrameworkId& framework, const TaskId& task,
                          const ExecutorId& executor) const {
  const fs::path link = fs::path(root_) / framework.str() / task.str();
  std::error_code error;
  fs::create_directories(link.parent_path(), error);
  if (fs::is_symlink(link, error)) fs::remove(link, error);
  // Without it only the URL by the executor's name works.
  fs::create_directory_symlink(executor.str(), link, error);
}

void Sandboxes::task_began(const FrameworkId& framework, const TaskId& task) {
  const std::lock_guard lock(live_->mutex);
  live_->tasks.insert({framework.str(), task.str()});
}

void Sandboxes::task_ended(const FrameworkId& framework, const TaskId& task) {
  const std::lock_guard lock(live_->mutex);
  live_->tasks.erase({framework.str(), task.str()});
}

Result<ServedPath> Sandboxes::resolve(std::string_view rest) const {
  const size_t first = rest.find('/');
  const std::string_view framework = rest.substr(0, first);
  std::string_view behind = first == std::string_view::npos ? "" : rest.substr(first + 1);
  const size_t second = behind.find('/');
  const std::string_view task = behind.substr(0, second);
  const std::string_view path = second == std::string_view::npos ? "" : behind.substr(second + 1);
  if (!is_valid_name(framework) || !is_valid_name(task)) {
    return Error::invalid_argument(
        text("files are at /v1/files/<framework>/<task>/<path>, not at ", quoted(rest)));
  }

  const fs::path runs = fs::path(root_) / framework / task;
  uint64_t newest = 0;
  std::error_code error;
  for (fs::directory_iterator at(runs, error), end; !error && at != end; at.increment(error)) {
    const Result<int64_t> run = parse_whole("run", at->path().filename().string(), 1, INT64_MAX);
    if (run) newest = std::max(newest, static_cast<uint64_t>(*run));
  }
  if (newest == 0) {
    return Error::not_found(
        text("this agent has no sandbox of task ", quoted(text(framework, "/", task))));
  }
  return ServedPath{.root = runs / std::to_string(newest),
                    .relative = std::string(path),
                    .is_growing = [live = live_, name = Name(framework, task)] {
                      const std::lock_guard lock(live->mutex);
                      return live->tasks.contains(name);
                    }};
}

}  // namespace proffer::agent
