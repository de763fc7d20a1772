#pragma once

// Signals to a command that shows how a job gets on: caught here, and looked at between questions.

namespace proffer::batch {

// The exit code of a command that ends by a signal is so much more than its number.
inline constexpr int kSignalCode = 128;

// From now on SIGINT, SIGTERM and SIGHUP end nothing by themselves.
void catch_signals();
// The last one that came since this was last called; 0: none.
int take_signal();

}  // namespace proffer::batch
