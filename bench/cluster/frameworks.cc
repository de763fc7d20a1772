// Simulated frameworks: the production core of the scheduler driver on a real connection. Every
// offer is used for all the tasks for which it was made, and the driver acknowledges every update.
// Read SimFramework::on_offers first.

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "bench/cluster/shared.h"
#include "common/check.h"
#include "common/text.h"
#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/randomness.h"
#include "proto/codec/codec.h"
#include "sdk/core/driver.h"

namespace proffer::bench {
namespace {

using namespace sdk;  // the driver's events and actions

// Each framework asks once in this time, in turn with the others.
constexpr int64_t kAskEveryNanos = 10'000'000;
// The driver refuses accepts with more launches than fit into one message; an offer has fewer.
constexpr int64_t kTasksOfAcceptMax = 768;

class SimFramework {
 public:
  SimFramework(Loop& loop, const Phase& phase, int number, proto::Encoder& encoder, Shared& shared)
      : loop_(loop),
        phase_(phase),
        encoder_(encoder),
        shared_(shared),
        total_(phase.tasks / phase.frameworks),
        driver_({.name = text("bench-", number),
                 .role = RoleName(text("role-", number)),
                 .secret = random_secret()}),
        timer_(loop, [this] { handle(Tick{}); }),
        dealer_(
            loop,
            {.endpoint = zmq_endpoint({"127.0.0.1", phase.master_port}),
             .keys = phase.keys ? std::optional(phase.keys->frameworks[static_cast<size_t>(number)])
                                : std::nullopt,
             .seed = 1'000'000 + static_cast<uint64_t>(number)},
            {.on_connected = [this] { handle(MasterConnected{}); },
             .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
             .on_disconnected =
                 [this](const std::string& reason) {
                   ++shared_.disconnects;
                   handle(MasterDisconnected{reason});
                 }}) {
    launched_at_.reserve(static_cast<size_t>(total_));
    dealer_.connect();
  }

