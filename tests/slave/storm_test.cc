// Random events from a seed against one core, with crashes at any step. After each step the
// scenario checks all invariants and both ways to recover from the durable state. At the end
// everything is acknowledged, and all work has ended.

#include <set>
#include <utility>

#include "common/prng.h"
#include "tests/slave/agent_scenario.h"

namespace proffer::agent::storm_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;

class Storm {
 public:
  explicit Storm(uint64_t seed) : chance_(seed), s_("cpus:8;mem:2048;ports:[31000-31003]") {}

  void run(int steps) {
    s_.registered();
    for (int i = 0; i < steps; ++i) {
      gust();
      hear();
      welcome();
    }
    calm();
  }

 private:
  // Takes the agent's actions since the last call.
  void hear() {
    for (const StartExecutor& start : s_.take<StartExecutor>()) {
      if (start.spare) go_on(start);
      alive_[{start.executor, start.run}] = start;
    }
    for (const FetchFiles& fetch : s_.take<FetchFiles>()) fetching_.push_back(fetch);
    for (const AdoptExecutor& adopt : s_.take<AdoptExecutor>()) looked_for_.push_back(adopt);
    for (const SendToExecutor& send : s_.take<SendToExecutor>()) {
      const auto* ack = std::get_if<proto::Acknowledge>(&*send.envelope.message);
      if (ack != nullptr) continue;
      const auto* run = std::get_if<proto::RunTask>(&*send.envelope.message);
      if (run != nullptr) given_[send.peer].insert(run->spec.id.str());
    }
    for (const DropExecutorPeer& drop : s_.take<DropExecutorPeer>()) forget(drop.peer);
    for (const KillExecutor& kill : s_.take<KillExecutor>()) {
      killed_.insert({kill.executor, kill.run});
    }
    if (!s_.told_master<proto::RegisterAgent>().empty()) registering_ = true;
    if (!s_.take<ResetMaster>().empty()) hang_up();
    for (const SendToMaster& send : s_.take<SendToMaster>()) {
      const auto* update = std::get_if<proto::Update>(&*send.envelope.message);
      if (update != nullptr) told_[update->status.task.str()] = update->status.sequence;
      const auto* part = std::get_if<proto::RegisterTasks>(&*send.envelope.message);
      if (part == nullptr) continue;
      for (const proto::AgentTask& task : part->tasks) told_[task.task.str()] = task.sequence;
    }
  }

  void hang_up() { line_ = connected_ = registering_ = false; }
  void welcome() {
    if (!std::exchange(registering_, false)) return;
    s_.welcome();
    connected_ = true;
    hear();
  }

  // Executors outlive the agent. An executor that the shell does not know was never started.
  void answer(const AdoptExecutor& adopt) {
    const proto::ExecutorRecord& known = adopt.executor;
    if (alive_.contains({known.executor, known.run})) {
      s_.step(ExecutorStarted{known.framework, known.executor, known.run, 77, 5});
    } else {
      s_.step(ExecutorExited{known.framework, known.executor, known.run, {}, {}});
    }
  }

  // The spare's process may have ended, and another process may start instead.
  void go_on(const StartExecutor& start) {
    const std::pair before(start.spare->executor, start.spare->run);
    const bool lives = alive_.erase(before) > 0;
    const auto peer = peer_of_.find(before);
    if (peer == peer_of_.end()) return;
    const PeerId is = peer->second;
    peer_of_.erase(peer);
    if (lives) peer_of_[{start.executor, start.run}] = is;
  }

  void forget(PeerId peer) {
    given_.erase(peer);
    std::erase_if(peer_of_, [&](const auto& one) { return one.second == peer; });
  }

  std::string task() { return "t" + std::to_string(chance_.below(12)); }

