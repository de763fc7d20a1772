// The messages of the liars, drawn from their own random sources. Read LyingAgent::begins and
// made_up, and LyingScheduler::lies; then the law, given_to_liars.

#include "sim/liars.h"

#include <algorithm>
#include <utility>

#include "common/text.h"

namespace proffer::sim {
namespace {

// The amounts that it claims to run: more than all others have together, so that they are detected.
constexpr int64_t kClaimedCpus = 1'000'000;  // milli
constexpr int64_t kTasksToldMax = 6;
// A lying scheduler that is away is given up soon.
constexpr Duration kFailover = seconds(20);

Principal key_of_liar() {
  return {.user = "root",
          .uid = 0,
          .key = PublicKey(std::string(kPublicKeyBytes, 'l')),
          .agent = kLiar};
}

template <class Values>
auto any_of(const Values& values, Prng& chance) {
  using Value = typename Values::value_type;
  return values.empty() ? Value() : values[chance.below(values.size())];
}

}  // namespace

Liar::Liar(World& world, Network& network, std::vector<Place> masters, std::string name, Spy spy)
    : Node(world, name),
      network_(network),
      masters_(std::move(masters)),
      spy_(std::move(spy)),
      party_(network.add_party()),
      chance_(world.chance(name)),
      secret_(random_secret(chance_)) {}

void Liar::start() {
  if (is_up()) return;
  begin_life();
  line_ = network_.call(party_, masters_, this);
  stepped();
}

void Liar::end() {
  if (!is_up()) return;
  network_.hang_up(line_);
  end_life();
}

void Liar::on_line_connected() {
  channel_ = channel_.next();
  is_connected_ = true;
  is_served_ = false;
  begins();
  again(++lives_);
}

// The messages of one connection end with it.
void Liar::again(uint64_t life) {
  later(milliseconds(chance_.between(200, 6'000)), [this, life] {
    if (life != lives_ || !is_connected_) return;
    if (chance_.chance(1, 8)) return reconnect();
    if (is_served_) lies();
    again(life);
  });
}

void Liar::on_line_frame(proto::Envelope envelope) {
  if (channel_.admit(envelope) != proto::Channel::Verdict::kDeliver) return reconnect();
  leader_ = std::max(leader_, envelope.leader);
  const proto::Message& message = *envelope.message;
  is_served_ = is_served_ || std::holds_alternative<proto::AgentRegistered>(message) ||
               std::holds_alternative<proto::Subscribed>(message);
  if (const auto* error = std::get_if<proto::ErrorMessage>(&message);
      error != nullptr && error->ends_session) {
    return reconnect();
  }
  hears(message);
}

void Liar::say(proto::Message message) {
  if (!is_connected_) return;
  // A false epoch ends its own session.
  const LeaderEpoch said =
      chance_.chance(1, 200) ? LeaderEpoch(leader_.value() + 1'000'000) : leader_;
  network_.send(line_, channel_.stamp(said, std::move(message)));
}

void Liar::reconnect() {
  if (!std::exchange(is_connected_, false)) return;
  network_.reset(line_);
}

FrameworkId Liar::any_framework() { return any_of(spy_().frameworks, chance_); }
TaskKey Liar::any_task() { return any_of(spy_().tasks, chance_); }
AgentId Liar::any_agent() { return any_of(spy_().agents, chance_); }

// --- the agent -----------------------------------------------------------------------------------

LyingAgent::LyingAgent(World& world, Network& network, std::vector<Place> masters, Spy spy,
                       std::function<FrameworkId()> friends)
    : Liar(world, network, std::move(masters), kLiar.str(), std::move(spy)),
      friends_(std::move(friends)) {}

proto::TaskStatus LyingAgent::made_up_status(const TaskId& task, uint64_t sequence) {
  constexpr proto::TaskState kStates[] = {proto::TaskState::kRunning, proto::TaskState::kFinished,
                                          proto::TaskState::kFailed,  proto::TaskState::kKilled,
                                          proto::TaskState::kLost,    proto::TaskState::kRefused};
  proto::TaskStatus status{.task = task,
                           .agent = chance_.chance(1, 2) ? kLiar : any_agent(),
                           .state = kStates[chance_.below(std::size(kStates))],
                           .sequence = sequence,
                           .message = "made up",
                           .data = "made up",
                           .at = now()};
  if (chance_.chance(1, 3)) status.source = proto::UpdateSource::kMaster;
  if (chance_.chance(1, 3)) status.labels = {{"made", "up"}};
  return status;
}

// A task of any framework, with any id, user and amounts: one that runs, or has ended.
proto::AgentTask LyingAgent::made_up() {
  proto::AgentTask task{.framework = any_framework(), .task = any_task().second};
  if (chance_.chance(1, 3)) {
    // tasks that others run, or have run
    const TaskKey other = any_task();
    if (!other.second.empty()) std::tie(task.framework, task.task) = other;
  } else if (chance_.chance(1, 2)) {
    task.task = {};
  }
  if (task.task.empty()) task.task = TaskId(text("made-up-", chance_.below(50)));
  if (task.framework.empty()) task.framework = FrameworkId("made-up-1-1");
  constexpr const char* kUsers[] = {"root", "", "root", "eve", "ada"};
  task.user = kUsers[chance_.below(std::size(kUsers))];
  task.state = chance_.chance(1, 4) ? proto::TaskState::kStaging : proto::TaskState::kRunning;
  task.sequence = task.state == proto::TaskState::kRunning ? chance_.between(1, 4) : 0;
  task.resources.amounts = ResourceVector::of(kClaimedCpus, 1'024'000);
  task.launched_at = std::max(Time(), now() - seconds(chance_.between(0, 100)));
  task.command = "made up";
  if (chance_.chance(1, 4)) task.executor = ExecutorId("made-up");
  if (chance_.chance(1, 4)) task.ticket = std::string(32, chance_.chance(1, 2) ? '0' : 'f');
  if (chance_.chance(1, 4)) {
    task.claim = {.slices = {Slice{.resources = task.resources}},
                  .role = RoleName(chance_.chance(1, 2) ? "ads" : "web"),
                  .priority = 1'000,
                  .gang = chance_.below(4)};
  }
  if (chance_.chance(1, 3)) {
    task.unacknowledged = {made_up_status(task.task, task.sequence + 1)};
    task.sequence += 1;
    task.state = task.unacknowledged.back().state;
  }
  return task;
}

void LyingAgent::begins() {
  proto::RegisterTasks part;
  std::set<TaskKey> told;
  for (const auto& [key, task] : given_) {
    if (!chance_.chance(3, 4)) continue;
    told.insert(key);
    part.tasks.push_back(task);
  }
  for (int64_t i = chance_.between(0, kTasksToldMax); i > 0; --i) {
    proto::AgentTask task = made_up();
    if (!told.insert({task.framework, task.task}).second) continue;
    part.tasks.push_back(std::move(task));
  }
  proto::RegisterAgent first{.agent = kLiar, .secret = secret_};
  first.slices = {
      {.resources = {.amounts = ResourceVector::of(4'000, 4'096'000)}, .reserved_for = kLiarsRole}};
  // the names of others
  const AgentId other = any_agent();
  first.http_address = text(chance_.chance(1, 2) ? kLiar.str() : other.str(), ":5081");
  first.attributes = {{"rack", "r0"}};
  first.memory = static_cast<uint32_t>(chance_.between(1, 2));
  first.keeps_tickets = chance_.chance(1, 2);
  first.tasks_follow = part.tasks.empty() ? 0 : 1;
  say(first);
  if (!part.tasks.empty()) say(std::move(part));
}

void LyingAgent::hears(const proto::Message& message) {
  if (const auto* run = std::get_if<proto::RunTask>(&message)) {
    const TaskKey key{run->framework, run->spec.id};
    if (run->framework != friends_()) {
      return world().violated(name(), {text("the liar was given ", to_text(key), " to run")});
    }
    if (!run->secrets.empty()) world().violated(name(), {"the liar was given secrets"});
    proto::AgentTask task{.framework = run->framework,
                          .task = run->spec.id,
                          .ask = run->spec.ask,
                          .state = proto::TaskState::kRunning,
                          .sequence = 1,
                          .resources = run->assignment.resources,
                          .claim = run->assignment.claim,
                          .user = run->assignment.user,
                          .launched_at = run->assignment.launched_at,
                          .ticket = run->assignment.ticket};
    proto::TaskStatus status = made_up_status(run->spec.id, 1);
    status.state = proto::TaskState::kRunning;
    given_[key] = task;
    say(proto::Update{run->framework, std::move(status)});
  } else if (const auto* kill = std::get_if<proto::KillTask>(&message)) {
    // As if it had ended, or as if the kill was lost.
    given_.erase({kill->framework, kill->task});
    if (chance_.chance(1, 3)) return;
    proto::TaskStatus status = made_up_status(kill->task, 10 + chance_.below(100));
    status.state = proto::TaskState::kKilled;
    say(proto::Update{kill->framework, std::move(status)});
  }
}

void LyingAgent::lies() {
  const TaskKey task =
      chance_.chance(1, 2) ? any_task() : TaskKey(any_framework(), TaskId("made-up-1"));
  switch (chance_.below(5)) {
    case 0:
    case 1:
      if (task.first.empty() || task.second.empty()) return;
      return say(proto::Update{task.first, made_up_status(task.second, 1 + chance_.below(6))});
    case 2:
      if (task.first.empty()) return;
      return say(proto::FrameworkMessage{.framework = task.first,
                                         .agent = any_agent(),
                                         .executor = ExecutorId("made-up"),
                                         .to_scheduler = true,
                                         .data = "made up"});
    case 3:
      return say(proto::AgentTrouble{.why = chance_.chance(1, 2) ? "made up" : ""});
    default:
      return say(proto::Heartbeat{});
  }
}

// --- the scheduler -------------------------------------------------------------------------------

LyingScheduler::LyingScheduler(World& world, Network& network, std::vector<Place> masters, Spy spy)
    : Liar(world, network, std::move(masters), "lying-scheduler", std::move(spy)) {}

void LyingScheduler::begins() {
  offers_.clear();
  proto::Subscribe subscribe{.framework = framework_,
                             .name = "lying-scheduler",
                             .role = kLiarsRole,
                             .secret = secret_,
                             .failover_timeout = kFailover,
                             .user = "ada"};
  // Sometimes with the id of another framework, whose secret it does not know.
  if (chance_.chance(1, 6)) subscribe.framework = any_framework();
  say(std::move(subscribe));
}

void LyingScheduler::takes() {
  const Offer offer = offers_.back();
  offers_.pop_back();
  proto::TaskSpec task;
  task.id = TaskId(text("lie-", ++tasks_));
  task.ask = AskName("t");
  task.shape = ResourceVector::of(500, 64'000);
  task.command = "true";
  if (chance_.chance(1, 4)) task.user = "bob";
  if (chance_.chance(1, 4)) task.id = any_task().second;
  if (task.id.empty()) return;
  launched_.insert(task.id);
  // Also with another framework's offers, or another machine.
  proto::Accept accept{.offers = {offer.id}};
  if (chance_.chance(1, 4)) accept.offers.push_back(OfferId(1 + chance_.below(1'000)));
  accept.operations.push_back(
      proto::Launch{chance_.chance(1, 4) ? any_agent() : offer.agent, {task}});
  say(std::move(accept));
}

void LyingScheduler::lies() {
  const TaskKey task = any_task();
  const TaskId id = task.second.empty() ? TaskId("t") : task.second;
  switch (chance_.below(10)) {
    case 0: {
      Ask ask{.name = AskName("t"), .shape = ResourceVector::of(500, 64'000), .count = 3};
      ask.constraints = {{.attribute = "host", .values = {kLiar.str()}}};
      return say(proto::DeclareAsks{.generation = ++generation_, .asks = {ask}});
    }
    case 1:
      if (!offers_.empty()) takes();
      return;
    case 2:
      return say(proto::KillTask{.framework = task.first, .task = id});
    case 3:
      return say(proto::Acknowledge{.framework = task.first,
                                    .task = id,
                                    .agent = any_agent(),
                                    .sequence = chance_.below(1'000'000)});
    case 4:
      return say(proto::Reconcile{.tasks = {id}, .agents = {kLiar}});
    case 5:
      return say(proto::Reconcile{});
    case 6:
      return say(proto::ReleaseFiles{.framework = task.first, .begins = {id.str().substr(0, 1)}});
    case 7:
      return say(proto::FrameworkMessage{.framework = task.first,
                                         .agent = any_agent(),
                                         .executor = ExecutorId(id.str()),
                                         .data = "made up"});
    case 8:
      return say(proto::FrameworkResponse{.relay = (leader_.value() << 32) + chance_.below(20),
                                          .data = "made up"});
    default:
      return say(proto::Decline{.offers = {OfferId(1 + chance_.below(1'000))}});
  }
}

void LyingScheduler::hears(const proto::Message& message) {
  if (const auto* subscribed = std::get_if<proto::Subscribed>(&message)) {
    const std::vector<FrameworkId> others = spy_().frameworks;
    if (std::find(others.begin(), others.end(), subscribed->framework) != others.end()) {
      return world().violated(
          name(), {text("the liar goes on as framework ", subscribed->framework.str())});
    }
    framework_ = subscribed->framework;
  } else if (const auto* made = std::get_if<proto::Offers>(&message)) {
    for (const Offer& offer : made->offers) {
      if (offer.agent != kLiar) {
        world().violated(name(), {text("the liar is offered agent ", offer.agent.str())});
      }
      offers_.push_back(offer);
    }
  } else if (const auto* update = std::get_if<proto::Update>(&message)) {
    const proto::TaskStatus& status = update->status;
    if (!launched_.contains(status.task) && !status.agent.empty()) {
      world().violated(name(), {text("the liar hears of task ", status.task.str())});
    }
    if (!status.agent.empty() && status.agent != kLiar && !proto::is_terminal(status.state)) {
      world().violated(name(), {text("a task of the liar is on agent ", status.agent.str())});
    }
    if (status.sequence > 0 && chance_.chance(3, 4)) {
      say(proto::Acknowledge{.task = status.task,
                             .agent = status.agent,
                             .source = status.source,
                             .sequence = status.sequence});
    }
  } else if (std::holds_alternative<proto::FrameworkRequest>(message)) {
    world().violated(name(), {"the liar gets the requests of another framework"});
  } else if (const auto* error = std::get_if<proto::ErrorMessage>(&message)) {
    if (error->code == ErrorCode::kNotFound) framework_ = FrameworkId();
  }
}

// --- the law -------------------------------------------------------------------------------------

std::vector<Violation> given_to_liars(const master::Master& core, const FrameworkId& friends,
                                      const KnownOfOthers& others, const ResourceVector& total) {
  std::vector<Violation> found;
  const Principal liar = key_of_liar();
  std::set<TaskId> tasks = {TaskId(), TaskId("made-up-1")};
  for (const proto::TaskRow& row :
       core.tasks({.prefix = {}, .ended = false, .after = {}, .limit = 1'000}, nullptr)) {
    if (row.agent == kLiar) tasks.insert(row.task);
  }
  const AgentId at = others.agents.empty() ? kLiar : others.agents.front();
  for (const FrameworkId& framework : others.frameworks) {
    if (framework == friends) continue;
    for (const TaskId& task : tasks) {
      for (const char* user : {"root", "ada", ""}) {
        const Result<master::FileGrant> grant = core.grant_files(
            {.agent = at, .framework = framework, .user = user, .task = task}, &liar, Time());
        if (!grant && grant.error().code() == ErrorCode::kPermissionDenied) continue;
        found.push_back({text("the liar may read files of framework ", framework.str(), " as ",
                              quoted(user), " for its task ", quoted(task.str()))});
      }
    }
  }
  for (const proto::FrameworkRow& row : core.frameworks()) {
    const bool is_other = std::find(others.frameworks.begin(), others.frameworks.end(),
                                    row.framework) != others.frameworks.end();
    if (is_other && row.framework != friends && !row.allocated.fits_in(total)) {
      found.push_back({text("framework ", row.framework.str(), " is charged with ",
                            to_text(row.allocated), ", which the liar made up")});
    }
  }
  return found;
}

std::optional<Violation> kept_for_liars(const proto::HistoryRecord& record,
                                        const FrameworkId& friends) {
  const auto* ended = std::get_if<proto::EndedTask>(&record);
  if (ended == nullptr || ended->status.agent != kLiar || ended->framework == friends) {
    return std::nullopt;
  }
  return Violation{text("the history has task ", ended->framework.str(), "/",
                        ended->status.task.str(), " on the liar")};
}

}  // namespace proffer::sim
