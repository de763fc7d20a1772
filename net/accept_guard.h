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

// A peer from this address ("192.0.2.7") had an unknown key. Its connections to any TCP port of
// this process are closed as soon as they are accepted, if there were too many
// (net/strangers.h). Any thread.
void note_stranger(const std::string& address);
// Connections that were closed so. Any thread.
uint64_t strangers_shut();

}  // namespace proffer
