#pragma once

// A scheduler's host on a real machine: an event loop, a Dealer to the master, and a session file.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "proto/codec/codec.h"
#include "sdk/scheduler.h"
#include "sdk/shell/loop_timers.h"
#include "sdk/shell/scheduler_host.h"
#include "sdk/shell/session_file.h"
#include "sdk/shell/watchdog.h"

namespace proffer::sdk {

class LoopHost final : public SchedulerHost {
 public:
  // Ends the program with a message if the session file or the master's address cannot be used.
  explicit LoopHost(const SchedulerOptions& options);
  ~LoopHost() override;

  void set_guest(Guest* guest) override { guest_ = guest; }
  FrameworkId framework() const override;
  Secret secret() const override { return secret_; }
  bool keeps_identity() const override { return session_file_.has_value(); }
  void save_identity(const FrameworkId& framework, const Secret& secret) override;
  void forget_identity() override;
  Time now() const override { return loop_.now(); }
  void arm(std::optional<Time> due) override { timer_.arm(due); }
  void after(Duration duration, std::function<void()> what) override {
    timers_.after(duration, std::move(what));
  }
  void defer(std::function<void()> what) override { loop_.defer(std::move(what)); }
  void work(std::function<void()> work, std::function<void()> done) override;
  void on_signal(int signal, std::function<void()> what) override;
  void post(std::function<void()> what) override { loop_.post(std::move(what)); }
  Result<std::shared_ptr<void>> watch(int descriptor, WatchEvents wanted,
                                      std::function<void(WatchEvents)> what) override;
  void callback_begins(const char* callback) override { watchdog_.callback_begins(callback); }
  void callback_ends() override { watchdog_.callback_ends(); }
  void connect() override { dealer_.connect(); }
  bool send(const proto::Envelope& envelope) override;
  void reset(const std::string& reason) override { dealer_.reset(reason); }
  void happened(const TraceEvent& event) override;
  void warn(std::string_view what) override;
  void refused(const Error& error, bool is_handled) override;
  void on_command(const Command&) override {}
  bool hears(const Notification&) override { return true; }
  void run() override { loop_.run(); }
  void leave(int exit_code) override;

 private:
  void on_frame(std::span<const std::byte> frame);
  void on_failed(const std::string& reason);

  // Owned by the author's Watch; may outlive this host.
  struct Watched {
    std::unique_ptr<FdWatcher> watcher;
  };

  Masters masters_;
  std::optional<SessionFile> session_file_;
  Secret secret_;
  Guest* guest_ = nullptr;
  Loop loop_;
  proto::Encoder encoder_;
  Timer timer_;
  Dealer dealer_;
  LoopTimers timers_;
  std::map<int, std::weak_ptr<Watched>> watched_;
  bool was_told_unreachable_ = false;
  std::map<std::string_view, Time> complained_;
  Watchdog watchdog_;
};

}  // namespace proffer::sdk
