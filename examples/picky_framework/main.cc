// Ten tasks that want to run on the host of their file, in three ways: with open offers, where the
// framework declines other hosts until its patience is over ("delay scheduling"); with an ask that
// prefers the host, so that the master waits instead; and with an ask that is constrained to the
// host. Prints the waiting time and the locality of each way.
//
//   --host=agent-1      where the file is
//   --patience_ms=500   how long the first two insist on that host
#include <cstdio>
#include <string>
#include <vector>

#include "examples/flags.h"
#include "sdk/scheduler.h"

namespace {

using namespace proffer;

constexpr int kTasks = 10;
constexpr char kCommand[] = "sleep 0.2";  // stands for reading the file

struct Measured {
  int launched = 0;
  int named = 0;
  int local = 0;
  int declined = 0;
  Duration waited = {};  // of all tasks together
};

// The common part of the ways: counts where each task goes, and ends with the last one.
int run(sdk::Scheduler& self, const char* way, const AgentId& host, Measured& measured) {
  int left = kTasks;
  self.on_update([&](const proto::TaskStatus& task) {
    if (!is_terminal(task.state)) return;
    if (task.state == proto::TaskState::kRefused) {  // the offer was void by then; try again
      --measured.launched;
      return;
    }
    if (task.state != proto::TaskState::kFinished) {
      std::fprintf(stderr, "%s is %s: %s\n", task.task.str().c_str(),
                   std::string(to_text(task.state)).c_str(), task.message.c_str());
      return self.stop(1);
    }
    if (--left == 0) self.stop();
  });
  const int code = self.run();
  if (code != 0) return code;
  std::printf("%-15s %3d%% on %s, waited %.2f s on average, declined %d offers\n", way,
              measured.local * 100 / measured.launched, host.str().c_str(),
              measured.waited.seconds() / measured.launched, measured.declined);
  return 0;
}

int classic(const sdk::SchedulerOptions& asking, const AgentId& host, Duration patience) {
  sdk::SchedulerOptions options = asking;
  options.mode = OfferMode::kOpen;
  sdk::Scheduler self(options);
  const ResourceVector shape = *parse_shape("cpus:0.5;mem:32");
  const Time began = self.now();
  Measured measured;
  self.on_offer([&](const Offer& offer) {
    const bool is_local = offer.agent == host;
    const Duration waited = self.now() - began;
    const int64_t count = count_that_fits(shape, offer.total(), kTasks - measured.launched);
    if (count == 0 || (!is_local && waited < patience)) {
      ++measured.declined;
      // A longer filter would outlast the patience; a shorter one brings an offer that is declined
      // at once.
      return self.decline(offer, milliseconds(200));
    }
    std::vector<proto::TaskSpec> tasks;
    for (int64_t i = 0; i < count; ++i) {
      tasks.push_back({.id = TaskId("read-" + std::to_string(++measured.named)),
                       .shape = shape,
                       .command = kCommand});
    }
    measured.launched += static_cast<int>(count);
    measured.local += is_local ? static_cast<int>(count) : 0;
    measured.waited = measured.waited + waited * count;
    self.accept(offer, std::move(tasks));
  });
  return run(self, "classic offers:", host, measured);
}

int by_ask(const sdk::SchedulerOptions& options, const char* way, const AgentId& host, Ask ask) {
  sdk::Scheduler self(options);
  const Time began = self.now();
  Measured measured;
  self.ask(std::move(ask));
  self.on_ask_report([&](const proto::AskReport& report) {
    for (const proto::AskReport::Row& row : report.rows) {
      if (!row.could_ever_fit) std::fprintf(stderr, "fits no agent: %s\n", row.why.c_str());
    }
  });
  self.on_offer([&](const Offer& offer) {
    const int count = static_cast<int>(self.launch(offer, kCommand).size());
    measured.launched += count;
    measured.local += offer.agent == host ? count : 0;
    measured.waited = measured.waited + (self.now() - began) * count;
  });
  return run(self, way, host, measured);
}

int preferred(const sdk::SchedulerOptions& options, const AgentId& host, Duration patience) {
  return by_ask(options, "preferred host:", host,
                {.name = AskName("read"),
                 .shape = *parse_shape("cpus:0.5;mem:32"),
                 .count = kTasks,
                 .prefer = {.hosts = {host.str()}, .wait = patience}});
}

int constrained(const sdk::SchedulerOptions& options, const AgentId& host) {
  return by_ask(options, "asks:", host,
                {.name = AskName("read"),
                 .shape = *parse_shape("cpus:0.5;mem:32"),
                 .count = kTasks,
                 .constraints = {*parse_constraint("host == " + host.str())}});
}

}  // namespace

int main(int argc, char** argv) {
  const AgentId host(examples::text_flag(argc, argv, "host", "agent-1"));
  const int64_t patience = examples::number_flag(argc, argv, "patience_ms", 500, 0, 3'600'000);
  const sdk::SchedulerOptions options =
      sdk::options_from(argc, argv, "picky", {"host", "patience_ms"});
  for (const auto& way : {classic, preferred}) {
    if (const int code = way(options, host, milliseconds(patience)); code != 0) return code;
  }
  return constrained(options, host);
}
