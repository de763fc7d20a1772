// Simulated machines: the production core of the agent on a real connection, with executors of a
// few lines here. They send their hello at once; every task runs at once and finishes after the
// phase's time. Read SimAgent::handle first. The core makes checkpoints, but they are not written,
// so that the disk does not slow down a hundred agents on one machine.

#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "bench/cluster/shared.h"
#include "common/check.h"
#include "common/prng.h"
#include "common/text.h"
#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "proto/channel.h"
#include "proto/codec/codec.h"
#include "slave/core/agent.h"

namespace proffer::bench {
namespace {

using namespace agent;  // its events and actions

class SimAgent;

// The ends of running tasks of all agents in this process, in order of time.
class Ends {
 public:
  explicit Ends(Loop& loop) : loop_(loop), timer_(loop, [this] { run_due(); }) {}
  void at(Time due, SimAgent& agent, PeerId peer, TaskId task) {
    ends_.emplace(due, End{&agent, peer, std::move(task)});
    if (ends_.begin()->first == due) timer_.arm(due);
  }

 private:
  struct End {
    SimAgent* agent = nullptr;
    PeerId peer = {};
    TaskId task = {};
  };
  void run_due();

  Loop& loop_;
  std::multimap<Time, End> ends_;
  Timer timer_;
};

class SimAgent {
 public:
  SimAgent(Loop& loop, const Phase& phase, int number, proto::Encoder& encoder, Ends& ends,
           Shared& shared)
      : loop_(loop),
        phase_(phase),
        encoder_(encoder),
        ends_(ends),
        shared_(shared),
        slots_(shared.slots[static_cast<size_t>(number)]),
        random_(static_cast<uint64_t>(number) + 1),
        core_(options_of(phase, number), AgentSnapshot{}),
        timer_(loop, [this] { handle(Tick{}); }),
        dealer_(loop,
                {.endpoint = zmq_endpoint({"127.0.0.1", phase.master_port}),
                 .keys = phase.keys ? std::optional(phase.keys->agents[static_cast<size_t>(number)])
                                    : std::nullopt,
                 .seed = static_cast<uint64_t>(number)},
                {.on_connected = [this] { handle(MasterConnected{}); },
                 .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
                 .on_disconnected =
                     [this](const std::string&) {
                       ++shared_.disconnects;
                       handle(MasterDisconnected{});
                     }}) {
    timer_.arm(core_.next_deadline());
    dealer_.connect();
  }

  // One event, one step; what its actions cause comes after it.
  void handle(AgentEvent event) {
    events_.push_back(std::move(event));
    if (is_stepping_) return;
    is_stepping_ = true;
    while (!events_.empty()) {
      const AgentEvent next = std::move(events_.front());
      events_.pop_front();
      out_.clear();
      core_.handle(next, loop_.now(), out_);
      for (const AgentAction& action : out_.actions) {
        std::visit([this](const auto& one) { on(one); }, action);
      }
    }
    is_stepping_ = false;
    timer_.arm(core_.next_deadline());
  }

  void finish(PeerId peer, const TaskId& task) { tell(peer, task, proto::TaskState::kFinished, 2); }
  bool is_registered() const { return is_registered_; }
  int64_t unacknowledged() const { return core_.status().updates_unacknowledged; }

 private:
  struct Executor {
    FrameworkId framework = {};
    ExecutorId executor = {};
    uint64_t run = 0;
    proto::Channel channel = {};
  };

