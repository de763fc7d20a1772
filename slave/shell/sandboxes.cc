#include "slave/shell/sandboxes.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::agent {
namespace {

constexpr mode_t kToPass = 0711;  // their names are not secret, but need not be listed
constexpr mode_t kForItsUser = 0700;

// In the executor's directory, where tasks of other users cannot write; no run has such a name.
std::string failure_mark(uint64_t run) { return text(run, ".failed"); }

Error cannot(std::string_view what, int error) {
  const std::error_code code(error, std::generic_category());
  const std::string message = text("cannot ", what, ": ", code.message());
  return code == std::errc::no_space_on_device ? Error::resource_exhausted(message)
                                               : Error::unavailable(message);
}

// Opens the directory `name` in `at`, but not through a link; returns no descriptor, and errno, if
// there is none.
Fd enter(const Fd& at, std::string_view name) {
  if (at.get() < 0) return Fd();
  return Fd(
      openat(at.get(), std::string(name).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Fd enter_top(const std::string& path) {
  return Fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Fd make_top(const std::string& path, mode_t mode) {
  Fd top = enter_top(path);
  if (top.get() >= 0 || errno != ENOENT) return top;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return Fd();
  return enter_top(path);
}

// As enter(), and makes the directory if necessary, replacing a link or a file that a task put
// there.
Fd enter_or_make(const Fd& at, const std::string& name, mode_t mode) {
  Fd entered = enter(at, name);
  if (entered.get() >= 0 || at.get() < 0) return entered;
  if (errno == ENOTDIR || errno == ELOOP) unlinkat(at.get(), name.c_str(), 0);
  if (mkdirat(at.get(), name.c_str(), mode) != 0 && errno != EEXIST) return Fd();
  return enter(at, name);
}

struct Run {
  std::string executor = {};
  std::string number = {};
};

std::optional<Run> read_run(const Fd& at, std::string_view name) {
  char buffer[256];
  const ssize_t bytes = readlinkat(at.get(), std::string(name).c_str(), buffer, sizeof buffer);
  if (bytes <= 0) return std::nullopt;
  const std::string_view found(buffer, static_cast<size_t>(bytes));
  const size_t slash = found.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const Run run{std::string(found.substr(0, slash)), std::string(found.substr(slash + 1))};
  // Each must be a single path component.
  if (!is_valid_name(run.executor) || !parse_whole("run", run.number, 1, INT64_MAX)) {
    return std::nullopt;
  }
  return run;
}

}  // namespace

std::string Sandboxes::path_of(const FrameworkId& framework, const ExecutorId& executor,
                               uint64_t run) const {
  return text(root_, "/", framework.str(), "/", executor.str(), "/", run);
}

Result<std::string> Sandboxes::make(const FrameworkId& framework, const ExecutorId& executor,
                                    uint64_t run, const std::optional<Owner>& owner) const {
  std::string path = path_of(framework, executor, run);
  const std::unique_lock lock(places_);
  const Fd all = enter_or_make(make_top(root_, kToPass), framework.str(), kToPass);
  const Fd runs = enter_or_make(all, executor.str(), kToPass);
  const Fd sandbox = enter_or_make(runs, std::to_string(run), kForItsUser);
  const bool is_theirs = sandbox.get() >= 0 && (!owner || fchownat(sandbox.get(), "", owner->uid,
                                                                   owner->gid, AT_EMPTY_PATH) == 0);
  if (!is_theirs) return cannot(text("make the sandbox ", quoted(path)), errno);
  if (Result<void> assigned = put(framework, executor.str(), executor, run); !assigned) {
    return std::move(assigned).error();
  }
  return path;
}

Result<void> Sandboxes::assign(const FrameworkId& framework, std::string_view name,
                               const ExecutorId& executor, uint64_t run) const {
  const std::lock_guard lock(places_);
  return put(framework, name, executor, run);
}

Result<void> Sandboxes::put(const FrameworkId& framework, std::string_view name,
                            const ExecutorId& executor, uint64_t run) const {
  const std::string entry(name);
  const std::string fresh = text("~", name);  // no name begins so
  const std::string to = text(executor.str(), "/", run);
  const auto failed = [&] { return cannot(text("note the sandbox of ", quoted(name)), errno); };
  const Fd at = enter_or_make(make_top(runs_, kForItsUser), framework.str(), kForItsUser);
  if (at.get() < 0) return failed();
  if (symlinkat(to.c_str(), at.get(), entry.c_str()) == 0) return {};
  if (errno != EEXIST) return failed();
  const std::optional<Run> former = read_run(at, name);
  if (former && text(former->executor, "/", former->number) == to) return {};
  unlinkat(at.get(), fresh.c_str(), 0);
  if (symlinkat(to.c_str(), at.get(), fresh.c_str()) != 0 ||
      renameat(at.get(), fresh.c_str(), at.get(), entry.c_str()) != 0) {
    return failed();
  }
  return {};
}

std::string Sandboxes::path_of(const RunKey& run) const {
  return text(root_, "/", run.framework, "/", run.executor, "/", run.run);
}

uint64_t Sandboxes::newest_run() const {
  uint64_t newest = 0;
  std::error_code failed;  // An unreadable directory contains none of the agent's runs.
  for (const auto& framework : std::filesystem::directory_iterator(root_, failed)) {
    for (const auto& executor : std::filesystem::directory_iterator(framework.path(), failed)) {
      for (const auto& run : std::filesystem::directory_iterator(executor.path(), failed)) {
        const auto number = parse_whole("run", run.path().filename().string(), 1, INT64_MAX);
        if (number) newest = std::max(newest, static_cast<uint64_t>(*number));
      }
    }
  }
  return newest;
}

void Sandboxes::touch(const RunKey& run) const {
  const Fd runs = enter(enter(enter_top(root_), run.framework), run.executor);
  if (runs.get() < 0) return;
  utimensat(runs.get(), std::to_string(run.run).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::optional<Held> Sandboxes::measure(const RunKey& run) const {
  const Fd runs = enter(enter(enter_top(root_), run.framework), run.executor);
  const std::string number = std::to_string(run.run);
  if (enter(runs, number).get() < 0) return std::nullopt;
  return measure_sandbox(runs.get(), number);
}

bool Sandboxes::move_run(const RunKey& run, const Fd& trash, const std::string& name) const {
  const std::lock_guard lock(places_);
  const Fd all = enter_top(root_);
  const Fd executors = enter(all, run.framework);
  const Fd runs = enter(executors, run.executor);
  const std::string number = std::to_string(run.run);
  // A directory that is moved must be writable, and a task may have changed its mode; root needs no
  // mode.
  if (runs.get() < 0 ||
      (geteuid() != 0 && fchmodat(runs.get(), number.c_str(), kForItsUser, 0) != 0) ||
      renameat(runs.get(), number.c_str(), trash.get(), name.c_str()) != 0) {
    return false;
  }
  unlinkat(runs.get(), failure_mark(run.run).c_str(), 0);
  // Removes the executor's own name; names of tasks that shared it are left to forget_removed().
  const Fd names = enter(enter_top(runs_), run.framework);
  const std::optional<Run> named = read_run(names, run.executor);
  if (named && named->executor == run.executor && named->number == number) {
    unlinkat(names.get(), run.executor.c_str(), 0);
  }
  // Succeeds if they are empty.
  unlinkat(executors.get(), run.executor.c_str(), AT_REMOVEDIR);
  unlinkat(all.get(), run.framework.c_str(), AT_REMOVEDIR);
  return true;
}

void Sandboxes::note_failed(const RunKey& run) const {
  const std::lock_guard lock(places_);
  const Fd runs = enter(enter(enter_top(root_), run.framework), run.executor);
  if (runs.get() < 0 || enter(runs, std::to_string(run.run)).get() < 0) return;
  const Fd made(openat(runs.get(), failure_mark(run.run).c_str(),
                       O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

bool Sandboxes::has_failed(const RunKey& run) const {
  const Fd runs = enter(enter(enter_top(root_), run.framework), run.executor);
  return runs.get() >= 0 &&
         faccessat(runs.get(), failure_mark(run.run).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void Sandboxes::forget_removed(const std::string& framework) const {
  const Fd all = enter_top(runs_);
  const Fd folder(
      openat(all.get(), framework.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> names(
      fdopendir(fcntl(folder.get(), F_DUPFD_CLOEXEC, 0)), &closedir);
  if (names == nullptr) return;
  while (const dirent* entry = readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    // Locked for each separately, since the loop may be waiting to assign a name.
    const std::lock_guard lock(places_);
    const std::optional<Run> run = read_run(folder, name);
    const bool is_there =
        run &&
        enter(enter(enter(enter_top(root_), framework), run->executor), run->number).get() >= 0;
    if (!is_there) unlinkat(folder.get(), entry->d_name, 0);
  }
  const std::lock_guard lock(places_);
  unlinkat(all.get(), framework.c_str(), AT_REMOVEDIR);
}

std::string Sandboxes::followed_name(std::string_view framework, std::string_view task) {
  return text(framework, "/", task);
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

  const std::optional<Run> run = read_run(enter(enter_top(runs_), framework), task);
  Fd sandbox;
  if (run) {
    sandbox = enter(enter(enter(enter_top(root_), framework), run->executor), run->number);
  }
  if (sandbox.get() < 0) {
    return Error::not_found(
               text("this agent has no sandbox of task ", quoted(text(framework, "/", task))))
        .with_hint(
            "sandboxes are removed when they are old, a minute after their end if they have no "
            "output and no file, or when their framework releases them: batch does so at the end "
            "of a job, and keeps the output of failed tasks");
  }
  return ServedPath{
      .root = {.directory = std::move(sandbox),
               .path = text(root_, "/", framework, "/", run->executor, "/", run->number)},
      .relative = std::string(path),
      .is_growing =
          [live = live_, name = Name(framework, task)] {
            const std::lock_guard lock(live->mutex);
            return live->tasks.contains(name);
          },
      .name = followed_name(framework, task),
      .is_output = path == "stdout" || path == "stderr"};
}

}  // namespace proffer::agent
