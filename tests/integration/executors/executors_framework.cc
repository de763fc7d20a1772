// Runs two tasks in each of several executors, all on one agent, and sends each executor a message
// that asks what it did. The first argument is the executor's command line, the second is the
// number of executors. It prints every update and every answer.

#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  using namespace proffer;
  if (argc < 3) return 2;
  const std::string command = argv[1];
  const int executors = std::atoi(argv[2]);
  sdk::Scheduler self(sdk::options_from(argc, argv, "executors"));
  std::vector<proto::TaskSpec> todo;
  for (int i = 0; i < 2 * executors; ++i) {
    const std::string executor = std::to_string(i / 2);
    todo.push_back({.id = TaskId("task-" + std::to_string(i)),
                    .ask = AskName("work"),
                    .shape = *parse_shape("cpus:0.1;mem:16"),
                    .executor = command,
                    .executor_id = ExecutorId("executor-" + executor),
                    .data = "0 100"});
  }
  size_t left = todo.size();
  std::set<std::string> silent;  // executors that have not answered
  self.ask("work", "cpus:0.1;mem:16", static_cast<int64_t>(left));

  self.on_offer([&](const Offer& offer) {
    std::vector<proto::TaskSpec> tasks;
    for (const AskFill& fill : offer.fills) {
      for (int64_t i = 0; i < fill.count && !todo.empty(); ++i) {
        tasks.push_back(todo.back());
        todo.pop_back();
      }
    }
    self.accept(offer, std::move(tasks));
  });
  self.on_update([&](const proto::TaskStatus& task) {
    std::cout << task.task.str() << ' ' << to_text(task.state) << ' ' << to_text(task.reason) << ' '
              << task.data << ' ' << task.message << std::endl;
    if (!is_terminal(task.state) || --left > 0) return;
    if (task.state != proto::TaskState::kFinished) return self.stop(1);
    for (int i = 0; i < executors; ++i) {
      const ExecutorId executor("executor-" + std::to_string(i));
      silent.insert(executor.str());
      self.message(task.agent, executor, "what did you do?");
    }
  });
  self.on_message([&](const proto::FrameworkMessage& message) {
    std::cout << message.executor.str() << ": " << message.data << std::endl;
    silent.erase(message.executor.str());
    if (silent.empty()) self.stop();
  });
  return self.run();
}
