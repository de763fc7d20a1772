// Tables of words. An option has several rows if its place depends on the options of the command:
// the first row counts whose own option the command has.

#include "common/foreign_words.h"

#include <algorithm>
#include <optional>

#include "common/text.h"

namespace proffer {
namespace {

struct OptionRow {
  std::string_view names;  // with commas between them
  std::string_view own;    // an option that the command must have; empty: any command
  std::string_view way;    // % is the value that was typed
};

constexpr std::string_view kNoImages =
    "a task is a process of the agent's machine, without a container image: run the program "
    "itself, and bring its files with --fetch";

constexpr OptionRow kOptions[] = {
    {"-n,--ntasks,--replicas,--instances,-np,--np", "--count", "write --count %"},
    {"-c,--cpus-per-task,--cpu,--ncpus", "--cpus", "write --cpus %"},
    {"--memory,-m,--mem-per-cpu,--mem-per-task", "--mem", "write --mem %"},
    {"--resources", "--cpus", "each kind has its option: --cpus, --mem, --disk and --gpus"},
    {"--gres,--gpu,--gpus-per-task,-G", "--gpus", "write --gpus COUNT"},
    {"--tmp,--ephemeral-storage", "--disk", "write --disk %"},
    {"-p,--partition", "--constraint",
     "there are no partitions: --constraint chooses the agents, as in --constraint 'gpu exists', "
     "and --role the share"},
    {"-p,--partition", "--role",
     "there are no partitions: --role chooses the share, as in --role %"},
    {"-A,--account,--namespace,--queue,--pool", "--role", "write --role %"},
    {"-q,--qos,--priority-class", "--band", "write --band BAND: free, batch, production"},
    {"-w,--nodelist,--nodename", "--constraint", "write --constraint 'host == %'"},
    {"-w,--nodelist,--nodename", "--prefer-hosts", "write --prefer-hosts %"},
    {"-x,--exclude", "--constraint", "write --constraint 'host != %'"},
    {"-C,--selector,--node-selector,--constraints,--attribute", "--constraint",
     "write --constraint 'NAME == VALUE'"},
    {"-C,--constraint,--constraints", "--prefer-hosts",
     "jobs of batch have no constraints: --prefer-hosts AGENT names a preferred agent"},
    {"-N,--nodes", "--max-per", "write --count COUNT --max-per host=1, for one task on each agent"},
    {"-t,--time,--timeout,--time-limit", "--max-run-time", "write --max-run-time %"},
    {"-t,--time,--max-run-time", "--time-limit", "write --time-limit %"},
    {"-J,--job-name", "--name", "write --name %"},
    {"-d,--dependency,--depend", "--after",
     "write --after JOB for afterok, --after-failure JOB for afternotok, --after-any JOB for "
     "afterany"},
    {"-o,--out,--output-dir,--results,-D", "--output", "write --output DIRECTORY"},
    {"-o,--format", "--json", "write --json for JSON"},
    {"-D,--chdir,--workdir,--wd,--cwd", "--directory", "write --directory %"},
    {"-e,--environment,-v", "--env", "write --env NAME=VALUE"},
    {"-j,--jobs,-P,--max-procs,--max-parallel,--parallelism", "--at-once", "write --at-once %"},
    {"-I,-i,--replace", "--at-once", "write {} where the argument belongs; no option is needed"},
    {"--arg-file,-a,--args", "--null",
     "give the arguments behind :::, or one per line on standard input: … < FILE"},
    {"--retries,--retry,--backoff-limit", "--map",
     "a map or reduce task has four attempts; --retries is an option of arrays"},
    {"--backoff-limit,--retry,--requeue", "--retries", "write --retries COUNT"},
    {"--nice", "--priority", "write --priority NUMBER, -100 to 100"},
    {"--image,--docker-image,--volume", "", kNoImages},
    {"--docker,--container", "", kNoImages},
    {"--artifact,--uris,--uri", "--fetch", "write --fetch URI"},
    {"--signal", "--kill-signal", "write --kill-signal SIGNAL, as in SIGUSR1"},
    {"--termination-grace-period,--kill-timeout", "--grace", "write --grace %"},
    {"--quota,--reservation,--min", "--guarantee",
     "write --guarantee % for what the role gets if it asks, --limit % for the most that it gets"},
    {"--max,--cap,--capacity", "--limit", "write --limit % for the most that the role gets"},
    {"--shares,--fairshare,--share", "--weight", "write --weight %"},
    {"--user", "--users", "write --users %"},
    {"--server,--address,--host,--cluster,-s", "--master", "write --master SOCKET or HOST:PORT"},
    {"--background,-b", "--detach", "write --detach"},
};

bool has(const std::vector<std::string>& options, std::string_view name) {
  return std::find(options.begin(), options.end(), name) != options.end();
}

bool is_among(std::string_view names, std::string_view name) {
  for (const std::string_view one : split(names, ',')) {
    if (one == name) return true;
  }
  return false;
}

bool is_plain(std::string_view word) {
  return !word.empty() && word.size() <= 60 &&
         word.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "_-+=:;,./@%") == std::string_view::npos;
}

// "--time", and its value if the words have one.
struct Given {
  std::string_view name = {};
  std::string_view value = {};
};

Given given_at(const std::vector<std::string>& words, size_t at) {
  const std::string_view word = words[at];
  const size_t equals = word.find('=');
  if (equals != word.npos) return {word.substr(0, equals), word.substr(equals + 1)};
  const bool is_short = word.size() > 2 && word[0] == '-' && word[1] != '-' && word != "-np";
  if (is_short && word[2] >= '0' && word[2] <= '9') return {word.substr(0, 2), word.substr(2)};
  const bool has_value = at + 1 < words.size() && !words[at + 1].starts_with("-");
  return {word, has_value ? std::string_view(words[at + 1]) : std::string_view()};
}

// Several options of `run` and sbatch are one option of jobs.
std::string way_of_resources(const std::vector<std::string>& words) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"cpus", "--cpus,-c,--cpus-per-task,--cpu,--ncpus"},
      {"mem", "--mem,--memory,-m,--mem-per-cpu,--mem-per-task"},
      {"gpus", "--gpus,--gres,--gpu,--gpus-per-task,-G"},
      {"disk", "--disk,--tmp"}};
  std::string all;
  bool is_known = false;
  bool has_cpus = false;
  for (const auto& [kind, names] : kKinds) {
    for (size_t at = 0; at < words.size(); ++at) {
      const Given given = given_at(words, at);
      if (!is_among(names, given.name)) continue;
      if (at == 0) is_known = true;
      has_cpus |= kind == "cpus";
      const bool is_amount = is_plain(given.value) && given.value.find(':') == given.value.npos;
      all += text(all.empty() ? "" : ";", kind, ":",
                  is_amount ? given.value : std::string_view("AMOUNT"));
      break;
    }
  }
  if (!is_known) return {};
  return text("all resources of a task are one option: --resources '", has_cpus ? "" : "cpus:1;",
              all, all.find("mem:") == all.npos ? ";mem:256" : "", "'");
}