  // Asks for `count` more tasks.
  void ask(int64_t count) {
    count = std::min(count, total_ - asked_);
    if (count <= 0) return;
    asked_ += count;
    const int64_t now = monotonic_nanos();
    if (phase_.asks_per_second > 0) {
      for (int64_t i = 0; i < count; ++i) asked_at_.push_back(now);
    }
    int64_t open = count;
    for (const Ask& ask : driver_.asks()) open += ask.count;
    command(proto::DeclareAsks{
        .asks = {{.name = kAsk, .shape = ResourceVector::of(1'000, 1'024'000), .count = open}}});
  }
  int64_t total() const { return total_; }
  bool is_subscribed() const { return driver_.subscribed(); }
  bool is_done() const { return ended_ == total_; }
  bool was_offered() const { return !launched_at_.empty(); }
  bool is_running() const { return running_ > 0; }

 private:
  void handle(const DriverEvent& event) {
    DriverOutbox out;
    driver_.handle(event, loop_.now(), out);
    for (DriverAction& action : out.actions) actions_.push_back(std::move(action));
    if (!is_carrying_out_) {
      is_carrying_out_ = true;
      while (!actions_.empty()) {
        const DriverAction action = std::move(actions_.front());
        actions_.pop_front();
        std::visit([this](const auto& one) { on(one); }, action);
      }
      is_carrying_out_ = false;
    }
    timer_.arm(driver_.next_deadline());
  }
  void command(Command what) { handle(CommandGiven{std::move(what)}); }

  void on(const SendToMaster& send) {
    const Result<std::span<const std::byte>> frame = encoder_.encode(send.envelope);
    CHECK(frame) << frame.error().message();
    if (!dealer_.send(*frame)) return;
    ++shared_.frameworks.frames;
    shared_.frameworks.bytes += frame->size();
  }
  void on(const ResetMaster&) { dealer_.reset("asked by the core"); }
  void on(const SaveIdentity&) {}
  void on(const Done&) {}
  void on(const Notify& notify) {
    if (const auto* offers = std::get_if<proto::Offers>(&notify.notification)) {
      on_offers(*offers);
    } else if (const auto* status = std::get_if<proto::TaskStatus>(&notify.notification)) {
      on_update(*status);
    } else if (const auto* refused = std::get_if<Refused>(&notify.notification)) {
      LOG(FATAL) << refused->error.message();
    }
  }

  // One accept for all offers of one message, as a fast framework would do; several only if their
  // tasks do not fit into one.
  void on_offers(const proto::Offers& message) {
    const int64_t now = monotonic_nanos();
    proto::Accept accept;
    int64_t tasks = 0;  // of this accept
    for (const Offer& offer : message.offers) {
      int64_t count = 0;
      for (const AskFill& fill : offer.fills) count += fill.count;
      if (tasks + count > kTasksOfAcceptMax && tasks > 0) {
        command(std::exchange(accept, {}));
        tasks = 0;
      }
      tasks += count;
      note_offered(offer.agent, count, now);
      accept.offers.push_back(offer.id);
      proto::Launch launch{.agent = offer.agent};
      for (int64_t i = 0; i < count; ++i) launch.tasks.push_back(next_task(now));
      accept.operations.emplace_back(std::move(launch));
    }
    command(std::move(accept));
  }

  bool is_warm(int64_t at) const {
    return !phase_.is_paced() || at - shared_.first_ask_at.load() > kWarmNanos;
  }
  void note_offered(const AgentId& agent, int64_t count, int64_t now) {
    for (int64_t i = 0; i < count && !asked_at_.empty(); ++i) {
      if (is_warm(now)) shared_.ask_to_offer.add(now - asked_at_.front());
      asked_at_.pop_front();
    }
    if (phase_.asks_per_second > 0) return;  // there is room: slots wait for asks
    // "agent-17"
    const size_t number = static_cast<size_t>(std::stoll(agent.str().substr(6)));
    FreedSlots& slots = shared_.slots[number];
    const uint64_t from = slots.offered.fetch_add(static_cast<uint64_t>(count));
    const uint64_t freed = slots.freed.load(std::memory_order_acquire);
    for (uint64_t slot = from; slot < from + static_cast<uint64_t>(count); ++slot) {
      if (slot < static_cast<uint64_t>(phase_.slots)) continue;  // free from the start
      const uint64_t at = slot - static_cast<uint64_t>(phase_.slots);
      if (at >= freed || freed - at > kFreedKept) continue;  // overwritten, so no longer known
      const int64_t freed_at = slots.at[at % kFreedKept].load(std::memory_order_relaxed);
      if (is_warm(freed_at)) shared_.free_to_offer.add(now - freed_at);
    }
  }

  proto::TaskSpec next_task(int64_t now) {
    launched_at_.push_back(now);
    ++shared_.launched;
    // Tasks of one framework share an executor on each agent, like those of a warm executor.
    return {.id = TaskId(text("task-", launched_at_.size() - 1)),
            .ask = kAsk,
            .shape = ResourceVector::of(1'000, 1'024'000),
            .command = "true",
            .executor = std::string(proto::kBatchExecutor),
            .executor_id = ExecutorId("warm")};
  }

  void on_update(const proto::TaskStatus& status) {
    if (status.state == proto::TaskState::kRunning) {
      const size_t number = static_cast<size_t>(std::stoll(status.task.str().substr(5)));
      const int64_t launched_at = launched_at_[number];
      ++shared_.running;
      ++running_;
      if (is_warm(launched_at)) shared_.launch_to_running.add(monotonic_nanos() - launched_at);
    }
    if (!proto::is_terminal(status.state)) return;
    if (status.state == proto::TaskState::kFinished) {
      ++ended_;
      ++shared_.finished;
    } else {
      LOG_FIRST_N(ERROR, 5) << status.task.str() << ": " << status.message;
      ++shared_.not_finished;
      // the driver asks for a refused task again
      if (status.state != proto::TaskState::kRefused) ++ended_;
    }
    if (is_done()) {
      ++shared_.frameworks_done;
      shared_.last_end_at = monotonic_nanos();
    }
  }

  void on_frame(std::span<const std::byte> frame) {
    Result<proto::Envelope> envelope = proto::decode(frame);
    CHECK(envelope) << envelope.error().message();
    handle(MasterFrame{*std::move(envelope)});
  }

  const AskName kAsk{"task"};
  Loop& loop_;
  const Phase& phase_;
  proto::Encoder& encoder_;
  Shared& shared_;
  const int64_t total_;
  int64_t asked_ = 0;
  int64_t ended_ = 0;
  int64_t running_ = 0;
  std::deque<int64_t> asked_at_;
  std::vector<int64_t> launched_at_;  // by task number
  Driver driver_;
  std::deque<DriverAction> actions_;
  bool is_carrying_out_ = false;
  Timer timer_;
  Dealer dealer_;
};

}  // namespace

void run_frameworks(const Phase& phase, int index, Shared& shared) {
  Loop loop;
  proto::Encoder encoder;
  std::vector<std::unique_ptr<SimFramework>> frameworks;
  for (int number = index; number < phase.frameworks; number += phase.framework_processes) {
    frameworks.push_back(std::make_unique<SimFramework>(loop, phase, number, encoder, shared));
  }
  int subscribed = 0;
  size_t next = 0;    // the next framework to ask
  int64_t asked = 0;  // by all of this process
  int64_t began_at = 0;
  const int64_t per_second = phase.asks_per_second / phase.framework_processes;
  const Duration turn =
      nanoseconds(kAskEveryNanos / static_cast<int64_t>(std::max<size_t>(frameworks.size(), 1)));
  Timer control(loop, [&] {
    if (shared.frameworks_stop) return loop.stop();
    int now_subscribed = 0;
    for (const auto& framework : frameworks) now_subscribed += framework->is_subscribed() ? 1 : 0;
    shared.frameworks_subscribed += now_subscribed - subscribed;
    subscribed = now_subscribed;
    if (!shared.go) return control.arm(loop.now() + milliseconds(5));
    if (began_at == 0) {
      began_at = monotonic_nanos();
      int64_t none = 0;
      shared.first_ask_at.compare_exchange_strong(none, began_at);
      if (per_second == 0) {
        for (const auto& framework : frameworks) framework->ask(framework->total());
      }
    }
    if (per_second == 0) return control.arm(loop.now() + milliseconds(10));
    // Whole seconds and the rest are computed separately, to avoid an overflow.
    const int64_t due = (monotonic_nanos() - began_at) / 1'000 * per_second / 1'000'000;
    if (due > asked) {
      frameworks[next]->ask(due - asked);
      next = (next + 1) % frameworks.size();
      asked = due;
    }
    control.arm(loop.now() + turn);
  });
  control.arm(loop.now());
  loop.run();
}

void run_probe(const Phase& phase, Shared& shared) {
  Loop loop;
  proto::Encoder encoder;
  Phase own = phase;
  own.frameworks = 1;
  own.tasks = 1;
  SimFramework framework(loop, own, phase.frameworks, encoder, shared);
  bool is_counted = false;
  bool is_offer_told = false;
  Timer stop(loop, [&] {
    if (shared.frameworks_stop) return loop.stop();
    stop.arm(loop.now() + milliseconds(10));
  });
  stop.arm(loop.now());
  Timer control(loop, [&] {
    if (framework.is_subscribed() && !is_counted) {
      is_counted = true;
      ++shared.frameworks_subscribed;
    }
    if (shared.probe_go) framework.ask(1);
    if (framework.was_offered() && !is_offer_told) {
      is_offer_told = true;
      shared.probe_offered_at = monotonic_nanos();
    }
    if (framework.is_running()) {
      shared.probe_running_at = monotonic_nanos();
      return;  // later probes report their own latency
    }
    control.arm(loop.now() + milliseconds(1));
  });
  control.arm(loop.now());
  loop.run();
}

}  // namespace proffer::bench
