// The smallest framework: prints "hello" five times on any offer.
#include <iostream>

#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  proffer::sdk::Scheduler hello(proffer::sdk::options_from(argc, argv, "hello"));
  int left = 5;
  hello.ask("echo", "cpus:0.1;mem:32", left);
  hello.on_offer([&](const proffer::Offer& offer) { hello.launch(offer, "echo hello"); });
  hello.on_update([&](const proffer::proto::TaskStatus& task) {
    std::cout << task.task.str() << " is " << to_text(task.state) << std::endl;
    // A refused launch is wanted again by its ask; any other bad end ends the program.
    using enum proffer::proto::TaskState;
    if (!is_terminal(task.state) || task.state == kRefused) return;
    if (task.state != kFinished) hello.stop(1);
    if (--left == 0) hello.stop();
  });
  return hello.run();
}
