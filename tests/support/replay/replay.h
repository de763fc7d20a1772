#pragma once

// A scenario that is played against the allocator alone, in virtual time, without a master, agents
// or network, only with their calls. It is for laws over thousands of generated scenarios, and for
// hard cases as scenarios. After each instant and each decision it checks the allocator's own
// violations(), and audits its actions with the replay's own records (audit.cc).
//
// Differences from `proffer simulate`: a framework answers an offer after the network's delay, a
// revoked task runs to the end of its grace period, and if one task of a gang ends early, all do.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "common/constraint_matcher.h"
#include "sim/scenario.h"

namespace proffer::replay {

struct ReplayOptions {
  // Allocator options that a scenario does not set, such as naive rules and shorter waits.
  AllocatorOptions allocator = {};
  bool audit = true;
  // Writes each decision as text, which takes as long as the decision itself.
  bool trace = true;
  // CPU time of this thread, for decision_cpu().
  std::function<Duration()> cpu_clock = {};
  int64_t decisions_max = 50'000;  // more count as endless decisions
  // Frameworks that declare their asks and then decline every offer, or never answer one. (Such
  // frameworks of a scenario take open offers.)
  std::set<std::string> declining = {};
  std::set<std::string> holding = {};
};

// The results of the tasks NAME-0, NAME-1, … of one framework.
struct GroupResult {
  int64_t pending = 0;
  int64_t running = 0;
  int64_t finished = 0;
  int64_t revoked = 0;     // number of revoke notices
  Duration wait_max = {};  // from wanted to running, for started tasks
  bool operator==(const GroupResult&) const = default;
};

class Replay {
 public:
  explicit Replay(sim::Scenario scenario, ReplayOptions options = {});

  // Plays the scenario from its beginning until this time, or to its end.
  void run_until(Duration at);
  void run();

  // --- results ----------------------------------------------------------------------------------
  // Violated laws with their times; the replay stops at the first one.
  const std::vector<std::string>& wrong() const { return wrong_; }
  // Every decision as text. Equal scenarios have equal traces.
  const std::vector<std::string>& trace() const { return trace_; }
  GroupResult group(const std::string& framework, const std::string& tasks) const;
  int64_t running(const std::string& framework) const;  // of all groups
  int64_t pending(const std::string& framework) const;
  // The role's offered and running resources, with all roles below it.
  ResourceVector use(const RoleName& role) const;
  ResourceVector use_of(const FrameworkId& framework) const;
  int64_t revokes() const { return revokes_; }
  Duration last_revoke() const { return last_revoke_; }  // since the beginning
  int64_t decisions() const { return decisions_; }
  // The CPU time of all decisions, if there is a clock for it.
  Duration decision_cpu() const { return decision_cpu_; }
  Allocator& allocator() { return *allocator_; }
  const sim::Scenario& scenario() const { return scenario_; }
  Time now() const { return now_; }

  // --- changes during a run ---------------------------------------------------------------------
  void set_role(const RoleName& role, const RoleSettings& settings);
  // The agent loses its connection, or reconnects; its tasks continue.
  void set_connected(const std::string& agent, bool connected);

 private:
  struct Agent {
    const sim::ScenarioAgent* spec = nullptr;
    bool active = false;  // connected
    bool draining = false;
  };
  struct Running {
    AgentId agent;
    RunningTask task;
    Time since;
    bool revoked = false;
  };
  struct Group {
    const sim::ScenarioTasks* spec = nullptr;
    ConstraintMatcher matcher;
    int64_t declared = 0;  // count of its declared ask, minus launches
    bool is_declared = false;
    std::optional<Time> expires;
    Time prefers_since;
    std::map<int64_t, Time> wanted;  // by number: the time since which it is pending
    std::map<int64_t, Running> running;
    std::map<int64_t, int64_t> lost;  // by number: how often it was lost
    int64_t finished = 0;
    int64_t revoked = 0;
    Duration wait_max = {};
  };
  struct Framework {
    const sim::ScenarioFramework* spec = nullptr;
    bool joined = false;
    std::vector<Group> groups;
  };

  // --- time -------------------------------------------------------------------------------------
  void at(Time when, std::function<void()> what);
  void decide();
  void check_state(const std::string& after);

  // --- agents and frameworks (replay.cc) --------------------------------------------------------
  void plan_agent(const sim::ScenarioAgent& spec, const AgentId& id);
  void agent_joins(const AgentId& id, const sim::ScenarioAgent& spec);
  void agent_is_gone(const AgentId& id);
  void empty_agent(const AgentId& id);
  void framework_joins(const FrameworkId& id);
  void framework_leaves(const FrameworkId& id);
  void arrive(const FrameworkId& id, size_t group, int64_t first, int64_t count);
  void declare(const FrameworkId& id);
  void note_declared(const FrameworkId& id, Group& group, int64_t count);

