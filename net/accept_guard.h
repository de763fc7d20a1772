#pragma once

// Inside net only: libzmq and accept() without a descriptor.

namespace proffer {

// Call once before libzmq listens: libzmq 4.3.4 aborts the process if accept() finds no descriptor
// left at a Unix socket (ipc_listener.cpp), so that any user who may connect could end it; at a TCP
// port it tries again and again. From then on such a connection is taken with a descriptor that is
// held in reserve, and shut at once; libzmq is told that its peer had gone.
void guard_accept();

}  // namespace proffer
