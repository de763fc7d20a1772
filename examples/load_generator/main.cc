// Runs many small tasks of many shapes, to measure a cluster.
//
//   --count=1000    tasks in total
//   --shapes=10     number of shapes; the n-th is n times 0.01 CPUs and 4 MiB
//   --seconds=0     run time of each task
#include <cstdio>
#include <map>
#include <string>

#include "examples/flags.h"
#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  using namespace proffer;
  using enum proto::TaskState;
  const int64_t count = examples::number_flag(argc, argv, "count", 1'000, 1, 1'000'000);
  const int64_t shapes = examples::number_flag(argc, argv, "shapes", 10, 1, 100);
  const int64_t task_seconds = examples::number_flag(argc, argv, "seconds", 0, 0, 86'400);
  const std::string command = "sleep " + std::to_string(task_seconds);

  sdk::Scheduler self(sdk::options_from(argc, argv, "load", {"count", "shapes", "seconds"}));
  std::vector<Ask> asks;
  for (int64_t n = 1; n <= shapes; ++n) {
    asks.push_back({.name = AskName("shape-" + std::to_string(n)),
                    .shape = ResourceVector::of(10 * n, 4'000 * n),
                    .count = count / shapes + (n <= count % shapes ? 1 : 0)});
  }

  Time began;
  int64_t offers = 0;
  std::map<proto::TaskState, int64_t> ended;
  // The asks are declared when there is a session, so that only the time of the tasks is measured.
  self.on_subscribed([&](const proto::Subscribed&) {
    if (began != Time()) return;  // reconnected; the SDK repeats the asks
    began = self.now();
    self.ask_all(asks);
  });
  self.on_offer([&](const Offer& offer) {
    ++offers;
    self.launch(offer, task_seconds == 0 ? "exit 0" : command);
  });
  self.on_update([&](const proto::TaskStatus& task) {
    if (!is_terminal(task.state) || task.state == kRefused) return;
    ++ended[task.state];
    int64_t all = 0;
    for (const auto& [state, tasks] : ended) all += tasks;
    if (all < count) return;
    const double took = (self.now() - began).seconds();
    std::printf(
        "%lld tasks of %lld shapes in %.2f s: %.0f tasks/s, %lld offers, %lld not finished\n",
        static_cast<long long>(count), static_cast<long long>(shapes), took,
        static_cast<double>(count) / took, static_cast<long long>(offers),
        static_cast<long long>(count - ended[kFinished]));
    self.stop(ended[kFinished] == count ? 0 : 1);
  });
  return self.run();
}
