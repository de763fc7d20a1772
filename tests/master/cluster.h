#pragma once

// A master and its peers, as plain values in virtual time. Agents and schedulers here act only when
// the test says so. After every step the master's violations() must be empty, the frames must be
// the next of their connection, and no message may go to a connection that has ended.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/core/master.h"
#include "proto/channel.h"

namespace proffer::master {

class MasterScenario;

// This user also runs the master; policy_test.cc tests the rights of others.
inline PrincipalPtr user_with_all_rights() {
  static const auto* const kUser =
      new PrincipalPtr(std::make_shared<Principal>(Principal{.user = "ada", .uid = 0}));
  return *kUser;
}

// One end of a connection, played by the test.
class TestPeer {
 public:
  explicit TestPeer(MasterScenario& scenario) : scenario_(scenario) {}
  virtual ~TestPeer() = default;

  // Makes a new connection. Only lose() tells the master that the old one has ended.
  void connect();
  void sends(proto::Message message);
  // Sends the frame with its own sequence number, also a wrong one.
  void sends_frame(proto::Envelope envelope);
  // Reports to the master that the connection is gone.
  void lose();
  bool is_connected() const { return peer_ && !dropped_; }
  bool was_dropped() const { return dropped_; }
  PeerId peer() const { return peer_; }

  // Returns messages of one type that arrived since the last call.
  template <class T>
  std::vector<T> take() {
    std::vector<T> taken;
    std::vector<proto::Message> rest;
    for (proto::Message& message : inbox) {
      if (T* found = std::get_if<T>(&message))
        taken.push_back(std::move(*found));
      else
        rest.push_back(std::move(message));
    }
    inbox = std::move(rest);
    return taken;
  }
  template <class T>
  T take_one() {
    std::vector<T> taken = take<T>();
    EXPECT_EQ(taken.size(), 1u) << "of " << proto::message_name(proto::Message(T{}));
    return taken.empty() ? T{} : taken.back();
  }

  PrincipalPtr by = user_with_all_rights();    // the owner of its process
  bool silent = false;                         // it sends no heartbeats as time passes
  uint32_t version = proto::kProtocolVersion;  // the version that it uses
  std::vector<proto::Message> inbox = {};

 protected:
  friend class MasterScenario;

  // This user also runs the master; policy_test.cc tests the rights of others.
  inline PrincipalPtr user_with_all_rights() {
    static const auto* const kUser =
        new PrincipalPtr(std::make_shared<Principal>(Principal{.user = "ada", .uid = 0}));
    return *kUser;
  }
  virtual void on_message(const proto::Message&) {}

  MasterScenario& scenario_;
  PeerId peer_ = {};
  bool dropped_ = false;
  uint64_t sent_ = 0;
  proto::Channel receiving_ = {};
};

class TestAgent : public TestPeer {
 public:
  TestAgent(MasterScenario& scenario, std::string agent_name, const std::string& text, Secret key)
      : TestPeer(scenario), name(std::move(agent_name)), secret(std::move(key)) {
    const Resources resources = *parse_agent_resources(text);
    slices = {{.resources = {.amounts = resources.amounts, .gpus = resources.gpus}}};
    ports = resources.ports;
  }

  proto::RegisterAgent registration() const {
    return {.agent = AgentId(name),
            .secret = secret,
            .attributes = attributes,
            .slices = slices,
            .ports = ports,
            .http_address = name + ":5081",
            .tasks_follow = 0,
            .memory = memory,
            .trouble = trouble,
            .cluster = cluster,
            .files = files,
            .boot = boot,
            .takes_secrets = takes_secrets,
            .keeps_tickets = keeps_tickets};
  }
  bool takes_secrets = true;
  bool keeps_tickets = true;
  // Registers on a new connection, with its tasks.
  void registers() {
    connect();
    proto::RegisterAgent message = registration();
    std::vector<proto::AgentTask> told;
    for (const auto& [key, task] : tasks) told.push_back(task);
    message.tasks_follow = told.empty() ? 0 : 1;
    sends(message);
    if (!told.empty()) sends(proto::RegisterTasks{told});
  }
  // Sends an update of one of its tasks, like its executor.
  void updates(const FrameworkId& framework, const std::string& task, proto::TaskState state,
               proto::TaskReason reason = proto::TaskReason::kNone) {
    proto::AgentTask& known = tasks.at({framework, TaskId(task)});
    known.state = state;
    proto::TaskStatus status;
    status.task = TaskId(task);
    status.agent = AgentId(name);
    status.state = state;
    status.reason = reason;
    status.sequence = ++known.sequence;
    known.unacknowledged.push_back(status);
    if (is_connected()) sends(proto::Update{framework, status});
  }
  bool has(const FrameworkId& framework, const std::string& task) const {
    return tasks.contains({framework, TaskId(task)});
  }

