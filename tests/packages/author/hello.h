#pragma once

// A framework that says hello a few times.

#include <iostream>

#include <proffer/sdk/scheduler.h>

namespace hello {

// Installs the callbacks; `left` tasks have not finished yet.
inline void say_hello(proffer::sdk::Scheduler& self, int& left) {
  self.ask("echo", "cpus:0.1;mem:32", left);
  self.on_offer([&](const proffer::Offer& offer) { self.launch(offer, "echo hello"); });
  self.on_update([&](const proffer::proto::TaskStatus& task) {
    std::cout << task.task.str() << " is " << to_text(task.state) << std::endl;
    // The ask repeats a refused launch; any other failure ends the program.
    using enum proffer::proto::TaskState;
    if (!is_terminal(task.state) || task.state == kRefused) return;
    if (task.state != kFinished) self.stop(1);
    if (--left == 0) self.stop();
  });
}

}  // namespace hello
