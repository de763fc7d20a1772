// proffer-batch: what people type as `proffer batch …`. CLI11 stays in this file.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/text.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/shell/run.h"
#include "net/membership.h"

namespace proffer::batch {
namespace {

constexpr int kUsageCode = 2;

// `--env NAME=value` into the table. Errors: kInvalidArgument.
Result<void> read_env(const std::vector<std::string>& given, JobText& job) {
  for (const std::string& one : given) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::invalid_argument(text("--env ", quoted(one), " must be NAME=value"));
    }
    job.env[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return {};
}

int main(int argc, char** argv) {
  RunOptions options;
  if (const char* master = std::getenv("PROFFER_MASTER"); master != nullptr) {
    options.master = master;
  }
  std::vector<std::string> env;

  CLI::App app(
      "Runs MapReduce jobs on the cluster: any command as mapper and reducer, lines in, "
      "key<TAB>value out.",
      "proffer batch");
  app.require_subcommand(1);
  CLI::App* run_command =
      app.add_subcommand("run", "Run a job and show its progress until it ends");
  run_command->footer(
      "The job file has the same as keys: name, role, band, map, reduce, input, output, reducers, "
      "split,\n"
      "resources, files, fetch, env. Flags say more than the file. Example:\n"
      "  proffer batch run --map 'tr -s \" \" \"\\n\"' --reduce 'uniq -c' --input /etc --output "
      "/tmp/words");
  JobText& flags = options.flags;
  run_command->add_option("JOB", options.job_file, "Job file (YAML)");
  run_command->add_option("--name", flags.name, "Name of the framework [batch]");
  run_command->add_option("--role", flags.role, "Role that is charged [default]");
  run_command->add_option("--band", flags.band,
                          "free, batch, production or monitoring: lower ones are taken back first "
                          "[batch]");
  run_command->add_option("--map", flags.map, "Mapper: a shell command line");
  run_command->add_option("--reduce", flags.reduce, "Reducer: a shell command line");
  run_command->add_option("--input", flags.inputs, "File or directory to read; can be repeated")
      ->allow_extra_args(false);
  run_command->add_option("--output", flags.output, "Directory to make for the result");
  run_command->add_option("--reducers", flags.reducers, "Number of parts, 0 for mappers only [1]");
  run_command->add_option("--split", flags.split, "Bytes of input for each map task [8MiB]");
  run_command->add_option("--resources", flags.resources,
                          text("Of each task [", kDefaultResources, "]"));
  run_command
      ->add_option("--files", flags.files, "File to put where the tasks run; can be repeated")
      ->allow_extra_args(false);
  run_command
      ->add_option("--fetch", flags.fetch,
                   "URI[,sha256=SUM][,name=NAME][,executable][,extract]: a file:///, http:// or "
                   "https:// file that agents put where the tasks run; can be repeated")
      ->allow_extra_args(false);
  run_command->add_option("--env", env, "NAME=value for the tasks; can be repeated")
      ->allow_extra_args(false);
  run_command->add_option("--master", options.master,
                          "The master's socket, or HOST:PORT [$PROFFER_MASTER]");
  run_command->add_flag("--json", options.json, "One JSON object per line");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    print_error(Error::invalid_argument(e.what()).with_hint("see: proffer batch run --help"),
                options.json);
    return kUsageCode;
  }
  if (Result<void> ok = read_env(env, options.flags); !ok) {
    print_error(ok.error(), options.json);
    return kUsageCode;
  }
  if (options.master.empty()) {
    const Result<Masters> masters = find_masters(KeyKind::kUser, "--master", "");
    if (!masters) {
      print_error(masters.error(), options.json);
      return kUsageCode;
    }
    options.master = to_text(*masters);
  }
  return run(options);
}

}  // namespace
}  // namespace proffer::batch

int main(int argc, char** argv) {
  try {
    return proffer::batch::main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
