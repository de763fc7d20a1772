#pragma once

// Operators of a cluster that fails: one beside each master asks whether it leads and in which
// epoch, writes to the registry, and reads what is there. All that is asked and answered is written
// down for registry_oracle.h, which judges it.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/kill/record.h"

namespace proffer::test {

class Operators {
 public:
  // `sockets`: of the masters. Operator i writes to role "chaos-i" and reserves of the agent
  // "agent-i", from 1; `records` is the file.
  Operators(const std::vector<std::string>& sockets, const std::string& records);
  // Waits for what has been asked.
  ~Operators();
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  // The number of the master that answered last as the leader, from 1; 0: none has yet.
  int leading() const { return leading_; }
  void stop() { is_over_ = true; }

 private:
  void run(int number, const std::string& socket);
  // The epoch that the master at this socket leads in; -1: it does not say that it leads.
  int64_t look(int number, const std::string& socket);
  void read(int number, const std::string& socket);

  const RecordFile records_;
  const int count_;
  std::atomic<int> leading_ = 0;
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace proffer::test
