// The rules of an accept, each in one place. Begin with plan_accept at the end: it handles the
// operations in order. AcceptPlanner::place launches a task or refuses it; close_gangs checks that
// gangs are whole; reserve and unreserve change reservations.

#include "master/core/accept_plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "common/check.h"
#include "common/roles.h"
#include "common/text.h"
#include "master/core/remembered.h"

namespace proffer::master {
namespace {

using proto::TaskReason;

// The offers of one agent in one role; for a gang only the offers of this gang.
struct Pool {
  AgentId agent = {};
  RoleName role = {};
  uint64_t gang = 0;
  Duration max_run_time = {};   // the limit of the offers
  std::set<AskName> asks = {};  // for which the offers were made
  OffersUse use = {};
  std::vector<Slice> rest = {};  // their unused part
};

constexpr uint16_t kPortMax = 65'535;

// The `count` lowest free ports from `first` on, then from the lowest: the next task of an agent
// gets other ports than the last one, because another process may listen there, or clients of that
// task may still connect. Empty if there are fewer. O(port ranges + count).
std::optional<std::vector<uint16_t>> next_ports(const PortSet& free, uint16_t first,
                                                int64_t count) {
  if (free.size() < count) return std::nullopt;
  PortSet behind = free;
  if (first > 1) behind -= PortSet({{1, static_cast<uint16_t>(first - 1)}});
  std::vector<uint16_t> ports = *behind.lowest(std::min(count, behind.size()));
  const std::vector<uint16_t> rest = *free.lowest(count - static_cast<int64_t>(ports.size()));
  ports.insert(ports.end(), rest.begin(), rest.end());
  return ports;
}

// The first of the task's ports by number that is not free.
std::optional<uint16_t> taken_port(const proto::TaskSpec& spec, const PortSet& free) {
  for (const auto& [name, port] : spec.static_ports) {
    if (!free.contains(PortSet({{port, port}}))) return port;
  }
  return std::nullopt;
}

// A port for each of its port names, in order: the given number, which is free, or the next free
// one. Empty if there are too few.
std::optional<std::vector<uint16_t>> ports_for(const proto::TaskSpec& spec, const PortSet& free,
                                               uint16_t first) {
  PortSet rest = free;
  for (const auto& [name, port] : spec.static_ports) rest -= PortSet({{port, port}});
  const size_t dynamic = spec.port_names.size() - spec.static_ports.size();
  std::optional<std::vector<uint16_t>> next =
      next_ports(rest, first, static_cast<int64_t>(dynamic));
  if (!next) return std::nullopt;
  std::vector<uint16_t> ports;
  size_t used = 0;
  for (const std::string& name : spec.port_names) {
    const auto given = spec.static_ports.find(name);
    ports.push_back(given == spec.static_ports.end() ? (*next)[used++] : given->second);
  }
  return ports;
}

class AcceptPlanner {
 public:
  AcceptPlanner(const Framework& from, const TakenOffers& taken, const Tasks& tasks,
                const Agents& agents, const FrameworkStores* stores,
                const std::optional<SecretShelf>& secrets)
      : from_(from),
        taken_(taken),
        tasks_(tasks),
        agents_(agents),
        stores_(stores),
        secrets_(secrets),
        free_ports_(taken.ports) {
    for (const Grant* grant : taken.valid) {
      const Offer& offer = grant->offer;
      Pool& pool = pools_[{offer.agent, grant->role, offer.gang, offer.max_run_time}];
      pool.max_run_time = offer.max_run_time;
      pool.agent = offer.agent;
      pool.role = grant->role;
      pool.gang = offer.gang;
      pool.use.offers.push_back(offer.id);
      for (const Slice& slice : offer.slices) {
        add_slice(pool.rest,
                  {.resources = {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus},
                   .reserved_for = slice.reserved_for,
                   .revocable = slice.revocable});
      }
      for (const AskFill& fill : offer.fills) pool.asks.insert(fill.ask);
      if (offer.gang != 0) ++gangs_[offer.gang].offers;
    }
  }

  // Launches the task, or refuses it with a reason.
  void place(const AgentId& on, const proto::TaskSpec& spec, size_t operation, size_t index) {
    std::optional<TaskRefusal> refused = refusal(on, spec);
    const uint64_t gang = gang_of(spec.ask);
    if (!refused) refused = launch(on, spec, gang, operation, index);
    if (!refused) return;
    refused->operation = operation;
    refused->task = index;
    if (gang != 0) gangs_[gang].why = text("task ", quoted(spec.id.str()), ": ", refused->message);
    refusals_.push_back(*std::move(refused));
  }

