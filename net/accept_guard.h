#pragma once

// Inside net only: checks on each accepted connection before libzmq gets it.

#include <cstdint>
#include <string>

namespace proffer {

// Call once before libzmq listens. libzmq 4.3.4 aborts the process if accept() at a Unix socket
// finds no free descriptor (ipc_listener.cpp), so any user who may connect could end the process;
// at a TCP port it retries without end. With the guard, such a connection is accepted with a
// reserved descriptor and closed at once, and libzmq sees a peer that has disconnected.
void guard_accept();

// A connection is closed as soon as it is accepted if its address, or on this machine its user, has
// used up its allowance (net/allowances.h). Any thread may call these functions.

// A peer from this address ("192.0.2.7") had an unknown key.
void note_stranger(const std::string& address);
// Charges the user's allowance for this many connections, because of the work that it caused.
void charge_arrivals(uint32_t uid, int64_t count);

struct ConnectionsRefused {
  uint64_t of_strangers = 0;
  uint64_t of_users = 0;
  bool operator==(const ConnectionsRefused&) const = default;
};
ConnectionsRefused connections_refused();

}  // namespace proffer
