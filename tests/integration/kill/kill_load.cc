// kill_load --dir=DIR --name=NAME --seed=N --master=… --session_file=…: the scheduler of a kill
// storm or of chaos. It launches many short tasks of mixed shapes. It records each intention before
// it sends it, and each update before it is acknowledged. It is killed at any time, and its next
// run reads that file. When DIR/drain exists it launches no more tasks, and ends when every launch
// of all its runs has ended. If a newer process with the same framework has replaced it, it ends
// with exit code 7.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "common/prng.h"
#include "common/text.h"
#include "sdk/scheduler.h"
#include "tests/integration/kill/record.h"

namespace {

using namespace proffer;

std::string flag(int argc, char** argv, const std::string& name) {
  const std::string begin = "--" + name + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).substr(0, begin.size()) == begin) return argv[i] + begin.size();
  }
  std::cerr << "kill_load needs " << begin << std::endl;
  std::exit(2);
}

struct Shape {
  const char* name;
  int64_t cpus_milli;
  int64_t mem;
  int64_t ports;
};
constexpr Shape kShapes[] = {
    {"small", 250, 32, 0}, {"medium", 500, 96, 0}, {"large", 1'500, 320, 0}, {"port", 250, 32, 1}};
constexpr int kReplaced = 7;
constexpr int64_t kWanted = 100'000;  // of each shape: always more than fits

std::string or_dash(const std::optional<int32_t>& number) {
  return number ? std::to_string(*number) : "-";
}

// The records of earlier runs.
struct Past {
  int64_t lives = 0;
  std::set<TaskId> open;  // launched tasks without a known end
};

Past read_past(const std::string& path) {
  Past past;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word, at, task, state;
    words >> word >> at >> task >> state;
    if (word == "life") ++past.lives;
    if (word == "launch") past.open.insert(TaskId(task));
    if (word != "update") continue;
    for (const auto end :
         {proto::TaskState::kFinished, proto::TaskState::kFailed, proto::TaskState::kKilled,
          proto::TaskState::kLost, proto::TaskState::kGone, proto::TaskState::kRefused}) {
      if (state == to_text(end)) past.open.erase(TaskId(task));
    }
  }
  return past;
}

class Load {
 public:
  Load(int argc, char** argv)
      : dir_(flag(argc, argv, "dir")),
        name_(flag(argc, argv, "name")),
        program_((std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kill_task")),
        past_(read_past(dir_ + "/heard-" + name_)),
        heard_((dir_ + "/heard-" + name_).c_str()),
        prng_(std::strtoull(flag(argc, argv, "seed").c_str(), nullptr, 10) +
              static_cast<uint64_t>(past_.lives) * 1'000'003),
        scheduler_(sdk::options_from(argc, argv, name_, {"dir", "seed"})) {}

  int run() {
    heard_.write("life", std::to_string(getpid()));
    scheduler_.on_subscribed([this](const proto::Subscribed&) { on_subscribed(); });
    scheduler_.on_offer([this](const Offer& offer) { on_offer(offer); });
    scheduler_.on_update([this](const proto::TaskStatus& status) { on_update(status); });
    scheduler_.on_refused([this](const Error& error) {
      if (error.message().find("a newer session of framework") != std::string::npos) {
        heard_.write("replaced", std::to_string(getpid()));
        return scheduler_.detach(kReplaced);
      }
      heard_.write("refused", error.message().substr(0, 80));
      std::cerr << error.message() << std::endl;
    });
    declare();
    look_for_drain();
    return scheduler_.run();
  }

 private:
  void declare() {
    std::vector<Ask> asks;
    for (const Shape& shape : kShapes) {
      asks.push_back({.name = AskName(shape.name),
                      .shape = ResourceVector::of(shape.cpus_milli, shape.mem * 1'000),
                      .count = draining_ ? 0 : kWanted,
                      .ports = shape.ports});
    }
    if (draining_) asks.clear();
    scheduler_.ask_all(std::move(asks));
  }

  // Launches of earlier runs may have been lost with them, and the driver cannot know of them. When
  // another run's session is over, everything that it acknowledged is in the file.
  void on_subscribed() {
    if (std::exchange(asked_, true)) return;
    past_.open = read_past(dir_ + "/heard-" + name_).open;
    scheduler_.reconcile({past_.open.begin(), past_.open.end()});
  }

  void on_offer(const Offer& offer) {
    std::vector<proto::TaskSpec> tasks;
    for (const AskFill& fill : offer.fills) {
      const auto shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                      [&](const Shape& s) { return fill.ask == AskName(s.name); });
      if (shape == std::end(kShapes) || draining_) continue;
      for (int64_t i = 0; i < fill.count; ++i) tasks.push_back(next_task(*shape, offer.agent));
    }
    scheduler_.accept(offer, std::move(tasks));
  }

  proto::TaskSpec next_task(const Shape& shape, const AgentId& agent) {
    // Two runs may be active at the same time.
    const TaskId id(text(name_, "-", past_.lives, "-", ++launches_));
    const int64_t kind = prng_.between(1, 100);
    const int64_t millis = kind <= 50   ? 50
                           : kind <= 80 ? prng_.between(100, 600)
                           : kind <= 95 ? prng_.between(1'000, 3'000)
                                        : prng_.between(4'000, 6'000);
    const int64_t ending = prng_.between(1, 10);
    const std::string how = ending <= 6   ? "exit:0"
                            : ending <= 9 ? text("exit:", prng_.between(1, 120))
                                          : text("signal:", prng_.chance(1, 2) ? 15 : 9);
    const std::string cpus = std::to_string(shape.cpus_milli);
    const std::string mem = std::to_string(shape.mem);
    proto::TaskSpec task{
        .id = id,
        .ask = AskName(shape.name),
        .shape = ResourceVector::of(shape.cpus_milli, shape.mem * 1'000),
        .command = text("exec ", program_, " ", dir_, "/journal ", cpus, " ", mem, " ", millis, " ",
                        how, prng_.chance(1, 12) ? " orphan" : ""),
        .kill_grace = milliseconds(500)};
    if (shape.ports > 0) task.port_names = {"main"};
    past_.open.insert(id);
    heard_.write("launch", text(id.str(), " ", agent.str(), " ", cpus, " ", mem, " ", shape.ports));
    if (millis >= 1'000 && prng_.chance(1, 4)) {
      scheduler_.after(milliseconds(prng_.between(100, 1'500)), [this, id] {
        if (past_.open.count(id) == 0) return;
        heard_.write("kill", id.str());
        scheduler_.kill(id);
      });
    }
    return task;
  }

  void on_update(const proto::TaskStatus& status) {
    heard_.write("update",
                 text(status.task.str(), " ", to_text(status.state), " ", to_text(status.reason),
                      " ", or_dash(status.exit_code), " ", or_dash(status.signal), " ",
                      status.source == proto::UpdateSource::kAgent ? "agent" : "master", " ",
                      status.sequence, " ", getpid()));
    if (status.reason == proto::TaskReason::kLaunchFailed) {
      std::cerr << status.task.str() << ": " << status.message << std::endl;
    }
    if (!is_terminal(status.state)) return;
    past_.open.erase(status.task);
    leave_if_done();
  }

  void look_for_drain() {
    if (!draining_ && ::access((dir_ + "/drain").c_str(), F_OK) == 0) {
      draining_ = true;
      declare();
      // A run beside this one may have launched tasks since this one read the file.
      past_.open = read_past(dir_ + "/heard-" + name_).open;
      if (!past_.open.empty()) scheduler_.reconcile({past_.open.begin(), past_.open.end()});
      leave_if_done();
    }
    scheduler_.after(milliseconds(50), [this] { look_for_drain(); });
  }

  // The framework stays: the storm checks the cluster's state after everything has ended.
  void leave_if_done() {
    if (!draining_ || !past_.open.empty()) return;
    heard_.write("settled", "");
    scheduler_.detach();
  }

  const std::string dir_;
  const std::string name_;
  const std::string program_;
  Past past_;
  const test::RecordFile heard_;
  Prng prng_;
  sdk::Scheduler scheduler_;
  int64_t launches_ = 0;
  bool draining_ = false;
  bool asked_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  Load load(argc, argv);
  return load.run();
}
