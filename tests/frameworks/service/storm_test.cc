// Random histories of apps: agents come and go, tasks crash, the scheduler, the master and the
// store fail and return, users change apps. The scenario checks the laws at each step; after the
// storm, the running instances are the wanted ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/service/service_scenario.h"
#include "tests/support/long.h"

namespace proffer::service::storm_test {
namespace {

using State = proto::TaskState;
using Reason = proto::TaskReason;

class Storm {
 public:
  explicit Storm(uint64_t seed) : prng_(seed) {
    for (const std::string& name : names_) s_.agent(name, 6);
    if (seed % 2 == 0) s_.follow();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) disturb();
    calm();
  }

 private:
  bool one_in(uint64_t n) { return prng_.chance(1, n); }
  std::string any_agent() { return names_[prng_.below(names_.size())]; }
  std::string any_task() {
    if (s_.tasks().empty()) return "";
    return std::next(s_.tasks().begin(), static_cast<ptrdiff_t>(prng_.below(s_.tasks().size())))
        ->first;
  }
  AppSpec any_spec() {
    const bool is_daemon = one_in(4);
    AppSpec spec = ServiceScenario::app(prng_.between(0, 5), is_daemon   ? "each"
                                                             : one_in(3) ? "api"
                                                                         : "web");
    spec.daemon = is_daemon;
    spec.command = text("serve ", prng_.below(3));
    spec.update.max_unavailable = prng_.between(0, 3);
    spec.update.max_surge = prng_.between(spec.update.max_unavailable == 0 ? 1 : 0, 2);
    spec.update.canary = one_in(4) ? prng_.between(1, 3) : 0;
    spec.update.healthy_for = one_in(3) ? seconds(prng_.between(1, 20)) : Duration();
    spec.update.progress_deadline = seconds(prng_.between(30, 300));
    spec.update.rolls_back = !one_in(4);
    if (one_in(3)) spec.drain_delay = seconds(prng_.between(1, 10));
    if (spec.name == "api" && one_in(2)) spec.after = {"web"};
    return one_in(2) ? ServiceScenario::with_health(spec) : spec;
  }

  // An event of one task that its agent can report.
  void disturb_task() {
    const std::string id = any_task();
    if (id.empty() || away_.count(s_.tasks().at(id).agent.str()) > 0 || !s_.is_connected()) return;
    switch (prng_.below(6)) {
      case 0:
        return s_.crash(id);
      case 1:
        return s_.end(id, State::kFinished, Reason::kCommandExited);
      case 2:
        return s_.end(id, State::kKilled, Reason::kKilledByOperator);
      case 3:
        return s_.end(id, State::kLost, Reason::kExecutorEnded);
      default:
        if (s_.tasks().at(id).spec.health && s_.tasks().at(id).state == State::kRunning) {
          s_.healthy(id, one_in(2));
        }
    }
  }

  void disturb() {
    switch (prng_.below(16)) {
      case 0:
        s_.apply(any_spec());
        break;
      case 1:
        s_.scale(one_in(3) ? "api" : "web", prng_.between(0, 5));
        break;
      case 2:
        if (one_in(3)) s_.stop(one_in(3) ? "api" : one_in(3) ? "each" : "web");
        if (one_in(3)) s_.request(Rollback{one_in(3) ? "api" : "web"});
        if (one_in(3)) s_.request(Pause{one_in(3) ? "api" : "web"});
        if (one_in(3)) s_.request(Resume{one_in(3) ? "api" : "web"});
        break;
      case 3: {
        const std::string agent = any_agent();
        if (s_.is_connected() && away_.insert(agent).second) s_.unreachable(agent);
        break;
      }
      case 4:
      case 5: {
        const std::string agent = any_agent();
        if (s_.is_connected() && away_.erase(agent) > 0) s_.returns(agent);
        break;
      }
      case 6:
        if (one_in(3) && s_.is_connected()) {
          const std::string agent = any_agent();
          away_.erase(agent);
          s_.gone(agent);
          s_.agent(agent, 6);
        }
        if (one_in(2)) s_.drain(any_agent(), milliseconds(prng_.between(0, 60'000)));
        break;
      case 7:
        if (s_.is_connected()) s_.disconnect();
        break;
      case 8:
        if (!s_.is_connected()) s_.connect();
        break;
      case 9:
        if (one_in(2)) s_.start();
        break;
      case 10:
        s_.hold_store(one_in(2));
        break;
      case 11:
        s_.start_tasks(!one_in(3));
        s_.obey_kills(!one_in(3));
        s_.auto_healthy(!one_in(3));
        break;
      case 12:
        s_.expire_offers();
        s_.offer_once(prng_.between(1, 4));
        if (one_in(2)) s_.undrain(any_agent(), 6);
        break;
      case 13:
      case 14:
        disturb_task();
        break;
      default:
        s_.advance(milliseconds(prng_.between(0, 5'000)));
    }
    s_.tick();
    s_.end_drains();
  }

  // Ends all faults; every decision of the storm is carried out.
  void calm() {
    s_.hold_store(false);
    if (!s_.is_connected()) s_.connect();
    for (const std::string& agent : std::set(away_)) s_.returns(agent);
    for (const std::string& agent : names_) s_.undrain(agent, 16);
    s_.start_tasks(true);
    s_.obey_kills(true);
    s_.auto_healthy(true);
    for (const auto& [id, task] : std::map(s_.tasks())) {
      if (s_.tasks().count(id) > 0 && task.state == State::kRunning && task.spec.health) {
        s_.healthy(id, true);
      }
    }
    for (int i = 0; i < 20; ++i) s_.advance(seconds(30));
    // A held update continues on request, and `api` waits for `web`.
    for (const proto::ServiceAppRow& row : s_.core().status()) {
      const bool is_waiting = row.state == "waiting";
      if (is_waiting) s_.apply(ServiceScenario::app(2));
      if (is_waiting || row.state == "canary" || row.state == "paused") {
        s_.request(Resume{row.app});
      }
    }
    for (int i = 0; i < 20; ++i) s_.advance(seconds(30));
    size_t wanted = 0;
    for (const proto::ServiceAppRow& row : s_.core().status()) {
      EXPECT_EQ(row.state, "running") << row.app << ": " << row.why;
      EXPECT_EQ(row.ready, row.instances) << row.app << ": " << row.why;
      EXPECT_EQ(row.live, row.instances) << row.app;
      EXPECT_EQ(row.outdated, 0) << row.app;
      if (row.app != "each") continue;
      std::set<AgentId> agents;
      for (const std::string& id : s_.tasks_of("each")) agents.insert(s_.tasks().at(id).agent);
      EXPECT_EQ(agents.size(), names_.size());
      EXPECT_EQ(row.instances, static_cast<int64_t>(names_.size()));
    }
    for (const proto::ServiceAppRow& row : s_.core().status()) {
      wanted += static_cast<size_t>(row.instances);
    }
    EXPECT_EQ(s_.tasks().size(), wanted);
    EXPECT_EQ(s_.core().snapshot(), s_.store());
  }

  Prng prng_;
  const std::vector<std::string> names_ = {"a1", "a2", "a3"};
  std::set<std::string> away_;
  ServiceScenario s_;
};

TEST(Storm, EndsWithWhatIsWanted) {
  const bool is_long = test::is_long();
  for (uint64_t seed = 1; seed <= (is_long ? 10'000u : 60u); ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    Storm(seed).run(200);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace proffer::service::storm_test
