#pragma once

// Signals to a command that shows the progress of a job: caught here, and handled between requests.

namespace proffer::batch {

// The exit code of a command that ends by a signal is this plus the signal's number.
inline constexpr int kSignalCode = 128;

// From now on SIGINT, SIGTERM and SIGHUP do not end the process by themselves.
void catch_signals();
// The last signal since the last call; 0: none.
int take_signal();
// Waits for input or a signal, also one that came before this call. True: the descriptor has
// something to read (or its end); false: a signal came, and is taken.
bool wait_for_input(int fd);

}  // namespace proffer::batch
