#pragma once

// A network of machines (tests/machines/machines.h) whose packets pass through this process. Each
// direction between two machines can be delayed or dropped separately. Each machine has a TUN
// device with one address; a thread forwards the packets. Needs root and /dev/net/tun.

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/fd.h"
#include "tests/machines/machines.h"

namespace proffer::test {

// The treatment of packets from one machine to another.
struct Way {
  bool swallows = false;
  int delay_millis = 0;
};

class Network {
 public:
  Network();
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // False if TUN devices are not available.
  static bool is_possible();

  // The machine's address is 10.240.0.NUMBER, with NUMBER from 1 to 254. Call it before start().
  void join(const Machine& machine, int number);
  // Starts to forward packets.
  void start();
  static std::string address(int number);

  // Sets the treatment of packets sent from now on, and replaces an earlier one for the same two
  // machines. 0 means all machines. Any thread may call it.
  void set(int from, int to, Way way);

 private:
  struct Port {
    int number = 0;
    Fd device = {};
  };
  struct Packet {
    int64_t due = 0;
    size_t port = 0;
    std::string bytes = {};
  };

  void run();
  void pass_on(size_t from);
  void deliver_those_due();
  Way way(int from, int to);

  std::vector<Port> ports_;
  std::mutex mutex_;  // guards ways_
  std::vector<std::vector<Way>> ways_;
  std::deque<Packet> waiting_;  // by due
  Fd wake_up_;
  std::thread thread_;
};

}  // namespace proffer::test
