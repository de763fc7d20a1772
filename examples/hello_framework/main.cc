// The smallest framework: five times "hello" on whatever is offered.

#include <iostream>

#include "sdk/scheduler.h"

using proffer::proto::TaskState;

int main(int argc, char** argv) {
  proffer::sdk::Scheduler hello(proffer::sdk::options_from(argc, argv, "hello"));
  int left = 5;
  hello.ask("echo", "cpus:0.1;mem:32", left);
  hello.on_offer([&](const proffer::Offer& offer) { hello.launch(offer, "echo hello"); });
  hello.on_update([&](const proffer::proto::TaskStatus& task) {
    std::cout << task.task.str() << " is " << to_text(task.state) << std::endl;
    if (task.state == TaskState::kFinished && --left == 0) hello.stop();
    // A refused launch is offered again by itself; whatever else went wrong ends the program.
    const bool is_fine = task.state == TaskState::kFinished || task.state == TaskState::kRefused;
    if (is_terminal(task.state) && !is_fine) hello.stop(1);
  });
  return hello.run();
}
