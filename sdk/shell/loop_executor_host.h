#pragma once

// An executor's host on a real machine: an event loop, and a connection to the agent that the
// environment names.

#include <span>
#include <string>

#include "net/local_client.h"
#include "net/loop.h"
#include "proto/codec/codec.h"
#include "sdk/shell/executor_host.h"
#include "sdk/shell/loop_timers.h"

namespace proffer::sdk {

class LoopExecutorHost final : public ExecutorHost {
 public:
  // Ends the program with a message if the environment is not as an agent sets it.
  LoopExecutorHost();

  void set_guest(Guest* guest) override { guest_ = guest; }
  FrameworkId framework() const override { return framework_; }
  ExecutorId executor() const override { return executor_; }
  Secret token() const override { return token_; }
  uint64_t first_run() const override { return first_run_; }
  Time now() const override { return loop_.now(); }
  void arm(std::optional<Time> due) override { timer_.arm(due); }
  void after(Duration duration, std::function<void()> what) override {
    timers_.after(duration, std::move(what));
  }
  void defer(std::function<void()> what) override { loop_.defer(std::move(what)); }
  void work(std::function<void()> work, std::function<void()> done) override {
    loop_.work(std::move(work), std::move(done));
  }
  void on_signal(int signal, std::function<void()> what) override {
    loop_.on_signal(signal, std::move(what));
  }
  void connect() override { agent_.connect(); }
  bool send(const proto::Envelope& envelope) override;
  void reset(const std::string& reason) override { agent_.reset(reason); }
  void warn(std::string_view what) override;
  bool starts(const proto::RunTask&) override { return true; }
  void says(const proto::TaskStatus&) override {}
  void run() override { loop_.run(); }
  void leave(int exit_code, bool is_all_acknowledged) override;

 private:
  void on_frame(std::span<const std::byte> frame);

  FrameworkId framework_;
  ExecutorId executor_;
  Secret token_;
  uint64_t first_run_;
  Guest* guest_ = nullptr;
  Loop loop_;
  proto::Encoder encoder_;
  Timer timer_;
  LocalClient agent_;
  LoopTimers timers_;
};

}  // namespace proffer::sdk