  std::string name;
  Secret secret;
  Attributes attributes = {};
  std::vector<Slice> slices = {};
  PortSet ports = {};
  uint32_t memory = 1;
  std::string trouble = {};
  ClusterId cluster = {};         // the cluster of its tasks, as it reports
  proto::FileService files = {};  // its file service for other machines
  uint64_t boot = 0;              // number of its machine's boot
  std::map<std::pair<FrameworkId, TaskId>, proto::AgentTask> tasks = {};
  bool receives_tasks = true;  // false: they are lost in transit

 private:
  void on_message(const proto::Message& message) override {
    if (const auto* run = std::get_if<proto::RunTask>(&message); run != nullptr && receives_tasks) {
      proto::AgentTask task;
      task.framework = run->framework;
      task.task = run->spec.id;
      task.ask = run->spec.ask;
      task.executor = run->spec.executor_id;
      task.resources = run->assignment.resources;
      if (version >= 2) task.claim = run->assignment.claim;
      task.user = run->assignment.user;
      task.command = run->spec.command;
      task.launched_at = run->assignment.launched_at;
      task.labels = run->spec.labels;
      if (keeps_tickets) task.ticket = run->assignment.ticket;
      tasks.emplace(std::pair(task.framework, task.task), task);
    }
    if (const auto* ack = std::get_if<proto::Acknowledge>(&message)) {
      const auto task = tasks.find({ack->framework, ack->task});
      if (task == tasks.end()) return;
      std::erase_if(task->second.unacknowledged, [&](const proto::TaskStatus& status) {
        return status.sequence <= ack->sequence;
      });
      if (proto::is_terminal(task->second.state) && task->second.unacknowledged.empty()) {
        tasks.erase(task);
      }
    }
  }
};

class TestScheduler : public TestPeer {
 public:
  TestScheduler(MasterScenario& scenario, std::string framework_name, Secret key)
      : TestPeer(scenario) {
    subscribe.name = std::move(framework_name);
    subscribe.role = RoleName("default");
    subscribe.secret = std::move(key);
    subscribe.failover_timeout = hours(1);
  }

  // Subscribes on a new connection, with its id if it has one.
  void subscribes() {
    connect();
    subscribe.framework = id;
    sends(subscribe);
  }
  void asks(const std::string& shape, int64_t count, const std::string& ask_name = "t") {
    Ask ask;
    ask.name = AskName(ask_name);
    ask.shape = *parse_shape(shape);
    ask.count = count;
    sends(proto::DeclareAsks{.generation = ++generation, .asks = {ask}});
  }
  static proto::TaskSpec spec(const std::string& task, const std::string& shape,
                              const std::string& ask_name = "t") {
    proto::TaskSpec spec;
    spec.id = TaskId(task);
    spec.ask = AskName(ask_name);
    spec.shape = *parse_shape(shape);
    spec.command = "true";
    return spec;
  }
  void accepts(std::vector<Offer> used, std::vector<proto::TaskSpec> specs) {
    proto::Accept accept;
    for (const Offer& offer : used) {
      accept.offers.push_back(offer.id);
      forget(offer.id);
    }
    const AgentId on = used.empty() ? AgentId("nowhere") : used.front().agent;
    accept.operations.push_back(proto::Launch{on, std::move(specs)});
    sends(accept);
  }
  // The result of these operations.
  proto::StoreResult stores(std::vector<proto::StoreOperation> operations) {
    sends(proto::StoreRequest{.id = ++store_requests, .operations = std::move(operations)});
    proto::StoreResult result = take_one<proto::StoreResult>();
    EXPECT_EQ(result.id, store_requests);
    return result;
  }
  void declines(const Offer& offer, Refusal refusal = {}) {
    forget(offer.id);
    sends(proto::Decline{.offers = {offer.id}, .refusal = std::move(refusal)});
  }
  void forget(OfferId offer) {
    std::erase_if(offers, [&](const Offer& held) { return held.id == offer; });
  }
  void acknowledges(const proto::TaskStatus& status) {
    sends(proto::Acknowledge{.framework = {},
                             .task = status.task,
                             .agent = status.agent,
                             .source = status.source,
                             .sequence = status.sequence});
  }
  // The new states of all its tasks since the last call, in order: "t1 running".
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    for (const proto::Update& update : take<proto::Update>()) {
      lines.push_back(text(update.status.task.str(), " ", proto::to_text(update.status.state),
                           update.status.reason == proto::TaskReason::kNone ? "" : " ",
                           update.status.reason == proto::TaskReason::kNone
                               ? ""
                               : proto::to_text(update.status.reason)));
    }
    return lines;
  }

