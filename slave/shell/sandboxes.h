#pragma once

// The directories of executors, <work_dir>/sandboxes/<framework>/<executor>/<run>, and the paths
// /v1/files/<framework>/<task>/<path>.
//
// Tasks that run as the agent's user may write below sandboxes/, so nothing there is trusted. The
// owner of a run is in <work_dir>/runs/<framework>/<name>, for the executor and for each task that
// shares it, as a link that is read and never followed ("<executor>/<run>"). Sandboxes are entered
// component by component, never through a link.

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "common/result.h"
#include "net/http_server.h"
#include "slave/shell/ended_sandboxes.h"
#include "slave/shell/runs_in_use.h"

namespace proffer::agent {

class Sandboxes {
 public:
  struct Owner {
    uint32_t uid = 0;
    uint32_t gid = 0;
  };
  // `work_dir` is an absolute path; its subdirectories are made with the first sandbox.
  explicit Sandboxes(const std::string& work_dir)
      : root_(work_dir + "/sandboxes"), runs_(work_dir + "/runs") {}

  std::string path_of(const FrameworkId& framework, const ExecutorId& executor, uint64_t run) const;
  // Makes the directory, accessible to `owner` only (none: this process's user), as the newest of
  // that executor. Errors: kUnavailable, kResourceExhausted (disk full).
  Result<std::string> make(const FrameworkId& framework, const ExecutorId& executor, uint64_t run,
                           const std::optional<Owner>& owner = {}) const;
  // The files of `name`, a task or an executor, are in this run.
  Result<void> assign(const FrameworkId& framework, std::string_view name,
                      const ExecutorId& executor, uint64_t run) const;

  // The highest run number with a sandbox; 0: there is none. O(sandboxes).
  uint64_t newest_run() const;

  // For the thread of housekeeping.
  const std::string& root() const { return root_; }
  std::string path_of(const RunKey& run) const;
  // Sets its modification time to now.
  void touch(const RunKey& run) const;
  // Its size; none: it does not exist. O(its entries).
  std::optional<Held> measure(const RunKey& run) const;
  // Moves it to `trash` with that name; it is no longer served. False: it does not exist, or cannot
  // be moved.
  bool move_run(const RunKey& run, const Fd& trash, const std::string& name) const;
  // One of its tasks has failed, so its output stays when its files are released. O(1). Any thread.
  void note_failed(const RunKey& run) const;
  bool has_failed(const RunKey& run) const;
  // Removes names whose run no longer exists.
  void forget_removed(const std::string& framework) const;

  // Its files may grow (until task_ended); readers that follow them wait meanwhile. Any thread.
  void task_began(const FrameworkId& framework, const TaskId& task);
  void task_ended(const FrameworkId& framework, const TaskId& task);
  // ServedPath::name for its files.
  static std::string followed_name(std::string_view framework, std::string_view task);

  // "<framework>/<task>/<path>": in the run that was assigned last. Any thread. Errors:
  // kInvalidArgument, kNotFound.
  Result<ServedPath> resolve(std::string_view rest) const;

 private:
  Result<void> put(const FrameworkId& framework, std::string_view name, const ExecutorId& executor,
                   uint64_t run) const;
  using Name = std::pair<std::string, std::string>;
  struct Live {
    std::mutex mutex;
    std::set<Name> tasks;
  };
  std::string root_;
  std::string runs_;
  mutable std::mutex places_;  // locked while folders are made, or removed because they are empty
  std::shared_ptr<Live> live_ = std::make_shared<Live>();
};

}  // namespace proffer::agent
