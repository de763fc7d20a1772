#pragma once

// Stands between a master and its ZooKeeper server, where a real cluster has stunnel: passes bytes
// on, late, or not until later, or ends all connections. It has a thread of its own.

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
  // `server` is "127.0.0.1:PORT"; `listener` listens where clients come.
  Relay(const std::string& server, Fd listener);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Where clients connect: "127.0.0.1:PORT".
  std::string address() const;

  // All of these: any thread.
  // What comes from now on is passed on so much later.
  void delay(int millis);
  // Bytes wait here until they are let go on, as packets that are lost are sent again: those to the
  // server, those to the clients, or both.
  void hold(bool to_server, bool to_clients);
  // Ends all connections.
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
  // Of the thread.
  Loop* loop_ = nullptr;
  std::unique_ptr<Timer> timer_;
  Duration delay_ = {};
  bool holds_to_server_ = false;
  bool holds_to_clients_ = false;
  std::list<Link> links_;
  std::thread thread_;
};

}  // namespace proffer::test
