// Many apps on one service scheduler: the CPU of its core to apply and launch them, to idle for a
// minute, and to restart while they run; its memory, and its data in the store. The core is the
// production one; agents and store are loops of this program, and do not count in the reported CPU.
//
//   build/bin/service_scale

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gflags/gflags.h>
#include <malloc.h>
#include <time.h>

#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "frameworks/service/core/records.h"
#include "frameworks/service/core/service_core.h"

DEFINE_int64(agents, 100, "number of agents that take turns");
DEFINE_int32(runs, 5, "number of runs; the medians are reported");
DEFINE_string(results, "bench/RESULTS.md", "file whose section is replaced; empty: none");

namespace {

using namespace proffer;
using namespace proffer::service;

// CPU of this process, in microseconds.
int64_t cpu_now() {
  timespec now = {};
  CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1'000;
}

// One scheduler's core, and a cluster in which each launched task runs at once.
class Cluster {
 public:
  void start(const std::string& life) {
    core_ = std::make_unique<Service>(ServiceOptions{.life = life});
    asks_.clear();
    notify(proto::Subscribed{.framework = FrameworkId("service-1-1"), .session = SessionEpoch(1)});
    settle();
  }
  void handle(const ServiceEvent& event) {
    ServiceOutbox out;
    const int64_t begin = cpu_now();
    core_->handle(event, now_, out);
    cpu_ += cpu_now() - begin;
    for (const sdk::Command& command : out.commands) {
      std::visit([this](const auto& one) { on(one); }, command);
    }
  }
  // Runs until no event is left at this moment.
  void settle() {
    while (true) {
      if (!told_.empty()) {
        const sdk::Notification next = std::move(told_.front());
        told_.pop_front();
        notify(next);
      } else if (core_->next_deadline() && *core_->next_deadline() <= now_) {
        handle(Tick{});
      } else if (!offer()) {
        return;
      }
    }
  }
  void advance(Duration duration) {
    const Time until = now_ + duration;
    while (core_->next_deadline() && *core_->next_deadline() <= until) {
      now_ = std::max(now_, *core_->next_deadline());
      settle();
    }
    now_ = until;
    settle();
  }
  // CPU of the core since the last call, in microseconds.
  int64_t take_cpu() { return std::exchange(cpu_, 0); }
  int64_t ready() const {
    int64_t ready = 0;
    for (const proto::ServiceAppRow& row : core_->status()) ready += row.ready;
    return ready;
  }
  const Entries& store() const { return store_; }
  void end() { core_.reset(); }

 private:
  void notify(sdk::Notification what) { handle(std::move(what)); }

  // Offers resources of one agent, in the size of the first ask.
  bool offer() {
    if (asks_.empty()) return false;
    Offer offer{.id = OfferId(++offers_), .agent = AgentId(text("agent-", offers_ % FLAGS_agents))};
    offer.host = text("10.0.0.", offers_ % FLAGS_agents);
    offer.fills = {AskFill{asks_.front().name, 1}};
    if (--asks_.front().count == 0) asks_.pop_front();
    notify(proto::Offers{{std::move(offer)}});
    return true;
  }
  void tell(const TaskId& task) {
    proto::TaskStatus status{
        .task = task, .agent = tasks_.at(task), .state = proto::TaskState::kRunning};
    status.ready = true;
    status.data = R"({"ports":{"http":31000}})";
    told_.emplace_back(std::move(status));
  }