  void reserve(const proto::Reserve& wanted) {
    if (std::optional<Error> wrong = wrong_with(wanted)) return complain(*std::move(wrong));
    const Agent& agent = *agents_.find(wanted.agent);
    const bool is_first = agent.reserved.count(wanted.role) == 0 &&
                          new_roles_.count({wanted.agent, wanted.role}) == 0;
    const size_t roles = agent.reserved.size() + new_roles_.size();
    if (is_first && roles >= kReservationsPerAgentMax) {
      return complain(Error::resource_exhausted(text("agent ", quoted(wanted.agent.str()), " has ",
                                                     kReservationsPerAgentMax,
                                                     " reservations, which is the maximum")));
    }
    const bool is_done = move(wanted.agent, wanted.role, wanted.amounts, RoleName(),
                              offered_on(wanted.agent, RoleName()), false);
    if (is_done && is_first) new_roles_.insert({wanted.agent, wanted.role});
  }

  void unreserve(const proto::Unreserve& wanted) {
    if (std::optional<Error> wrong = wrong_with(wanted)) return complain(*std::move(wrong));
    const Agent& agent = *agents_.find(wanted.agent);
    Resources dynamic;
    if (const auto found = agent.reserved.find(wanted.role); found != agent.reserved.end()) {
      dynamic = found->second;
    }
    for (const ReservationChange& change : changes_) {
      if (change.agent != wanted.agent || change.role != wanted.role) continue;
      if (change.unreserve) dynamic -= common_part(dynamic, change.resources);
    }
    move(wanted.agent, wanted.role, wanted.amounts, wanted.role,
         common_part(offered_on(wanted.agent, wanted.role), dynamic), true);
  }

  AcceptPlan finish() {
    close_gangs();
    AcceptPlan plan;
    for (Launched& launched : launched_) {
      Pool& pool = *launched.pool;
      const proto::Assignment& assignment = launched.launch.assignment;
      pool.use.tasks.push_back({.task = launched.task,
                                .ask = launched.ask,
                                .claim = assignment.claim,
                                .ports = assignment.resources.ports});
      plan.launches.push_back(std::move(launched.launch));
    }
    std::sort(refusals_.begin(), refusals_.end(), [](const TaskRefusal& a, const TaskRefusal& b) {
      return std::pair(a.operation, a.task) < std::pair(b.operation, b.task);
    });
    plan.refusals = std::move(refusals_);
    for (auto& [key, pool] : pools_) plan.uses.push_back(std::move(pool.use));
    plan.reservations = std::move(changes_);
    plan.complaints = std::move(complaints_);
    plan.next_ports = std::move(next_port_);
    return plan;
  }

 private:
  struct Launched {
    TaskLaunch launch = {};
    TaskId task = {};
    AskName ask = {};
    Pool* pool = nullptr;
  };
  struct GangState {
    size_t offers = 0;     // named by the accept
    int64_t launched = 0;  // number of tasks
    std::string why = {};  // the reason for a refusal; empty: none so far
  };

  // The pools of one agent.
  auto pools_on(const AgentId& agent) {
    const auto first = pools_.lower_bound({agent, RoleName(), 0, Duration()});
    auto last = first;
    while (last != pools_.end() && last->second.agent == agent) ++last;
    return std::pair(first, last);
  }

  // The gang of the task's ask, if the accept has offers of it; else 0.
  uint64_t gang_of(const AskName& ask) const {
    if (ask.empty()) return 0;
    for (const auto& [gang, offers] : taken_.gangs) {
      if (offers.ask == ask) return gang;
    }
    return 0;
  }

