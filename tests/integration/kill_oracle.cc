// Checks each launch: lie_of() says whether a reported end is consistent with what the process
// wrote. The rest is counting. Begin with judge().

#include "tests/integration/kill_oracle.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "common/text.h"

namespace proffer::test {
namespace {

struct Start {
  int64_t at = 0;
  std::string agent = {};
  int64_t pid = 0;
  int64_t parent = 0;
  int64_t cpus = 0;
  int64_t mem = 0;
  int64_t port = 0;
};

// The records of a task's process.
struct Run {
  std::vector<Start> starts = {};
  int64_t last_sign = 0;  // time of its last record
  std::string end = {};   // "exit:3"; empty: no recorded end
};

struct Told {
  int64_t at = 0;
  std::string life = {};
  std::string state = {};
  std::string reason = {};
  std::string exit_code = {};
  std::string signal = {};

  bool is_end() const {
    static const std::set<std::string> ends = {"finished", "failed", "killed",
                                               "lost",     "gone",   "refused"};
    return ends.count(state) > 0;
  }
  bool same_as(const Told& o) const {
    return state == o.state && reason == o.reason && exit_code == o.exit_code && signal == o.signal;
  }
};

struct Launch {
  int64_t at = 0;
  std::string scheduler = {};
  std::string agent = {};
  int64_t cpus = 0;
  int64_t mem = 0;
  int64_t ports = 0;
  std::optional<int64_t> kill_asked = {};
  std::vector<Told> told = {};
};

struct Kill {
  int64_t at = 0;
  std::string kind = {};
  std::string name = {};
  int64_t pid = 0;
};

// A member was disturbed from `at` to `healed`.
struct JournalFault {
  int64_t at = 0;
  std::string kind = {};
  std::string name = {};
  std::string what = {};
  int64_t healed = std::numeric_limits<int64_t>::max();
};

std::string seconds_of(int64_t nanos) {
  return text(nanos / 1'000'000'000, ".",
              std::to_string(1'000'000 + nanos % 1'000'000'000 / 1'000).substr(1));
}

class Court {
 public:
  explicit Court(const Testimony& testimony) : testimony_(testimony) {
    read_journal();
    for (const auto& [scheduler, records] : testimony.heard) read_heard(scheduler, records);
  }

  Judgement judge() {
    for (const auto& [task, launch] : launches_) judge_launch(task, launch);
    for (const auto& [task, run] : runs_) {
      if (launches_.count(task) == 0) accuse(task, "ran, but nobody launched it");
    }
    for (const auto& [agent, has] : testimony_.agents) judge_agent(agent, has);
    judgement_.launches = launches_.size();
    judgement_.started = runs_.size();
    for (const Kill& kill : kills_) ++judgement_.kills[kill.kind];
    for (const JournalFault& fault : faults_) ++judgement_.faults[fault.what];
    measure_gaps();
    return std::move(judgement_);
  }

 private:
  // --- reading ---------------------------------------------------------------------------------

  void read_journal() {
    std::istringstream lines(testimony_.journal);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word, task;
      int64_t at = 0;
      words >> word >> at;
      if (word == "kill") {
        Kill kill{.at = at};
        words >> kill.kind >> kill.name >> kill.pid;
        kills_.push_back(kill);
      } else if (word == "fault") {
        JournalFault fault{.at = at};
        words >> fault.kind >> fault.name >> fault.what;
        faults_.push_back(fault);
      } else if (word == "healed") {
        std::string kind, name, what;
        words >> kind >> name >> what;
        const auto same = [&](const JournalFault& fault) {
          return fault.kind == kind && fault.name == name && fault.what == what;
        };
        const auto fault = std::find_if(faults_.rbegin(), faults_.rend(), same);
        if (fault == faults_.rend()) {
          judgement_.violations.push_back(text("healed what was no fault: ", line));
        } else {
          fault->healed = at;
        }
      } else if (word == "start" || word == "alive" || word == "end") {
        words >> task;
        Run& run = runs_[task];
        run.last_sign = std::max(run.last_sign, at);
        if (word == "start") {
          Start start{.at = at};
          words >> start.agent >> start.pid >> start.parent >> start.cpus >> start.mem >>
              start.port;
          run.starts.push_back(start);
        }
        if (word == "end") words >> run.end;
      } else {
        judgement_.violations.push_back(text("a record that means nothing: ", line));
      }
      if (!words) judgement_.violations.push_back(text("a broken record: ", line));
    }
  }

