#pragma once

// A real ZooKeeper server of Debian's package, on a free loopback port, with its data in a
// directory of its own. It ends with this object.

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
  // Kills it, as a power failure would; the data remains.
  void kill();
  // Starts it on the same port, with the existing data.
  void start();
  pid_t pid() const { return process_->pid(); }
  // The directory of its data and its log.
  const std::string& directory() const { return home_.path(); }

 private:
  friend class ZooKeeperEnsemble;
  explicit ZooKeeperServer(int port) : port_(port) {}
  // The answer to a four-letter word, or its beginning; empty if there is none.
  std::string answer_to(const std::string& word) const;
  std::string log() const { return home_ / "log"; }
  bool answers() const;
  bool try_to_start();

  TemporaryDirectory home_;
  int port_ = 0;
  std::string ensemble_;  // lines of its configuration
  std::unique_ptr<Process> process_;
};

// An ensemble of three servers on loopback. A server that has lost the others still answers reads
// for 30 s.
class ZooKeeperEnsemble {
 public:
  // Waits until all serve.
  ZooKeeperEnsemble();

  // From 0 to 2.
  ZooKeeperServer& server(int i) { return *servers_[i]; }
  // A server that is not the ensemble's leader.
  ZooKeeperServer& follower();
  // All servers except this one.
  std::vector<ZooKeeperServer*> others_than(const ZooKeeperServer& one);

 private:
  std::vector<std::unique_ptr<ZooKeeperServer>> servers_;
};

}  // namespace proffer::test
