// A scheduler that makes one mistake for ever: --fault=reused_id, negative_shape, no_ask,
// wrong_ask, too_large, declines or silent. It launches one task that runs on, and then answers
// each offer with that mistake. Prints the number of offers that it has received.

#include <iostream>
#include <string>
#include <string_view>

#include "common/text.h"
#include "sdk/scheduler.h"

namespace {

using namespace proffer;

proto::TaskSpec wrong_task(const std::string& fault, int64_t number) {
  proto::TaskSpec task;
  task.id = TaskId(text("t", number));
  task.ask = AskName("work");
  task.shape = *parse_shape("cpus:0.1;mem:32");
  task.command = "true";
  if (fault == "reused_id") task.id = TaskId("first");
  if (fault == "negative_shape") task.shape = ResourceVector::of(-100, 32'000);
  if (fault == "no_ask") task.ask = AskName();
  if (fault == "wrong_ask") task.ask = AskName("other");
  if (fault == "too_large") task.shape = *parse_shape("cpus:64;mem:32");
  return task;
}

}  // namespace

int main(int argc, char** argv) {
  std::string fault;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--fault=")) fault = word.substr(8);
  }
  sdk::Scheduler self(sdk::options_from(argc, argv, "careless", {"fault"}));
  int64_t offers = 0;
  self.ask("work", "cpus:0.1;mem:32", 2);
  self.on_offer([&](const Offer& offer) {
    std::cout << "offer " << ++offers << std::endl;
    if (offers == 1) {
      proto::TaskSpec first = wrong_task("", 1);
      first.id = TaskId("first");
      first.command = "sleep 1000";
      return self.accept(offer, {first});
    }
    if (fault == "declines") return self.decline(offer, Duration());
    if (fault != "silent") self.accept(offer, {wrong_task(fault, offers)});
  });
  return self.run();
}