  void read_heard(const std::string& scheduler, const std::string& records) {
    std::istringstream lines(records);
    bool settled = false;
    std::string life;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word, task;
      int64_t at = 0;
      words >> word >> at;
      settled |= word == "settled";
      if (word == "life") words >> life;
      if (word == "replaced" && !disturbed(at, at, "scheduler", scheduler, "twin")) {
        accuse(scheduler, text("was replaced, but there was no other: ", line));
      }
      if (word == "refused") accuse(scheduler, text("was refused: ", line));
      if (word == "launch") {
        words >> task;
        Launch launch{.at = at, .scheduler = scheduler};
        words >> launch.agent >> launch.cpus >> launch.mem >> launch.ports;
        if (!launches_.emplace(task, launch).second) accuse(task, "was launched twice");
      } else if (word == "kill" || word == "update") {
        words >> task;
        const auto launch = launches_.find(task);
        if (launch == launches_.end() || launch->second.scheduler != scheduler) {
          accuse(task, text("is not of ", scheduler, ", who was told of it"));
        } else if (word == "kill") {
          launch->second.kill_asked = at;
        } else {
          Told told{.at = at};
          std::string source, sequence;
          words >> told.state >> told.reason >> told.exit_code >> told.signal >> source >> sequence;
          if (words && !(words >> told.life)) {
            words.clear();
            told.life = life;
          }
          launch->second.told.push_back(told);
        }
      }
      if (!words) judgement_.violations.push_back(text("a broken record: ", line));
    }
    if (!settled) accuse(scheduler, "did not see all its launches end");
  }

  // --- one launch ------------------------------------------------------------------------------

  void judge_launch(const std::string& task, const Launch& launch) {
    const auto at = runs_.find(task);
    const Run run = at == runs_.end() ? Run() : at->second;
    if (run.starts.size() > 1) accuse(task, text("was started ", run.starts.size(), " times"));
    for (const Start& start : run.starts) {
      if (start.agent != launch.agent || start.cpus != launch.cpus || start.mem != launch.mem ||
          (start.port != 0) != (launch.ports != 0) || start.at < launch.at) {
        accuse(task, "did not start as it was launched");
      }
    }
    if (at != runs_.end() && run.starts.empty()) accuse(task, "lives, but never started");

    const Told* first = nullptr;
    const Told* before = nullptr;
    for (const Told& told : launch.told) {
      if (first != nullptr && before != nullptr && before->life == told.life && before->is_end()) {
        accuse(task, text("was told as ", told.state, " after its end, in the same life"));
      }
      before = &told;
      if (first == nullptr) {
        if (told.is_end()) first = &told;
        continue;
      }
      if (!acknowledgement_may_be_lost(launch, *first)) {
        accuse(task, text("was told as ", told.state, " to a later life, though its end was ",
                          "acknowledged"));
      }
      if (!told.is_end()) continue;
      ++judgement_.heard_again;
      if (!told.same_as(*first) && !twin_acknowledged(launch, *first, told)) {
        accuse(task, "has two ends that differ");
      }
    }
    if (first == nullptr) return accuse(task, "has no end");
    ++judgement_.ends[first->state + " " + first->reason];
    if (run.last_sign > first->at) {
      accuse(task, text("lived on at ", seconds_of(run.last_sign), ", after its end was told at ",
                        seconds_of(first->at)));
    }
    if (const std::string lie = lie_of(launch, run, *first); !lie.empty()) accuse(task, lie);
  }

  // If two schedulers of one framework are active at the same time, one may receive the end and
  // acknowledge it. When the other one is connected again, it reconciles the task, which the master
  // no longer knows.
  bool twin_acknowledged(const Launch& launch, const Told& end, const Told& again) const {
    return again.state == "lost" && again.reason == "task_unknown" && again.life != end.life &&
           disturbed(launch.at, again.at, "scheduler", launch.scheduler, "twin");
  }

