#pragma once

// One look at a time at a task, as its health check says: an HTTP GET or a connection to its port
// on this machine, or a command in its sandbox.

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
  uint16_t port = 0;  // of the check's name; http and tcp
  // For a command: as the task's own. What it prints goes nowhere.
  std::vector<std::string> environment = {};
  std::string sandbox = {};
};

// Loop thread. Destroyed, it gives up the look that is under way and kills its command.
class HealthProbe {
 public:
  HealthProbe(Loop& loop, HealthProbeOptions options, std::function<void(const Looked&)> on_looked);
  ~HealthProbe();
  HealthProbe(const HealthProbe&) = delete;
  HealthProbe& operator=(const HealthProbe&) = delete;

  // Begins one; no other may be under way. `on_looked` follows, at the latest after the check's
  // timeout and perhaps from within this call.
  void look();

  // The owner of the process waits for its children. This one is a command's, until
  // on_command_ended(); 0: none is.
  pid_t command() const { return command_; }
  // It has ended, as waitpid says.
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
  std::string request_;  // what of it is not sent yet
  std::string answer_;   // at most kStatusLineBytesMax and one read

  pid_t command_ = 0;  // and process group
};

}  // namespace proffer::executor
