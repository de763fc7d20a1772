#pragma once

// Where executors live on the disk: <work_dir>/sandboxes/<framework>/<executor>/<run>, and what
// /v1/files/<framework>/<task>/<path> means.

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "common/result.h"
#include "net/http_server.h"

namespace proffer::agent {

class Sandboxes {
 public:
  // `root` is an absolute path; it is made when the first sandbox is.
  explicit Sandboxes(std::string root) : root_(std::move(root)) {}

  std::string path_of(const FrameworkId& framework, const ExecutorId& executor, uint64_t run) const;
  // Makes the directory, only for this user. Errors: kUnavailable, kResourceExhausted (disk full).
  Result<std::string> make(const FrameworkId& framework, const ExecutorId& executor,
                           uint64_t run) const;
  // A task that shares the executor `executor` is found there by its own name, too.
  void link_task(const FrameworkId& framework, const TaskId& task,
                 const ExecutorId& executor) const;

  // Whether its files may still grow; a reader that follows them waits as long. Any thread.
  void task_began(const FrameworkId& framework, const TaskId& task);
  void task_ended(const FrameworkId& framework, const TaskId& task);

  // "<framework>/<task>/<path>": the newest run of the task's executor. Any thread.
  // Errors: kInvalidArgument, kNotFound.
  Result<ServedPath> resolve(std::string_view rest) const;

 private:
  using Name = std::pair<std::string, std::string>;
  struct Live {
    std::mutex mutex;
    std::set<Name> tasks;
  };
  std::string root_;
  std::shared_ptr<Live> live_ = std::make_shared<Live>();
};

}  // namespace proffer::agent
