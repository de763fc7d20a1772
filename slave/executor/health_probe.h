#pragma once

// Runs a task's health check, one at a time: an HTTP GET or a connection to its port on this
// machine, or a command in its sandbox.

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "net/fd.h"
#include "net/loop.h"
#include "slave/executor/health.h"

namespace proffer::executor {

struct HealthProbeOptions {
  proto::HealthCheck check = {};
  uint16_t port = 0;  // the check's named port; for http and tcp
  // For a command: the task's own environment. The command's output is discarded.
  std::vector<std::string> environment = {};
  std::string sandbox = {};
};

// Loop thread. The destructor cancels the running check and kills its command.
class HealthProbe {
 public:
  HealthProbe(Loop& loop, HealthProbeOptions options, std::function<void(const Looked&)> on_looked);
  ~HealthProbe();
  HealthProbe(const HealthProbe&) = delete;
  HealthProbe& operator=(const HealthProbe&) = delete;

  // Begins a check; no other may be running. `on_looked` follows within the check's timeout,
  // possibly from within this call.
  void look();

  // The owner of the process waits for its children. This is the pid of the check's command until
  // on_command_ended(); 0: none runs.
  pid_t command() const { return command_; }
  // It has ended, with this status of waitpid.
  void on_command_ended(int wait_status);

 private:
  void connect_to_port();
  void run_command();
  void on_ready();
  bool has_connected();
  void send_request();
  void receive_answer();
  void on_timeout();
  void finish(Looked looked);

  Loop& loop_;
  const HealthProbeOptions options_;
  const std::function<void(const Looked&)> on_looked_;
  bool looking_ = false;
  Timer timeout_;

  Fd socket_;
  std::unique_ptr<FdWatcher> watcher_;  // of socket_
  bool connected_ = false;
  std::string request_;  // the unsent part
  std::string answer_;   // at most kStatusLineBytesMax and one read

  pid_t command_ = 0;  // also its process group
};

}  // namespace proffer::executor
