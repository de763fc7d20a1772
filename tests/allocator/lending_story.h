#pragma once

// A cluster in which frameworks want a number of tasks to run forever, and time passes: offers are
// accepted at once; a revoked task ends at its deadline and is wanted again. Each step checks
// violations() automatically.
//
//   LendingStory s;
//   s.agent("a1", "cpus:10;mem:10GiB");
//   s.guarantee("eng", "cpus:6");
//   s.wants("ops", "cpus:1;mem:1", 100);
//   s.lives(minutes(1));
//   EXPECT_EQ(s.runs("ops"), 10);

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "common/text.h"

namespace proffer {

class LendingStory {
 public:
  struct Options {
    std::string role = {};  // of the framework; empty: its name
    Band band = Band::kBatch;
    int32_t priority = 0;
    int64_t gang = 1;
    std::string constraint = {};
    std::string ask = "task";
    bool borrow = true;
    Duration duration = {};  // as declared; the tasks run forever
  };

  explicit LendingStory(AllocatorOptions options = {})
      : options_(options), allocator_(std::move(options)) {}

  void agent(const std::string& name, const std::string& resources,
             const std::string& attributes = "") {
    allocator_.set_agent(
        AgentId(name), {.attributes = parse_attributes(attributes).value(),
                        .slices = {Slice{.resources = parse_agent_resources(resources).value()}}});
    check();
  }
  void loses_agent(const std::string& name) {
    for (auto& [key, of_ask] : asks_) {
      std::erase_if(of_ask.running,
                    [&](const auto& task) { return task.second.agent == AgentId(name); });
    }
    allocator_.remove_agent(AgentId(name));
    declare_all();
  }
  void drains_agent(const std::string& name) {
    allocator_.set_agent_draining(AgentId(name), true);
    check();
  }
  void guarantee(const std::string& role, const std::string& quota) {
    RoleSettings settings = settings_of(role);
    settings.guarantee = parse_quota(quota).value();
    allocator_.set_role(RoleName(role), settings);
    check();
  }
  void limit(const std::string& role, const std::string& quota) {
    RoleSettings settings = settings_of(role);
    settings.limit = parse_quota(quota).value();
    allocator_.set_role(RoleName(role), settings);
    check();
  }

  // Sets the wanted number of tasks. Running tasks beyond it continue.
  void wants(const std::string& framework, const std::string& shape, int64_t count) {
    wants(framework, shape, count, Options());
  }
  void wants(const std::string& framework, const std::string& shape, int64_t count,
             const Options& options) {
    const FrameworkId id(framework);
    if (frameworks_.insert(id).second) {
      allocator_.add_framework(id, RoleName(options.role.empty() ? framework : options.role),
                               OfferMode::kAsks);
    }
    OfAsk& of_ask = asks_[{id, AskName(options.ask)}];
    of_ask.ask = {.name = AskName(options.ask),
                  .shape = parse_shape(shape).value(),
                  .priority = options.priority,
                  .gang = options.gang,
                  .band = options.band,
                  .borrow = options.borrow,
                  .duration = options.duration};
    if (!options.constraint.empty()) {
      of_ask.ask.constraints.push_back(parse_constraint(options.constraint).value());
    }
    of_ask.wanted = count;
    declare(id);
  }
  // Ends the framework's oldest tasks; they are not wanted again.
  void finishes(const std::string& framework, int64_t count) {
    OfAsk& of_ask = asks_.at({FrameworkId(framework), AskName("task")});
    while (count-- > 0) end(FrameworkId(framework), of_ask, of_ask.running.begin()->first);
    of_ask.wanted = static_cast<int64_t>(of_ask.running.size());
    declare(FrameworkId(framework));
  }
  void goes_away(const std::string& framework) {
    allocator_.set_framework_active(FrameworkId(framework), false);
    check();
  }
  void comes_back(const std::string& framework) {
    allocator_.set_framework_active(FrameworkId(framework), true);
    check();
  }
  void declines_all_from_now_on(const std::string& framework) {
    decline_.insert(FrameworkId(framework));
  }

