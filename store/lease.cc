#include "store/lease.h"

namespace proffer {

std::optional<Time> Lease::ends() const {
  if (!answered) return std::nullopt;
  return *answered + session_timeout * 9 / 10;
}

bool Lease::holds(Time now) const {
  const std::optional<Time> until = ends();
  return until && now < *until;
}

Duration Lease::probe_every() const { return session_timeout / 8; }

}  // namespace proffer