  // Why the reported end is false; empty if it is true.
  std::string lie_of(const Launch& launch, const Run& run, const Told& told) const {
    const bool ran = !run.starts.empty();
    const std::string what = text("was told as ", told.state, " ", told.reason, ": ");
    if (told.reason == "command_exited") {
      const std::string state = told.exit_code == "0" ? "finished" : "failed";
      if (told.state != state)
        return what + text("that is not how exit code ", told.exit_code, " is told");
      return run.end == "exit:" + told.exit_code
                 ? ""
                 : what + text("exit code ", told.exit_code, ", but it ended with '", run.end, "'");
    }
    if (told.reason == "command_signalled") {
      if (told.state != "failed") return what + "a signal is a failure";
      // Before its exec, the process of the command looked like an executor too.
      const bool fell = ran && told.signal == "9" &&
                        std::any_of(kills_.begin(), kills_.end(), [&](const Kill& kill) {
                          return kill.kind == "executor" && kill.pid == run.starts.front().pid &&
                                 kill.at > launch.at && kill.at < told.at;
                        });
      return fell || run.end == "signal:" + told.signal
                 ? ""
                 : what + text("signal ", told.signal, ", but it ended with '", run.end, "'");
    }
    if (told.state == "killed") {
      if (told.reason != "killed_by_scheduler") return what + "nobody else kills";
      return launch.kill_asked && *launch.kill_asked < told.at ? ""
                                                               : what + "nobody asked for that";
    }
    // An agent whose checkpoint lost its last records kills the processes that it cannot name. Such
    // a task may have run, and is reported as lost: by the agent, by a master that remembers the
    // launch, or by the next master, which does not know the task when it is reconciled. Another
    // check covers all ends: the task must not live on.
    static const std::set<std::string> forgets = {"agent_forgot", "agent_restarted",
                                                  "executor_ended", "task_unknown"};
    const bool is_forgotten = told.state == "lost" && forgets.count(told.reason) > 0 &&
                              (disturbed(launch.at, told.at, "agent", launch.agent, "cut") ||
                               disturbed(launch.at, told.at, "agent", launch.agent, "emptied"));
    if (is_forgotten) return "";
    if (told.reason == "executor_ended") {
      // The storm killed its executor, which is the parent of the process: before the process read
      // its parent's pid, while it ran, or just after it ended. An executor that was just forked
      // looked like the fork server.
      if (told.state != "failed" && told.state != "lost") return what + "it failed, or is lost";
      const bool knows = ran && run.starts.front().parent != 0;
      const int64_t latest = ran && !knows ? run.starts.front().at : told.at;
      const bool is_so = std::any_of(kills_.begin(), kills_.end(), [&](const Kill& kill) {
        const bool may_be_it = kill.kind == "executor" || (!ran && kill.kind == "fork_server");
        return may_be_it && kill.at > launch.at && kill.at < latest &&
               (!knows || kill.pid == run.starts.front().parent);
      });
      return is_so ? "" : what + "nobody killed its executor";
    }
    // The reasons below are only for tasks that never ran.
    if (ran) return what + "but it ran";
    if (told.reason == "agent_restarted" && (told.state == "refused" || told.state == "lost")) {
      return struck(launch.at - kAcknowledgedWithinNanos, told.at, "agent", launch.agent)
                 ? ""
                 : what + "its agent was not killed";
    }
    if (told.state == "refused") {
      static const std::set<std::string> allowed = {"offer_not_valid", "agent_not_available",
                                                    "ports_not_available"};
      const bool is_full =
          told.reason == "agent_full" &&
          disturbed(launch.at - kAcknowledgedWithinNanos, told.at, "agent", launch.agent, "full");
      return is_full || allowed.count(told.reason) > 0 ? "" : what + "there is no cause for that";
    }
    if (told.state == "failed" && told.reason == "launch_failed") {
      const int64_t since = launch.at - kAcknowledgedWithinNanos;
      return struck(since, told.at, "fork_server", "") ||
                     disturbed(since, told.at, "agent", launch.agent, "full")
                 ? ""
                 : what + "nobody killed the fork server of its executor";
    }
    if (told.state == "lost" && (told.reason == "task_unknown" || told.reason == "agent_forgot")) {
      // One of the processes that forward the launch was killed meanwhile.
      const int64_t since = launch.at - kAcknowledgedWithinNanos;
      return struck(since, told.at, "master", "") ||
                     struck(since, told.at, "scheduler", launch.scheduler) ||
                     struck(since, told.at, "agent", launch.agent)
                 ? ""
                 : what + "nobody on its way was killed";
    }
    return what + "there is no cause for that";
  }

  // Whether such a process was killed or disturbed in this time.
  bool struck(int64_t since, int64_t until, const std::string& kind,
              const std::string& name) const {
    return std::any_of(kills_.begin(), kills_.end(),
                       [&](const Kill& kill) {
                         return kill.at >= since && kill.at <= until && kill.kind == kind &&
                                (name.empty() || kill.name == name);
                       }) ||
           disturbed(since, until, kind, name, "");
  }

  bool disturbed(int64_t since, int64_t until, const std::string& kind, const std::string& name,
                 const std::string& what) const {
    return std::any_of(faults_.begin(), faults_.end(), [&](const JournalFault& fault) {
      return fault.healed >= since && fault.at <= until && fault.kind == kind &&
             (name.empty() || fault.name == name) && (what.empty() || fault.what == what);
    });
  }

  bool acknowledgement_may_be_lost(const Launch& launch, const Told& end) const {
    const int64_t since = end.at - kAcknowledgedWithinNanos;
    const int64_t until = end.at + kAcknowledgedWithinNanos;
    return struck(since, until, "scheduler", launch.scheduler) ||
           struck(since, until, "master", "") || struck(since, until, "agent", launch.agent);
  }

