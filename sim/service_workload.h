#pragma once

// Some apps on the production service core, whose users change them for a while. In the end each
// must run as wanted; then they are stopped, and nothing of them may remain.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/prng.h"
#include "frameworks/service/core/service_core.h"
#include "sim/workload.h"

namespace proffer::sim {

struct ServiceWorkloadOptions {
  std::string name = {};
  RoleName role = RoleName("default");
  uint64_t seed = 0;
  int64_t apps = 2;              // at most 3
  int64_t changes = 10;          // before the final ones
  Duration every = seconds(15);  // on average
};

class ServiceWorkload final : public Workload {
 public:
  explicit ServiceWorkload(ServiceWorkloadOptions options);

  sdk::DriverOptions options() const override;
  void begin(Time now) override;
  void hear(const sdk::Notification& notification, Time now, Commands& out) override;
  void tick(Time now, Commands& out) override;
  std::optional<Time> next_deadline() const override;
  bool is_done() const override { return refused_ || next_ == script_.size(); }
  std::vector<Violation> violations() const override;
  std::string progress() const override;

 private:
  // A request, its time, and the condition that must hold before the next request.
  enum class Until : uint8_t { kAnswered, kAllRun, kAllGone };
  struct Wish {
    Time at = {};
    std::optional<service::Change> change = {};
    Until until = Until::kAnswered;
  };

  void handle(const service::ServiceEvent& event, Time now, Commands& out);
  void look_at_neighbours();
  void check_launch(const proto::TaskSpec& task);
  void report_loads(Time now, Commands& out);
  void go_on(Time now, Commands& out);
  bool is_true(Until until) const;

  ServiceWorkloadOptions options_;
  Prng loads_;
  bool stands_by_ = false;
  uint64_t reports_ = 0;
  std::vector<Wish> script_;
  size_t next_ = 0;
  std::unique_ptr<service::Service> service_;  // of this life of the scheduler
  uint64_t lives_ = 0;
  std::optional<uint64_t> asked_;  // in this life, and not answered
  std::optional<Time> look_at_;
  bool refused_ = false;
  std::vector<Violation> found_;

  // The apps on an instance's agent when it was planned: those with an instance that has not ended,
  // and those with one that stays.
  struct Beside {
    std::set<std::string> present = {};
    std::set<std::string> staying = {};
  };
  std::map<TaskId, Beside> beside_;
};

}  // namespace proffer::sim