  // Advances time, from event to event.
  void lives(Duration duration) {
    const Time until = now_ + duration;
    while (true) {
      std::optional<Time> next = allocator_.next_decision(now_);
      for (const Revoke& told : told_) next = next ? std::min(*next, told.deadline) : told.deadline;
      if (!next || *next > until) break;
      now_ = std::max(now_, *next);
      carry_out_revokes();
      decide();
    }
    now_ = until;
  }

  int64_t runs(const std::string& framework, const std::string& ask = "task") const {
    const auto at = asks_.find({FrameworkId(framework), AskName(ask)});
    return at == asks_.end() ? 0 : static_cast<int64_t>(at->second.running.size());
  }
  int64_t runs_on(const std::string& framework, const std::string& agent) const {
    int64_t count = 0;
    for (const auto& [key, of_ask] : asks_) {
      if (key.first != FrameworkId(framework)) continue;
      for (const auto& [id, task] : of_ask.running) count += task.agent == AgentId(agent) ? 1 : 0;
    }
    return count;
  }
  // The number of notices, for tasks of the framework or for all.
  int64_t revokes(const std::string& framework = "") const {
    return std::count_if(revokes_.begin(), revokes_.end(), [&](const Revoke& revoke) {
      return framework.empty() || revoke.framework == FrameworkId(framework);
    });
  }
  const std::vector<Revoke>& notices() const { return revokes_; }
  Time last_revoke() const { return last_revoke_; }
  // The maximum number of notices within any minute.
  int64_t revokes_within_a_minute() const {
    size_t most = 0;
    size_t first = 0;
    for (size_t i = 0; i < revoked_at_.size(); ++i) {
      while (revoked_at_[first] <= revoked_at_[i] - minutes(1)) ++first;
      most = std::max(most, i - first + 1);
    }
    return static_cast<int64_t>(most);
  }
  ReclaimOutlook outlook(const std::string& framework, const std::string& ask = "task") const {
    return allocator_.reclaim_outlook(FrameworkId(framework), AskName(ask), now_);
  }

  Allocator& allocator() { return allocator_; }
  Time now() const { return now_; }

 private:
  struct Running {
    AgentId agent = {};
    Time since = {};
    uint64_t gang = 0;
    bool told = false;
  };
  struct OfAsk {
    Ask ask = {};
    int64_t wanted = 0;
    std::map<TaskId, Running> running = {};
  };

  RoleSettings settings_of(const std::string& role) const {
    const auto at = allocator_.role_table().find(RoleName(role));
    return at == allocator_.role_table().end() ? RoleSettings() : at->second;
  }

  void check() const {
    for (const Violation& violation : allocator_.violations()) ADD_FAILURE() << violation.what;
  }

  void declare(const FrameworkId& id) {
    std::vector<Ask> asks;
    for (auto& [key, of_ask] : asks_) {
      if (key.first != id) continue;
      of_ask.ask.count =
          std::max<int64_t>(of_ask.wanted - static_cast<int64_t>(of_ask.running.size()), 0);
      asks.push_back(of_ask.ask);
    }
    allocator_.declare_asks(id, std::move(asks), now_);
    check();
  }
  void declare_all() {
    for (const FrameworkId& id : frameworks_) declare(id);
  }

  void decide() {
    const Decision decision = allocator_.decide(now_);
    check();
    EXPECT_TRUE(!allocator_.next_decision(now_) || *allocator_.next_decision(now_) > now_);
    for (const Revoke& revoke : decision.revokes) note(revoke);
    std::map<FrameworkId, std::vector<Grant>> grants;
    for (const Grant& grant : decision.grants) grants[grant.framework].push_back(grant);
    for (const auto& [id, of_framework] : grants) {
      for (const Grant& grant : of_framework) accept(grant);
      declare(id);
    }
  }

