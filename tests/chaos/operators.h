#pragma once

// Operators of a cluster under faults. There is one beside each master: it asks whether the master
// leads and in which epoch, writes to the registry, and reads it. All questions and answers are
// recorded for registry_oracle.h, which judges them.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/kill/record.h"

namespace proffer::test {

class Operators {
 public:
  // `sockets` are those of the masters. Operator i, from 1, writes to role "chaos-i" and makes
  // reservations on "agent-i". `records` is the file.
  Operators(const std::vector<std::string>& sockets, const std::string& records);
  // Waits for outstanding calls.
  ~Operators();
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  // The number, from 1, of the master that last answered as leader; 0: none yet.
  int leading() const { return leading_; }
  void stop() { is_over_ = true; }

 private:
  void run(int number, const std::string& socket);
  // The epoch in which the master at this socket leads; -1 if it does not answer as leader.
  int64_t look(int number, const std::string& socket);
  void read(int number, const std::string& socket);

  const RecordFile records_;
  const int count_;
  std::atomic<int> leading_ = 0;
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace proffer::test
