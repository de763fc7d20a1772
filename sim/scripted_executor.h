#pragma once

// An executor on the production driver core, whose tasks follow a script in virtual time.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/prng.h"
#include "sdk/core/executor_driver.h"
#include "sim/executor_process.h"
#include "sim/sim_task.h"

namespace proffer::sim {

// The behaviour of a task in place of real work, for programs that do more than sleep. The script
// is chosen when the task starts; it has the run time and the final update.
struct TaskScript {
  SimTask task = {};
  std::string data = {};        // of the terminal update
  std::string first_data = {};  // of the update `running`
  // The results of its health check: healthy or not, by time after its start.
  std::vector<std::pair<Duration, bool>> health = {};
  // Its messages to its scheduler, by time after its start.
  std::vector<std::pair<Duration, std::string>> messages = {};
};
using TaskScripts =
    std::function<TaskScript(const proto::RunTask& run, const AgentId& machine, Prng& chance)>;

class ScriptedExecutor final : public ExecutorProcess, public Caller {
 public:
  using ExecutorProcess::ExecutorProcess;

  std::optional<Time> next_deadline() const override { return driver_->next_deadline(); }
  void tick() override { step(sdk::ExecutorTick{}); }
  std::vector<Violation> violations() const override { return driver_->violations(); }

  void on_line_connected() override { step(sdk::AgentConnected{}); }
  void on_line_frame(proto::Envelope envelope) override {
    step(sdk::AgentFrame{std::move(envelope)});
  }
  void on_line_disconnected(const std::string& reason) override;

 protected:
  void on_begin() override;
  void on_killed() override { driver_.reset(); }

 private:
  struct Task {
    SimTask task = {};
    std::string data = {};
    bool shared = false;  // its executor continues after it
    bool killing = false;
    bool deaf = false;  // it ignores the kill
  };

  void step(const sdk::ExecutorDriverEvent& event);
  void carry_out(const sdk::ExecutorDriverAction& action);
  void start_task(const proto::RunTask& run);
  void end_task(const TaskId& task, Duration grace);
  void end_all();
  void end_now(const TaskId& task, Ending ending);
  void leave_if_idle();

  std::unique_ptr<sdk::ExecutorDriver> driver_;
  std::map<TaskId, Task> tasks_;
  uint64_t idle_serial_ = 0;
  bool leaving_ = false;
};

}  // namespace proffer::sim