  void on(const proto::DeclareAsks& declare) { asks_ = {declare.asks.begin(), declare.asks.end()}; }
  void on(const proto::Accept& accept) {
    for (const proto::Operation& operation : accept.operations) {
      const auto& launch = std::get<proto::Launch>(operation);
      for (const proto::TaskSpec& spec : launch.tasks) {
        tasks_[spec.id] = launch.agent;
        tell(spec.id);
      }
    }
  }
  void on(const proto::Reconcile& reconcile) {
    for (const TaskId& task : reconcile.tasks) tell(task);
  }
  void on(const proto::StoreRequest& request) {
    using Kind = proto::StoreOperation::Kind;
    proto::StoreResult result{.id = request.id};
    for (const proto::StoreOperation& one : request.operations) {
      proto::StoreResult::Outcome outcome;
      if (one.kind == Kind::kPut) {
        store_[one.key] = one.value;
      } else if (one.kind == Kind::kDelete) {
        store_.erase(one.key);
      } else if (one.kind == Kind::kGet) {
        const auto found = store_.find(one.key);
        if (found != store_.end()) outcome = {.version = 1, .value = found->second};
      } else {
        for (auto at = store_.upper_bound(std::max(one.key, one.after));
             at != store_.end() && at->first.starts_with(one.key); ++at) {
          outcome.more = outcome.entries.size() == kStoreListMax;
          if (outcome.more) break;
          outcome.entries.push_back({at->first, 1});
        }
      }
      result.outcomes.push_back(std::move(outcome));
    }
    told_.emplace_back(std::move(result));
  }
  template <class Other>
  void on(const Other&) {}

  std::unique_ptr<Service> core_;
  Time now_ = Time() + seconds(1'000);
  int64_t cpu_ = 0;
  std::deque<sdk::Notification> told_;
  std::deque<Ask> asks_;
  std::map<TaskId, AgentId> tasks_;
  Entries store_;
  uint64_t offers_ = 0;
};

struct Size {
  int64_t apps;
  int64_t instances;  // of each
};
constexpr Size kSizes[] = {{100, 10}, {1'000, 10}, {1, 10'000}};

struct ScaleFigures {
  std::vector<int64_t> start, minute, restart, bytes, kept, entries;
};

void run(const Size& size, ScaleFigures& figures) {
  Cluster cluster;
  cluster.start("a");
  for (int64_t i = 0; i < size.apps; ++i) {
    AppSpec spec{.name = text("app-", i), .instances = size.instances, .command = "serve"};
    spec.ports = {"http"};
    cluster.handle(Request{static_cast<uint64_t>(i + 1), Apply{{spec}}, {}});
    cluster.settle();
  }
  cluster.advance(minutes(1));
  CHECK_EQ(cluster.ready(), size.apps * size.instances);
  figures.start.push_back(cluster.take_cpu());
  cluster.advance(minutes(1));
  figures.minute.push_back(cluster.take_cpu());
  size_t kept = 0;
  for (const auto& [key, value] : cluster.store()) kept += key.size() + value.size();
  figures.kept.push_back(static_cast<int64_t>(kept));
  figures.entries.push_back(static_cast<int64_t>(cluster.store().size()));
  const size_t before = mallinfo2().uordblks;
  cluster.end();
  figures.bytes.push_back(static_cast<int64_t>(before - mallinfo2().uordblks));
  cluster.start("b");
  cluster.advance(minutes(1));
  CHECK_EQ(cluster.ready(), size.apps * size.instances);
  figures.restart.push_back(cluster.take_cpu());
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::string body = text(
      "One service scheduler; each instance has a port. CPU of the scheduler's core only. Medians "
      "of ",
      FLAGS_runs,
      " runs.\n\n| apps × instances | apply and launch all, each offer of one task | a minute in "
      "which "
      "nothing happens | begin anew: read the store, confirm all | memory | kept in the store |\n"
      "|---|---|---|---|---|---|\n");
  const auto median = [](const std::vector<int64_t>& values) {
    return bench::percentile(values, 50);
  };
  for (const Size& size : kSizes) {
    ScaleFigures figures;
    for (int i = 0; i < FLAGS_runs; ++i) run(size, figures);
    body += text(
        "| ", size.apps, " × ", size.instances, " | ", bench::millis(median(figures.start)),
        " ms | ", bench::millis(median(figures.minute)), " ms | ",
        bench::millis(median(figures.restart)), " ms | ", median(figures.bytes) / 1024, " KiB | ",
        median(figures.kept) / 1024, " KiB in ", median(figures.entries), " entries |\n");
  }
  bench::write_section(FLAGS_results, "service scale", "build/bin/service_scale", body);
  return 0;
}
