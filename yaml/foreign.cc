#include "yaml/foreign.h"

#include <algorithm>
#include <optional>

#include "common/text.h"

namespace proffer::yaml {
namespace {

constexpr std::string_view kJobWays =
    "a job file has name, and run: LINE for one command, array: 1-10 with command: LINE for many, "
    "or map and reduce; docs/guides/batch.md has the words of other systems";
constexpr std::string_view kAppWays =
    "an app file has name, command, instances, resources: 'cpus:0.5;mem:128' and ports: [http]; "
    "docs/guides/service.md has the words of other systems";
constexpr std::string_view kNoImages =
    "tasks are processes, without container images: run the program itself, and bring its files "
    "with fetch";

std::string_view name_of(FileFor what) {
  return what == FileFor::kJob ? "a job file" : "an app file";
}
std::string_view ways_of(FileFor what) { return what == FileFor::kJob ? kJobWays : kAppWays; }

// The lines of a script that say what its job needs.
struct Directives {
  std::string_view system = {};
  int line = 0;  // the first of them
  std::vector<std::string_view> words = {};
};

std::optional<std::string_view> system_of(std::string_view line) {
  constexpr std::pair<std::string_view, std::string_view> kBegins[] = {
      {"#SBATCH", "Slurm"}, {"#PBS", "PBS"}, {"#BSUB", "LSF"}, {"#$ -", "Grid Engine"}};
  for (const auto& [begin, system] : kBegins) {
    if (line.starts_with(begin)) return system;
  }
  return std::nullopt;
}

Directives directives_of(std::string_view whole) {
  Directives found;
  int number = 0;
  for (const std::string_view line : split(whole, '\n')) {
    ++number;
    const std::optional<std::string_view> system = system_of(line);
    if (!system) continue;
    if (found.line == 0) found = {.system = *system, .line = number, .words = {}};
    for (const std::string_view word : split(line, ' ')) {
      if (!word.empty() && !word.starts_with("#")) found.words.push_back(word);
    }
  }
  return found;
}

// The value of --NAME=VALUE, --NAME VALUE or -S VALUE.
std::string_view value_of(const Directives& given, std::string_view name, std::string_view letter) {
  for (size_t i = 0; i < given.words.size(); ++i) {
    const std::string_view word = given.words[i];
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      return word.substr(name.size() + 1);
    }
    if ((word == name || word == letter) && i + 1 < given.words.size()) return given.words[i + 1];
    if (word.starts_with(letter) && !word.starts_with("--")) return word.substr(letter.size());
  }
  return {};
}

// The command that does what the directives of Slurm say; other systems have other words.
std::string command_for(const Directives& given, std::string_view interpreter) {
  std::string command = "proffer batch array ";
  const std::string end = text(" --detach -- ", interpreter, " FILE");
  if (given.system != "Slurm") return command + "1" + end;
  const std::string_view array = value_of(given, "--array", "-a");
  command += array.empty() ? "1" : array;
  if (const auto name = value_of(given, "--job-name", "-J"); !name.empty()) {
    command += text(" --name ", name);
  }
  if (const auto time = value_of(given, "--time", "-t"); !time.empty()) {
    const bool is_minutes = time.find_first_not_of("0123456789") == time.npos;
    command += text(" --time-limit ", time, is_minutes ? "m" : "");
  }
  const std::string_view cpus = value_of(given, "--cpus-per-task", "-c");
  const std::string_view memory = value_of(given, "--mem", "--mem");
  if (!cpus.empty() || !memory.empty()) {
    command += text(" --resources 'cpus:", cpus.empty() ? "1" : cpus,
                    ";mem:", memory.empty() ? "256" : memory, "'");
  }
  return command + end;
}

// "bash" of "#!/bin/bash", "python3" of "#!/usr/bin/env python3"; sh without such a line.
std::string_view interpreter_of(std::string_view first) {
  if (!first.starts_with("#!")) return "sh";
  std::string_view line = trimmed(first.substr(2));
  const size_t end = std::min(line.size(), line.find(' '));
  std::string_view name = line.substr(0, end);
  name.remove_prefix(name.rfind('/') + 1);
  if (name != "env") return name;
  line = trimmed(line.substr(end));
  return line.empty() || line.starts_with("-") ? "sh" : line.substr(0, line.find(' '));
}

bool begins_hcl(std::string_view line) {
  constexpr std::string_view kBlocks[] = {"job ", "variable ", "locals ", "locals{", "group "};
  return line.ends_with('{') &&
         std::any_of(std::begin(kBlocks), std::end(kBlocks),
                     [&](std::string_view one) { return line.starts_with(one); });
}

const Node* value_at(const Node& table, std::string_view key) {
  for (const Row& row : table.rows) {
    if (row.key == key) return &row.value;
  }
  return nullptr;
}

struct KeyRow {
  std::string_view names;  // with commas between them
  std::string_view own;    // a key that the table must have; empty: any table
  std::string_view way;
};

constexpr KeyRow kKeys[] = {
    {"uris,artifacts,artifact", "fetch",
     "write fetch: [URI], as in https://host/a.tar.gz,extract,sha256=SUM"},
    {"id,job_name,jobName,app", "name", "write name: NAME"},
    {"cmd,script,exec,executable,args,entrypoint", "command", "write command: LINE"},
    {"cpus,cpu,mem,memory,disk,gpus,gpu", "resources", "write resources: 'cpus:0.5;mem:128'"},
    {"count,replicas,scale", "instances", "write instances: NUMBER"},
    {"count,replicas,completions,ntasks", "array", "write array: 1-NUMBER"},
    {"healthChecks,health_check,healthcheck,check,livenessProbe,probe", "health",
     "write health: {http: {port: NAME, path: /}}"},
    {"readinessProbe,readinessChecks", "ready", "write ready: {ports: [NAME]}, or health"},
    {"upgradeStrategy,strategy,update_config,rollingUpdate", "update",
     "write update: {max_unavailable: 1}"},
    {"minimumHealthCapacity,max_parallel", "max_unavailable", "write max_unavailable: NUMBER"},
    {"maximumOverCapacity,maxSurge", "max_surge", "write max_surge: NUMBER"},
    {"maxUnavailable", "max_unavailable", "write max_unavailable: NUMBER"},
    {"min_healthy_time,minReadySeconds", "healthy_for", "write healthy_for: DURATION"},
    {"auto_revert", "rollback", "write rollback: true"},
    {"taskKillGracePeriodSeconds,kill_timeout,terminationGracePeriodSeconds,stop_grace_period",
     "kill_grace", "write kill_grace: 5s"},
    {"shutdown_delay", "drain_delay", "write drain_delay: 5s"},
    {"stop_signal", "kill_signal", "write kill_signal: SIGTERM"},
    {"port,portDefinitions,portMappings,expose,networks,network,containerPort", "ports",
     "write ports: [NAME]; the command gets a free port in $PORT_NAME"},
    {"environment,environ,vars,variables,envs", "env", "write env: {NAME: VALUE}"},
    {"image,docker,container,containers,volumes,volume,build", "", kNoImages},
    {"restart,restartPolicy,restart_policy", "instances",
     "leave it out: instances that end are started again"},
    {"restart,restartPolicy,restart_policy,backoffLimit,max_retries,retry,requeue", "retries",
     "write retries: NUMBER"},
    {"dependencies,depends_on,dependsOn,needs,dependency", "after", "write after: [NAME]"},
    {"mapper", "map", "write map: LINE"},
    {"reducer", "reduce", "write reduce: LINE, or reducers: NUMBER"},
    {"combiner", "combine", "write combine: LINE"},
    {"numReduceTasks,num_reducers,num_reduce_tasks,reduces", "reducers", "write reducers: NUMBER"},
    {"jobs,tasks,steps", "stages", "write stages: {NAME: {run: LINE}}"},
    {"steps,initContainers", "init", "write init: [LINE]"},
    {"time,walltime,timeLimit,max_run_time,maxRunTime,activeDeadlineSeconds", "time_limit",
     "write time_limit: 1h"},
    {"parallelism,concurrency,max_parallel,throttle", "at_once", "write at_once: NUMBER"},
    {"nodeSelector,affinity,constraint", "constraints", "write constraints: [NAME == VALUE]"},
    {"periodic,cron,crontab", "schedule", "write schedule: {cron: 30 3 * * *}"},
    {"partition,queue,account,namespace,pool", "role", "write role: NAME, for the share"},
    {"chdir,workdir,working_dir,workingDir,cwd", "directory", "write directory: PATH"},
    {"script,cmd", "run", "write run: LINE"},
};

bool is_among(std::string_view names, std::string_view name) {
  for (const std::string_view one : split(names, ',')) {
    if (one == name) return true;
  }
  return false;
}

}  // namespace

