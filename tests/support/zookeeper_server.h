#pragma once

// A real ZooKeeper server of Debian's package, on a free port of loopback, with its data in a
// directory of its own. It ends with the object.

#include <memory>
#include <string>

#include "tests/integration/processes.h"

namespace proffer::test {

class ZooKeeperServer {
 public:
  // Starts it, and waits until it answers.
  ZooKeeperServer();
  ~ZooKeeperServer();
  ZooKeeperServer(const ZooKeeperServer&) = delete;
  ZooKeeperServer& operator=(const ZooKeeperServer&) = delete;

  // "127.0.0.1:41003"
  std::string address() const;
  // As by a loss of power; the data stays.
  void kill();
  // On the same port, with the data that is there.
  void start();
  pid_t pid() const { return process_->pid(); }

 private:
  std::string log() const { return home_ / "log"; }
  bool answers() const;
  bool try_to_start();

  TemporaryDirectory home_;
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace proffer::test
