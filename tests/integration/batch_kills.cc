// Kills of processes under batch jobs. Read run() first: start, submit, kill and restart, compare.

#include "tests/integration/batch_kills.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "common/prng.h"
#include "common/text.h"
#include "proto/json/batch_schedule_json.h"
#include "tests/integration/loaded_cluster.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

constexpr int kAgents = 3;
constexpr Seconds kJobDeadline{240};
const Words kList = {"batch", "cron", "list", "--json"};
const std::vector<std::string> kKinds = {"master", "agent", "executor", "scheduler", "command"};

// A running job, and the command that waits for it.
struct JobRun {
  const BatchExample* example = nullptr;
  std::string id = {};
  std::string out = {};
  std::unique_ptr<Process> command = {};
  int executors_killed = 0;
  int64_t latest = 0;  // deadline of its end
};

class Hand {
 public:
  explicit Hand(const BatchKills& options)
      : options_(options), prng_(options.seed), cluster_(options.dir, options.verbose) {}
  BatchKillsReport run();

 private:
  Exit proffer(const Words& words) const { return cluster_.run_command(words); }
  void start_all();
  // Submits each example again that has no running job.
  void submit_those_due();
  void submit(const BatchExample& example);
  void wait_for(JobRun& run);
  // Repeats a command while it ends with 3: the master or the scheduler is away.
  Exit patiently(const Words& words);
  // Adds a run for each job that a schedule has started.
  void look_at_schedules(const Exit& listed);
  void pause_schedules();
  void end_schedules();
  bool kill_one(const std::string& kind);
  bool kill_executor();
  void look_at(JobRun& run, const Exit& ended);
  void reap();
  int total() const;

  const BatchKills options_;
  Prng prng_;
  LoadedCluster cluster_;
  std::vector<JobRun> runs_;
  BatchKillsReport report_;
  int outputs_ = 0;
  // A schedule's output directory, and its jobs by fire time.
  struct Schedule {
    const BatchExample* example = nullptr;
    std::string out = {};
    std::map<Time, std::string> fired = {};
  };
  std::map<std::string, Schedule> schedules_;
};

int Hand::total() const {
  int sum = 0;
  for (const auto& [kind, count] : report_.kills) sum += count;
  return sum;
}

void Hand::start_all() {
  Member master{.kind = "master", .name = "master"};
  master.command = {program("proffer-master"), "--data_dir=" + cluster_.path("master"),
                    "--socket=" + cluster_.socket(master), "--heartbeat=1s",
                    text("--agent_timeout=", kAgentTimeoutMillis * slowdown(), "ms")};
  cluster_.await_address(cluster_.add(std::move(master)));
  for (int i = 1; i <= kAgents; ++i) {
    const std::string name = text("agent-", i);
    Words command = cluster_.agent_command(name);
    command.push_back("--master=" + cluster_.masters());
    cluster_.add({.kind = "agent", .name = name, .command = std::move(command)});
  }
  cluster_.add({.kind = "scheduler",
                .name = "batch",
                .command = {program("proffer-batch"), "scheduler", "--master", cluster_.masters(),
                            "--session-file", cluster_.path("batch.session")}});
  // Until the scheduler has subscribed for the first time, the master does not know the framework's
  // name.
  if (!eventually([&] { return proffer({"batch", "list"}).code == 0; })) {
    cluster_.fail("the scheduler does not come up");
  }
}

// No kills during this call: if the command is killed before it has an answer, it is unknown
// whether its job was submitted.
void Hand::submit(const BatchExample& example) {
  cluster_.await_all();
  JobRun run{.example = &example,
             .out = cluster_.path(text("out-", ++outputs_, "-", example.name))};
  Words words = example.run(run.out);
  words.at(1) = "submit";
  const Exit submitted = patiently(words);
  run.id = trimmed(submitted.out);
  if (submitted.code != 0 || run.id.empty()) {
    return cluster_.fail(text(example.name, ": ", submitted.out, submitted.err));
  }
  if (example.is_schedule) {
    schedules_[run.id] = {.example = &example, .out = run.out};
    return;
  }
  run.latest = now_nanos() + kJobDeadline.count() * slowdown() * 1'000'000'000;
  wait_for(run);
  runs_.push_back(std::move(run));
}

void Hand::submit_those_due() {
  for (const BatchExample& example : options_.examples) {
    const bool is_on_its_way =
        std::any_of(runs_.begin(), runs_.end(),
                    [&](const JobRun& run) { return run.example == &example; }) ||
        std::any_of(schedules_.begin(), schedules_.end(),
                    [&](const auto& row) { return row.second.example == &example; });
    if (!is_on_its_way) submit(example);
  }
}

