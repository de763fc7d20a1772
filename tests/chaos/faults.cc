// Kills, pauses, link faults and full disks. choose() selects the victim of a fault.

#include "tests/chaos/faults.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <limits>

#include "common/text.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

// Time within which a process that met a full disk has ended.
constexpr int64_t kEndsWithin = 3'000'000'000;

}  // namespace

bool Chaos::is_touched(const std::string& what) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return std::find(fault.touched.begin(), fault.touched.end(), what) != fault.touched.end();
  });
}

Member* Chaos::choose(const std::string& kind, const std::string& part) {
  std::vector<Member*> there = cluster_.those_there(kind);
  std::erase_if(there, [&](const Member* member) {
    return is_touched(member->name + " " + part) || !is_alive(member->process->pid());
  });
  return there.empty() ? nullptr : there.at(prng_.below(there.size()));
}

Member* Chaos::leader(const std::string& part) {
  const int leading = operators_->leading();
  if (leading == 0) return nullptr;
  Member& found = cluster_.member(text("master-", leading));
  const bool is_there = found.back_at == 0 && is_alive(found.process->pid());
  return is_there && !is_touched(found.name + " " + part) ? &found : nullptr;
}

Member* Chaos::choose_any_link() {
  const char* const all[] = {"agent", "agent", "scheduler", "master"};
  return choose(all[prng_.below(std::size(all))], "link");
}

// 0 if there is none now.
pid_t Chaos::choose_forked(const std::string& kind) {
  const std::vector<pid_t> there = cluster_.forked(kind);
  return there.empty() ? 0 : there.at(prng_.below(there.size()));
}

int64_t Chaos::in(int64_t least_millis, int64_t most_millis) {
  return now_nanos() + prng_.between(least_millis, most_millis) * kMillisecond;
}

