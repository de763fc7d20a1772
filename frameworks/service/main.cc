// proffer-service: `proffer service run`, and the scheduler that serves the other subcommands of
// `proffer service`. Only this file uses CLI11.

#include <cstdio>

#include <CLI/CLI.hpp>
#include <glog/logging.h>

#include "common/cli11_problem.h"
#include "common/text.h"
#include "frameworks/service/shell/scheduler.h"
#include "net/json_log.h"
#include "net/membership.h"
#include "net/terminal.h"
#include "sdk/shell/master_call.h"

namespace proffer::service {
namespace {

int main(int argc, char** argv) {
  RunOptions run;
  SchedulerOptions scheduler;
  CLI::App app("Keep instances of long-lived apps running.", "proffer service");
  app.require_subcommand(1);
  app.footer(
      "These two subcommands are of this program; proffer service --help lists all, such as "
      "apply,\nstatus, scale and stop.");
  CLI::App* run_command =
      app.add_subcommand("run", "run the app of a file until Ctrl-C, which stops it");
  run_command->footer(
      "Ctrl-C, SIGTERM or a closed terminal stops the app and ends run. Exit codes: 128 + N "
      "after signal N (130\nafter Ctrl-C), 1 failed or refused, 2 wrong usage, 3 the master cannot "
      "be reached.\n\n"
      "Example of an app file:\n"
      "  name: web\n"
      "  instances: 3\n"
      "  command: \"exec python3 -m http.server $PORT_http --bind 127.0.0.1\"\n"
      "  ports: [http]\n\n"
      "Examples:\n"
      "  proffer service run web.yaml\n"
      "  proffer service run web.yaml --role eng/web");
  run_command->add_option("FILE", run.app_file, "app file (YAML)")->required();
  run_command->add_option("--master", run.master,
                          "master's socket or HOST:PORT (default: see proffer --help)");
  run_command->add_option("--role", run.role,
                          "role of the framework (default: the role 'default')");
  run_command->add_flag("--json", run.json, "print one JSON object per line");
  CLI::App* scheduler_command = app.add_subcommand(
      "scheduler", "run the service scheduler, which serves the other subcommands");
  scheduler_command->add_option("--master", scheduler.master,
                                "master's socket or HOST:PORT (default: see proffer --help)");
  scheduler_command->option_defaults()->group("Framework");
  scheduler_command->add_option("--role", scheduler.role,
                                "role of the framework (default: the role 'default')");
  scheduler_command->add_option("--name", scheduler.name, "framework name (default service)");
  scheduler_command->option_defaults()->group("Options");
  CLI::Option_group* identity = scheduler_command->add_option_group("Identity (one of these)");
  identity->add_option(
      "--session-file", scheduler.session_file,
      "file for the framework's identity; restart with the same file to keep the apps");
  identity->add_flag(
      "--standby", scheduler.stands_by,
      "run as leader or standby: of several schedulers of this name and user, one serves");
  identity->require_option(1);
  scheduler_command->option_defaults()->group("Users and load");
  scheduler_command->add_flag("--serve-users", scheduler.serves_users,
                              "run each app as the user that created it; for operators only");
  scheduler_command->add_option(
      "--autoscale-every", scheduler.autoscale_every,
      "interval for measuring apps that scale by load, 1s to 20s; 0s: do not measure (default 5s)");
  scheduler_command->footer(
      "SIGTERM and Ctrl-C end the scheduler; instances keep running, and it takes care of them "
      "again "
      "when\nit is started again. Exit codes: 0 ended by a signal, 1 cannot start or go on, 2 "
      "wrong "
      "usage.\n\nExamples:\n"
      "  proffer service scheduler --session-file /var/lib/proffer/service/session\n"
      "  sudo proffer service scheduler --standby --serve-users");
  scheduler_command->option_defaults()->group("Logging");
  std::string log_format = "text";
  scheduler_command->add_option("--log-format", log_format,
                                "log format, text or json (default text)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    return print_error(cli11_problem(app, "proffer service", e.what()), run.json);
  }
  if (Result<void> chosen = choose_log_format(log_format, "proffer-service"); !chosen) {
    return print_error(std::move(chosen).error().in("--log-format"), run.json);
  }
  // A person's command may be for a `proffer dev`; the scheduler is a daemon.
  const bool is_attached = run_command->parsed();
  std::string& master = is_attached ? run.master : scheduler.master;
  const Result<Masters> masters =
      is_attached ? sdk::masters_at(master) : find_masters(KeyKind::kUser, "--master", master);
  if (!masters) return print_error(masters.error(), run.json);
  master = to_text(*masters);
  return is_attached ? run_attached(run) : run_scheduler(scheduler);
}

}  // namespace
}  // namespace proffer::service

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  try {
    return proffer::service::main(argc, argv);
  } catch (const std::exception& e) {
    proffer::print_error_text(proffer::Error::internal(e.what()));
    return 1;
  }
}
