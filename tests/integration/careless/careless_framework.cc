// A scheduler that is careless in one way for as long as it runs: --fault=NAME of the table below.
// --uid=N runs it as that user, which only root can do. It launches one task that runs on, unless
// it holds offers, and prints the number of offers that it has received.

#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include <grp.h>
#include <poll.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "sdk/scheduler.h"

namespace {

using namespace proffer;

constexpr const char* kShape = "cpus:0.1;mem:32";
constexpr int kAtOnce = 10;
constexpr int kBlocksMillis = 5'000;

proto::TaskSpec task(const std::string& id, const std::string& command = "true") {
  proto::TaskSpec made;
  made.id = TaskId(id);
  made.ask = AskName("work");
  made.shape = *parse_shape(kShape);
  made.command = command;
  return made;
}

// What it does with an offer, and what it does kAtOnce times each millisecond.
struct Fault {
  std::function<void(sdk::Scheduler&, const Offer&, int64_t number)> on_offer = {};
  std::function<void(sdk::Scheduler&, int64_t number)> again = {};
  bool is_open = false;  // it takes open offers, else offers for an ask
  bool has_task = true;  // it launches the first task
};

Fault launches(std::function<void(proto::TaskSpec&)> change) {
  return {.on_offer = [change](sdk::Scheduler& self, const Offer& offer, int64_t number) {
    proto::TaskSpec made = task(text("t", number));
    change(made);
    self.accept(offer, {made});
  }};
}

Fault repeats(std::function<void(sdk::Scheduler&, int64_t)> call) {
  return {.on_offer = [](sdk::Scheduler& self, const Offer& offer,
                         int64_t) { self.decline(offer, seconds(10)); },
          .again = std::move(call)};
}

void ask_often(sdk::Scheduler& self, int64_t number) {
  std::vector<Ask> asks;
  for (int i = 0; i < 256; ++i) {
    asks.push_back({.name = AskName(text("a", i)),
                    .shape = *parse_shape(kShape),
                    .count = 1 + (number + i) % 7});
  }
  self.ask_all(std::move(asks));
}

const std::map<std::string, Fault>& faults() {
  static const std::map<std::string, Fault> all = {
      {"reused_id", launches([](proto::TaskSpec& made) { made.id = TaskId("first"); })},
      {"negative_shape",
       launches([](proto::TaskSpec& made) { made.shape = ResourceVector::of(-100, 32'000); })},
      {"no_ask", launches([](proto::TaskSpec& made) { made.ask = AskName(); })},
      {"wrong_ask", launches([](proto::TaskSpec& made) { made.ask = AskName("other"); })},
      {"too_large",
       launches([](proto::TaskSpec& made) { made.shape = *parse_shape("cpus:64;mem:32"); })},
      {"fails", launches([](proto::TaskSpec& made) { made.command = "exit 1"; })},
      {"declines",
       {.on_offer = [](sdk::Scheduler& self, const Offer& offer,
                       int64_t) { self.decline(offer, Duration()); }}},
      {"holds",
       {.on_offer = [](sdk::Scheduler&, const Offer&, int64_t) {},
        .is_open = true,
        .has_task = false}},
      {"silent", {.on_offer = [](sdk::Scheduler&, const Offer&, int64_t) {}}},
      {"stale",
       {.on_offer =
            [](sdk::Scheduler& self, const Offer& offer, int64_t number) {
              for (int i = 0; i < kAtOnce; ++i) {
                self.accept(offer, {task(text("t", number, "-", i))});
              }
            }}},
      {"blocks",
       {.on_offer =
            [](sdk::Scheduler& self, const Offer& offer, int64_t) {
              poll(nullptr, 0, kBlocksMillis);
              self.decline(offer);
            }}},
      {"stops", {.on_offer = [](sdk::Scheduler&, const Offer&, int64_t) { std::raise(SIGSTOP); }}},
      {"asks", repeats(&ask_often)},
      {"million", repeats([](sdk::Scheduler& self, int64_t number) {
         self.ask("many", kShape, 1'000'000 + number % 2);
       })},
      {"suppresses", repeats([](sdk::Scheduler& self, int64_t number) {
         number % 2 == 0 ? self.suppress() : self.revive();
       })},
      {"reconciles", repeats([](sdk::Scheduler& self, int64_t) { self.reconcile(); })},
      {"kills", repeats([](sdk::Scheduler& self, int64_t number) {
         self.kill(TaskId(text("none", number)));
       })},
      {"messages", repeats([](sdk::Scheduler& self, int64_t) {
         self.message(AgentId("agent-1"), ExecutorId("first"), std::string(1'000, 'x'));
       })},
      {"store", repeats([](sdk::Scheduler& self, int64_t number) {
         self.store({{.kind = proto::StoreOperation::Kind::kPut,
                      .key = text("k", number % 100),
                      .value = std::string(1'000, 'x')}},
                    [](const auto&) {});
       })},
  };
  return all;
}

void become(uid_t uid) {
  CHECK(setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 &&
        setresuid(uid, uid, uid) == 0)
      << uid;
}

}  // namespace

int main(int argc, char** argv) {
  std::string name;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--fault=")) name = word.substr(8);
    if (word.starts_with("--uid=")) become(static_cast<uid_t>(std::atoi(argv[i] + 6)));
  }
  CHECK(faults().contains(name)) << name;
  const Fault& fault = faults().at(name);
  sdk::SchedulerOptions options = sdk::options_from(argc, argv, "careless", {"fault", "uid"});
  if (fault.is_open) options.mode = OfferMode::kOpen;
  sdk::Scheduler self(options);
  int64_t offers = 0;
  int64_t calls = 0;
  if (!fault.is_open) self.ask("work", kShape, 2);
  std::function<void()> again = [&] {
    for (int i = 0; i < kAtOnce; ++i) fault.again(self, ++calls);
    self.after(milliseconds(1), again);
  };
  self.on_offer([&](const Offer& offer) {
    std::cout << "offer " << ++offers << std::endl;
    if (offers == 1 && fault.again) self.after(Duration(), again);
    if (offers == 1 && fault.has_task) {
      return self.accept(offer, {task("first", "sleep 1000")});
    }
    fault.on_offer(self, offer, offers);
  });
  return self.run();
}
