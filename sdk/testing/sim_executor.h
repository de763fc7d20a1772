#pragma once

// The process of an author's own executor in a SimCluster: the host of the Executor, in place of an
// event loop.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/executor.h"
#include "sdk/shell/executor_host.h"
#include "sim/executor_process.h"

namespace proffer::sdk {

class SimExecutor final : public sim::ExecutorProcess, public sim::Caller, public ExecutorHost {
 public:
  SimExecutor(sim::World& world, sim::Network& network, sim::Host& host, sim::ProcessStart start,
              int32_t pid, std::function<void(Executor&)> install);
  ~SimExecutor() override;

  // --- sim::Node, sim::Caller --------------------------------------------------------------------
  std::optional<Time> next_deadline() const override { return deadline_; }
  void tick() override;
  std::vector<Violation> violations() const override;
  void on_line_connected() override;
  void on_line_frame(proto::Envelope envelope) override;
  void on_line_disconnected(const std::string& reason) override;

  // --- ExecutorHost ------------------------------------------------------------------------------
  void set_guest(Guest* guest) override { guest_ = guest; }
  FrameworkId framework() const override { return started_as().framework; }
  ExecutorId executor() const override { return started_as().executor; }
  Secret token() const override { return started_as().token; }
  uint64_t first_run() const override { return started_as().run; }
  Time now() const override { return Node::now(); }
  void arm(std::optional<Time> due) override;
  void after(Duration duration, std::function<void()> what) override;
  void defer(std::function<void()> what) override { after(Duration(), std::move(what)); }
  void work(std::function<void()> work, std::function<void()> done) override;
  // Simulated executors receive no signal but SIGKILL.
  void on_signal(int, std::function<void()>) override {}
  void connect() override;
  bool send(const proto::Envelope& envelope) override;
  void reset(const std::string& reason) override;
  void warn(std::string_view what) override;
  bool starts(const proto::RunTask& run) override;
  void says(const proto::TaskStatus& status) override;
  void run() override {}
  void leave(int exit_code, bool is_all_acknowledged) override;

 protected:
  void on_begin() override;
  void on_killed() override;

 private:
  // Calls into the executor. Its process must not be killed from outside during the call.
  template <class Call>
  void enter(const Call& call);

  std::function<void(Executor&)> install_;
  Guest* guest_ = nullptr;
  std::optional<Time> deadline_;
  bool connected_ = false;  // connect() was called
  int inside_ = 0;
  std::unique_ptr<Executor> executor_;
};

}  // namespace proffer::sdk
