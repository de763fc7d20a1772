// A reduce task: shares of all maps → merge → reducer → part of the output. `run_reduce` is the
// story.

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/fetch.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"

namespace proffer::batch {
namespace {

constexpr int kFilesMergedAtOnce = 64;

// The names for sort's --files0-from, each ended by a NUL.
Result<void> write_names(const std::string& path, const std::vector<std::string>& files) {
  Result<Fd> list = open_to_write(path);
  if (!list) return std::move(list).error();
  std::string names;
  for (const std::string& file : files) {
    names += file;
    names += '\0';
  }
  if (const WriteOutcome written = write_all(list->get(), names); written.error)
    return *written.error;
  return {};
}

}  // namespace

std::optional<TaskTrouble> run_reduce(const ReduceWork& work, const TaskSetting& setting,
                                      int stderr_fd, TaskResult& result) {
  const std::string scratch = text(setting.sandbox, "/.proffer");
  if (::mkdir(scratch.c_str(), 0700) != 0 && errno != EEXIST) {
    return trouble(system_error(text("making ", quoted(scratch)), errno));
  }
  const Fetched fetched = fetch_share(FetchPlan{.framework = setting.framework,
                                                .job = JobId(work.common.job),
                                                .partition = work.common.number,
                                                .addresses = work.addresses,
                                                .own = setting.agent,
                                                .maps = work.maps,
                                                .directory = scratch},
                                      *setting.stopped);
  if (fetched.error) return trouble(*fetched.error);
  if (!fetched.missing.empty()) {
    return TaskTrouble{
        .message = text("cannot fetch ", fetched.missing.size(), " map outputs; ", fetched.why),
        .fetch_failed = fetched.missing};
  }
  result.records_in = fetched.records;
  result.bytes_in = fetched.bytes;

  // The merge keeps the order of the maps among equal keys (-s), whatever the number of files.
  Result<Child> merge = Child();
  Fd lines;
  if (fetched.files.size() <= 1) {
    Result<Fd> only = open_to_read(fetched.files.empty() ? "/dev/null" : fetched.files[0]);
    if (!only) return trouble(only.error());
    lines = *std::move(only);
  } else {
    const std::string names = scratch + "/names";
    if (Result<void> ok = write_names(names, fetched.files); !ok) return trouble(ok.error());
    Result<Fd> nothing = open_to_read("/dev/null");
    if (!nothing) return trouble(nothing.error());
    Result<Pipe> merged = make_pipe();
    if (!merged) return trouble(merged.error());
    merge =
        Child::start({"sort", "-m", "-s", "-t", "\t", "-k1,1", "-S",
                      text(setting.sort_bytes / 1'024, "K"), "-T", setting.sandbox, "--parallel=1",
                      text("--batch-size=", kFilesMergedAtOnce), text("--files0-from=", names)},
                     sort_environment(setting), nothing->get(), merged->write.get(), stderr_fd);
    if (!merge) return trouble(merge.error());
    lines = std::move(merged->read);
  }
  Result<Pipe> from_reducer = make_pipe();
  if (!from_reducer) return trouble(from_reducer.error());
  Result<Child> reducer = Child::start({"/bin/sh", "-c", work.common.command},
                                       command_environment(work.common, setting), lines.get(),
                                       from_reducer->write.get(), stderr_fd);
  if (!reducer) return trouble(reducer.error());
  lines.reset();
  from_reducer->write.reset();

  const Result<void> written = write_part(work.common, setting, from_reducer->read.get(), result);
  if (!written) signal_group(SIGKILL);
  from_reducer->read.reset();
  const ExitStatus reduced = reducer->wait();
  // A reducer may have read enough before the end: then sort ends by SIGPIPE, and that is fine.
  const ExitStatus sorted = merge->wait();
  if (!written) return trouble(written.error());
  if (std::optional<TaskTrouble> wrong = trouble_of("the reducer", reduced, work.common)) {
    return wrong;
  }
  if (!sorted.ok() && sorted.signal != SIGPIPE) {
    return TaskTrouble{.message = text("sort ", to_text(sorted))};
  }
  if (setting.stopped->load()) return TaskTrouble{.message = "the task was killed"};
  if (Result<void> ok = commit_part(work.common, setting); !ok) return trouble(ok.error());
  // Its disk is not needed for longer.
  for (const std::string& file : fetched.files) ::unlink(file.c_str());
  return std::nullopt;
}

}  // namespace proffer::batch