  // Checks that do not need the resources.
  std::optional<TaskRefusal> refusal(const AgentId& on, const proto::TaskSpec& spec) {
    if (Result<void> checked = check_task(spec); !checked) {
      return TaskRefusal{.reason = TaskReason::kTaskInvalid, .message = checked.error().message()};
    }
    if (!from_.may_run_as(spec.user)) {
      return TaskRefusal{.reason = TaskReason::kTaskInvalid,
                         .message = text("framework ", from_.id().str(), " may not run tasks as ",
                                         quoted(spec.user),
                                         ": a framework may only run tasks as users that sent it "
                                         "requests, if it subscribed to serve users")};
    }
    if (tasks_.is_used({from_.id(), spec.id}) || !ids_.insert(spec.id).second) {
      return TaskRefusal{.reason = TaskReason::kDuplicateTaskId,
                         .message = text("the task id ", quoted(spec.id.str()),
                                         " was used before; each launch needs a new id")};
    }
    const Agent* agent = agents_.find(on);
    if (stores_ != nullptr) {
      if (std::optional<TaskRefusal> refused = remembered_refusal(spec.id)) return refused;
    }
    if (agent == nullptr || agent->state != proto::AgentState::kConnected) {
      return TaskRefusal{.reason = TaskReason::kAgentNotAvailable,
                         .message = text("agent ", quoted(on.str()), " is not connected")};
    }
    if (stores_ != nullptr) {
      if (std::optional<TaskRefusal> refused = no_room_to_remember(spec.id, *agent)) return refused;
    }
    if (!spec.secrets.empty()) {
      const Result<void> checked = secrets_
                                       ? check_secrets(spec, from_.user_of(spec), *agent, *secrets_)
                                       : Error::failed_precondition("this master has no secrets");
      if (!checked) {
        return TaskRefusal{.reason = TaskReason::kTaskInvalid,
                           .message = checked.error().message()};
      }
    }
    if (taken_.invalid) {
      return TaskRefusal{.reason = TaskReason::kOfferNotValid, .message = invalid_text()};
    }
    if (const auto [first, last] = pools_on(on); first == last) {
      return TaskRefusal{.reason = TaskReason::kOfferNotValid,
                         .message = text("the accept names no offer of agent ", quoted(on.str()))};
    }
    if (std::optional<TaskRefusal> refused = ask_refusal(spec.ask)) return refused;
    if (agent->tasks.size() + launched_on_[on] >= kTasksPerAgentMax) {
      return TaskRefusal{.reason = TaskReason::kAgentFull,
                         .message = text("agent ", quoted(on.str()), " has ", kTasksPerAgentMax,
                                         " tasks, which is the maximum")};
    }
    return std::nullopt;
  }

  // A framework that declares asks may only launch what it has asked for.
  std::optional<TaskRefusal> ask_refusal(const AskName& ask) const {
    if (from_.record.mode == OfferMode::kOpen) return std::nullopt;
    const auto refuse = [](std::string why) {
      return TaskRefusal{.reason = TaskReason::kNotAsked, .message = std::move(why)};
    };
    if (ask.empty() || !from_.asks.contains(ask)) {
      const std::string which =
          ask.empty() ? "it names no ask" : text("the ask ", quoted(ask.str()), " is not declared");
      std::vector<std::string> names;
      for (const auto& [name, declared] : from_.asks) names.push_back(name.str());
      return refuse(text(which, ": a task must name the ask that it fills, ",
                         names.empty() ? "and none is declared" : text("one of ", listed(names))));
    }
    const auto launched = launched_of_.find(ask);
    const int64_t count = launched == launched_of_.end() ? 0 : launched->second;
    if (taken_.wanted.at(ask) > count) return std::nullopt;
    return refuse(text("the ask ", quoted(ask.str()),
                       " is already filled: ", "declare it with a greater count first"));
  }

  std::optional<TaskRefusal> remembered_refusal(const TaskId& task) const {
    const auto known = find_remembered(stores_->of(from_.id()), task);
    if (!known) return std::nullopt;
    return TaskRefusal{
        .reason = TaskReason::kDuplicateTaskId,
        .message = text("the task ", quoted(task.str()), " was launched before: the framework's ",
                        "store says ", quoted(remembered_value(*known)))};
  }

  // Includes the launches of this accept.
  std::optional<TaskRefusal> no_room_to_remember(const TaskId& task, const Agent& on) const {
    const FrameworkStore& store = stores_->of(from_.id());
    const Result<void> checked =
        check_quota(from_.id(), *stores_, store.entries.size() + launched_.size() + 1,
                    store.bytes + remembered_bytes_ + bytes_of_launch(task, on));
    if (checked) return std::nullopt;
    return TaskRefusal{
        .reason = TaskReason::kTaskInvalid,
        .message = text("the framework remembers its tasks, and ", checked.error().message(),
                        ": erase the entries ", kRememberedPrefix, "TASK of ended tasks")};
  }

