#include "cli/conformance_trial.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "cli/master_client.h"
#include "cli/programs.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;

// A scheduler that neither sends nor receives for this long is steady.
constexpr Duration kQuiet = seconds(4);
// A scheduler that neither becomes steady nor ends is judged after this time.
constexpr Duration kBusy = seconds(30);
// Timeout for the scheduler's first task.
constexpr Duration kWork = seconds(20);
constexpr Duration kEndTimeout = seconds(15);
// A master's message reaches the scheduler within this time, also on a busy machine.
constexpr Duration kOnItsWay = seconds(5);
constexpr Duration kLookAgain = milliseconds(100);
constexpr size_t kOutputLines = 3;
// Maximum number of faults that a report names.
constexpr size_t kFaultsNamed = 4;
constexpr std::string_view kRivalRole = "conformance-rival";

void replace_all(std::string& word, std::string_view what, const std::string& with) {
  for (size_t at = 0; (at = word.find(what, at)) != std::string::npos; at += with.size()) {
    word.replace(at, what.size(), with);
  }
}

std::vector<std::string> last_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > kOutputLines) lines.erase(lines.begin());
  }
  return lines;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

Trial::Trial(const ConformanceOptions& options, std::string dir, const TrialTimes& times)
    : options_(options),
      dir_(std::move(dir)),
      times_(times),
      children_(loop_,
                [this](const std::string& name, const std::string& how) { on_ended(name, how); }),
      witness_(times.lease, times.delay),
      cluster_(loop_, children_,
               {.dir = dir_,
                .resources = options.resources,
                .master_flags = {"--offer_timeout=" + to_text(times.lease),
                                 "--agent_timeout=" + to_text(times.agent_timeout),
                                 "--reregistration_timeout=" + to_text(times.reregistration),
                                 "--revoke_grace=" + to_text(times.revoke_grace),
                                 "--minimum_runtime=1ms", "--revokes_per_minute=1000"}}) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    loop_.on_signal(signal, [signal] {
      Children::end_all_descendants();
      ::_exit(128 + signal);
    });
  }
}

Trial::~Trial() {
  end_scheduler(SIGTERM);
  end_scheduler(SIGKILL);
  for (const char* const name : {"work", "rival"}) children_.signal(name, SIGKILL);
}

std::string Trial::with_places(std::string word, const std::string& master) const {
  replace_all(word, "{master}", master);
  replace_all(word, "{dir}", dir_);
  return word;
}

Result<void> Trial::start() {
  if (Result<void> started = cluster_.start(); !started) return started;
  Result<std::unique_ptr<ConformanceProxy>> proxy = ConformanceProxy::start(
      loop_, cluster_.master(),
      [this](ConformanceProxy::To to, const proto::Message& message) { on_seen(to, message); });
  if (!proxy) return proxy.error();
  proxy_ = *std::move(proxy);
  proxy_->delay(times_.delay);
  return start_scheduler(options_.command);
}

Result<void> Trial::start_scheduler(std::vector<std::string> command) {
  ::setenv("PROFFER_MASTER", proxy_->address().c_str(), 1);
  for (std::string& word : command) word = with_places(std::move(word), proxy_->address());
  how_.reset();
  witness_.process_began();
  return children_.start("scheduler", std::move(command), log_of("scheduler"));
}

Result<void> Trial::start_scheduler_again() {
  return start_scheduler({"/bin/sh", "-c", "exec " + options_.restart_with});
}

// Other programs of the trial connect to the master directly, not through the proxy.
Result<void> Trial::start_shell(const std::string& name, const std::string& command) {
  const std::string master = to_text(cluster_.master());
  ::setenv("PROFFER_MASTER", master.c_str(), 1);
  return children_.start(name, {"/bin/sh", "-c", with_places(command, master)}, log_of(name));
}

void Trial::on_seen(ConformanceProxy::To to, const proto::Message& message) {
  witness_.see(to, message, loop_.now());
  if (options_.work.empty() || work_began_ || witness_.sessions() == 0) return;
  work_began_ = true;
  if (Result<void> started = start_shell("work", options_.work); !started) {
    work_failed_ = started.error().message();
  }
}

void Trial::on_ended(const std::string& name, const std::string& how) {
  if (name == "work" && how != "exit code 0") {
    work_failed_ = text("the command of --work ended with ", how);
    for (const std::string& line : last_lines(log_of("work"))) work_failed_ += ": " + line;
  }
  if (name != "scheduler") return;
  how_ = how;
  witness_.process_ended(loop_.now());
}

Result<void> Trial::start_rival() {
  const Result<Resources> each = parse_agent_resources(options_.resources);
  if (!each) return each.error();
  const ResourceVector& has = each->amounts;
  const std::string cpus = print_milli(has[ResourceKind::kCpus]);
  const std::string mem = print_milli(has[ResourceKind::kMem]);
  const Result<Quota> all = parse_quota(text("cpus:", print_milli(2 * has[ResourceKind::kCpus]),
                                             ";mem:", print_milli(2 * has[ResourceKind::kMem])));
  if (!all) return all.error();
  const proto::RoleSetCall setting{.role = RoleName(std::string(kRivalRole)), .guarantee = *all};
  const Result<CallResult> answer =
      call({cluster_.master()}, "role_set", proto::role_set_call_json(setting));
  if (!answer) return answer.error();
  std::error_code ignored;
  const std::string self = fs::read_symlink("/proc/self/exe", ignored);
  return start_shell(
      "rival", text("exec '", self, "' run --name rival --role ", kRivalRole, " --count 2 --cpus ",
                    cpus, " --mem ", mem, " -- exec sleep 1000"));
}