  // --- tasks (answers.cc) -----------------------------------------------------------------------
  void answer(const FrameworkId& id, const std::vector<OfferId>& offers);
  std::vector<RunningTask> launch(const FrameworkId& id, const Grant& grant);
  bool start(const FrameworkId& id, size_t group, const Grant& grant, std::vector<Slice>& rest,
             std::vector<RunningTask>& launched);
  void end_task(const FrameworkId& id, size_t group, int64_t number, Time started);
  // It ended early, with the rest of its gang, and is wanted again.
  void lose_task(const FrameworkId& id, size_t group, int64_t number, bool tell_allocator);
  void revoke(const Revoke& revoke);
  struct Found {
    size_t group = 0;
    int64_t number = 0;
  };
  std::optional<Found> find_task(const Framework& framework, const TaskId& task) const;

  // --- audit.cc ---------------------------------------------------------------------------------
  void audit(const Decision& decision);
  void audit_grant(const Grant& grant);
  void audit_limits(const Grant& grant);
  void audit_max_per(const Grant& grant);
  void audit_gangs();
  void audit_agents();
  void audit_revokes(const Decision& decision);
  void audit_victim(const Revoke& revoke, const std::set<std::pair<FrameworkId, TaskId>>& now);
  // The value of the agent's attribute.
  std::string value_of(const AgentId& agent, const std::string& attribute) const;

  // --- conservation.cc --------------------------------------------------------------------------
  void audit_work_conservation();
  int64_t room_on(const FrameworkId& id, const Group& group, const AgentId& agent, int64_t most,
                  const ResourceVector& kept) const;
  std::vector<Resources> free_for(const RoleName& role, const AgentId& agent,
                                  const ResourceVector& kept) const;
  // Resources set aside, by agent: all that becomes free, or one task of a group.
  struct Claims {
    std::set<AgentId> whole = {};
    struct Part {
      const Group* group = nullptr;
      ResourceVector amounts = {};
    };
    std::map<AgentId, Part> parts = {};
    // What guarantees that were taken back repeatedly withhold from long tasks.
    std::map<AgentId, std::vector<AgentUse::Withheld>> withheld = {};
  };
  ResourceVector withheld_from(const RoleName& role, const Group& group,
                               const std::vector<AgentUse::Withheld>& withheld) const;
  ResourceVector unmet_guarantee(const RoleName& role) const;
  ResourceVector held_for_others(const RoleName& role) const;
  // Room that is kept below limits for an ask.
  struct Kept {
    const Group* group = nullptr;
    RoleName role;
    ResourceVector amounts;
  };
  bool is_choosy(const Group& group) const;
  bool is_preferred(const Group& group, const AgentId& on) const;
  std::map<AgentId, int64_t> tasks_on(const FrameworkId& id, const Group& group) const;
  bool have_place(const Group& group, std::map<AgentId, int64_t> tasks,
                  const std::vector<std::pair<AgentId, int64_t>>& rooms, size_t from,
                  int64_t wanted) const;
  bool may_have(const FrameworkId& id, const Group& group) const;
  bool is_entitled(const RoleName& role, const Group& group) const;
  int64_t unmet(const FrameworkId& id, const Group& group) const;
  int64_t offered_of(const FrameworkId& id, const Group& group) const;
  bool fits_what_is_free(const FrameworkId& id, const Group& group, const Claims& claims,
                         const std::vector<Kept>& kept) const;
  bool is_within_limits(const RoleName& role, const ResourceVector& more,
                        const std::vector<Kept>& kept) const;
  RoleName role_of(const FrameworkId& id, const Group& group) const;
  const Group* group_of(const FrameworkId& id, const AskName& ask) const;
  // Resources of the framework's offers and tasks on an agent, by reservation.
  std::map<RoleName, Resources> held_of(const AgentId& id) const;
  std::map<RoleName, Resources> parts_of(const AgentId& id) const;
  void broken(const std::string& what);
  std::string print(const Decision& decision) const;

  const sim::Scenario scenario_;
  const ReplayOptions options_;
  std::unique_ptr<Allocator> allocator_;
  RoleTable roles_;
  Time now_;
  uint64_t planned_ = 0;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> plan_;
  std::map<AgentId, Agent> agents_;
  std::map<FrameworkId, Framework> frameworks_;
  std::vector<std::string> trace_;
  std::vector<std::string> wrong_;
  int64_t decisions_ = 0;
  Duration decision_cpu_ = {};
  int64_t revokes_ = 0;
  std::vector<Time> reclaimed_at_;
  Duration last_revoke_ = {};
};

// The time at which every scenario begins.
inline constexpr Time kBeginning = Time() + hours(1);

}  // namespace proffer::replay