struct VerbRow {
  std::string_view names;
  std::string_view own;  // the first of these that the group has
};

constexpr VerbRow kVerbs[] = {
    {"create,add,new,update,edit,modify,put,configure,weight,quota", "set,apply,submit,init"},
    {"delete,remove,rm,del,destroy,purge", "unset,remove,stop,cancel,revoke"},
    {"ls,get,show,ps,queue,jobs", "list,status,inspect"},
    {"describe,info,inspect,stat,get,show", "status,inspect,list"},
    {"kill,abort,terminate,scancel,end", "cancel,stop,remove,revoke"},
    {"deploy,start,launch,create,up", "apply,submit,run"},
    {"undo,revert", "rollback"},
    {"resize", "scale"},
    {"output,out,result", "results,logs"},
    {"log,tail", "logs"},
    {"tree,hierarchy", "tree"},
    {"sbatch,queue,start", "submit"},
    {"each,parallel,xargs,foreach,for", "map"},
    {"hold,suspend,stop,disable", "pause"},
    {"release,continue,enable,start", "resume"},
    {"rerun,requeue,restart", "retry"},
    {"versions,revisions", "history"},
    {"diff,preview,dry-run", "plan"},
};

constexpr std::pair<std::string_view, std::string_view> kPrograms[] = {
    {"srun", "run"},
    {"exec-in,ssh", "exec"},
    {"sbatch,job,jobs,submit", "batch submit"},
    {"array", "batch array"},
    {"map,parallel,xargs", "batch map"},
    {"cron,crontab,at,schedule,schedules", "batch cron"},
    {"retry,requeue,rerun", "batch retry"},
    {"results", "batch results"},
    {"squeue", "batch list"},
    {"scancel,cancel", "batch cancel"},
    {"sacct,sreport", "batch history"},
    {"seff", "batch report"},
    {"sinfo,node,nodes,agent-list,machines", "agents"},
    {"sacctmgr,quota,quotas,roles,queue,queues,account,namespace", "role"},
    {"ps,pods,allocs,alloc", "tasks"},
    {"deploy,apply,app,apps,services", "service apply"},
    {"scale,resize", "service scale"},
    {"rollback,undo,revert", "service rollback"},
    {"update,upgrade,restart", "service apply"},
    {"servers", "service servers"},
    {"cordon", "drain"},
    {"uncordon", "undrain"},
    {"delete,stop", "kill"},
    {"attach,shell", "exec"},
    {"describe,why", "explain"},
    {"server,start", "dev"},
    {"web,dashboard", "ui"},
    {"info", "status"},
    {"log", "logs"},
};

}  // namespace

std::string way_of_option(const std::vector<std::string>& words, std::string_view command,
                          const std::vector<std::string>& options) {
  const Given given = given_at(words, 0);
  if (has(options, "--resources") && !has(options, "--cpus")) {
    if (std::string way = way_of_resources(words); !way.empty()) return way;
  }
  if (is_among("-a,--array", given.name) && command.ends_with(" array")) {
    return text("the indices are the first argument: ", command, " ",
                is_plain(given.value) ? given.value : std::string_view("1-10"), " -- CMD");
  }
  for (const OptionRow& row : kOptions) {
    if (!is_among(row.names, given.name)) continue;
    if (!row.own.empty() && !has(options, row.own)) continue;
    std::string way;
    for (const char c : row.way) {
      if (c != '%') {
        way += c;
      } else {
        way += is_plain(given.value) ? given.value : std::string_view("VALUE");
      }
    }
    return way;
  }
  return {};
}

std::string_view verb_for(std::string_view word, const std::vector<std::string_view>& verbs) {
  for (const VerbRow& row : kVerbs) {
    if (!is_among(row.names, word)) continue;
    for (const std::string_view own : split(row.own, ',')) {
      if (std::find(verbs.begin(), verbs.end(), own) != verbs.end()) return own;
    }
  }
  return {};
}

std::string_view command_for_program(std::string_view word) {
  for (const auto& [names, command] : kPrograms) {
    if (is_among(names, word)) return command;
  }
  return {};
}

}  // namespace proffer