  proto::Subscribe subscribe = {};
  FrameworkId id = {};  // from the master
  uint64_t generation = 0;
  uint64_t store_requests = 0;
  std::vector<Offer> offers = {};  // outstanding
  bool acknowledges_by_itself = true;

 private:
  void on_message(const proto::Message& message) override;
};

class MasterScenario {
 public:
  explicit MasterScenario(MasterOptions with = {}) : options(std::move(with)) {
    if (!options.leader) options.leader = LeaderEpoch(1);
    options.started_at = now;
    options.keeps_history = true;
    master = std::make_unique<Master>(options, MasterSnapshot{});
  }

  TestAgent& agent(const std::string& name, const std::string& resources = "cpus:4;mem:8GiB") {
    auto made = std::make_unique<TestAgent>(*this, name, resources, new_secret());
    TestAgent& agent = *made;
    peers_.push_back(std::move(made));
    return agent;
  }
  TestAgent& registered_agent(const std::string& name,
                              const std::string& resources = "cpus:4;mem:8GiB") {
    TestAgent& added = agent(name, resources);
    added.registers();
    settle();
    return added;
  }
  TestScheduler& scheduler(const std::string& name) {
    auto made = std::make_unique<TestScheduler>(*this, name, new_secret());
    TestScheduler& scheduler = *made;
    peers_.push_back(std::move(made));
    return scheduler;
  }
  TestScheduler& subscribed(const std::string& name, const std::string& role = "default") {
    TestScheduler& added = scheduler(name);
    added.subscribe.role = RoleName(role);
    added.subscribes();
    settle();
    return added;
  }
  // A framework with one staging task of this shape.
  TestScheduler& with_task(const std::string& task, const std::string& shape = "cpus:1;mem:1GiB") {
    TestScheduler& added = subscribed("f");
    added.asks(shape, 1);
    settle();
    EXPECT_EQ(added.offers.size(), 1u);
    if (!added.offers.empty()) {
      added.accepts({added.offers.front()}, {TestScheduler::spec(task, shape)});
    }
    settle();
    return added;
  }

  // Runs all ticks that are due now.
  void settle() {
    for (int ticks = 0;; ++ticks) {
      ASSERT_LT(ticks, 100) << "the master wants a tick for ever";
      const std::optional<Time> next = master->next_deadline();
      if (!next || *next > now) return;
      step(Tick{});
    }
  }
  // Sends heartbeats of all connected peers that are not silent.
  void show_life() {
    for (size_t i = 0; i < peers_.size(); ++i) {
      TestPeer& peer = *peers_[i];
      if (peer.is_connected() && !peer.silent && registered_.contains(peer.peer())) {
        peer.sends(proto::Heartbeat{});
      }
    }
  }
  // Lets time pass; peers send heartbeats every second.
  void advance(Duration by) {
    const Time end = now + by;
    settle();
    while (now < end) {
      now = std::min(end, now + seconds(1));
      settle();
      show_life();
      settle();
    }
  }
  // The master crashes, and another one starts with the durable state. All connections are lost.
  void restart_master() {
    MasterSnapshot durable = master->snapshot();
    EXPECT_EQ(durable.rows, replayed());
    options.leader = LeaderEpoch(options.leader.value() + 1);
    restart_with(durable);
  }
  void restart_with(const MasterSnapshot& durable) {
    options.started_at = now;
    master = std::make_unique<Master>(options, durable);
    for (const auto& peer : peers_) peer->dropped_ = true;
    for (const auto& peer : peers_) {
      if (auto* scheduler = dynamic_cast<TestScheduler*>(peer.get())) scheduler->offers.clear();
    }
    check();
  }

