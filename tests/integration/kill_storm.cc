// The hand that kills. run() is the whole story: start, kill and start again, let everything come
// to its end, judge. Nothing of what Proffer says is used: whom to kill is known from having
// started it, executors are found as parents of tasks and children of agents, and the stem that
// an agent forks them from as its child without an executor's id.

#include "tests/integration/kill_storm.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <vector>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/prng.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/kill/record.h"
#include "tests/integration/processes.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCpus = 3;
constexpr int64_t kMem = 1'024;
constexpr int64_t kFirstPort = 31'000;
constexpr int64_t kPorts = 3;
// Silence after which an agent is unreachable, as with `proffer dev`; some stay away for longer.
constexpr int kAgentTimeoutMillis = 5'000;
constexpr Seconds kSettle{60};
constexpr const char* kOtherUser = "65534";  // nobody

std::string beside_this_program(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

// Of a daemon or scheduler: what it is, how it is started, and whether it is there.
struct Member {
  std::string kind = {};
  std::string name = {};
  Words command = {};
  std::unique_ptr<Process> process = {};
  int64_t back_at = 0;  // while it is away
};

// Short beside what a message takes.
void pause_briefly() {
  const timespec pause = {.tv_sec = 0, .tv_nsec = 200'000};
  ::ppoll(nullptr, 0, &pause, nullptr);
}

struct Pid {
  pid_t pid = 0;
  pid_t parent = 0;
  int64_t began = 0;  // in ticks of the machine
};

std::vector<Pid> all_processes() {
  std::vector<Pid> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = read_file(entry.path() / "stat");
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(stat.substr(name_end + 1));
    char state = 'Z';
    Pid process{.pid = std::stoi(name)};
    rest >> state >> process.parent;
    constexpr int kSkipped = 17;  // between the parent and the time of its start
    std::string skipped;
    for (int i = 0; i < kSkipped; ++i) rest >> skipped;
    rest >> process.began;
    if (state != 'Z' && state != 'X') all.push_back(process);
  }
  return all;
}

// Only executors have an executor's id; their stem is the same program. Executors of other clusters
// have no sandbox below `dir`.
bool runs_as(pid_t pid, const std::string& kind, const std::string& dir) {
  const std::string words = read_file(text("/proc/", pid, "/cmdline"));
  const std::string environment = read_file(text("/proc/", pid, "/environ"));
  const bool is_executor = environment.find("PROFFER_EXECUTOR_ID=") != std::string::npos;
  const bool is_of_another =
      is_executor && environment.find("PROFFER_SANDBOX=" + dir + "/") == std::string::npos;
  return words.find("proffer-executor") != std::string::npos && !is_of_another &&
         is_executor == (kind == "executor");
}

class Storm {
 public:
  explicit Storm(const StormOptions& options)
      : options_(options), prng_(options.seed), journal_((options.dir + "/journal").c_str()) {
    if (geteuid() == 0) let_others_in();
  }
  ~Storm();
  Judgement run();

 private:
  void let_others_in() const;
  Words as_user_of(int scheduler) const;
  bool start_all();
  void start(Member& member);
  bool await_address(Member& member);
  void pass_until(int64_t moment);
  void pass_records(const std::string& file, int64_t count);
  void kill_one(const std::string& kind);
  Member* leader();
  void pause_leader();
  std::vector<pid_t> forked(const std::string& kind) const;
  void kill_forked(const std::string& kind);
  void start_those_due();
  void settle();
  void look_for_leftovers();
  void use_everything();
  void end_everything();
  void look_for_traces();
  Testimony testimony() const;

  void fail(std::string what) { failures_.push_back(std::move(what)); }
  void say(const std::string& line) const {
    if (options_.verbose) std::cerr << line << std::endl;
  }
  bool is_stranger(pid_t pid) const {
    return pid == getpid() ||
           std::find(strangers_.begin(), strangers_.end(), pid) != strangers_.end();
  }
  std::string path(const std::string& name) const { return options_.dir + "/" + name; }
  int64_t bytes_of(const std::string& file) const {
    struct stat status = {};
    return ::stat(path(file).c_str(), &status) == 0 ? status.st_size : 0;
  }

  const StormOptions options_;
  const std::vector<pid_t> strangers_ = processes_of(options_.dir);  // who name it in an argument
  Prng prng_;
  const RecordFile journal_;
  std::unique_ptr<ZooKeeperServer> zookeeper_;  // of several masters
  std::deque<Member> members_;                  // the masters come first
  std::string master_;                          // their sockets, as a list
  const std::string cgroup_parent_ = text("proffer-storm-", getpid());
  std::vector<std::string> failures_;
};

// --- start -------------------------------------------------------------------------------------

// Output goes to a file: a pipe that nobody reads would fill up and stop it.
void Storm::start(Member& member) {
  Words words = {"/bin/sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", path(member.name + ".log")};
  words.insert(words.end(), member.command.begin(), member.command.end());
  member.process = std::make_unique<Process>(words);
  member.back_at = 0;
}

// Until its address.json is of this process.
bool Storm::await_address(Member& member) {
  return eventually([&] {
    const auto members =
        proto::parse_json_line(trimmed(read_file(path(member.name) + "/address.json")));
    return members && std::get<int64_t>(members->at("pid")) == member.process->pid();
  });
}

// Another user writes its records there, too, and runs the programs, wherever the build lies.
void Storm::let_others_in() const {
  ::chmod(options_.dir.c_str(), 0777);
  ::chmod(path("journal").c_str(), 0666);
  for (const char* name : {"kill_load", "kill_task"}) {
    fs::copy_file(beside_this_program(name), path(name), fs::copy_options::overwrite_existing);
  }
}

Words Storm::as_user_of(int scheduler) const {
  if (geteuid() != 0) return {beside_this_program("kill_load")};
  if (scheduler % 2 != 0) return {path("kill_load")};
  return {"/usr/bin/setpriv", text("--reuid=", kOtherUser), text("--regid=", kOtherUser),
          "--clear-groups", path("kill_load")};
}

bool Storm::start_all() {
  const std::string timeout = text("--agent_timeout=", kAgentTimeoutMillis * slowdown(), "ms");
  if (options_.masters > 1) {
    zookeeper_ = std::make_unique<ZooKeeperServer>();
    write_file(path("secret"), "the secret of this storm\n");
    ::chmod(path("secret").c_str(), 0600);
  }
  for (int i = 1; i <= options_.masters; ++i) {
    const std::string name = options_.masters == 1 ? "master" : text("master-", i);
    const std::string socket = path(name + ".sock");
    Words command = {program("proffer-master"), "--data_dir=" + path(name), "--socket=" + socket,
                     "--heartbeat=1s", timeout};
    if (zookeeper_ != nullptr) {
      command.push_back("--zk=" + zookeeper_->address() + "/proffer");
      command.push_back("--zk_secret_file=" + path("secret"));
      command.push_back(text("--zk_session_timeout=", slowdown(), "s"));
    }
    master_ += (i == 1 ? "" : ",") + socket;
    members_.push_back({.kind = "master", .name = name, .command = std::move(command)});
    start(members_.back());
    if (!await_address(members_.back())) return false;
  }
  for (int i = 1; i <= options_.agents; ++i) {
    const std::string name = text("agent-", i);
    members_.push_back({.kind = "agent",
                        .name = name,
                        .command = {program("proffer-agent"), "--master=" + master_,
                                    "--name=" + name, "--work_dir=" + path(name), "--heartbeat=1s",
                                    "--cgroup_parent=" + cgroup_parent_,
                                    text("--executor_reregister_timeout=", 10 * slowdown(), "s"),
                                    text("--resources=cpus:", kCpus, ";mem:", kMem, ";ports:[",
                                         kFirstPort, "-", kFirstPort + kPorts - 1, "]")}});
    start(members_.back());
  }
  for (int i = 1; i <= options_.schedulers; ++i) {
    const std::string name = text("load", i);
    Words command = as_user_of(i);
    for (const std::string& word :
         {"--dir=" + options_.dir, "--name=" + name, text("--seed=", options_.seed * 100 + i),
          "--master=" + master_, "--session_file=" + path(name + ".session")}) {
      command.push_back(word);
    }
    members_.push_back({.kind = "scheduler", .name = name, .command = std::move(command)});
    start(members_.back());
  }
  return eventually([&] { return bytes_of("journal") >= 20 * static_cast<int64_t>(kRecordBytes); });
}

// --- kill and start again ----------------------------------------------------------------------

// Lets time pass; who is due comes back.
void Storm::pass_until(int64_t moment) {
  do {
    start_those_due();
    pause_briefly();
  } while (now_nanos() < moment);
}

// Until so many records more are in a file, or for as long as a whole cluster may be away.
void Storm::pass_records(const std::string& file, int64_t count) {
  const int64_t bytes = bytes_of(file) + count * static_cast<int64_t>(kRecordBytes);
  const int64_t latest = now_nanos() + int64_t{3'000'000'000} * slowdown();
  while (bytes_of(file) < bytes && now_nanos() < latest) {
    start_those_due();
    pause_briefly();
  }
}

void Storm::start_those_due() {
  for (Member& member : members_) {
    if (member.back_at != 0 && member.back_at <= now_nanos()) {
      start(member);
    } else if (member.back_at == 0 && !is_alive(member.process->pid())) {
      const Exit ended = member.process->wait();
      // A leader that was deposed is started again, as a unit does it.
      constexpr int kDeposed = 4;
      if (zookeeper_ != nullptr && member.kind == "master" && ended.code == kDeposed) {
        start(member);
        continue;
      }
      fail(text(member.name, " ended by itself: exit code ", ended.code, ", signal ", ended.signal,
                ":\n", read_file(path(member.name + ".log"))));
      start(member);
    }
  }
}

void Storm::kill_one(const std::string& kind) {
  if (kind == "executor" || kind == "stem") return kill_forked(kind);
  if (kind == "paused leader") return pause_leader();
  std::vector<Member*> there;
  if (kind == "leader") {
    Member* const found = leader();
    if (found == nullptr) return fail("no master leads");
    there.push_back(found);
  }
  for (Member& member : members_) {
    if (member.kind == kind && member.back_at == 0) there.push_back(&member);
  }
  // All of them are away; one is awaited.
  if (there.empty()) {
    eventually([&] {
      start_those_due();
      const auto back = std::find_if(members_.begin(), members_.end(), [&](const Member& member) {
        return member.kind == kind && member.back_at == 0;
      });
      if (back == members_.end()) return false;
      there.push_back(&*back);
      return true;
    });
  }
  Member& victim = *there.at(prng_.below(there.size()));
  const pid_t pid = victim.process->pid();
  journal_.write("kill", text(victim.kind, " ", victim.name, " ", pid));
  victim.process->kill(SIGKILL);
  victim.process->wait();
  const int64_t away_millis =
      prng_.chance(1, 2)   ? 0
      : prng_.chance(4, 5) ? prng_.between(20, 1'500)
                           : prng_.between(kAgentTimeoutMillis + 500, kAgentTimeoutMillis + 1'500);
  victim.back_at = now_nanos() + away_millis * 1'000'000;
  say(text("killed ", victim.name, ", away for ", away_millis, " ms"));
}

// Waits for one that leads.
Member* Storm::leader() {
  Member* found = nullptr;
  eventually([&] {
    start_those_due();
    for (Member& member : members_) {
      if (member.kind != "master" || member.back_at != 0) continue;
      const Exit status =
          test::run({program("proffer"), "status", "--master=" + path(member.name + ".sock")});
      if (status.code == 0) found = &member;
    }
    return found != nullptr;
  });
  return found;
}

// It has been deposed before it knows.
void Storm::pause_leader() {
  Member* const old = leader();
  if (old == nullptr) return fail("no master leads");
  journal_.write("kill", text(old->kind, " ", old->name, " ", old->process->pid()));
  old->process->kill(SIGSTOP);
  std::string others;
  for (const Member& member : members_) {
    if (member.kind != "master" || &member == old) continue;
    others += (others.empty() ? "" : ",") + path(member.name + ".sock");
  }
  const bool another_leads = eventually([&] {
    return test::run({program("proffer"), "status", "--master=" + others}).code == 0;
  });
  old->process->kill(SIGCONT);
  if (!another_leads) return fail("no other master leads while the leader is stopped");
  const Exit ended = old->process->wait(Seconds(20));
  constexpr int kDeposed = 4;
  if (ended.code != kDeposed) {
    fail(text(old->name, " goes on after another leads: exit code ", ended.code, ", signal ",
              ended.signal));
  }
  start(*old);
  say("paused " + old->name);
}

// Who are executors, or the stems that agents fork them from. Both are children of agents; of an
// agent that was killed, executors are the parents of tasks, which the journal names, and its stem
// ends by itself.
std::vector<pid_t> Storm::forked(const std::string& kind) const {
  std::vector<pid_t> agents;
  for (const Member& member : members_) {
    if (member.kind == "agent" && member.back_at == 0) agents.push_back(member.process->pid());
  }
  std::vector<pid_t> named;
  std::istringstream lines(kind == "executor" ? read_file(path("journal")) : "");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("start ")) continue;
    std::istringstream words(line);
    std::string word;
    pid_t parent = 0;
    words >> word >> word >> word >> word >> word >> parent;
    named.push_back(parent);
  }
  const std::string dir = fs::absolute(options_.dir);
  std::vector<pid_t> found;
  std::map<pid_t, Pid> stems;  // by agent
  for (const Pid& process : all_processes()) {
    const bool is_agents_child =
        std::find(agents.begin(), agents.end(), process.parent) != agents.end();
    const bool is_named = std::find(named.begin(), named.end(), process.pid) != named.end();
    // A number may have come to somebody else meanwhile, and agents adopt orphans of tasks.
    if (!(is_agents_child || is_named) || !runs_as(process.pid, kind, dir)) continue;
    found.push_back(process.pid);
    // In the moment of its fork an executor looks like its stem, which is older.
    const auto [stem, is_first] = stems.emplace(process.parent, process);
    if (!is_first && process.began < stem->second.began) stem->second = process;
  }
  if (kind == "executor") return found;
  found.clear();
  for (const auto& [agent, stem] : stems) found.push_back(stem.pid);
  return found;
}

void Storm::kill_forked(const std::string& kind) {
  pid_t victim = 0;
  const bool found = eventually([&] {
    start_those_due();
    const std::vector<pid_t> there = forked(kind);
    if (there.empty()) return false;
    victim = there.at(prng_.below(there.size()));
    return true;
  });
  if (!found) return fail(text("there is no ", kind, " to kill"));
  journal_.write("kill", text(kind, " - ", victim));
  ::kill(victim, SIGKILL);
  say(text("killed ", kind, " ", victim));
}

// --- the end -----------------------------------------------------------------------------------

// All are back, nothing new is launched, and every scheduler leaves when its launches have ended.
void Storm::settle() {
  eventually([&] {
    start_those_due();
    return std::all_of(members_.begin(), members_.end(),
                       [](const Member& member) { return member.back_at == 0; });
  });
  write_file(path("drain"), "");
  for (Member& member : members_) {
    if (member.kind != "scheduler") continue;
    const Exit ended = member.process->wait(kSettle);
    if (ended.code != 0) {
      fail(text(member.name, " did not settle: exit code ", ended.code, ", signal ", ended.signal,
                "; it printed\n", read_file(path(member.name + ".log"))));
    }
  }
}

void Storm::look_for_leftovers() {
  std::vector<pid_t> left;
  const bool is_clean = eventually(
      [&] {
        left = processes_of(options_.dir);
        std::erase_if(left, [&](pid_t pid) {
          return is_stranger(pid) ||
                 std::any_of(members_.begin(), members_.end(),
                             [&](const Member& member) { return member.process->pid() == pid; });
        });
        return left.empty();
      },
      Seconds(20));
  if (is_clean) return;
  for (const pid_t pid : left) {
    std::string words = read_file(text("/proc/", pid, "/cmdline"));
    std::replace(words.begin(), words.end(), '\0', ' ');
    fail(text("process ", pid, " is left: ", words));
  }
}

// Nothing was lost on the way: a task that takes a whole agent runs on each at the same time.
void Storm::use_everything() {
  const std::string all_there =
      text("touch ", path("probe-"), "$PROFFER_TASK_ID; until [ $(ls ", path("probe-"),
           "* | wc -l) -eq ", options_.agents, " ]; do sleep 0.05; done");
  const Exit probe =
      test::run({program("proffer"), "run", "--master=" + master_, "--name=probe", "--count",
                 std::to_string(options_.agents), "--cpus", std::to_string(kCpus), "--mem",
                 std::to_string(kMem), "--", all_there},
                {}, {}, Seconds(30));
  if (probe.code != 0) {
    const Exit status = test::run({program("proffer"), "agents", "--master=" + master_});
    fail(text("the cluster cannot be used as a whole again: ", probe.err, "\n", status.out));
  }
}

// As an operator ends it: agents first, whose tasks have ended, then the master.
void Storm::end_everything() {
  for (const char* kind : {"agent", "master"}) {
    for (Member& member : members_) {
      if (member.kind != kind) continue;
      member.process->kill(SIGTERM);
      const Exit ended = member.process->wait();
      if (ended.code == 0) continue;
      fail(text(member.name, " did not end as asked: exit code ", ended.code, ", signal ",
                ended.signal, ":\n", read_file(path(member.name + ".log"))));
    }
  }
}

void Storm::look_for_traces() {
  std::error_code none;
  for (fs::recursive_directory_iterator at("/sys/fs/cgroup", none), end; !none && at != end;
       at.increment(none)) {
    if (at->path().filename() != cgroup_parent_) continue;
    fail(text("cgroup ", at->path().string(), " is left"));
    at.disable_recursion_pending();
  }
  for (const char* table : {"/proc/self/mountinfo", "/proc/net/unix"}) {
    std::istringstream lines(read_file(table));
    for (std::string line; std::getline(lines, line);) {
      if (line.find(options_.dir + "/") != std::string::npos) {
        fail(text("left in ", table, ": ", line));
      }
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(options_.dir)) {
    if (fs::is_socket(entry.symlink_status()))
      fail(text("socket ", entry.path().string(), " is left"));
  }
}

Testimony Storm::testimony() const {
  Testimony all{.journal = read_file(path("journal"))};
  for (const Member& member : members_) {
    if (member.kind == "scheduler")
      all.heard[member.name] = read_file(path("heard-" + member.name));
    if (member.kind == "agent") {
      all.agents[member.name] = {.cpus_milli = kCpus * 1'000,
                                 .mem = kMem,
                                 .first_port = kFirstPort,
                                 .last_port = kFirstPort + kPorts - 1};
    }
  }
  return all;
}

Storm::~Storm() {
  for (Member& member : members_) {
    if (member.process) member.process->kill(SIGKILL);
  }
  members_.clear();
  // Executors, of which killed agents leave some behind.
  for (const pid_t pid : processes_of(options_.dir)) {
    if (!is_stranger(pid)) ::kill(pid, SIGKILL);
  }
}

Judgement Storm::run() {
  if (!start_all()) return {.violations = {"the cluster did not start"}};
  // Each kind gets its part, in an order that the seed draws.
  std::vector<std::string> bag;
  const int64_t end = now_nanos() + int64_t{options_.minutes} * 60'000'000'000;
  for (int i = 0; options_.minutes > 0 ? now_nanos() < end : i < options_.kills; ++i) {
    if (bag.empty()) bag = options_.kinds;
    const size_t at = prng_.below(bag.size());
    const std::string kind = bag[at];
    bag.erase(bag.begin() + static_cast<std::ptrdiff_t>(at));
    // After so many records, or just when a scheduler launches or hears something, for then much is
    // on its way; some at once after the one before, so that two are away or one has just begun.
    const uint64_t moment = prng_.below(4);
    if (moment < 2) pass_records("journal", prng_.between(1, 200));
    if (moment < 3) {
      const auto scheduler = prng_.between(1, options_.schedulers);
      pass_records(text("heard-load", scheduler), 1);
      pass_until(now_nanos() + prng_.between(0, 6'000'000));
    }
    start_those_due();
    kill_one(kind);
  }
  settle();
  look_for_leftovers();
  use_everything();
  end_everything();
  look_for_traces();
  Judgement judgement = judge(testimony());
  for (std::string& failure : failures_) judgement.violations.push_back(std::move(failure));
  return judgement;
}

}  // namespace

Judgement run_storm(const StormOptions& options) { return Storm(options).run(); }

}  // namespace proffer::test