Exit Hand::patiently(const Words& words) {
  Exit told;
  eventually([&] {
    cluster_.start_those_due();
    told = proffer(words);
    return told.code != 3;
  });
  return told;
}

void Hand::look_at_schedules(const Exit& listed) {
  if (listed.code == 3) return;  // the master or the scheduler is away
  const auto page = proto::parse_batch_schedule_page(listed.out);
  if (!page) return cluster_.fail("cron list: " + listed.out + listed.err);
  for (const proto::BatchSchedule& shown : page->schedules) {
    const auto found = schedules_.find(shown.name);
    if (found == schedules_.end()) continue;
    Schedule& schedule = found->second;
    for (const proto::BatchFiring& firing : shown.log) {
      const auto [known, is_new] = schedule.fired.emplace(firing.at, firing.job);
      if (!is_new) {
        if (known->second != firing.job) {
          cluster_.fail(
              text(shown.name, " fired twice at one time: ", known->second, " and ", firing.job));
        }
        continue;
      }
      const bool is_one = firing.last == Time() || firing.last == firing.at;
      if (firing.result != "started" || !is_one) {
        cluster_.fail(text(shown.name, ": a fire time was ", firing.result));
        continue;
      }
      // The name of its directory is its fire time, such as 20261125T0230Z.
      const std::time_t at = firing.at.nanos() / 1'000'000'000;
      std::tm utc = {};
      ::gmtime_r(&at, &utc);
      char name[32];
      std::strftime(name, sizeof name, "%Y%m%dT%H%MZ", &utc);
      JobRun run{.example = schedule.example, .id = firing.job, .out = schedule.out + "/" + name};
      run.latest = now_nanos() + kJobDeadline.count() * slowdown() * 1'000'000'000;
      wait_for(run);
      runs_.push_back(std::move(run));
    }
  }
}

// Stops new fire times; the earlier decisions are recorded.
void Hand::pause_schedules() {
  for (const auto& [name, schedule] : schedules_) {
    const Exit paused = patiently({"batch", "cron", "pause", name});
    if (paused.code != 0) cluster_.fail(text(name, " is not paused: ", paused.err));
  }
  if (!schedules_.empty()) look_at_schedules(patiently(kList));
}

// Each minute since the first fire time was decided once, and no other outputs exist.
void Hand::end_schedules() {
  for (auto& [name, schedule] : schedules_) {
    const Exit removed = patiently({"batch", "cron", "remove", name});
    if (removed.code != 0) cluster_.fail(text(name, " is not removed: ", removed.err));
    std::optional<Time> before;
    for (const auto& [at, job] : schedule.fired) {
      if (before && at != *before + minutes(1)) {
        cluster_.fail(
            text(name, ": no fire time between those of ", schedule.fired[*before], " and ", job));
      }
      before = at;
    }
    size_t outputs = 0;
    for (const auto& entry : fs::directory_iterator(schedule.out)) {
      outputs += !entry.path().filename().string().starts_with(".");
    }
    if (outputs != schedule.fired.size()) {
      cluster_.fail(text(name, " fired ", schedule.fired.size(), " times, and there are ", outputs,
                         " outputs in ", schedule.out));
    }
  }
}

void Hand::wait_for(JobRun& run) {
  run.command = std::make_unique<Process>(
      Words{program("proffer"), "batch", "wait", run.id, "--master=" + cluster_.masters()});
}

// Kills an executor that runs a command: the command's environment names its task.
bool Hand::kill_executor() {
  std::vector<std::pair<pid_t, JobRun*>> there;
  for (const pid_t pid : processes_of(cluster_.dir())) {
    const std::string words = read_file(text("/proc/", pid, "/environ"));
    const std::string name = "PROFFER_TASK_ID=";
    const size_t at = words.find(name);
    if (at == std::string::npos) continue;
    const std::string task =
        words.substr(at + name.size(), words.find('\0', at) - at - name.size());
    // Finds the parent of the task's first process.
    const std::string stat = read_file(text("/proc/", pid, "/stat"));
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    const pid_t parent = std::atoi(stat.c_str() + name_end + 4);
    const std::string command = read_file(text("/proc/", parent, "/cmdline"));
    if (command.find("proffer-batch-executor") == std::string::npos) continue;
    for (JobRun& run : runs_) {
      // A task's id begins with its job's id; the stages of "order-1" are "order-sample-2" and so
      // on.
      if (task.starts_with(run.example->job + "-") &&
          run.executors_killed < run.example->failures_max) {
        there.emplace_back(parent, &run);
        break;
      }
    }
  }
  if (there.empty()) return false;
  const auto& [executor, run] = there.at(prng_.below(there.size()));
  ++run->executors_killed;
  cluster_.kill_forked("executor", executor);
  return true;
}

