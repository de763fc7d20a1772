// proffer logs: looks up a task by name, and reads its output from its agent.

#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/task_output.h"

namespace proffer::cli {

int run_logs(const Words& words) {
  std::string master_flag;
  std::string word;
  std::string file = "stdout";
  bool json = false;
  bool follow = false;
  bool use_stderr = false;
  Arguments arguments(
      "proffer logs TASK [-f] [--stderr]",
      "print the output of a task, also of an ended one while its agent keeps the sandbox: 7 days "
      "unless --sandbox_age of the agent is set, less if its disk is short or the framework "
      "releases it, as batch does at the end of a job");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.flag("-f,--follow", &follow, "follow the output until the task ends");
  arguments.flag("--stderr", &use_stderr, "print standard error instead of standard output");
  arguments.option("--file", &file, "print this file of the sandbox instead");
  arguments.required("TASK", &word, "FRAMEWORK/TASK or a unique prefix");
  arguments.note("With -f, Ctrl-C ends only the following; the task keeps running.");
  arguments.examples(
      {"proffer logs web-17-3/web.1 -f", "proffer logs web-17-3/web.1 --file core.txt"});
  if (const auto status = arguments.parse(words)) return *status;
  if (use_stderr) file = "stderr";
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<proto::TaskRow> task = find_task(*master, word);
  if (!task) return print_error(task.error(), json);
  FilePlaces places(*master);
  const Result<void> done = stream_file(places, *task, file, follow, [](std::string_view bytes) {
    print_output_of_task(bytes, stdout);
  });
  return done ? 0 : print_error(done.error(), json);
}

}  // namespace proffer::cli
