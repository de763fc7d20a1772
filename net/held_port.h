#pragma once

// A port that this process will serve later: nobody can connect to it yet, and it is known to be
// free.

#include "common/result.h"
#include "net/address.h"
#include "net/fd.h"

namespace proffer {

class HeldPort {
 public:
  // `at` is a numeric address of this machine with a port; 0: any free one. Errors:
  // kInvalidArgument (not numeric), kFailedPrecondition (in use, or no such local address).
  static Result<HeldPort> take(const Address& at);

  // With the port that is held. While it is, this process, or another that does not mind to take
  // it away (SO_REUSEADDR), can listen there.
  const Address& address() const { return address_; }

 private:
  HeldPort(Fd socket, Address address);

  Fd socket_;
  Address address_;
};

}  // namespace proffer
