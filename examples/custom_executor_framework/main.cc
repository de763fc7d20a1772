// Counts the primes below a million in twenty tasks of an executor of its own (executor.cc): on
// each agent one process runs all of them. What a task needs comes with TaskSpec::data, what it
// found with TaskStatus::data; and at the end the executors are asked what they did, by message.
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  using namespace proffer;
  constexpr int kTasks = 20;
  constexpr int kWidth = 1'000'000 / kTasks;
  const ExecutorId executor("primes");
  // The agent runs it as a shell command line in a sandbox, so the path must be whole.
  const std::filesystem::path self_path = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      "exec '" + (self_path.parent_path() / "prime_executor").string() + "'";

  sdk::Scheduler self(sdk::options_from(argc, argv, "primes"));
  std::map<TaskId, int> ranges;  // by task, where its range begins
  std::vector<int> todo;         // beginnings of ranges that no task has
  for (int i = 0; i < kTasks; ++i) todo.push_back(i * kWidth);
  int named = 0;
  int finished = 0;
  int64_t primes = 0;
  std::set<AgentId> agents;  // whose executors have not told what they did
  self.ask("range", "cpus:0.1;mem:16", kTasks);

  self.on_offer([&](const Offer& offer) {
    std::vector<proto::TaskSpec> tasks;
    for (const AskFill& fill : offer.fills) {
      for (int64_t i = 0; i < fill.count && !todo.empty(); ++i) {
        const TaskId id("range-" + std::to_string(++named));
        const int from = ranges[id] = todo.back();
        todo.pop_back();
        tasks.push_back({.id = id,
                         .ask = fill.ask,
                         .shape = *parse_shape("cpus:0.1;mem:16"),
                         .executor = command,
                         .executor_id = executor,  // the same one: they share a process
                         .data = std::to_string(from) + " " + std::to_string(from + kWidth)});
      }
    }
    self.accept(offer, std::move(tasks));
  });

  self.on_update([&](const proto::TaskStatus& task) {
    if (!is_terminal(task.state)) return;
    if (task.state == proto::TaskState::kRefused) {  // its ask wants it again by itself
      todo.push_back(ranges.at(task.task));
      return;
    }
    if (task.state != proto::TaskState::kFinished) {
      std::cerr << task.task.str() << " is " << to_text(task.state) << ": " << task.message << '\n';
      return self.stop(1);
    }
    primes += std::stoll(task.data);
    agents.insert(task.agent);
    if (++finished < kTasks) return;
    std::cout << primes << " primes below a million" << std::endl;
    for (const AgentId& agent : agents) self.message(agent, executor, "what did you do?");
    // Messages are best effort, unlike updates: nobody waits for one for ever.
    self.after(seconds(30), [&] { self.stop(); });
  });

  self.on_message([&](const proto::FrameworkMessage& message) {
    std::cout << message.agent.str() << ": " << message.data << std::endl;
    agents.erase(message.agent);
    if (agents.empty() && finished == kTasks) self.stop();
  });
  return self.run();
}