// False if there is no victim at the moment.
bool Hand::kill_one(const std::string& kind) {
  if (kind == "executor") return kill_executor();
  if (kind == "command") {
    if (runs_.empty()) return false;
    JobRun& run = runs_.at(prng_.below(runs_.size()));
    run.command->kill(SIGKILL);
    const Exit ended = run.command->wait();
    if (ended.signal != SIGKILL) {  // it ended by itself just before
      look_at(run, ended);
      return false;
    }
    wait_for(run);
    cluster_.say("killed the command that waits for " + run.id);
    return true;
  }
  const std::vector<Member*> there = cluster_.those_there(kind);
  if (there.empty()) return false;
  const int64_t away = prng_.chance(1, 2) ? 0
                       : prng_.chance(5, 6)
                           ? prng_.between(20, 1'500)
                           : prng_.between(kAgentTimeoutMillis + 500, kAgentTimeoutMillis + 1'500);
  cluster_.kill(*there.at(prng_.below(there.size())), away);
  return true;
}

// The command has ended by itself. It ends with 3 if the master or the scheduler is away for long;
// then another command continues to wait.
void Hand::look_at(JobRun& run, const Exit& ended) {
  const BatchExample& example = *run.example;
  if (ended.code == 3 && now_nanos() < run.latest) return wait_for(run);
  ++report_.runs[example.name];
  run.command = nullptr;
  if (ended.code != 0) {
    return cluster_.fail(text(example.name, ", ", run.id, ": exit code ", ended.code, ", signal ",
                              ended.signal, ": ", ended.err, ended.out, "\n",
                              proffer({"batch", "status", run.id}).out));
  }
  cluster_.await_all();
  const std::string given = without_groups(
      example.given(run.out, run.id, [&](const Words& words) { return patiently(words); }));
  if (given != example.expected) {
    cluster_.fail(text(example.name, ", ", run.id, ": gave ", given.size(), " bytes, not the ",
                       example.expected.size(), " that are right; see ", run.out));
  }
  const std::string output = run.out + example.suffix;
  if (!fs::exists(output + "/_SUCCESS")) cluster_.fail(output + " has no _SUCCESS");
  if (fs::exists(output + "/_temporary")) cluster_.fail(output + " has a _temporary");
}

void Hand::reap() {
  for (JobRun& run : runs_) {
    if (run.command == nullptr) continue;
    if (is_alive(run.command->pid())) {
      if (now_nanos() < run.latest) continue;
      cluster_.fail(text(run.id, " does not end: ", proffer({"batch", "status", run.id}).out));
      run.command = nullptr;
      continue;
    }
    const Exit ended = run.command->wait();
    look_at(run, ended);
  }
  std::erase_if(runs_, [](const JobRun& run) { return run.command == nullptr; });
}

BatchKillsReport Hand::run() {
  start_all();
  submit_those_due();
  // Every kind is killed equally often, in a random order.
  std::vector<std::string> bag;
  while (total() < options_.kills && !(runs_.empty() && schedules_.empty())) {
    if (bag.empty()) bag = kKinds;
    const size_t at = prng_.below(bag.size());
    const std::string kind = bag[at];
    cluster_.pass_until(now_nanos() + prng_.between(0, 500) * 1'000'000);
    if (kill_one(kind)) {
      ++report_.kills[kind];
      bag.erase(bag.begin() + static_cast<std::ptrdiff_t>(at));
    }
    reap();
    if (!schedules_.empty()) look_at_schedules(proffer(kList));
    if (total() >= options_.kills) break;
    submit_those_due();
  }
  pause_schedules();
  do {
    while (!runs_.empty()) {
      cluster_.pass_until(now_nanos() + 20'000'000);
      reap();
    }
    // A fire time that waited for an earlier job may start its job now.
    if (!schedules_.empty()) look_at_schedules(patiently(kList));
  } while (!runs_.empty());
  end_schedules();
  report_.violations = cluster_.settle_and_look();
  return report_;
}

}  // namespace

std::string BatchKillsReport::summary() const {
  std::string line;
  for (const auto& [kind, count] : kills) {
    line += text(line.empty() ? "killed " : ", ", count, " ", kind);
  }
  for (const auto& [example, count] : runs) line += text("; ", example, " ", count, " times");
  return line;
}

BatchKillsReport run_batch_kills(const BatchKills& options) { return Hand(options).run(); }

}  // namespace proffer::test
