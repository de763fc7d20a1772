#pragma once

// A real ZooKeeper server of Debian's package, on a free port of loopback, with its data in a
// directory of its own. It ends with the object.

#include <memory>
#include <string>
#include <vector>

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
  // Where its data and its log are.
  const std::string& directory() const { return home_.path(); }

 private:
  friend class ZooKeeperEnsemble;
  explicit ZooKeeperServer(int port) : port_(port) {}
  // The answer to a word of four letters, or its beginning; empty: none.
  std::string answer_to(const std::string& word) const;
  std::string log() const { return home_ / "log"; }
  bool answers() const;
  bool try_to_start();

  TemporaryDirectory home_;
  int port_ = 0;
  std::string ensemble_;  // lines of its configuration
  std::unique_ptr<Process> process_;
};

// Three servers that agree on everything, on loopback. One that has lost the others goes on to
// answer reads for 30 s.
class ZooKeeperEnsemble {
 public:
  // Waits until all serve.
  ZooKeeperEnsemble();

  // From 0 to 2.
  ZooKeeperServer& server(int i) { return *servers_[i]; }
  // One that does not lead the others.
  ZooKeeperServer& follower();
  // All but that one.
  std::vector<ZooKeeperServer*> others_than(const ZooKeeperServer& one);

 private:
  std::vector<std::unique_ptr<ZooKeeperServer>> servers_;
};

}  // namespace proffer::test