  static size_t bytes_of_launch(const TaskId& task, const Agent& on) {
    return remembered_key(task).size() +
           remembered_value({.agent = on.id, .admission = on.admission, .memory = on.memory})
               .size();
  }

  std::string invalid_text() const {
    return text("offer ", taken_.invalid->value(),
                " is not valid any more: it was answered, rescinded, or its lease ended");
  }

  // The smaller of the task's and the ask's maximum run time.
  Duration max_run_time_of(const proto::TaskSpec& spec) const {
    const auto ask = from_.asks.find(spec.ask);
    const Duration of_ask = ask == from_.asks.end() ? Duration() : ask->second.max_run_time;
    if (of_ask == Duration() || spec.max_run_time == Duration()) {
      return std::max(of_ask, spec.max_run_time);
    }
    return std::min(of_ask, spec.max_run_time);
  }

  // Resources that are claimed for another ask are only for tasks that end in time.
  static bool ends_in_time(Duration max_run_time, const Pool& pool) {
    if (pool.max_run_time == Duration()) return true;
    return max_run_time > Duration() && max_run_time <= pool.max_run_time;
  }

  // The pools that the task may use; those that were made for its ask come first.
  std::vector<Pool*> pools_for(const AgentId& on, const proto::TaskSpec& spec, uint64_t gang) {
    const AskName& ask = spec.ask;
    const Duration max_run_time = max_run_time_of(spec);
    std::vector<Pool*> found;
    const auto [first, last] = pools_on(on);
    for (const bool made_for_it : {true, false}) {
      for (auto at = first; at != last; ++at) {
        Pool& pool = at->second;
        if (pool.gang != gang || !ends_in_time(max_run_time, pool)) continue;
        if ((pool.asks.count(ask) > 0) == made_for_it) found.push_back(&pool);
      }
    }
    return found;
  }

  // Refuses a task if an offer has room for it, but only for tasks that end earlier.
  std::optional<TaskRefusal> too_long_refusal(const AgentId& on, const proto::TaskSpec& spec,
                                              uint64_t gang) {
    const auto [first, last] = pools_on(on);
    for (auto at = first; at != last; ++at) {
      const Pool& pool = at->second;
      std::vector<Slice> rest = pool.rest;
      if (pool.gang != gang || ends_in_time(max_run_time_of(spec), pool)) continue;
      if (!take(spec.shape, rest)) continue;
      return TaskRefusal{
          .reason = TaskReason::kResourcesExceeded,
          .message =
              text("the offer of agent ", quoted(on.str()), " is claimed for another ask ",
                   "and can only take tasks that run for at most ", to_text(pool.max_run_time),
                   ": set the max_run_time of the task to at most that")};
    }
    return std::nullopt;
  }

