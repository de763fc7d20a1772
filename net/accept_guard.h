#pragma once

// Inside net only: what this process does before libzmq has a connection that it accepted.

#include <cstdint>
#include <string>

namespace proffer {

// Call once before libzmq listens: libzmq 4.3.4 aborts the process if accept() finds no descriptor
// left at a Unix socket (ipc_listener.cpp), so that any user who may connect could end it; at a TCP
// port it tries again and again. From then on such a connection is taken with a descriptor that is
// held in reserve, and shut at once; libzmq is told that its peer had gone.
void guard_accept();

// Connections are closed as soon as they are accepted if their address, or on this machine their
// user, has used up its allowance (net/allowances.h). All of these may be called by any thread.

// A peer from this address ("192.0.2.7") had an unknown key.
void note_stranger(const std::string& address);
// This user made so much work that it counts for so many connections.
void charge_arrivals(uint32_t uid, int64_t count);

struct ConnectionsRefused {
  uint64_t of_strangers = 0;
  uint64_t of_users = 0;
  bool operator==(const ConnectionsRefused&) const = default;
};
ConnectionsRefused connections_refused();

}  // namespace proffer
