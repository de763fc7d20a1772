#pragma once

// Maxima of common/limits.h: what one user, one peer or one agent may cost the others.

#include <cstddef>
#include <cstdint>

#include "common/time.h"

namespace proffer {

// What has come from one user and waits for its turn in the master's loop; of root, of the master's
// own user and of peers without a proven user, reading waits then. Of others, calls are refused
// beyond it, and sessions end.
inline constexpr size_t kWaitingPerUserMax = 20'000;  // frames
inline constexpr size_t kWaitingBytesPerUserMax = size_t{64} << 20;
inline constexpr size_t kWaitingBytesMax = 8 * kWaitingBytesPerUserMax;  // of all; reading waits
// Of the loop's time, a user whose frames may be shed has so much at once and such a part for good,
// for whatever moves no task on: each task that is launched or changes its state gives some back.
// The bytes of a frame take time too, of libzmq's thread (ADR 0139).
inline constexpr Duration kLoopTimeAtOnce = milliseconds(250);
inline constexpr int64_t kLoopPercentPerUser = 25;
inline constexpr Duration kLoopTimePerTask = microseconds(100);
inline constexpr Duration kLoopTimePerKib = microseconds(1);
// Of one connection: calls that wait, further ones are refused; and answers that it does not read,
// beside those in libzmq, then it is dropped.
inline constexpr size_t kCallsPerPeerMax = 256;
inline constexpr size_t kUnreadBytesPerPeerMax = size_t{4} << 20;
inline constexpr size_t kReadAheadPerTurn = 4'096;  // frames of all peers
// Of one peer in libzmq, which counts frames and not their bytes: then TCP holds its sender back,
// or the Router's own queue begins.
inline constexpr int kReceiveQueueFrames = 64;
inline constexpr int kSendQueueFrames = 128;
// Handshakes with unknown keys from one address: so many at once, and so many each second. Beyond
// them its connections are closed when they come.
inline constexpr int64_t kStrangersBurst = 50;
inline constexpr int64_t kStrangersPerSecond = 5;
// Connections of one user of this machine to its Unix sockets, but of root and of the daemon's own
// user: so many at once, and so many each second. One that sent parts of a message without end,
// left its answers unread, or went on asking after so many refused calls of its user, counts for
// ten seconds of them; one whose session was shed for one second.
inline constexpr int64_t kArrivalsBurst = 2'000;
inline constexpr int64_t kArrivalsPerSecond = 500;
inline constexpr int64_t kMisusedArrivals = 10 * kArrivalsPerSecond;
inline constexpr int64_t kShedArrivals = kArrivalsPerSecond;
inline constexpr int64_t kRefusedCallsBurst = 4'096;
inline constexpr int64_t kRefusedCallsPerSecond = 500;
inline constexpr size_t kAllowancesMax = 4'096;  // names that are remembered, of each kind

// If an agent says nothing of a task for so long, the task is given up. Agents report the tasks
// that they are still starting several times as often.
inline constexpr Duration kTaskStartTimeout = minutes(10);
inline constexpr Duration kStartingReport = minutes(1);
// After so many missed starts in a row, no framework is offered the agent for the same time. The
// pause doubles each time, up to so many times the timeout.
inline constexpr int64_t kMissedStartsMax = 3;
inline constexpr int64_t kMissedStartsPauseMax = 12;

}  // namespace proffer