  std::optional<TaskRefusal> launch(const AgentId& on, const proto::TaskSpec& spec, uint64_t gang,
                                    size_t operation, size_t index) {
    Pool* pool = nullptr;
    std::optional<std::vector<Slice>> chosen;
    std::vector<Slice> rest_of_all;
    for (Pool* one : pools_for(on, spec, gang)) {
      chosen = take(spec.shape, one->rest);
      pool = one;
      if (chosen) break;
      for (const Slice& slice : one->rest) add_slice(rest_of_all, slice);
    }
    if (!chosen) {
      if (std::optional<TaskRefusal> refused = too_long_refusal(on, spec, gang)) return refused;
      const std::string rest = to_text(sum_of(rest_of_all));
      const bool would_fit = take(spec.shape, rest_of_all).has_value();
      return TaskRefusal{
          .reason = TaskReason::kResourcesExceeded,
          .message = text(
              "it needs ", to_text(spec.shape), ", but of the offers of agent ", quoted(on.str()),
              gang != 0 ? " to its gang only " : " only ", quoted(rest), " is left",
              would_fit
                  ? ", and no single role has enough: a task cannot use offers in different roles"
                  : "; launch less, or declare an ask for what one task takes")};
    }
    const auto count = static_cast<int64_t>(spec.port_names.size());
    PortSet& free_ports = free_ports_[on];
    std::vector<uint16_t> ports;
    if (count > 0) {
      const auto next = next_port_.try_emplace(on, agents_.find(on)->next_port).first;
      if (std::optional<uint16_t> taken = taken_port(spec, free_ports)) {
        for (const Slice& slice : *chosen) add_slice(pool->rest, slice);
        return TaskRefusal{
            .reason = TaskReason::kPortsNotAvailable,
            .message = text("port ", *taken, " of agent ", quoted(on.str()), " is not free")};
      }
      std::optional<std::vector<uint16_t>> found = ports_for(spec, free_ports, next->second);
      if (!found) {
        for (const Slice& slice : *chosen) add_slice(pool->rest, slice);
        return TaskRefusal{.reason = TaskReason::kPortsNotAvailable,
                           .message = text("it needs ", count, " ports, but agent ",
                                           quoted(on.str()), " has ", free_ports.size(), " free")};
      }
      ports = *std::move(found);
      const auto last =
          std::find_if(spec.port_names.rbegin(), spec.port_names.rend(),
                       [&](const std::string& name) { return !spec.static_ports.contains(name); });
      if (last != spec.port_names.rend()) {
        const auto place = static_cast<size_t>(spec.port_names.rend() - last) - 1;
        next->second = static_cast<uint16_t>(ports[place] % kPortMax + 1);
      }
    }

    Launched launched{.launch = {.operation = operation, .task = index},
                      .task = spec.id,
                      .ask = spec.ask,
                      .pool = pool};
    proto::Assignment& assignment = launched.launch.assignment;
    assignment.claim = claim_of(spec, *pool);
    assignment.claim.slices = *std::move(chosen);
    assignment.resources = sum_of(assignment.claim.slices);

    std::vector<PortRange> ranges;
    for (size_t i = 0; i < ports.size(); ++i) {
      assignment.ports.emplace(spec.port_names[i], ports[i]);
      ranges.push_back({ports[i], ports[i]});
    }
    if (!ranges.empty()) {
      assignment.resources.ports = PortSet(std::move(ranges));
      free_ports -= assignment.resources.ports;
    }
    launched_.push_back(std::move(launched));
    if (stores_ != nullptr) remembered_bytes_ += bytes_of_launch(spec.id, *agents_.find(on));
    ++launched_on_[on];
    ++launched_of_[spec.ask];
    if (gang != 0) ++gangs_[gang].launched;
    return std::nullopt;
  }

  TaskClaim claim_of(const proto::TaskSpec& spec, const Pool& pool) const {
    TaskClaim claim{.role = pool.role, .gang = pool.gang, .max_run_time = max_run_time_of(spec)};
    const auto ask = from_.asks.find(spec.ask);
    if (ask == from_.asks.end()) return claim;
    claim.priority = ask->second.priority;
    claim.band = ask->second.band;
    return claim;
  }

  // A gang is launched as a whole or not at all.
  void close_gangs() {
    for (auto& [gang, state] : gangs_) {
      const GangOffers& all = taken_.gangs.at(gang);
      if (state.launched == 0 && state.why.empty()) continue;
      if (state.offers != all.offers) {
        state.why =
            text("its gang has ", all.offers, " offers, but the accept names ", state.offers);
      } else if (state.why.empty() && state.launched != all.tasks) {
        state.why =
            text("its gang has ", all.tasks, " tasks, but the accept launches ", state.launched);
      }
    }
    std::erase_if(launched_, [&](const Launched& launched) {
      const uint64_t gang = launched.pool->gang;
      if (gang == 0 || gangs_[gang].why.empty()) return false;
      refusals_.push_back(
          {.operation = launched.launch.operation,
           .task = launched.launch.task,
           .reason = TaskReason::kGangIncomplete,
           .message = text("a gang must be launched as a whole; ", gangs_[gang].why)});
      return true;
    });
  }

  // --- reservations ----------------------------------------------------------------------------

  void complain(Error error) { complaints_.push_back(std::move(error)); }

  template <class Reservation>
  std::optional<Error> wrong_with(const Reservation& wanted) const {
    if (taken_.invalid) return Error::failed_precondition(invalid_text());
    const Agent* agent = agents_.find(wanted.agent);
    if (agent == nullptr || agent->state != proto::AgentState::kConnected) {
      return Error::unavailable(text("agent ", quoted(wanted.agent.str()), " is not connected"));
    }
    if (wanted.role.empty() || !is_within(wanted.role, from_.record.role)) {
      return Error::invalid_argument(text("a framework in role ", quoted(from_.record.role.str()),
                                          " can reserve for that role or a role below it, not for ",
                                          quoted(wanted.role.str())));
    }
    if (Result<void> checked = check_shape(wanted.amounts); !checked) {
      return std::move(checked).error();
    }
    return std::nullopt;
  }

