#pragma once

// Checks of hosts that a peer on another machine gives as its own. The hosts are text; no name is
// looked up.

#include <string_view>

namespace proffer::master {

// `host` is numeric, as the kernel prints the address of a connection.
bool is_of_this_machine(std::string_view host);

// Whether others could reach a machine by this host, without brackets. Not a loopback, unspecified,
// link-local or multicast address, in any form that a resolver takes for a number, nor "localhost".
bool may_be_reached(std::string_view host);

}  // namespace proffer::master
