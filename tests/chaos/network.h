#pragma once

// A network of machines (tests/machines/machines.h) whose packets pass through this process, so
// that the way from one machine to another can be slow, or swallow everything, in each direction
// alone. Each machine has a TUN device with one address; a thread passes the packets on. Needs
// root and /dev/net/tun.

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/fd.h"
#include "tests/machines/machines.h"

namespace proffer::test {

// What becomes of a packet from one machine to another.
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

  // False: there are no TUN devices here.
  static bool is_possible();

  // The machine's address is 10.240.0.NUMBER, from 1 to 254. Before start().
  void join(const Machine& machine, int number);
  // Packets pass from now on.
  void start();
  static std::string address(int number);

  // Of packets that begin their way from now on; 0: all machines. What was set before for the same
  // two machines is replaced. Any thread.
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
  std::mutex mutex_;  // of ways_
  std::vector<std::vector<Way>> ways_;
  std::deque<Packet> waiting_;  // by due
  Fd wake_up_;
  std::thread thread_;
};

}  // namespace proffer::test
