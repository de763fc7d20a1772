#pragma once

// Small worked examples of the allocator. Each step checks violations() automatically.
//
//   AllocatorScenario s;
//   s.agent("a1", "cpus:9;mem:18GiB");
//   s.framework("A").asks("cpus:1;mem:4GiB");
//   s.run_until_nothing_fits();
//   EXPECT_EQ(s.framework("A").tasks(), 3);

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "common/text.h"

namespace proffer {

inline std::ostream& operator<<(std::ostream& out, const Share& share) {
  return out << share.millionths() << " millionths";
}

class AllocatorScenario {
 public:
  struct Task {
    AgentId agent;
    AskName ask;
    Resources resources;
    TaskId id;
  };

  // A framework, by name, in the role of the same name by default.
  class Framework {
   public:
    Framework(AllocatorScenario& s, FrameworkId id) : s_(s), id_(std::move(id)) {}

    // Replaces the ask of this name; other asks stay. Subscribes the framework first if needed.
    Framework& asks(const std::string& shape, int64_t count = 1'000,
                    const std::string& name = "task", const std::string& constraint = "",
                    int64_t ports = 0, int32_t priority = 0) {
      subscribes(OfferMode::kAsks);
      Ask ask{.name = AskName(name),
              .shape = parse_shape(shape).value(),
              .count = count,
              .ports = ports,
              .priority = priority};
      if (!constraint.empty()) ask.constraints.push_back(parse_constraint(constraint).value());
      return asks(std::move(ask));
    }
    // The same in a role below its own.
    Framework& asks_in(const std::string& role, const std::string& shape, int64_t count = 1'000,
                       const std::string& name = "task") {
      return asks({.name = AskName(name),
                   .shape = parse_shape(shape).value(),
                   .count = count,
                   .role = RoleName(role)});
    }
    Framework& asks(Ask ask) {
      subscribes(OfferMode::kAsks);
      EXPECT_TRUE(check_ask(ask).has_value());
      std::vector<Ask>& declared = s_.asks_[id_];
      bool known = false;
      for (Ask& other : declared) {
        if (other.name != ask.name) continue;
        other = ask;
        known = true;
      }
      if (!known) declared.push_back(ask);
      s_.allocator_.declare_asks(id_, declared, s_.now_);
      s_.check();
      return *this;
    }
    Framework& subscribes(OfferMode mode = OfferMode::kOpen) {
      if (s_.roles_of_.count(id_) > 0) return *this;
      s_.roles_of_[id_] = RoleName(id_.str());
      s_.allocator_.add_framework(id_, s_.roles_of_[id_], mode);
      s_.check();
      return *this;
    }
    Framework& in_role(const std::string& role, OfferMode mode = OfferMode::kAsks) {
      s_.roles_of_[id_] = RoleName(role);
      s_.allocator_.add_framework(id_, RoleName(role), mode);
      s_.check();
      return *this;
    }

    // Launches the tasks of its outstanding offers: the tasks of the fills, or all of an open offer
    // as one task.
    void accepts_all() {
      for (const Grant& grant : outstanding()) accept(grant);
    }
    void declines(const std::string& agent, const Refusal& refusal) {
      bool had_any = false;
      for (const Grant& grant : outstanding()) {
        if (grant.offer.agent != AgentId(agent)) continue;
        had_any = true;
        s_.allocator_.settle({grant.offer.id}, {}, refusal, s_.now_);
        s_.check();
      }
      EXPECT_TRUE(had_any) << id_.str() << " has no offer of " << agent << " to decline";
    }
    void declines(const std::string& agent, Duration refuse_for = kDeclineFilter) {
      declines(agent, Refusal{.refuse_for = refuse_for});
    }
    // Ends the task.
    void ends(const TaskId& id) {
      const auto at = std::find_if(running().begin(), running().end(),
                                   [&](const Task& task) { return task.id == id; });
      ASSERT_TRUE(at != running().end()) << id.str();
      s_.allocator_.release(at->agent, id_, at->id);
      running().erase(at);
      s_.check();
    }
    // Ends its oldest tasks of this ask.
    void ends(int64_t count, const std::string& ask = "task") {
      for (auto at = running().begin(); at != running().end() && count > 0;) {
        if (at->ask != AskName(ask)) {
          ++at;
          continue;
        }
        s_.allocator_.release(at->agent, id_, at->id);
        at = running().erase(at);
        --count;
        s_.check();
      }
      EXPECT_EQ(count, 0) << id_.str() << " has fewer tasks of " << ask;
    }
    void pauses(bool paused = true) {
      s_.allocator_.pause(id_, paused);
      s_.check();
    }
    void pauses_ask(const std::string& ask, bool paused = true) {
      s_.allocator_.pause(id_, AskName(ask), paused);
      s_.check();
    }
    void suppresses() {
      s_.allocator_.suppress(id_);
      s_.check();
    }
    void revives() {
      s_.allocator_.revive(id_);
      s_.check();
    }

