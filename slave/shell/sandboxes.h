#pragma once

// Where executors live on the disk: <work_dir>/sandboxes/<framework>/<executor>/<run>, and what
// /v1/files/<framework>/<task>/<path> means.
//
// Tasks may write below sandboxes/ if they run as the agent's user. So nothing there is taken at
// its word: which run is whose is written in <work_dir>/runs/<framework>/<name>, for the executor
// and for each task that shares it, as a link that is read and never followed ("<executor>/<run>");
// and sandboxes are entered part by part, never through a link.

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
  // `work_dir` is an absolute path; what is below it is made when the first sandbox is.
  explicit Sandboxes(const std::string& work_dir)
      : root_(work_dir + "/sandboxes"), runs_(work_dir + "/runs") {}

  std::string path_of(const FrameworkId& framework, const ExecutorId& executor, uint64_t run) const;
  // Makes the directory, only for `owner` (none: this process's user), and it is that executor's
  // newest from now on. Errors: kUnavailable, kResourceExhausted (disk full).
  Result<std::string> make(const FrameworkId& framework, const ExecutorId& executor, uint64_t run,
                           const std::optional<Owner>& owner = {}) const;
  // The files of `name`, a task or an executor, are those of this run.
  Result<void> assign(const FrameworkId& framework, std::string_view name,
                      const ExecutorId& executor, uint64_t run) const;

  // The highest number of a run that has a sandbox; 0: there is none. O(sandboxes).
  uint64_t newest_run() const;

  // For housekeeping, in its thread.
  const std::string& root() const { return root_; }
  std::string path_of(const RunKey& run) const;
  // Its last change is now.
  void touch(const RunKey& run) const;
  // What it holds; none: it is not there. O(entries in it).
  std::optional<Held> measure(const RunKey& run) const;
  // Into `trash`, under that name: nothing of it is served any more. False: it is not there, or
  // cannot be moved.
  bool move_run(const RunKey& run, const Fd& trash, const std::string& name) const;
  // A task of it has failed: its output stays when its files are released. O(1). Any thread.
  void note_failed(const RunKey& run) const;
  bool has_failed(const RunKey& run) const;
  // Names whose run is not there any more mean nothing any more.
  void forget_removed(const std::string& framework) const;

  // Whether its files may still grow; a reader that follows them waits as long. Any thread.
  void task_began(const FrameworkId& framework, const TaskId& task);
  void task_ended(const FrameworkId& framework, const TaskId& task);
  // ServedPath::name of its files.
  static std::string followed_name(std::string_view framework, std::string_view task);

  // "<framework>/<task>/<path>": the run that was last assigned. Any thread.
  // Errors: kInvalidArgument, kNotFound.
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
  mutable std::mutex places_;  // while folders are made, or removed because they are empty
  std::shared_ptr<Live> live_ = std::make_shared<Live>();
};

}  // namespace proffer::agent