Result<void> check_is_yaml(std::string_view whole, FileFor what) {
  const Directives directives = directives_of(whole);
  const std::string_view first = whole.substr(0, whole.find('\n'));
  const bool is_script = first.starts_with("#!") && first.find("proffer") == std::string_view::npos;
  if (directives.line > 0 || is_script) {
    const std::string is = directives.line > 0
                               ? text("a script with directives of ", directives.system, " (",
                                      "line ", directives.line, ")")
                               : text("a script (line 1: ", quoted(first), ")");
    const std::string way =
        what == FileFor::kJob
            ? text("run it as a command: ", command_for(directives, interpreter_of(first)))
            : text("name it in an app file: name: NAME, and command: exec ", interpreter_of(first),
                   " FILE");
    return Error::invalid_argument(text("this is ", is, ", not ", name_of(what)))
        .with_hint(text(way, "\n", ways_of(what)));
  }
  int number = 0;
  for (const std::string_view line : split(whole, '\n')) {
    ++number;
    if (line.empty() || line.starts_with("#") || line.starts_with("//")) continue;
    if (!begins_hcl(line)) return {};
    return Error::invalid_argument(
               text("line ", number, ": this is HCL of Nomad, not ", name_of(what), " (YAML)"))
        .with_hint(text("a job of type batch: ", kJobWays, "\na job of type service: ", kAppWays));
  }
  return {};
}

