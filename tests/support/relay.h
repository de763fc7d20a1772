#pragma once

// A relay between a master and its ZooKeeper server, in the place of stunnel in a real cluster. It
// forwards bytes, delays or holds them, or closes all connections. It has its own thread.

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include <netinet/in.h>

#include "net/fd.h"
#include "net/loop.h"

namespace proffer::test {

class Relay {
 public:
  // `server` is "127.0.0.1:PORT"; `listener` is the socket for clients.
  Relay(const std::string& server, Fd listener);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The address for clients: "127.0.0.1:PORT".
  std::string address() const;

  // Any thread may call these functions.
  // Delays bytes that arrive from now on.
  void delay(int millis);
  // Holds bytes to the server, to the clients, or both, until they are released, like lost packets
  // that are sent again.
  void hold(bool to_server, bool to_clients);
  // Closes all connections.
  void cut();

 private:
  struct Piece {
    Time due = {};
    std::string bytes = {};
  };
  struct Link {
    Fd client = {};
    Fd server = {};
    std::deque<Piece> to_server = {};
    std::deque<Piece> to_client = {};
    bool is_closed = false;
    std::unique_ptr<FdWatcher> from_client = {};
    std::unique_ptr<FdWatcher> from_server = {};
  };

  void take();
  void receive(Link& link, const Fd& from, std::deque<Piece>& pieces);
  void pass_on();
  static bool send_some(const Fd& to, std::deque<Piece>& pieces, Time now);
  static void close(Link& link);

  sockaddr_in server_{};
  const Fd listener_;
  // Used by the thread only.
  Loop* loop_ = nullptr;
  std::unique_ptr<Timer> timer_;
  Duration delay_ = {};
  bool holds_to_server_ = false;
  bool holds_to_clients_ = false;
  std::list<Link> links_;
  std::thread thread_;
};

}  // namespace proffer::test