  void accept(const Grant& grant) {
    if (decline_.count(grant.framework) > 0) {
      allocator_.settle({grant.offer.id}, {}, {.refuse_for = kDeclineFilter}, now_);
      return check();
    }
    Resources rest = grant.offer.total();
    std::vector<RunningTask> launched;
    for (const AskFill& fill : grant.offer.fills) {
      OfAsk& of_ask = asks_.at({grant.framework, fill.ask});
      for (int64_t i = 0; i < fill.count; ++i) {
        // Padded, so that the order of ids is that of launches.
        const std::string number = std::to_string(++launched_);
        const TaskId id("t-" + std::string(6 - number.size(), '0') + number);
        const Resources one = carve(of_ask.ask.shape, rest);
        rest -= one;
        launched.push_back({.task = id,
                            .ask = fill.ask,
                            .claim = {.slices = {Slice{.resources = one}},
                                      .role = grant.role,
                                      .priority = of_ask.ask.priority,
                                      .band = of_ask.ask.band,
                                      .gang = grant.offer.gang},
                            .since = now_});
        of_ask.running[id] = {.agent = grant.offer.agent, .since = now_, .gang = grant.offer.gang};
      }
    }
    allocator_.settle({grant.offer.id}, std::move(launched), {}, now_);
    check();
  }

  void note(const Revoke& revoke) {
    revokes_.push_back(revoke);
    told_.push_back(revoke);
    revoked_at_.push_back(now_);
    last_revoke_ = now_;
    EXPECT_EQ(revoke.deadline, now_ + options_.revoke_grace);
    for (auto& [key, of_ask] : asks_) {
      if (key.first != revoke.framework) continue;
      const auto at = of_ask.running.find(revoke.task);
      if (at == of_ask.running.end()) continue;
      EXPECT_EQ(at->second.agent, revoke.agent);
      EXPECT_FALSE(at->second.told) << "a second notice for " << revoke.task.str();
      at->second.told = true;
      return;
    }
    ADD_FAILURE() << "a notice for " << revoke.task.str() << ", which does not run";
  }

  void carry_out_revokes() {
    std::set<FrameworkId> changed;
    for (const Revoke& revoke : std::exchange(told_, {})) {
      if (revoke.deadline > now_) {
        told_.push_back(revoke);
        continue;
      }
      for (auto& [key, of_ask] : asks_) {
        if (key.first == revoke.framework) end(key.first, of_ask, revoke.task);
      }
      changed.insert(revoke.framework);
    }
    for (const FrameworkId& id : changed) declare(id);
  }

  // Ends the task with its gang. By value: the argument may be the key of an element that is erased
  // here.
  void end(const FrameworkId& framework, OfAsk& of_ask, TaskId task) {
    const auto at = of_ask.running.find(task);
    if (at == of_ask.running.end()) return;
    const Running ended = at->second;
    of_ask.running.erase(at);
    allocator_.release(ended.agent, framework, task);
    check();
    if (ended.gang == 0) return;
    std::vector<TaskId> others;
    for (const auto& [id, other] : of_ask.running) {
      if (other.gang == ended.gang) others.push_back(id);
    }
    for (const TaskId& other : others) end(framework, of_ask, other);
  }

  const AllocatorOptions options_;
  Allocator allocator_;
  Time now_ = Time() + seconds(1'000);
  int64_t launched_ = 0;
  std::set<FrameworkId> frameworks_;
  std::set<FrameworkId> decline_;
  std::map<std::pair<FrameworkId, AskName>, OfAsk> asks_;
  std::vector<Revoke> told_;  // notices whose tasks have not ended yet
  std::vector<Revoke> revokes_;
  std::vector<Time> revoked_at_;
  Time last_revoke_;
};

}  // namespace proffer