  void gust() {
    switch (chance_.below(17)) {
      case 0:
      case 1:
      case 2: {
        proto::RunTask run = command_task(task(), chance_.chance(1, 6) ? "cpus:3" : "cpus:1");
        if (chance_.chance(1, 3)) {
          run.spec.executor = proto::kBatchExecutor;
          run.spec.executor_id = ExecutorId("shared");
        }
        if (chance_.chance(1, 4)) run.spec.fetch = {{.uri = "file:///a"}};
        if (connected_) s_.run(run);
        break;
      }
      case 3:
        if (connected_) s_.kill(task(), seconds(static_cast<int64_t>(chance_.below(4))));
        break;
      case 4:
      case 5: {
        const std::string id = task();
        if (connected_) s_.acknowledge(id, chance_.below(told_[id] + 2));
        break;
      }
      case 6: {
        if (!looked_for_.empty()) {
          const AdoptExecutor adopt = looked_for_.back();
          looked_for_.pop_back();
          answer(adopt);
          break;
        }
        if (alive_.empty()) break;
        const StartExecutor start = any(alive_)->second;
        s_.step(ExecutorStarted{start.framework, start.executor, start.run, 77, 5});
        break;
      }
      case 7:
      case 8: {
        if (alive_.empty()) break;
        greet(any(alive_)->second);
        break;
      }
      case 9:
      case 10:
      case 11: {
        if (given_.empty()) break;
        const auto at = any(given_);
        constexpr TaskState kSaid[] = {TaskState::kRunning, TaskState::kFinished,
                                       TaskState::kFailed, TaskState::kKilled};
        if (at->second.empty()) break;
        const std::string id = *any(at->second);
        const TaskState said = kSaid[chance_.below(4)];
        s_.from_executor(
            at->first,
            proto::ExecutorUpdate{
                .status = {.task = TaskId(id), .state = said, .sequence = chance_.below(5) + 1},
                .takes_another = said == TaskState::kFinished && chance_.chance(1, 2)});
        break;
      }
      case 12: {
        if (alive_.empty()) break;
        end(any(alive_)->first);
        break;
      }
      case 13:
        s_.pass(milliseconds(static_cast<int64_t>(chance_.below(8000))));
        break;
      case 14:
        if (chance_.chance(1, 2)) {
          s_.step(MasterDisconnected{});
          hang_up();
        } else if (!line_) {
          s_.connect();
          line_ = true;
        }
        break;
      case 15:
        if (chance_.chance(1, 8)) crash();
        if (chance_.chance(1, 20) && connected_) {
          s_.from_master(proto::ShutdownFramework{kBatch});
        }
        break;
      case 16: {
        if (fetching_.empty()) break;
        const auto at = any(fetching_);
        const FetchFiles fetch = *at;
        fetching_.erase(at);
        s_.step(FilesFetched{fetch.framework, fetch.executor, fetch.run,
                             chance_.chance(1, 3) ? "not there" : ""});
        break;
      }
    }
  }

  template <class Container>
  typename Container::iterator any(Container& container) {
    auto at = container.begin();
    std::advance(at, static_cast<long>(chance_.below(container.size())));
    return at;
  }

  void greet(const StartExecutor& start) {
    const PeerId peer(++peers_);
    const auto known = peer_of_.find({start.executor, start.run});
    if (known != peer_of_.end()) given_.erase(known->second);
    peer_of_[{start.executor, start.run}] = peer;
    given_[peer];
    s_.from_executor(peer, proto::ExecutorHello{start.framework, start.executor, start.token});
  }

  void end(std::pair<ExecutorId, uint64_t> which) {
    alive_.erase(which);
    const auto peer = peer_of_.find(which);
    if (peer != peer_of_.end()) {
      given_.erase(peer->second);
      peer_of_.erase(peer);
    }
    s_.step(ExecutorExited{kBatch, which.first, which.second, 1, {}});
  }

  void crash() {
    s_.crash_and_restart();
    for (const auto& which : std::exchange(killed_, {})) alive_.erase(which);
    given_.clear();
    peer_of_.clear();
    looked_for_.clear();
    fetching_.clear();
    hang_up();
    s_.tick();
    hear();
  }

  // A stop with kills: everything is acknowledged, so the agent ends with nothing left.
  void calm() {
    hear();
    for (const AdoptExecutor& adopt : std::exchange(looked_for_, {})) answer(adopt);
    s_.connect();
    hear();
    welcome();
    s_.step(StopAsked{.kill_tasks = true});
    for (int i = 0; i < 200; ++i) {
      hear();
      const std::set<std::pair<ExecutorId, uint64_t>> killed = std::exchange(killed_, {});
      if (killed.empty() && !s_.core->next_deadline()) break;
      for (const auto& which : killed) end(which);
      s_.pass(seconds(1));
    }
    EXPECT_EQ(s_.take<Exit>().size(), 1u);
    EXPECT_EQ(s_.core->status().tasks, 0);
    EXPECT_TRUE(s_.core->status().executors.empty());
    EXPECT_TRUE(s_.core->status().used.is_zero());
  }

  Prng chance_;
  AgentScenario s_;
  bool line_ = true;
  bool registering_ = false;
  bool connected_ = true;
  std::map<std::pair<ExecutorId, uint64_t>, StartExecutor> alive_;
  std::set<std::pair<ExecutorId, uint64_t>> killed_;
  std::map<std::pair<ExecutorId, uint64_t>, PeerId> peer_of_;
  std::map<PeerId, std::set<std::string>> given_;
  std::map<std::string, uint64_t> told_;
  std::vector<AdoptExecutor> looked_for_;
  std::vector<FetchFiles> fetching_;
  uint64_t peers_ = 1000;
};

TEST(Storm, BreaksNoInvariantAndComesToRest) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Storm(seed).run(300);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace proffer::agent::storm_test