    int64_t tasks(const std::string& ask = "task") {
      int64_t count = 0;
      for (const Task& task : running()) count += task.ask == AskName(ask) ? 1 : 0;
      return count;
    }
    int64_t tasks_on(const std::string& agent) {
      int64_t count = 0;
      for (const Task& task : running()) count += task.agent == AgentId(agent) ? 1 : 0;
      return count;
    }
    std::vector<Task>& running() { return s_.tasks_[id_]; }
    std::vector<Grant> outstanding() {
      std::vector<Grant> all;
      for (const Grant* grant : s_.allocator_.offers()) {
        if (grant->framework == id_) all.push_back(*grant);
      }
      return all;
    }
    // "a1 cpus:4;mem:8192" for each outstanding offer, by agent.
    std::vector<std::string> offers() {
      std::vector<std::string> all;
      for (const Grant& grant : outstanding()) {
        all.push_back(text(grant.offer.agent.str(), " ", to_text(grant.offer.total())));
      }
      std::sort(all.begin(), all.end());
      return all;
    }
    LeafStatus status() {
      for (const LeafStatus& leaf : s_.allocator_.leaves()) {
        if (leaf.framework == id_) return leaf;
      }
      ADD_FAILURE() << "no framework " << id_.str();
      return {};
    }
    Share dominant_share() { return status().dominant_share; }
    AskStatus ask(const std::string& name = "task") {
      for (const AskStatus& ask : status().asks) {
        if (ask.ask == AskName(name)) return ask;
      }
      ADD_FAILURE() << "no ask " << name;
      return {};
    }
    const FrameworkId& id() const { return id_; }
    // The ask as declared now; its count excludes launched tasks.
    const Ask& ask_of(const AskName& name) {
      for (const Ask& ask : s_.asks_[id_]) {
        if (ask.name == name) return ask;
      }
      ADD_FAILURE() << "no ask " << name.str();
      static const Ask kNone;
      return kNone;
    }

   private:
    void accept(const Grant& grant) {
      std::vector<Slice> rest = grant.offer.slices;
      std::vector<RunningTask> launched;
      const auto launch = [&](const AskName& ask, std::vector<Slice> slices, Band band,
                              Duration max_run_time = {}) {
        const TaskId id(text("t-", ++s_.launched_));
        Resources resources;
        for (const Slice& slice : slices) resources += slice.resources;
        launched.push_back({.task = id,
                            .ask = ask,
                            .claim = {.slices = std::move(slices),
                                      .role = grant.role,
                                      .band = band,
                                      .gang = grant.offer.gang,
                                      .max_run_time = max_run_time},
                            .since = s_.now_});
        running().push_back(
            {grant.offer.agent, ask.empty() ? AskName("task") : ask, resources, id});
      };
      for (const AskFill& fill : grant.offer.fills) {
        const Ask& ask = ask_of(fill.ask);
        for (int64_t i = 0; i < fill.count; ++i) {
          std::optional<std::vector<Slice>> one = take(ask.shape, rest);
          ASSERT_TRUE(one) << "the offer is too small for what it fills";
          launch(fill.ask, *std::move(one), ask.band, ask.max_run_time);
        }
      }
      if (grant.offer.fills.empty()) launch({}, rest, Band::kBatch);
      for (Ask& ask : s_.asks_[id_]) {
        for (const AskFill& fill : grant.offer.fills) {
          if (fill.ask == ask.name) ask.count = std::max<int64_t>(ask.count - fill.count, 0);
        }
      }
      s_.allocator_.settle({grant.offer.id}, std::move(launched), {}, s_.now_);
      s_.check();
    }
    AllocatorScenario& s_;
    FrameworkId id_;
  };

  explicit AllocatorScenario(AllocatorOptions options = {}) : allocator_(std::move(options)) {}