Result<void> Trial::drain(const AgentId& agent) {
  const Result<CallResult> answer =
      call({cluster_.master()}, "drain",
           proto::drain_call_json({.agent = agent, .grace = times_.revoke_grace}));
  if (!answer) return answer.error();
  return {};
}

// An executor has an executor's id and a sandbox of this trial in its environment. A task's own
// processes do not get the id.
bool Trial::kill_executor(const TaskId& task) const {
  const std::string executor = witness_.executor_of(task).str();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // Variables are separated by zero bytes.
    const std::string environment = std::string(1, '\0') + content_of(entry.path() / "environ");
    const auto has = [&](const std::string& variable) {
      return environment.find(std::string(1, '\0') + variable) != std::string::npos;
    };
    if (!has("PROFFER_EXECUTOR_ID=" + executor + std::string(1, '\0'))) continue;
    if (!has("PROFFER_SANDBOX=" + dir_ + "/")) continue;
    return ::kill(static_cast<pid_t>(std::atoi(name.c_str())), SIGKILL) == 0;
  }
  return false;
}

std::optional<std::vector<TaskId>> Trial::living_tasks() const {
  const Result<std::vector<proto::TaskRow>> rows =
      call_list<proto::TaskRow>({cluster_.master()}, "tasks", {}, proto::parse_tasks);
  if (!rows) return std::nullopt;
  std::vector<TaskId> living;
  for (const proto::TaskRow& row : *rows) {
    if (row.framework == witness_.framework()) living.push_back(row.task);
  }
  return living;
}

// --- waits and kills -----------------------------------------------------------------------------

bool Trial::wait(Duration at_most, const std::function<bool()>& ready) {
  return turn_until(loop_, at_most, ready);
}

void Trial::await_work() {
  wait(kWork, [this] { return witness_.launches() > 0 || witness_.is_wrong() || has_ended(); });
}

bool Trial::hold_after(ConformanceProxy::Matches matches) {
  proxy_->hold_after(std::move(matches));
  wait(kWork, [this] { return proxy_->is_holding() || has_ended(); });
  return proxy_->is_holding();
}

void Trial::settle(Duration at_least, const std::function<bool()>& is_enough) {
  const Time began = loop_.now();
  wait(at_least + kBusy, [&] {
    if (has_ended() || witness_.is_wrong() || (is_enough && is_enough())) return true;
    const Time now = loop_.now();
    return now - began >= at_least && now - witness_.last_active() >= kQuiet;
  });
}

Outcome Trial::judge(const std::string& seen, std::vector<std::string> wrong) {
  for (std::string& one : witness_.complaints(loop_.now())) wrong.push_back(std::move(one));
  if (how_ && how_->starts_with("signal")) wrong.push_back("it died of " + *how_);
  if (!work_failed_.empty()) wrong.push_back(work_failed_);
  if (std::string lost = lost_tasks(); !lost.empty()) wrong.push_back(std::move(lost));
  if (wrong.empty()) {
    return {.seen = text(seen, seen.empty() ? "" : ", ", how_it_stands())};
  }
  std::string all;
  for (size_t i = 0; i < std::min(wrong.size(), kFaultsNamed); ++i) {
    all += text(i == 0 ? "" : "; ", wrong[i]);
  }
  if (wrong.size() > kFaultsNamed) all += text("; and ", wrong.size() - kFaultsNamed, " more");
  return failed(std::move(all));
}

Outcome Trial::failed(std::string why) const {
  return {.verdict = Verdict::kFailed, .seen = std::move(why), .output = last_output()};
}

void Trial::end_scheduler(int signal) {
  if (!children_.is_running("scheduler")) return;
  children_.signal("scheduler", signal);
  wait(kEndTimeout, [this] { return !children_.is_running("scheduler"); });
}

std::vector<std::string> Trial::last_output() const { return last_lines(log_of("scheduler")); }

std::string Trial::how_it_stands() const {
  std::string now;
  if (how_) {
    now = "ended with " + *how_;
  } else if (loop_.now() - witness_.last_active() >= kQuiet) {
    now = "steady";
  } else {
    now = "still busy";
  }
  return text(now, "; ", witness_.tasks(), " tasks, ", witness_.updates(),
              " updates, all acknowledged");
}

// Tasks whose end the scheduler has not heard, and that the master does not know as alive. The
// master's updates may still be in flight: a task is lost only if this lasts.
std::string Trial::lost_tasks() {
  if (has_ended() || witness_.torn_down()) return {};
  std::vector<TaskId> lost = witness_.open_tasks();
  const auto is_gone = [&](const std::vector<TaskId>& from, const TaskId& task) {
    return std::find(from.begin(), from.end(), task) == from.end();
  };
  const Time began = loop_.now();
  while (!lost.empty()) {
    const std::optional<std::vector<TaskId>> living = living_tasks();
    if (!living) return {};
    const std::vector<TaskId> open = witness_.open_tasks();
    std::erase_if(
        lost, [&](const TaskId& task) { return is_gone(open, task) || !is_gone(*living, task); });
    if (lost.empty()) break;
    if (loop_.now() - began >= kOnItsWay) {
      return text("received no final update of ", lost.size(), " of its tasks (",
                  lost.front().str(), lost.size() > 1 ? ", …)" : ")");
    }
    wait(kLookAgain, [this] { return has_ended(); });
    if (has_ended()) break;
  }
  return {};
}

}  // namespace proffer::cli
