// A second scheduler of one framework, and a second machine with the files of an agent.

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "tests/chaos/faults.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

// This long after the last fault, no leader is about to lose its lead.
constexpr int64_t kCalmNanos = 4'000'000'000;
constexpr int kReplaced = 7;  // exit code of a scheduler that a newer session has replaced

}  // namespace

// Starts a second scheduler of the same framework from a copy of its session file. The master
// replaces one of the two, usually the older process, and it ends.
std::optional<Fault> Chaos::start_twin() {
  Member* const old = choose("scheduler", "process");
  if (old == nullptr) return std::nullopt;
  const std::string session = cluster_.path(old->name + ".session");
  // The twin of an earlier fault may be the surviving scheduler and use the last copy.
  const std::string copy = text(session, "-", ++copies_);
  // The scheduler has no session yet.
  if (!fs::exists(session)) return std::nullopt;
  const std::string who = text("scheduler ", old->name, " twin");
  cluster_.journal().write("fault", who);
  cluster_.say("started a twin of " + old->name);
  fs::copy_file(session, copy);
  struct stat owner = {};
  PCHECK(::stat(session.c_str(), &owner) == 0);
  PCHECK(::chown(copy.c_str(), owner.st_uid, owner.st_gid) == 0);
  ::chmod(copy.c_str(), 0600);
  Member second{.kind = old->kind,
                .name = old->name,
                .command = old->command,
                .environment = old->environment};
  for (std::string& word : second.command) {
    if (word.starts_with("--session_file=")) word = "--session_file=" + copy;
  }
  cluster_.start(second);
  const auto twin = std::make_shared<Member>(std::move(second));
  old->is_left_alone = true;
  const auto is_over = [this, old, twin] {
    const bool old_ended = !is_alive(old->process->pid());
    if (!old_ended && is_alive(twin->process->pid())) return false;
    const Exit ended = (old_ended ? old : twin.get())->process->wait();
    if (ended.code != kReplaced) {
      cluster_.fail(text("of two schedulers with one framework, one ended with exit code ",
                         ended.code, ", signal ", ended.signal, ":\n",
                         read_file(cluster_.path(old->name + ".log"))));
    }
    if (old_ended) old->process = std::move(twin->process);
    old->is_left_alone = false;
    return true;
  };
  constexpr int kOtherFaultsMillis = 60'000;
  return Fault{.what = "twin",
               .touched = {old->name + " process"},
               .heals_at = in(kOtherFaultsMillis, kOtherFaultsMillis),
               .heal =
                   [this, old, is_over, who] {
                     if (old->is_left_alone && !eventually(is_over)) {
                       cluster_.fail("two schedulers go on with one framework, " + old->name);
                     }
                     cluster_.journal().write("healed", who);
                   },
               .look = is_over};
}

bool Chaos::all_agents_are_connected() {
  const Exit listed =
      test::run({program("proffer"), "agents", "--json", "--master=" + cluster_.masters()});
  const auto rows = proto::parse_agents(listed.out);
  return listed.code == 0 && rows && rows->size() == kChaosAgents &&
         std::all_of(rows->begin(), rows->end(), [](const proto::AgentRow& row) {
           return row.state == proto::AgentState::kConnected;
         });
}

// Starts an agent on another machine with copies of a work directory and its keys. The master
// refuses it, with the reason, while the original is connected and the same master leads
// (docs/adr/0062). So no other fault may be active, or have been shortly before.
std::optional<Fault> Chaos::copy_agent() {
  Member* const first = choose("agent", "process");
  if (!faults_.empty() || now_nanos() < last_fault_at_ + kCalmNanos) {
    is_calm_wanted_ = true;
    return std::nullopt;
  }
  if (first == nullptr || !all_agents_are_connected()) return std::nullopt;
  const std::string copy = cluster_.path(text("copy-", ++copies_));
  cluster_.journal().write("fault", text("agent ", first->name, "-copy copied"));
  cluster_.say("started a copy of " + first->name);
  fs::create_directory(copy);
  for (const char* file : {"/checkpoint.log", "/identity"}) {
    fs::copy_file(cluster_.path(first->name) + file, copy + file);
  }
  const std::string config = machine("spare") / "config";
  fs::remove_all(config);
  fs::copy(machine(first->name) / "config", config, fs::copy_options::recursive);
  // All machines share one kernel, and so one boot id; the copy gets another one.
  const std::string boot = cluster_.path(text("boot-", copies_));
  write_file(boot, text("11111111-2222-3333-4444-", 100'000'000'000 + copies_, "\n"));
  Words command = {
      "unshare", "--mount",
      "--",      "sh",
      "-c",      text("mount --bind ", boot, " /proc/sys/kernel/random/boot_id && exec \"$@\""),
      "sh"};
  for (std::string word : cluster_.agent_command(first->name)) {
    if (word.starts_with("--work_dir=")) word = "--work_dir=" + copy;
    // The copy needs its own cgroups, as on another machine.
    if (word.starts_with("--cgroup_parent=")) word += "-copy";
    command.push_back(word);
  }
  const std::unique_ptr<Process> second = machine("spare").starts(command);
  if (!second->complains("is connected from another machine", Seconds(20))) {
    cluster_.fail("a copy of " + first->name + " was not refused:\n" + second->err());
  }
  second->kill(SIGTERM);
  second->wait();
  fs::remove_all(copy);
  cluster_.journal().write("healed", text("agent ", first->name, "-copy copied"));
  return Fault{.what = "copied"};
}

}  // namespace proffer::test