  void step(MasterEvent event) {
    MasterOutbox out;
    if (hears) hears(event);
    master->handle(std::move(event), now, out);
    if (says) says(out);
    for (const proto::RegistryWrite& write : out.records) records.push_back(write);
    for (TraceEvent& traced : out.trace) trace.push_back(std::move(traced));
    for (proto::HistoryRecord& kept : out.history) history.push_back(std::move(kept));
    for (MasterAction& action : out.actions) {
      if (auto* send = std::get_if<Send>(&action)) deliver(*send);
      if (auto* drop = std::get_if<Drop>(&action)) {
        if (TestPeer* peer = find(drop->peer)) peer->dropped_ = true;
        ended_.insert(drop->peer);
      }
      if (auto* answer = std::get_if<Answer>(&action)) answers.push_back(std::move(*answer));
    }
    check();
    // Schedulers react after the step.
    std::vector<std::pair<TestPeer*, proto::Message>> replies = std::exchange(replies_, {});
    for (auto& [peer, message] : replies) {
      if (peer->is_connected()) peer->sends(std::move(message));
    }
  }
  // An operator's call and its answer: "done", or the error.
  template <class Call>
  std::string calls(Call call) {
    const Result<void> result = operates(std::move(call));
    return result ? "done" : result.error().message();
  }
  template <class Call>
  Result<void> operates(Call call) {
    call.call = ++calls_;
    if (call.by == nullptr) call.by = user_with_all_rights();
    step(std::move(call));
    EXPECT_FALSE(answers.empty());
    EXPECT_EQ(answers.back().call, calls_);
    const Result<std::string>& result = answers.back().result;
    return result ? Result<void>() : Result<void>(result.error());
  }
  Result<void> operator_kill(const std::string& task) {
    return operates(OperatorKill{.task = task, .grace = {}});
  }
  // A user's request to a framework. Returns its number; the answer comes later.
  uint64_t request(const std::string& framework, const std::string& id,
                   const std::string& data = "", Duration timeout = seconds(30),
                   const PrincipalPtr& by = nullptr, const RoleName& role = {}) {
    step(FrameworkCall{.call = ++calls_,
                       .framework = framework,
                       .id = id,
                       .by = by == nullptr ? user_with_all_rights() : by,
                       .timeout = timeout,
                       .data = data,
                       .role = role});
    return calls_;
  }
  // The answer to the request: empty, or "data", or "code: message".
  std::optional<std::string> answer_to(uint64_t call) const {
    std::optional<std::string> found;
    for (const Answer& answer : answers) {
      if (answer.call != call) continue;
      EXPECT_FALSE(found.has_value()) << "answered twice";
      found = answer.result ? *answer.result
                            : text(to_text(answer.result.error().code()), ": ",
                                   answer.result.error().message());
    }
    return found;
  }

  int traced(std::string_view what) const {
    return static_cast<int>(std::count_if(
        trace.begin(), trace.end(), [&](const TraceEvent& event) { return event.what() == what; }));
  }
  std::optional<proto::TaskRow> task(const FrameworkId& framework, const std::string& id) const {
    const Principal root{.user = "root"};
    for (const proto::TaskRow& row : master->tasks(
             {.prefix = framework.str() + "/" + id, .ended = true, .after = {}, .limit = 1},
             &root)) {
      if (row.task.str() == id) return row;
    }
    return std::nullopt;
  }
  proto::AgentRow agent_row(const std::string& name) const {
    for (const proto::AgentRow& row : master->agents()) {
      if (row.agent.str() == name) return row;
    }
    ADD_FAILURE() << "there is no agent " << name;
    return {};
  }
  bool knows_agent(const std::string& name) const {
    const std::vector<proto::AgentRow> rows = master->agents();
    return std::any_of(rows.begin(), rows.end(),
                       [&](const proto::AgentRow& row) { return row.agent.str() == name; });
  }
  proto::RoleRow role_row(const std::string& name) const {
    for (const proto::RoleRow& row : master->roles()) {
      if (row.role.str() == name) return row;
    }
    ADD_FAILURE() << "there is no role " << name;
    return {};
  }
  std::string allocated() const { return to_text(master->status().allocated); }

  void reply(TestPeer& peer, proto::Message message) {
    replies_.emplace_back(&peer, std::move(message));
  }
  Secret new_secret() {
    const std::string digits = std::to_string(++secrets_);
    return Secret(std::string(32 - digits.size(), '0') + digits);
  }
  PeerId new_peer() { return PeerId(++peers_made_); }

  Time now = Time::from_nanos(1'000'000'000'000);
  MasterOptions options;
  std::unique_ptr<Master> master;
  std::vector<proto::RegistryWrite> records = {};
  std::vector<TraceEvent> trace = {};
  std::vector<Answer> answers = {};
  std::vector<proto::HistoryRecord> history = {};
  // Called before and after each step of the master.
  std::function<void(const MasterEvent&)> hears = {};
  std::function<void(const MasterOutbox&)> says = {};

