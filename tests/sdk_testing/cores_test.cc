// Schedulers that are pure cores, connected to the SDK by drive(): the two shipped ones.

#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "frameworks/batch/core/jobs.h"
#include "frameworks/service/core/service_core.h"
#include "sdk/testing/drive.h"
#include "sdk/testing/matchers.h"
#include "sim/batch_workload.h"

namespace proffer::sdk::cores_test {
namespace {

// --- batch ---------------------------------------------------------------------------------------

class BatchCore {
 public:
  explicit BatchCore(batch::JobOrder order) : order_(std::move(order)) {}

  void hear(const Notification& what, Time now, std::vector<Command>& out) {
    step(batch::JobsEvent(what), now, out);
  }
  void tick(Time now, std::vector<Command>& out) { step(batch::Tick{}, now, out); }
  std::optional<Time> next_deadline() const { return jobs_.next_deadline(); }
  proto::BatchJob job(Time now) const {
    for (proto::BatchJob& job : jobs_.list({}, true, {}, 1, now)) return std::move(job);
    return {};
  }

 private:
  void step(const batch::JobsEvent& event, Time now, std::vector<Command>& out) {
    batch::JobsOutbox outbox;
    jobs_.handle(event, now, outbox);
    if (jobs_.loaded() && !std::exchange(is_submitted_, true)) {
      jobs_.handle(batch::Request{.relay = 1, .what = batch::Submit{order_, {}}, .by = {}}, now,
                   outbox);
    }
    out = std::move(outbox.commands);
    if (proto::has_ended(job(now).phase) && !std::exchange(is_torn_down_, true)) {
      out.push_back(proto::Teardown{});
    }
    EXPECT_TRUE(jobs_.violations().empty());
  }

  const batch::JobOrder order_;
  batch::Jobs jobs_ = batch::Jobs(batch::JobsOptions());
  bool is_submitted_ = false;
  bool is_torn_down_ = false;
};

batch::JobOrder word_count() {
  batch::JobOrder order;
  order.name = "words";
  order.map = "map";
  order.reduce = "reduce";
  order.output = "/out";
  order.plan = "plan";
  order.maps = 8;
  order.reducers = 2;
  order.resources = ResourceVector::of(500, 128'000);
  return order;
}

TEST(Cores, ABatchJobFinishesAlthoughAnAgentIsLostAndTheMasterFailsOver) {
  SimCluster cluster({.seed = 5, .agents = 3, .resources = "cpus:1;mem:1024"});
  Prng chance(5);
  std::map<sim::TaskKey, int64_t> outputs;
  const sim::Shuffle shuffle{
      .write = [&](const sim::TaskKey& map, int64_t bytes) { outputs[map] = bytes; },
      .read = [&](const std::string& address, const sim::TaskKey& map) -> std::optional<int64_t> {
        if (address.find("agent-2:") == 0) return std::nullopt;  // the agent is lost
        return outputs.at(map);
      }};
  using Parts = std::multimap<uint32_t, sim::KeptElement>;
  Parts parts;
  const sim::Results results{
      .read = [&](const std::string&) -> const Parts& { return parts; },
      .keep = [&](const sim::TaskKey&, const std::string&, Duration, uint32_t part,
                  sim::KeptElement kept) { parts.emplace(part, kept); },
      .violated = [](const Violation& violation) { ADD_FAILURE() << violation.what; }};
  cluster.on_task([&](const TaskStart& task) {
    const sim::TaskScript script = sim::batch_script(task, task.agent, shuffle, results, chance);
    return TaskScript{
        .runs = script.task.runs, .exit_code = script.task.exit_code, .data = script.data};
  });
  const auto core = std::make_shared<BatchCore>(word_count());
  const SimScheduler& scheduler = cluster.add({.name = "words", .acknowledges_ends = true},
                                              [&](Scheduler& words) { drive(words, core); });
  cluster.after(seconds(5), [&] { cluster.lose_agent("agent-2"); });
  cluster.after(seconds(8), [&] { cluster.fail_over_master(); });
  cluster.run_for(minutes(30));
  const proto::BatchJob status = core->job(cluster.now());
  EXPECT_EQ(status.phase, proto::BatchPhase::kFinished);
  EXPECT_EQ(status.map.done, 8);
  EXPECT_EQ(status.reduce.done, 2);
  EXPECT_EQ(status.reduce.bytes_in, 2 * status.map.bytes_in);
  EXPECT_FALSE(scheduler.is_up());
  EXPECT_THAT(cluster, no_task_lost());
}

// --- service -------------------------------------------------------------------------------------

class ServiceCore {
 public:
  ServiceCore(service::ServiceOptions options, service::AppSpec app)
      : service_(std::move(options)), app_(std::move(app)) {}

  void hear(const Notification& what, Time now, std::vector<Command>& out) {
    step(service::ServiceEvent(what), now, out);
  }
  void tick(Time now, std::vector<Command>& out) {
    if (!std::exchange(applied_, true)) step(service::Request{1, service::Apply{{app_}}}, now, out);
    step(service::Tick{}, now, out);
  }
  std::optional<Time> next_deadline() const { return service_.next_deadline(); }
  const service::Service& service() const { return service_; }

 private:
  void step(const service::ServiceEvent& event, Time now, std::vector<Command>& out) {
    service::ServiceOutbox outbox;
    service_.handle(event, now, outbox);
    for (Command& command : outbox.commands) out.push_back(std::move(command));
    EXPECT_TRUE(service_.violations().empty());
  }

  service::Service service_;
  service::AppSpec app_;
  bool applied_ = false;
};

TEST(Cores, AServiceKeepsItsInstancesThroughAStorm) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SimCluster cluster({.seed = seed, .agents = 3});
    SCOPED_TRACE(cluster.replay());
    cluster.on_task([](const TaskStart&) {
      TaskScript script = TaskScript::forever();
      script.health = {{seconds(2), true}};
      return script;
    });
    service::AppSpec app{
        .name = "web", .instances = 3, .command = "serve $PORT_http", .ports = {"http"}};
    app.health = proto::HealthCheck{.kind = proto::HealthCheck::Kind::kHttp, .port = "http"};
    std::shared_ptr<ServiceCore> core;
    int lives = 0;
    cluster.add({.name = "service", .session_file = "service.session"}, [&](Scheduler& scheduler) {
      core = std::make_shared<ServiceCore>(service::ServiceOptions{.life = std::to_string(++lives)},
                                           app);
      drive(scheduler, core);
    });
    cluster.run_for(minutes(1));
    EXPECT_THAT(cluster, running("service", 3));
    cluster.storm(minutes(5));
    cluster.run_for(minutes(30));
    EXPECT_THAT(cluster, running("service", 3));
    EXPECT_THAT(cluster, no_task_lost());
    const std::vector<proto::ServiceAppRow> apps = core->service().status();
    ASSERT_EQ(apps.size(), 1u);
    EXPECT_EQ(apps[0].ready, 3);
  }
}

}  // namespace
}  // namespace proffer::sdk::cores_test