// Usually shorter than the agent timeout, sometimes longer.
int64_t Chaos::for_a_while() {
  const uint64_t length = prng_.below(10);
  return length < 6   ? in(200, 1'500)
         : length < 8 ? in(2'000, 4'000)
                      : in(kAgentTimeoutMillis + 500, kAgentTimeoutMillis + 3'000);
}

std::optional<Fault> Chaos::kill(Member* victim) {
  if (victim == nullptr) return std::nullopt;
  const bool at_once = prng_.chance(1, 2);
  cluster_.kill(*victim, at_once              ? 0
                         : prng_.chance(4, 5) ? prng_.between(20, 1'500)
                                              : prng_.between(kAgentTimeoutMillis + 500,
                                                              kAgentTimeoutMillis + 1'500));
  return Fault{.what = "killed"};
}

std::optional<Fault> Chaos::kill_executor() {
  const pid_t pid = choose_forked("executor");
  if (pid == 0) return std::nullopt;
  cluster_.kill_forked("executor", pid);
  return Fault{.what = "killed"};
}

std::optional<Fault> Chaos::kill_fork_server() {
  const pid_t pid = choose_forked("fork_server");
  if (pid == 0) return std::nullopt;
  cluster_.kill_forked("fork_server", pid);
  return Fault{.what = "killed"};
}

// All masters need it, also to elect the next leader.
std::optional<Fault> Chaos::kill_zookeeper() {
  if (is_touched("zookeeper")) return std::nullopt;
  cluster_.journal().write("fault", "master - zookeeper_killed");
  cluster_.say("killed zookeeper");
  zookeeper_->kill();
  return Fault{.what = "zookeeper_killed",
               .touched = {"zookeeper"},
               .heals_at = in(100, 3'000),
               .heal = [this] {
                 zookeeper_->start();
                 cluster_.journal().write("healed", "master - zookeeper_killed");
               }};
}

std::optional<Fault> Chaos::stop_zookeeper() {
  if (is_touched("zookeeper")) return std::nullopt;
  cluster_.journal().write("fault", "master - zookeeper_stopped");
  cluster_.say("stopped zookeeper");
  const pid_t pid = zookeeper_->pid();
  ::kill(pid, SIGSTOP);
  return Fault{.what = "zookeeper_stopped",
               .touched = {"zookeeper"},
               .heals_at = in(200, 4'000),
               .heal = [this, pid] {
                 ::kill(pid, SIGCONT);
                 cluster_.journal().write("healed", "master - zookeeper_stopped");
               }};
}

std::optional<Fault> Chaos::stop(Member* victim, int64_t until) {
  if (victim == nullptr) return std::nullopt;
  const std::string who = text(victim->kind, " ", victim->name, " stopped");
  const pid_t pid = victim->process->pid();
  cluster_.journal().write("fault", who);
  cluster_.say(
      text("stopped ", victim->name, " for ", (until - now_nanos()) / kMillisecond, " ms"));
  ::kill(pid, SIGSTOP);
  return Fault{.what = "stopped",
               .touched = {victim->name + " process"},
               .heals_at = until,
               .heal = [this, pid, who] {
                 ::kill(pid, SIGCONT);
                 cluster_.journal().write("healed", who);
               }};
}

// Shorter than the time that an agent waits for the return of an executor.
std::optional<Fault> Chaos::stop_executor() {
  const pid_t pid = choose_forked("executor");
  if (pid == 0) return std::nullopt;
  cluster_.journal().write("fault", "executor - stopped");
  cluster_.say(text("stopped executor ", pid));
  ::kill(pid, SIGSTOP);
  return Fault{
      .what = "stopped", .touched = {"executor"}, .heals_at = in(200, 3'000), .heal = [this, pid] {
        ::kill(pid, SIGCONT);
        cluster_.journal().write("healed", "executor - stopped");
      }};
}

// A master's connections to ZooKeeper belong to its link.
void Chaos::set_link(const Member& member, Way to, Way from) {
  const int number = number_of(member.name);
  network_.set(0, number, to);
  network_.set(number, 0, from);
  if (member.kind != "master") return;
  Relay& relay = *relays_[static_cast<size_t>(number) - 1];
  relay.hold(from.swallows, to.swallows);
  relay.delay(std::max(to.delay_millis, from.delay_millis));
}

std::optional<Fault> Chaos::disturb_link(Member* victim, const char* what, Way to, Way from) {
  if (victim == nullptr) return std::nullopt;
  const std::string who = text(victim->kind, " ", victim->name, " ", what);
  const int64_t until = for_a_while();
  cluster_.journal().write("fault", who);
  cluster_.say(
      text(victim->name, " is ", what, " for ", (until - now_nanos()) / kMillisecond, " ms"));
  set_link(*victim, to, from);
  return Fault{.what = what,
               .touched = {victim->name + " link"},
               .heals_at = until,
               .heal = [this, victim, who] {
                 set_link(*victim, {}, {});
                 cluster_.journal().write("healed", who);
               }};
}

std::optional<Fault> Chaos::slow_down() {
  // Up to half a second for a round trip.
  const int millis = static_cast<int>(prng_.between(50, 250));
  return disturb_link(choose_any_link(), "slow", {.delay_millis = millis},
                      {.delay_millis = millis});
}

std::optional<Fault> Chaos::flap() {
  Member* const victim = choose_any_link();
  std::optional<Fault> fault =
      disturb_link(victim, "flapping", {.swallows = true}, {.swallows = true});
  if (!fault) return fault;
  const int64_t period = prng_.between(100, 700) * kMillisecond;
  const int64_t begin = now_nanos();
  fault->look = [this, victim, period, begin, is_down = true]() mutable {
    const bool shall_be_down = (now_nanos() - begin) / period % 2 == 0;
    if (shall_be_down != is_down) {
      set_link(*victim, {.swallows = shall_be_down}, {.swallows = shall_be_down});
      is_down = shall_be_down;
    }
    return false;
  };
  return fault;
}

// Both still reach all other machines.
std::optional<Fault> Chaos::part_from_leader() {
  Member* const agent = choose("agent", "link");
  Member* const master = leader("link");
  if (agent == nullptr || master == nullptr) return std::nullopt;
  const int a = number_of(agent->name);
  const int m = number_of(master->name);
  const std::string who = text("agent ", agent->name, " apart");
  const int64_t until = for_a_while();
  cluster_.journal().write("fault", who);
  cluster_.say(text(agent->name, " is apart from ", master->name, " for ",
                    (until - now_nanos()) / kMillisecond, " ms"));
  network_.set(a, m, {.swallows = true});
  network_.set(m, a, {.swallows = true});
  return Fault{.what = "apart",
               .touched = {agent->name + " link", master->name + " link"},
               .heals_at = until,
               .heal = [this, a, m, who] {
                 network_.set(a, m, {});
                 network_.set(m, a, {});
                 cluster_.journal().write("healed", who);
               }};
}

// The session continues on a new connection.
std::optional<Fault> Chaos::cut_zookeeper() {
  Member* const master = choose("master", "link");
  if (master == nullptr) return std::nullopt;
  const std::string who = text("master ", master->name, " zookeeper_cut");
  cluster_.journal().write("fault", who);
  cluster_.say("cut the connections of " + master->name + " with zookeeper");
  relays_[static_cast<size_t>(number_of(master->name)) - 1]->cut();
  cluster_.journal().write("healed", who);
  return Fault{.what = "zookeeper_cut"};
}

// An agent that cannot write its checkpoint ends, and is restarted repeatedly.
std::optional<Fault> Chaos::fill_disk(Member* victim) {
  if (victim == nullptr) return std::nullopt;
  const std::string who = text(victim->kind, " ", victim->name, " full");
  const std::string filler = cluster_.path(victim->name) + "/filler";
  victim->disk_is_short_until = std::numeric_limits<int64_t>::max();
  cluster_.journal().write("fault", who);
  cluster_.say("filled the disk of " + victim->name);
  test::run({"/bin/sh", "-c", "cat /dev/zero > " + filler + " 2>/dev/null"});
  return Fault{.what = "full",
               .touched = {victim->name + " process"},
               .heals_at = in(300, 4'000),
               .heal = [this, victim, who, filler] {
                 fs::remove(filler);
                 // The process may still end because of the full disk.
                 victim->disk_is_short_until = now_nanos() + kEndsWithin;
                 cluster_.journal().write("healed", who);
               }};
}

}  // namespace proffer::test