  void agent(const std::string& name, const std::string& resources,
             const std::string& attributes = "") {
    Resources all = parse_agent_resources(resources).value();
    PortSet ports = all.ports;
    all.ports = {};
    allocator_.set_agent(AgentId(name), {.attributes = parse_attributes(attributes).value(),
                                         .slices = {Slice{.resources = all}},
                                         .ports = ports});
    check();
  }
  // An agent with additional slices: "eng" reserved for that role, "~" only estimated to be free.
  void agent(const std::string& name, const std::string& resources, const std::string& attributes,
             const std::map<std::string, std::string>& reserved) {
    Resources all = parse_agent_resources(resources).value();
    PortSet ports = all.ports;
    all.ports = {};
    std::vector<Slice> slices = {Slice{.resources = all}};
    for (const auto& [role, amounts] : reserved) {
      const bool is_estimate = role == "~";
      slices.push_back({.resources = parse_agent_resources(amounts).value(),
                        .reserved_for = is_estimate ? RoleName() : RoleName(role),
                        .revocable = is_estimate});
    }
    allocator_.set_agent(
        AgentId(name),
        {.attributes = parse_attributes(attributes).value(), .slices = slices, .ports = ports});
    check();
  }
  void loses(const std::string& agent) {
    allocator_.remove_agent(AgentId(agent));
    for (auto& [id, tasks] : tasks_) {
      std::erase_if(tasks, [&](const Task& task) { return task.agent == AgentId(agent); });
    }
    check();
  }
  void weight(const std::string& role, int64_t milli) {
    RoleSettings settings = settings_of(role);
    settings.weight = milli;
    allocator_.set_role(RoleName(role), settings);
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
  RoleStatus role(const std::string& name) const {
    for (const RoleStatus& role : allocator_.roles()) {
      if (role.role == RoleName(name)) return role;
    }
    ADD_FAILURE() << "no role " << name;
    return {};
  }
  Framework framework(const std::string& name) { return Framework(*this, FrameworkId(name)); }

  Decision decide() {
    Decision decision = allocator_.decide(now_);
    check();
    for (const Rescind& rescind : decision.rescinds) rescinds_.push_back(rescind);
    for (const Revoke& revoke : decision.revokes) revokes_.push_back(revoke);
    // After a decision nothing is due now.
    EXPECT_TRUE(!allocator_.next_decision(now_) || *allocator_.next_decision(now_) > now_);
    return decision;
  }
  // Advances time; decisions happen when they are due. Offers stay as they are.
  void advance(Duration duration) {
    const Time end = now_ + duration;
    while (const std::optional<Time> next = allocator_.next_decision(now_)) {
      if (*next > end) break;
      now_ = std::max(now_, *next);
      decide();
    }
    now_ = end;
  }
  // Accepts all offers until there are none.
  void run_until_nothing_fits() {
    for (int i = 0; i < 1'000; ++i) {
      decide();
      if (allocator_.offers().empty()) return;
      for (const auto& [id, role] : roles_of_) Framework(*this, id).accepts_all();
    }
    FAIL() << "offers do not end";
  }

  Allocator& allocator() { return allocator_; }
  Time now() const { return now_; }
  const std::vector<Rescind>& rescinds() const { return rescinds_; }
  // The revoked tasks, which the master would end at their deadlines.
  const std::vector<Revoke>& revokes() const { return revokes_; }
  void end_revoked() {
    for (const Revoke& revoke : revokes_) {
      Framework of(*this, revoke.framework);
      const bool runs = std::any_of(of.running().begin(), of.running().end(),
                                    [&](const Task& task) { return task.id == revoke.task; });
      if (runs && revoke.deadline <= now_) of.ends(revoke.task);
    }
  }
  void check() const {
    for (const Violation& violation : allocator_.violations()) ADD_FAILURE() << violation.what;
  }

 private:
  RoleSettings settings_of(const std::string& role) const {
    const auto at = allocator_.role_table().find(RoleName(role));
    return at == allocator_.role_table().end() ? RoleSettings() : at->second;
  }

  Allocator allocator_;
  Time now_ = Time() + seconds(1'000);
  int64_t launched_ = 0;
  std::map<FrameworkId, RoleName> roles_of_;
  std::map<FrameworkId, std::vector<Ask>> asks_;
  std::map<FrameworkId, std::vector<Task>> tasks_;
  std::vector<Rescind> rescinds_;
  std::vector<Revoke> revokes_;
};

// Names for googletest's messages.
using Offers = std::vector<std::string>;

}  // namespace proffer