  // A launch has the time of its accept. An accept that the killed master still carried out was
  // sent before the kill, so it does not count.
  void measure_gaps() {
    std::vector<int64_t> launched;
    for (const auto& [task, launch] : launches_) {
      if (runs_.count(task) > 0) launched.push_back(launch.at);
    }
    std::sort(launched.begin(), launched.end());
    for (const Kill& kill : kills_) {
      const auto next = std::lower_bound(launched.begin(), launched.end(), kill.at);
      if (kill.kind == "master" && next != launched.end()) {
        judgement_.gaps_nanos.push_back(*next - kill.at);
      }
    }
    std::sort(judgement_.gaps_nanos.begin(), judgement_.gaps_nanos.end());
  }

  // --- one agent -------------------------------------------------------------------------------

  // Tasks that ran there at the same time, each from its start to the last time at which it wrote.
  // A task may have lived longer: a violation found here is real, but a few may be missed.
  void judge_agent(const std::string& agent, const AgentHas& has) {
    struct Event {
      int64_t at = 0;
      bool starts = false;
      const Start* start = nullptr;
      std::string task = {};
    };
    std::vector<Event> events;
    for (const auto& [task, run] : runs_) {
      for (const Start& start : run.starts) {
        if (start.agent != agent) continue;
        events.push_back({start.at, true, &start, task});
        events.push_back({run.last_sign, false, &start, task});
      }
    }
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.at != b.at ? a.at < b.at : a.start == b.start ? a.starts : a.starts < b.starts;
    });
    int64_t cpus = 0;
    int64_t mem = 0;
    std::multiset<int64_t> ports;
    for (const Event& event : events) {
      const Start& start = *event.start;
      const int64_t sign = event.starts ? 1 : -1;
      cpus += sign * start.cpus;
      mem += sign * start.mem;
      if (start.port != 0 && event.starts) {
        ports.insert(start.port);
        if (ports.count(start.port) > 1) {
          accuse(event.task, text("has port ", start.port, " of ", agent, " with another"));
        }
        if (start.port < has.first_port || start.port > has.last_port) {
          accuse(event.task, text("has port ", start.port, ", which is not of ", agent));
        }
      } else if (start.port != 0) {
        ports.erase(ports.find(start.port));
      }
      if (event.starts && (cpus > has.cpus_milli || mem > has.mem)) {
        accuse(event.task, text("started on ", agent, " as one too many: ", cpus, " of ",
                                has.cpus_milli, " milli-cpus, ", mem, " of ", has.mem, " MiB"));
      }
    }
  }

  // --- messages --------------------------------------------------------------------------------

  void accuse(const std::string& whom, const std::string& of_what) {
    std::string story = whom + " " + of_what;
    const auto add = [&](const std::string& from, const std::string& records) {
      std::istringstream lines(records);
      for (std::string line; std::getline(lines, line);) {
        const bool is_of_it = line.find(" " + whom + " ") != std::string::npos;
        if (is_of_it && !line.starts_with("alive")) {
          story += "\n    " + from + ": " + std::string(trimmed(line));
        }
      }
    };
    if (judgement_.violations.size() < kStoriesMax) {
      add("journal", testimony_.journal);
      for (const auto& [scheduler, records] : testimony_.heard) add(scheduler, records);
    }
    judgement_.violations.push_back(story);
  }

  static constexpr size_t kStoriesMax = 20;  // later stories omit the records

  const Testimony& testimony_;
  Judgement judgement_;
  std::map<std::string, Run> runs_;
  std::map<std::string, Launch> launches_;
  std::vector<Kill> kills_;
  std::vector<JournalFault> faults_;
};

}  // namespace

std::string Judgement::summary() const {
  std::string line = text(launches, " launches, ", started, " started;");
  for (const auto& [end, count] : ends) line += text(" ", end, " ", count, ",");
  line += text(" heard again ", heard_again, "; killed:");
  for (const auto& [kind, count] : kills) line += text(" ", kind, " ", count, ",");
  if (!faults.empty()) line += " faults:";
  for (const auto& [what, count] : faults) line += text(" ", what, " ", count, ",");
  if (!gaps_nanos.empty()) {
    line += text(" from a master's kill to the next launch ",
                 gaps_nanos[gaps_nanos.size() / 2] / 1'000'000, " ms at the median, ",
                 gaps_nanos[gaps_nanos.size() * 9 / 10] / 1'000'000, " ms for nine of ten, ",
                 gaps_nanos.back() / 1'000'000, " ms at most;");
  }
  line += text(" violations ", violations.size());
  return line;
}

Judgement judge(const Testimony& testimony) { return Court(testimony).judge(); }

}  // namespace proffer::test