 private:
  void check() {
    for (const Violation& violation : master->violations()) ADD_FAILURE() << violation.what;
  }
  TestPeer* find(PeerId id) {
    for (const auto& peer : peers_) {
      if (peer->peer_ == id) return peer.get();
    }
    return nullptr;
  }
  void deliver(Send& send) {
    EXPECT_FALSE(ended_.contains(send.peer)) << "a message to an ended connection";
    EXPECT_EQ(send.envelope.leader, options.leader);
    if (std::holds_alternative<proto::AgentRegistered>(*send.envelope.message) ||
        std::holds_alternative<proto::Subscribed>(*send.envelope.message)) {
      registered_.insert(send.peer);
    }
    TestPeer* peer = find(send.peer);
    if (peer == nullptr || peer->dropped_) return;
    EXPECT_LE(send.envelope.version, peer->version) << "it would not understand this";
    EXPECT_EQ(peer->receiving_.admit(send.envelope), proto::Channel::Verdict::kDeliver);
    peer->on_message(*send.envelope.message);
    if (!std::holds_alternative<proto::Heartbeat>(*send.envelope.message)) {
      peer->inbox.push_back(std::move(*send.envelope.message));
    }
  }
  // The content of a store after all writes, in the order of a snapshot.
  std::vector<proto::RegistryRow> replayed() const {
    std::map<std::string, proto::RegistryRow> rows;
    for (const proto::RegistryWrite& write : records) {
      std::string key;
      if (const auto* a = std::get_if<proto::AgentRecord>(&write.row)) key = "a" + a->agent.str();
      if (const auto* f = std::get_if<proto::FrameworkRecord>(&write.row)) {
        key = "f" + f->framework.str();
      }
      if (const auto* k = std::get_if<KnownKey>(&write.row)) key = "k" + k->key.str();
      if (const auto* r = std::get_if<proto::RoleRecord>(&write.row)) key = "r1" + r->role.str();
      if (const auto* v = std::get_if<proto::ReservationRecord>(&write.row)) {
        key = "r2" + v->agent.str() + '\0' + v->role.str();
      }
      if (const auto* c = std::get_if<proto::SecretRecord>(&write.row)) {
        key = "r3" + c->owner + '\0' + c->name;
      }
      if (std::holds_alternative<proto::ClusterRecord>(write.row)) key = "r4";
      if (const auto* e = std::get_if<proto::StoreRecord>(&write.row)) {
        key = "s" + e->framework.str() + '\0' + e->key;
      }
      if (write.erase)
        rows.erase(key);
      else
        rows[key] = write.row;
    }
    std::vector<proto::RegistryRow> all;
    for (auto& [key, row] : rows) all.push_back(std::move(row));
    return all;
  }

  std::vector<std::unique_ptr<TestPeer>> peers_;
  std::set<PeerId> ended_;
  std::set<PeerId> registered_;
  std::vector<std::pair<TestPeer*, proto::Message>> replies_;
  uint64_t peers_made_ = 0;
  uint64_t secrets_ = 0;
  uint64_t calls_ = 0;
};

inline void TestPeer::connect() {
  peer_ = scenario_.new_peer();
  dropped_ = false;
  sent_ = 0;
  receiving_ = {};
}
inline void TestPeer::sends(proto::Message message) {
  proto::say_in_version(message, version);
  sends_frame(
      {.version = version, .leader = {}, .sequence = ++sent_, .message = std::move(message)});
}
inline void TestPeer::sends_frame(proto::Envelope envelope) {
  scenario_.step(FrameReceived{peer_, std::move(envelope), by});
}
inline void TestPeer::lose() {
  dropped_ = true;
  scenario_.step(PeerLost{peer_});
}
inline void TestScheduler::on_message(const proto::Message& message) {
  if (const auto* subscribed = std::get_if<proto::Subscribed>(&message)) {
    id = subscribed->framework;
    offers.clear();
  }
  if (const auto* made = std::get_if<proto::Offers>(&message)) {
    offers.insert(offers.end(), made->offers.begin(), made->offers.end());
  }
  if (const auto* rescind = std::get_if<proto::Rescind>(&message)) {
    for (const OfferId offer : rescind->offers) forget(offer);
  }
  const auto* update = std::get_if<proto::Update>(&message);
  if (update == nullptr || !acknowledges_by_itself || update->status.sequence == 0) return;
  scenario_.reply(*this, proto::Acknowledge{.framework = {},
                                            .task = update->status.task,
                                            .agent = update->status.agent,
                                            .source = update->status.source,
                                            .sequence = update->status.sequence});
}

using Lines = std::vector<std::string>;

}  // namespace proffer::master
