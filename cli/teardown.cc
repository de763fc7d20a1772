// proffer teardown: ends a framework with all its tasks, whether its scheduler is connected or not.

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "proto/json/json.h"

namespace proffer::cli {

int run_teardown(const Words& words) {
  std::string master_flag;
  proto::TeardownCall teardown;
  bool json = false;
  Arguments arguments("proffer teardown FRAMEWORK",
                      "end a framework for good: its tasks are killed, its store is erased, and "
                      "its scheduler cannot come back");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.required("FRAMEWORK", &teardown.framework,
                     "framework's whole id, or its name if unique");
  arguments.note("It asks for no confirmation and returns at once, before the tasks have ended.");
  arguments.examples({"proffer teardown web-17-3"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<CallResult> answer = call(*master, "teardown", proto::teardown_call_json(teardown));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

}  // namespace proffer::cli