Result<void> check_is_ours(const Node& document, FileFor what) {
  if (document.kind != Node::Kind::kTable) return {};
  const Node* kind = value_at(document, "kind");
  if (kind != nullptr && value_at(document, "apiVersion") != nullptr) {
    const bool is_job = kind->text == "Job" || kind->text == "CronJob";
    return Error::invalid_argument(text("line ", document.line,
                                        ": this is a manifest of Kubernetes (apiVersion, kind: ",
                                        kind->text, "), not ", name_of(what)))
        .with_hint(text(is_job ? kJobWays : kAppWays, "\n", kNoImages));
  }
  const Node* services = value_at(document, "services");
  if (services != nullptr && services->kind == Node::Kind::kTable && what == FileFor::kApp) {
    return Error::invalid_argument(text("line ", services->line,
                                        ": this is a file of docker compose (services), not ",
                                        name_of(what)))
        .with_hint(
            text("write one app for each service, separated by ---: ", kAppWays, "\n", kNoImages));
  }
  for (const std::string_view root : {"Job", "job"}) {
    const Node* job = value_at(document, root);
    if (job == nullptr || document.rows.size() != 1) continue;
    return Error::invalid_argument(text("line ", document.line,
                                        ": this is a job of Nomad in JSON (", root, "), not ",
                                        name_of(what)))
        .with_hint(std::string(ways_of(what)));
  }
  return {};
}

std::string way_of_key(std::string_view key, const std::vector<std::string_view>& keys) {
  for (const KeyRow& row : kKeys) {
    if (!is_among(row.names, key)) continue;
    const bool has_own = std::find(keys.begin(), keys.end(), row.own) != keys.end();
    if (row.own.empty() || has_own) return std::string(row.way);
  }
  return {};
}

}  // namespace proffer::yaml
