#include "tests/integration/loaded_cluster.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kSettle{60};

struct Pid {
  pid_t pid = 0;
  pid_t parent = 0;
  int64_t began = 0;  // in clock ticks since boot
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
    constexpr int kSkipped = 17;  // fields between the parent and the start time
    std::string skipped;
    for (int i = 0; i < kSkipped; ++i) rest >> skipped;
    rest >> process.began;
    if (state != 'Z' && state != 'X') all.push_back(process);
  }
  return all;
}

// Only executors have an executor's id; their fork server runs the same program. Executors of other
// clusters have no sandbox below `dir`.
bool runs_as(pid_t pid, const std::string& kind, const std::string& dir) {
  const std::string words = read_file(text("/proc/", pid, "/cmdline"));
  const std::string environment = read_file(text("/proc/", pid, "/environ"));
  const bool is_executor = environment.find("PROFFER_EXECUTOR_ID=") != std::string::npos;
  const bool is_of_another =
      is_executor && environment.find("PROFFER_SANDBOX=" + dir + "/") == std::string::npos;
  return words.find("proffer-executor") != std::string::npos && !is_of_another &&
         is_executor == (kind == "executor");
}

std::string beside_this_program(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace

void pause_briefly() {
  const timespec pause = {.tv_sec = 0, .tv_nsec = 200'000};
  ::ppoll(nullptr, 0, &pause, nullptr);
}

// --- start -------------------------------------------------------------------------------------

LoadedCluster::LoadedCluster(std::string dir, bool verbose)
    : dir_(std::move(dir)),
      verbose_(verbose),
      journal_((dir_ + "/journal").c_str()),
      cgroup_parent_(text("proffer-storm-", getpid())) {
  // Other users also write records there and run the programs, wherever the build directory is.
  if (geteuid() == 0) {
    ::chmod(dir_.c_str(), 0777);
    ::chmod(path("journal").c_str(), 0666);
  }
  for (const char* name : {"kill_load", "kill_task"}) {
    fs::copy_file(beside_this_program(name), path(name), fs::copy_options::overwrite_existing);
  }
}

LoadedCluster::~LoadedCluster() {
  for (Member& member : members_) {
    if (member.process) member.process->kill(SIGKILL);
  }
  members_.clear();
  // Executors that killed agents left behind.
  for (const pid_t pid : processes_of(dir_)) {
    if (!is_stranger(pid)) ::kill(pid, SIGKILL);
  }
}

Member& LoadedCluster::add(Member member) {
  members_.push_back(std::move(member));
  start(members_.back());
  return members_.back();
}

// Output goes to a file: an unread pipe would fill up and block the process.
void LoadedCluster::start(Member& member) {
  Words words = {"/bin/sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", path(member.name + ".log")};
  words.insert(words.end(), member.command.begin(), member.command.end());
  member.process = std::make_unique<Process>(words, member.environment);
  member.back_at = 0;
}

bool LoadedCluster::has_address(const Member& member) const {
  const auto members =
      proto::parse_json_line(trimmed(read_file(path(member.name) + "/address.json")));
  return members && std::get<int64_t>(members->at("pid")) == member.process->pid();
}

bool LoadedCluster::await_address(const Member& member) const {
  return eventually([&] { return has_address(member); });
}

Words LoadedCluster::agent_command(const std::string& name) const {
  return {program("proffer-agent"),
          "--name=" + name,
          "--work_dir=" + path(name),
          "--heartbeat=1s",
          "--cgroup_parent=" + cgroup_parent_,
          text("--executor_reregister_timeout=", 10 * slowdown(), "s"),
          text("--resources=cpus:", kAgentHas.cpus_milli / 1'000, ";mem:", kAgentHas.mem,
               ";disk:100000;ports:[", kAgentHas.first_port, "-", kAgentHas.last_port, "]")};
}

Words LoadedCluster::load_command(const std::string& name, uint64_t seed) const {
  return {path("kill_load"), "--dir=" + dir_, "--name=" + name, text("--seed=", seed),
          "--session_file=" + path(name + ".session")};
}

bool LoadedCluster::await_load() const {
  return eventually([&] { return bytes_of("journal") >= 20 * static_cast<int64_t>(kRecordBytes); });
}

std::vector<Member*> LoadedCluster::those_there(const std::string& kind) {
  std::vector<Member*> there;
  for (Member& member : members_) {
    if (member.kind == kind && member.back_at == 0) there.push_back(&member);
  }
  return there;
}

Member& LoadedCluster::member(const std::string& name) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  CHECK(found != members_.end()) << name;
  return *found;
}

std::string LoadedCluster::masters() const {
  std::string all;
  for (const Member& member : members_) {
    if (member.kind == "master") all += (all.empty() ? "" : ",") + socket(member);
  }
  return all;
}

void LoadedCluster::say(const std::string& line) const {
  if (verbose_) std::cerr << line << std::endl;
}

bool LoadedCluster::is_stranger(pid_t pid) const {
  return pid == getpid() ||
         std::find(strangers_.begin(), strangers_.end(), pid) != strangers_.end();
}

int64_t LoadedCluster::bytes_of(const std::string& file) const {
  struct stat status = {};
  return ::stat(path(file).c_str(), &status) == 0 ? status.st_size : 0;
}

void LoadedCluster::pass_until(int64_t moment) {
  do {
    start_those_due();
    pause_briefly();
  } while (now_nanos() < moment);
}

// Waits until the file has this many more records, or as long as a whole cluster may be away.
void LoadedCluster::pass_records(const std::string& file, int64_t count) {
  const int64_t bytes = bytes_of(file) + count * static_cast<int64_t>(kRecordBytes);
  const int64_t latest = now_nanos() + int64_t{3'000'000'000} * slowdown();
  while (bytes_of(file) < bytes && now_nanos() < latest) {
    start_those_due();
    pause_briefly();
  }
}

void LoadedCluster::start_those_due() {
  for (Member& member : members_) {
    if (member.is_left_alone) continue;
    if (member.back_at != 0) {
      if (member.back_at <= now_nanos()) start(member);
      continue;
    }
    if (is_alive(member.process->pid())) continue;
    const Exit ended = member.process->wait();
    journal_.write("kill", text(member.kind, " ", member.name, " ", member.process->pid()));
    const bool is_short_of_disk = ended.code == 1 && now_nanos() < member.disk_is_short_until;
    if (is_short_of_disk || member.may_end_with.count(ended.code) > 0) {
      say(text(member.name, " ended by itself with exit code ", ended.code));
      constexpr int64_t kRestartNanos = 300'000'000;
      member.back_at = now_nanos() + kRestartNanos;
      continue;
    }
    fail(text(member.name, " ended by itself: exit code ", ended.code, ", signal ", ended.signal,
              ":\n", read_file(path(member.name + ".log"))));
    start(member);
  }
}

void LoadedCluster::kill(Member& victim, int64_t away_millis) {
  journal_.write("kill", text(victim.kind, " ", victim.name, " ", victim.process->pid()));
  victim.process->kill(SIGKILL);
  victim.process->wait();
  victim.back_at = now_nanos() + away_millis * 1'000'000;
  say(text("killed ", victim.name, ", away for ", away_millis, " ms"));
}

// The executors, or the fork servers from which agents fork them. Both are children of agents.
// Executors of a killed agent are found as parents of tasks in the journal; its fork server ends by
// itself.
std::vector<pid_t> LoadedCluster::forked(const std::string& kind) const {
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
  const std::string dir = fs::absolute(dir_);
  std::vector<pid_t> found;
  std::map<pid_t, Pid> fork_servers;  // by agent
  for (const Pid& process : all_processes()) {
    const bool is_agents_child =
        std::find(agents.begin(), agents.end(), process.parent) != agents.end();
    const bool is_named = std::find(named.begin(), named.end(), process.pid) != named.end();
    // The pid may have been reused, and agents adopt orphans of tasks.
    if (!(is_agents_child || is_named) || !runs_as(process.pid, kind, dir)) continue;
    found.push_back(process.pid);
    // At the moment of its fork, an executor looks like its fork server, which is older.
    const auto [fork_server, is_first] = fork_servers.emplace(process.parent, process);
    if (!is_first && process.began < fork_server->second.began) fork_server->second = process;
  }
  if (kind == "executor") return found;
  found.clear();
  for (const auto& [agent, fork_server] : fork_servers) found.push_back(fork_server.pid);
  return found;
}

void LoadedCluster::kill_forked(const std::string& kind, pid_t victim) {
  journal_.write("kill", text(kind, " - ", victim));
  ::kill(victim, SIGKILL);
  say(text("killed ", kind, " ", victim));
}

// --- the end -----------------------------------------------------------------------------------

void LoadedCluster::await_all() {
  eventually([&] {
    start_those_due();
    return std::all_of(members_.begin(), members_.end(),
                       [](const Member& member) { return member.back_at == 0; });
  });
}

void LoadedCluster::settle() {
  await_all();
  write_file(path("drain"), "");
  for (Member& member : members_) member.is_left_alone |= member.kind == "scheduler";
  eventually(
      [&] {
        start_those_due();
        return std::all_of(members_.begin(), members_.end(), [](const Member& member) {
          return member.kind != "scheduler" || !is_alive(member.process->pid());
        });
      },
      kSettle);
  for (Member& member : members_) {
    if (member.kind != "scheduler") continue;
    const Exit ended = member.process->wait(Seconds(0));
    if (ended.code == 0) continue;
    fail(text(member.name, " did not settle: exit code ", ended.code, ", signal ", ended.signal,
              "; it printed\n", read_file(path(member.name + ".log"))));
  }
}

void LoadedCluster::look_for_leftovers() {
  std::vector<pid_t> left;
  const bool is_clean = eventually(
      [&] {
        left = processes_of(dir_);
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

// The agent's own status.
std::optional<proto::AgentStatus> LoadedCluster::status_of(const Member& agent) const {
  const auto address =
      proto::parse_json_line(trimmed(read_file(path(agent.name) + "/address.json")));
  if (!address) return std::nullopt;
  const std::string answer = get_http(std::get<std::string>(address->at("http")), "/v1/status");
  const size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) return std::nullopt;
  const auto status = proto::parse_agent_status(trimmed(answer.substr(body)));
  return status ? std::optional(*status) : std::nullopt;
}

// The leader and the agents agree: no tasks and no outstanding updates.
void LoadedCluster::look_whether_all_agree() {
  std::string seen;
  const bool agree = eventually(
      [&] {
        const Exit told = run_command({"status", "--json"});
        seen = told.out + told.err;
        const auto master = proto::parse_status(told.out);
        if (told.code != 0 || !master) return false;
        bool same = master->agents_disconnected + master->agents_unreachable == 0 &&
                    master->tasks_staging + master->tasks_running + master->tasks_killing +
                            master->tasks_unreachable ==
                        0;
        int64_t agents = 0;
        for (const Member& member : members_) {
          if (member.kind != "agent") continue;
          ++agents;
          const auto agent = status_of(member);
          same = same && agent && agent->registered && agent->leader == master->leader &&
                 agent->tasks == 0 && agent->updates_unacknowledged == 0;
          if (agent) seen += proto::agent_status_json(*agent) + "\n";
        }
        return same && master->agents_connected == agents;
      },
      Seconds(20));
  if (!agree) fail("the leader and the agents do not agree: " + seen);
}

Exit LoadedCluster::run_command(const Words& words, Seconds deadline) const {
  Words command = proffer_;
  command.insert(command.end(), words.begin(), words.end());
  return test::run(command, {{"PROFFER_MASTER", masters()}}, {}, deadline);
}

// No resources are lost: a task of the size of an agent runs on every agent at the same time. An
// offer to a killed scheduler may block an agent for the lease.
void LoadedCluster::use_everything() {
  const size_t agents = those_there("agent").size();
  const std::string all_there =
      text("touch ", path("probe-"), "$PROFFER_TASK_ID; until [ $(ls ", path("probe-"),
           "* | wc -l) -eq ", agents, " ]; do sleep 0.05; done");
  const Exit probe = run_command({"run", "--name=probe", "--count", std::to_string(agents),
                                  "--cpus", std::to_string(kAgentHas.cpus_milli / 1'000), "--mem",
                                  std::to_string(kAgentHas.mem), "--", all_there},
                                 Seconds(3 * kOfferTimeout.millis() / 1'000));
  if (probe.code != 0) {
    const Exit agents_then = run_command({"agents"});
    const Exit tasks_then = run_command({"tasks"});
    fail(text("the cluster cannot be used as a whole again, exit ", probe.code, ": ", probe.out,
              probe.err, "\n", agents_then.out, "\n", tasks_then.out));
  }
}

// Ends it like an operator: first the agents, whose tasks have ended, then the master.
void LoadedCluster::end_everything() {
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

void LoadedCluster::look_for_traces(const std::set<std::string>& disks) {
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
      if (line.find(dir_ + "/") == std::string::npos) continue;
      const bool is_disk = std::any_of(disks.begin(), disks.end(), [&](const std::string& disk) {
        return line.find(" " + disk + " ") != std::string::npos;
      });
      if (!is_disk) fail(text("left in ", table, ": ", line));
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
    if (fs::is_socket(entry.symlink_status()))
      fail(text("socket ", entry.path().string(), " is left"));
  }
}

Testimony LoadedCluster::testimony() const {
  Testimony all{.journal = read_file(path("journal"))};
  for (const Member& member : members_) {
    if (member.kind == "scheduler")
      all.heard[member.name] = read_file(path("heard-" + member.name));
    if (member.kind == "agent") all.agents[member.name] = kAgentHas;
  }
  return all;
}

Judgement LoadedCluster::settle_and_judge(const std::set<std::string>& disks) {
  settle();
  look_for_leftovers();
  look_whether_all_agree();
  use_everything();
  end_everything();
  look_for_traces(disks);
  Judgement judgement = judge(testimony());
  for (std::string& failure : failures_) judgement.violations.push_back(std::move(failure));
  return judgement;
}

std::vector<std::string> LoadedCluster::settle_and_look() {
  await_all();
  look_whether_all_agree();
  use_everything();
  for (Member& member : members_) {
    if (member.kind != "scheduler") continue;
    member.is_left_alone = true;
    member.process->kill(SIGTERM);
    const Exit ended = member.process->wait();
    if (ended.code != 0 && ended.code != 128 + SIGTERM) {
      fail(text(member.name, " did not end as asked: exit code ", ended.code, ", signal ",
                ended.signal, ":\n", read_file(path(member.name + ".log"))));
    }
  }
  look_for_leftovers();
  end_everything();
  look_for_traces({});
  return failures_;
}

}  // namespace proffer::test
