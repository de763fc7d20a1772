#pragma once

// The lag of a leaf or an ask: how far it is behind its entitlement. It is the integral of
//
//   (entitled - used) / entitled
//
// over the time in which it waits, so it is in seconds of its own entitlement: a leaf that is
// entitled to 10 CPUs and used 5 for 60 s while it waited has a lag of 30 s. The lag of fair
// queueing is the same difference between the ideal service and the real one (Stoica et al., A
// Proportional Share Resource Allocation Algorithm for Real-Time, Time-Shared Systems, RTSS 1996).
//
// Use beyond the entitlement lowers the lag, to zero at the least: use of resources that others
// leave costs nothing later. When the wait ends the lag is zero again: all that was wanted was
// given, and in fair queueing a flow without a backlog keeps neither credit nor debt.
//
// A standing is constant from one note() to the next, so nothing is computed between them. The
// integral is exact but for one rounding, to whole nanoseconds, at each change of the standing.

#include <algorithm>
#include <cstdint>

#include "common/time.h"

namespace proffer::fair {

class Lag {
 public:
  // Amounts of one unit, not negative. Of one that does not wait, both are zero.
  struct Standing {
    bool waits = false;  // it has unmet demand that some agent could meet
    int64_t entitled = 0;
    int64_t used = 0;
    bool operator==(const Standing&) const = default;
  };

  // From now on it stands so.
  void note(Time now, const Standing& standing) {
    if (standing == standing_) return;
    const Duration lag = at(now);
    most_ = std::max(most_, lag);
    before_ = standing.waits ? lag : Duration();
    since_ = now;
    standing_ = standing;
  }
  bool waits() const { return standing_.waits; }
  // If it stands as it was noted last; `now` is not before that.
  Duration at(Time now) const {
    if (!standing_.waits) return {};
    const int64_t lacking = standing_.entitled - standing_.used;
    const int64_t time = (now - since_).nanos();
    if (lacking == 0 || time == 0) return before_;
    // Without an entitlement, any use is beyond it.
    const int64_t entitled = std::max<int64_t>(standing_.entitled, 1);
    Int128 more = 0;
    if (int64_t product = 0; !__builtin_mul_overflow(lacking, time, &product)) {
      more = product / entitled;
    } else {
      more = Int128(lacking) * time / entitled;
    }
    return nanoseconds(static_cast<int64_t>(std::max<Int128>(before_.nanos() + more, 0)));
  }
  // The greatest until now.
  Duration most_at(Time now) const { return std::max(most_, at(now)); }

 private:
  __extension__ typedef __int128 Int128;

  Standing standing_ = {};
  Time since_ = {};       // it stands so
  Duration before_ = {};  // at `since_`
  Duration most_ = {};    // until `since_`
};

}  // namespace proffer::fair
