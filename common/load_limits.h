#pragma once

// Maxima like those of common/limits.h: how much one user, one peer or one agent may cost the
// others.

#include <cstddef>
#include <cstdint>

#include "common/time.h"

namespace proffer {

// Data of one user that waits for its turn in the master's loop. Above it, reading pauses for root,
// for the master's own user, and for peers without a proven user; for other users, calls are
// refused and sessions end.
inline constexpr size_t kWaitingPerUserMax = 20'000;  // frames
inline constexpr size_t kWaitingBytesPerUserMax = size_t{64} << 20;
inline constexpr size_t kWaitingBytesMax =
    8 * kWaitingBytesPerUserMax;  // of all; then reading pauses
// The loop's time that a user whose frames may be shed has at once, and its permanent share of it,
// for frames that make no progress: each task that is launched or changes its state gives some time
// back. The bytes of a frame also cost time, of libzmq's thread (ADR 0139).
inline constexpr Duration kLoopTimeAtOnce = milliseconds(250);
inline constexpr int64_t kLoopPercentPerUser = 25;
inline constexpr Duration kLoopTimePerTask = microseconds(100);
inline constexpr Duration kLoopTimePerKib = microseconds(1);
// Bounds of one connection: waiting calls, above which calls are refused; and answers that it does
// not read, in addition to those in libzmq, above which it is dropped.
inline constexpr size_t kCallsPerPeerMax = 256;
inline constexpr size_t kUnreadBytesPerPeerMax = size_t{4} << 20;
inline constexpr size_t kReadAheadPerTurn = 4'096;  // frames of all peers
// Frames of one peer in libzmq, which counts frames and not their bytes. Above it, TCP holds its
// sender back, or the Router's own queue begins.
inline constexpr int kReceiveQueueFrames = 64;
inline constexpr int kSendQueueFrames = 128;
// Handshakes with unknown keys from one address: at once, and per second. Beyond them its
// connections are closed when they come.
inline constexpr int64_t kStrangersBurst = 50;
inline constexpr int64_t kStrangersPerSecond = 5;
// Connections of one user of this machine to the Unix sockets, except root and the daemon's own
// user: at once, and per second. A connection that sent parts of a message without end, left its
// answers unread, or went on after many refused calls of its user, costs as much as ten seconds of
// them. A connection whose session was shed costs one second.
inline constexpr int64_t kArrivalsBurst = 2'000;
inline constexpr int64_t kArrivalsPerSecond = 500;
inline constexpr int64_t kMisusedArrivals = 10 * kArrivalsPerSecond;
inline constexpr int64_t kShedArrivals = kArrivalsPerSecond;
inline constexpr int64_t kRefusedCallsBurst = 4'096;
inline constexpr int64_t kRefusedCallsPerSecond = 500;
inline constexpr size_t kAllowancesMax = 4'096;  // names that are remembered, for each kind

// If an agent sends no update for a task for this time, the task is given up. Agents report the
// tasks that they are still starting several times as often.
inline constexpr Duration kTaskStartTimeout = minutes(10);
inline constexpr Duration kStartingReport = minutes(1);
// After this many consecutive missed starts, the agent is not offered for the same time. The pause
// doubles each time, up to this multiple of the timeout.
inline constexpr int64_t kMissedStartsMax = 3;
inline constexpr int64_t kMissedStartsPauseMax = 12;

}  // namespace proffer
