#pragma once

// Reserves a port that this process will serve later: peers cannot connect to it yet, and it is
// known to be free.

#include "common/result.h"
#include "net/address.h"
#include "net/fd.h"

namespace proffer {

class HeldPort {
 public:
  // `at` is a numeric address of this machine with a port; 0: any free one. Errors:
  // kInvalidArgument (not numeric), kFailedPrecondition (in use, or no such local address).
  static Result<HeldPort> take(const Address& at);

  // Includes the reserved port. Meanwhile this process can listen there; so can another one that
  // uses SO_REUSEADDR.
  const Address& address() const { return address_; }

 private:
  HeldPort(Fd socket, Address address);

  Fd socket_;
  Address address_;
};

}  // namespace proffer