  // Gangs need all of their offers, and resources claimed for another ask are only lent.
  static bool may_be_reserved(const Pool& pool) {
    return pool.gang == 0 && pool.max_run_time == Duration();
  }

  // The unused part of an agent's offers with this reservation state.
  Resources offered_on(const AgentId& agent, const RoleName& reserved_for) {
    Resources sum;
    const auto [first, last] = pools_on(agent);
    for (auto at = first; at != last; ++at) {
      if (!may_be_reserved(at->second)) continue;
      sum += part_of(at->second.rest, reserved_for);
    }
    return sum;
  }

  // Takes the amounts out of the offers' resources with the state `from`, and adds the change to
  // the plan.
  bool move(const AgentId& agent, const RoleName& role, const ResourceVector& amounts,
            const RoleName& from, const Resources& available, bool is_unreserve) {
    if (!fits(amounts, available)) {
      complain(Error::failed_precondition(
          text("the offers of agent ", quoted(agent.str()), " hold ", quoted(to_text(available)),
               is_unreserve ? " that was reserved for role "
                            : " that is not reserved, to be reserved for role ",
               quoted(role.str()), ", not ", to_text(amounts))));
      return false;
    }
    Resources chosen = carve(amounts, available);
    changes_.push_back(
        {.agent = agent, .role = role, .resources = chosen, .unreserve = is_unreserve});
    const auto [first, last] = pools_on(agent);
    for (auto at = first; at != last; ++at) {
      if (!may_be_reserved(at->second)) continue;
      const Resources part = common_part(part_of(at->second.rest, from), chosen);
      if (part.is_zero()) continue;
      remove_slice(at->second.rest, {.resources = part, .reserved_for = from});
      chosen -= part;
    }
    CHECK(chosen.is_zero()) << to_text(chosen) << " to be reserved is in none of the offers";
    return true;
  }

  const Framework& from_;
  const TakenOffers& taken_;
  const Tasks& tasks_;
  const Agents& agents_;
  const FrameworkStores* const stores_;  // nullptr: the framework does not remember tasks
  const std::optional<SecretShelf>& secrets_;
  size_t remembered_bytes_ = 0;  // by the launches, also those of incomplete gangs
  std::map<std::tuple<AgentId, RoleName, uint64_t, Duration>, Pool> pools_;
  std::map<AgentId, PortSet> free_ports_;
  std::map<AgentId, uint16_t> next_port_;  // Agent::next_port after these launches
  std::map<AgentId, size_t> launched_on_;
  std::map<AskName, int64_t> launched_of_;
  std::map<uint64_t, GangState> gangs_;
  std::set<TaskId> ids_;  // in this accept
  std::vector<Launched> launched_;
  std::vector<TaskRefusal> refusals_;
  std::vector<ReservationChange> changes_;
  std::set<std::pair<AgentId, RoleName>> new_roles_;
  std::vector<Error> complaints_;
};

}  // namespace

AcceptPlan plan_accept(const proto::Accept& accept, const Framework& from, const TakenOffers& taken,
                       const Tasks& tasks, const Agents& agents, const FrameworkStores* stores,
                       const std::optional<SecretShelf>& secrets) {
  AcceptPlanner planner(from, taken, tasks, agents, stores, secrets);
  for (size_t i = 0; i < accept.operations.size(); ++i) {
    const proto::Operation& operation = accept.operations[i];
    if (const auto* launch = std::get_if<proto::Launch>(&operation)) {
      for (size_t k = 0; k < launch->tasks.size(); ++k) {
        planner.place(launch->agent, launch->tasks[k], i, k);
      }
    } else if (const auto* reserve = std::get_if<proto::Reserve>(&operation)) {
      planner.reserve(*reserve);
    } else if (const auto* unreserve = std::get_if<proto::Unreserve>(&operation)) {
      planner.unreserve(*unreserve);
    }
  }
  return planner.finish();
}

}  // namespace proffer::master