  static AgentOptions options_of(const Phase& phase, int number) {
    // Executors in this process are not watched.
    return {.name = AgentId(text("agent-", number)),
            .fresh_secret = Secret(text("000102030405060708090a0b", 10'000'000 + number)),
            .total = {.amounts = ResourceVector::of(phase.slots * 1'000, phase.slots * 1'024'000)},
            .boot_id = "bench",
            .executor_heartbeat = hours(1),
            .executor_timeout = hours(3),
            .seed = static_cast<uint64_t>(number)};
  }

  void on(const SendToMaster& send) {
    const Result<std::span<const std::byte>> frame = encoder_.encode(send.envelope);
    CHECK(frame) << frame.error().message();
    // Before it is sent: another process may receive the offer before this one continues.
    if (const auto* update = std::get_if<proto::Update>(&*send.envelope.message)) {
      if (proto::is_terminal(update->status.state)) {
        const uint64_t number = slots_.freed.load(std::memory_order_relaxed);
        slots_.at[number % kFreedKept].store(monotonic_nanos(), std::memory_order_relaxed);
        slots_.freed.store(number + 1, std::memory_order_release);
      }
    }
    if (!dealer_.send(*frame)) return;
    ++shared_.agents.frames;
    shared_.agents.bytes += frame->size();
  }
  void on(const ResetMaster&) { dealer_.reset("asked by the core"); }
  void on(const SendToExecutor& send) {
    const auto* run = std::get_if<proto::RunTask>(&*send.envelope.message);
    if (run == nullptr) return;  // acknowledgements and heartbeats
    const TaskId& task = run->spec.id;
    tell(send.peer, task, proto::TaskState::kRunning, 1);
    if (phase_.task_nanos == 0) return tell(send.peer, task, proto::TaskState::kFinished, 2);
    const bool is_first = ++tasks_run_ <= phase_.slots;
    const int64_t nanos = is_first ? random_.between(0, phase_.task_nanos) : phase_.task_nanos;
    ends_.at(loop_.now() + nanoseconds(nanos), *this, send.peer, task);
  }
  void on(const DropExecutorPeer& drop) { executors_.erase(drop.peer); }
  void on(const StartExecutor& start) {
    handle(ExecutorStarted{start.framework, start.executor, start.run,
                           static_cast<int32_t>(start.run), 1});
    const PeerId peer(++peers_made_);
    Executor& executor = executors_[peer];
    executor = {start.framework, start.executor, start.run, {}};
    from_executor(peer, proto::ExecutorHello{start.framework, start.executor, start.token});
  }
  void on(const KillExecutor& kill) {
    handle(ExecutorExited{kill.framework, kill.executor, kill.run, {}, 9});
  }
  void on(const LimitExecutor&) {}  // limits are not enforced here
  // Actions for executors of an earlier life: these agents have none.
  template <class Action>
  void on(const Action&) {
    LOG(FATAL) << "an agent that began anew deals with leftovers";
  }
  void on(const Exit& exit) { LOG(FATAL) << "an agent ends: " << exit.reason; }

  void tell(PeerId peer, const TaskId& task, proto::TaskState state, uint64_t sequence) {
    proto::TaskStatus status{.task = task, .state = state, .sequence = sequence};
    if (state == proto::TaskState::kFinished) status.exit_code = 0;
    from_executor(peer, proto::ExecutorUpdate{std::move(status)});
  }
  void from_executor(PeerId peer, proto::Message message) {
    const auto at = executors_.find(peer);
    if (at == executors_.end()) return;
    handle(ExecutorFrame{peer, at->second.channel.stamp(LeaderEpoch(), std::move(message))});
  }

  void on_frame(std::span<const std::byte> frame) {
    Result<proto::Envelope> envelope = proto::decode(frame);
    CHECK(envelope) << envelope.error().message();
    if (std::holds_alternative<proto::AgentRegistered>(*envelope->message)) {
      is_registered_ = true;
      ++shared_.registrations;
    }
    handle(MasterFrame{.envelope = *std::move(envelope)});
  }

  Loop& loop_;
  const Phase& phase_;
  proto::Encoder& encoder_;
  Ends& ends_;
  Shared& shared_;
  FreedSlots& slots_;
  Prng random_;
  Agent core_;
  AgentOutbox out_;
  std::deque<AgentEvent> events_;
  bool is_stepping_ = false;
  bool is_registered_ = false;
  int64_t tasks_run_ = 0;
  uint64_t peers_made_ = 0;
  std::map<PeerId, Executor> executors_;
  Timer timer_;
  Dealer dealer_;
};

void Ends::run_due() {
  const Time now = loop_.now();
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const End end = std::move(ends_.begin()->second);
    ends_.erase(ends_.begin());
    end.agent->finish(end.peer, end.task);
  }
  if (!ends_.empty()) timer_.arm(ends_.begin()->first);
}

}  // namespace

void run_agents(const Phase& phase, int index, Shared& shared) {
  Loop loop;
  proto::Encoder encoder;
  Ends ends(loop);
  std::vector<std::unique_ptr<SimAgent>> agents;
  for (int number = index; number < phase.agents; number += phase.agent_processes) {
    agents.push_back(std::make_unique<SimAgent>(loop, phase, number, encoder, ends, shared));
  }
  int registered = 0;
  Timer control(loop, [&] {
    int now_registered = 0;
    for (const auto& agent : agents) now_registered += agent->is_registered() ? 1 : 0;
    shared.agents_registered += now_registered - registered;
    registered = now_registered;
    // The last acknowledgements are on their way when the last framework is done.
    int64_t unacknowledged = 0;
    if (shared.stop) {
      for (const auto& agent : agents) unacknowledged += agent->unacknowledged();
    }
    static int patience = 3'000;
    if (shared.stop && (unacknowledged == 0 || --patience == 0)) {
      shared.updates_unacknowledged += unacknowledged;
      return loop.stop();
    }
    control.arm(loop.now() + milliseconds(10));
  });
  control.arm(loop.now());
  loop.run();
}

}  // namespace proffer::bench
