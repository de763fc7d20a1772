// The life of a scheduler's sessions: MasterConnected → Subscribe → Subscribed, then all messages
// that may have been lost are sent again (see on_subscribed), until the connection ends and the
// cycle begins again. Within a connection no message is lost or reordered, so none is sent twice
// there. Commands that the author gives without a session are kept if possible: asks, kills,
// reconciliation, teardown.

#include "sdk/core/driver.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/roles.h"
#include "common/text.h"
#include "proto/channel.h"
#include "sdk/core/accept_plan.h"
#include "sdk/core/gang_answers.h"
#include "sdk/core/held_offers.h"
#include "sdk/core/known_tasks.h"
#include "sdk/core/relayed_requests.h"
#include "sdk/core/released_files.h"
#include "sdk/core/sendable.h"
#include "sdk/core/store_requests.h"
#include "sdk/core/task_questions.h"
#include "sdk/core/trace.h"

namespace proffer::sdk {
namespace {

enum class Session : uint8_t { kAway, kSubscribing, kSubscribed, kDone };

// How long a teardown waits for the master's answer before it gives up. It is sent again in each
// session, since a framework that is not torn down would keep its tasks for its failover timeout.
constexpr Duration kTeardownPatience = seconds(10);
// The most ids in one message; more are sent in further messages.
constexpr size_t kIdsPerMessageMax = kTasksPerMessageMax;
// Kills and reconciliations of tasks that the driver does not know, kept for the next session.
constexpr size_t kUnknownKeptMax = kEndedTasksKept;
// Heartbeats at shorter intervals would be a flood.
constexpr Duration kHeartbeatMin = milliseconds(10);

struct Step {
  Time now;
  DriverOutbox& out;

  void trace(TraceEvent happened) { out.trace.push_back(std::move(happened)); }
};

void tell(Step& step, Notification notification) {
  step.out.actions.push_back(Notify{std::move(notification)});
}

// A status that the driver reports in the master's place.
proto::TaskStatus local_status(const TaskId& task, proto::TaskState state, proto::TaskReason reason,
                               std::string message, Time now) {
  return {.task = task,
          .state = state,
          .reason = reason,
          .source = proto::UpdateSource::kMaster,
          .message = std::move(message),
          .at = now};
}

}  // namespace

class Driver::State {
 public:
  explicit State(DriverOptions options)
      : options_(std::move(options)),
        framework_(options_.framework),
        heartbeat_(options_.heartbeat),
        timeout_(options_.master_timeout),
        tasks_(options_.ended_kept) {}

  void handle(const DriverEvent& event, Time now, DriverOutbox& out) {
    if (session_ == Session::kDone) return;
    Step step{now, out};
    offers_.expire(now);
    end_gangs(step, gangs_.expire(now), "the lease of an offer of its gang has ended");
    std::visit([&](const auto& e) { on(step, e); }, event);
  }

  std::optional<Time> next_deadline() const {
    if (session_ == Session::kDone) return std::nullopt;
    std::optional<Time> next = give_up_at_;
    const auto at = [&next](Time time) { next = next ? std::min(*next, time) : time; };
    if (session_ != Session::kAway) at(heard_at_ + timeout_);
    if (session_ == Session::kSubscribed) at(sent_at_ + heartbeat_);
    return next;
  }

  std::vector<TaskId> live_tasks() const {
    std::vector<TaskId> live;
    for (const auto& [id, task] : tasks_.live()) live.push_back(id);
    return live;
  }

  std::vector<Violation> violations() const {
    std::vector<Violation> found = tasks_.violations();
    for (Violation& violation : offers_.violations()) found.push_back(std::move(violation));
    for (Violation& violation : store_.violations()) found.push_back(std::move(violation));
    for (Violation& violation : requests_.violations()) found.push_back(std::move(violation));
    if (session_ != Session::kSubscribed && offers_.size() > 0) {
      found.push_back({text(offers_.size(), " offers are held without a session")});
    }
    std::set<AskName> names;
    for (const Ask& ask : asks_) {
      if (ask.count < 0 || !names.insert(ask.name).second) {
        found.push_back({text("ask ", quoted(ask.name.str()), " counts ", ask.count)});
      }
    }
    for (const auto& [task, grace] : kills_) {
      if (tasks_.has_ended(task)) {
        found.push_back({text("a kill waits for the ended task ", quoted(task.str()))});
      }
    }
    if (session_ == Session::kSubscribed && framework_.empty()) {
      found.push_back({"subscribed without an id"});
    }
    return found;
  }

  const FrameworkId& framework() const { return framework_; }
  bool subscribed() const { return session_ == Session::kSubscribed; }
  const std::vector<Ask>& asks() const { return asks_; }
  bool all_tasks_known() const { return session_ == Session::kSubscribed && questions_.is_known(); }

 private:
  // --- connections -----------------------------------------------------------------------------

  void on(Step& step, const MasterConnected&) {
    lose(step, "a new connection was made");
    session_ = Session::kSubscribing;
    channel_ = channel_.next();
    ++connection_;
    heard_at_ = step.now;
    send(step, proto::Subscribe{.framework = framework_,
                                .name = options_.name,
                                .role = options_.role,
                                .mode = options_.mode,
                                .secret = options_.secret,
                                .failover_timeout = options_.failover_timeout,
                                .user = options_.user,
                                .serves_users = options_.serves_users,
                                .remembers_tasks = options_.remembers_tasks,
                                .cluster = framework_.empty() ? ClusterId() : cluster_,
                                .stands_by = options_.stands_by});
  }

  void on(Step& step, const MasterDisconnected& event) { lose(step, event.reason); }

  void on(Step& step, const MasterFrame& event) {
    if (session_ == Session::kAway) return;  // late event of a connection that was given up
    if (!admit_leader(step, event.envelope)) return;
    switch (channel_.admit(event.envelope)) {
      case proto::Channel::Verdict::kDuplicate:
        return;
      case proto::Channel::Verdict::kBroken:
        return reset(step, "frames were lost");
      case proto::Channel::Verdict::kDeliver:
        break;
    }
    heard_at_ = step.now;
    if (is_ending() && session_ == Session::kSubscribed &&
        !std::holds_alternative<proto::ErrorMessage>(*event.envelope.message)) {
      return;  // Only the answer to the teardown matters now.
    }
    std::visit([&](const auto& message) { on_message(step, message); }, *event.envelope.message);
  }

  // A deposed master does not know yet that it is deposed, and one that lost its registry does not
  // know this framework. Neither may end it. A master that does not lead gives no epoch.
  bool admit_leader(Step& step, const proto::Envelope& envelope) {
    const LeaderEpoch leader = envelope.leader;
    if (leader >= leader_ || !leader) {
      // A master that refuses this framework may be one of another cluster.
      const bool is_error = std::holds_alternative<proto::ErrorMessage>(*envelope.message);
      if (!is_error) leader_ = std::max(leader_, leader);
      return true;
    }
    step.trace(OlderMasterRefused{leader, leader_});
    reset(step, text("the master leads in epoch ", leader.value(), ", but epoch ", leader_.value(),
                     " has begun"));
    return false;
  }

  void on(Step& step, const Tick&) {
    if (give_up_at_ && *give_up_at_ <= step.now) {
      step.trace(TeardownGivenUp{framework_});
      return finish(step, true);
    }
    if (session_ != Session::kAway && heard_at_ + timeout_ <= step.now) {
      return reset(step, text("the master was silent for ", to_text(timeout_)));
    }
    if (session_ == Session::kSubscribed && sent_at_ + heartbeat_ <= step.now) {
      send(step, proto::Heartbeat{});
    }
  }

  // All state of the connection is void. The author is informed if there was a session.
  void lose(Step& step, const std::string& reason) {
    const bool had_session = session_ == Session::kSubscribed;
    session_ = Session::kAway;
    offers_.clear();
    end_gangs(step, gangs_.clear(), "the session with the master was lost");
    if (!had_session || is_ending()) return;
    step.trace(MasterLost{reason});
    tell(step, Disconnected{reason});
    requests_.lose();
    for (proto::StoreResult& result : store_.lose()) tell(step, std::move(result));
  }

  void reset(Step& step, const std::string& reason) {
    step.out.actions.push_back(ResetMaster{});
    lose(step, reason);
  }

  void send(Step& step, proto::BoxedMessage message) {
    sent_at_ = step.now;
    step.out.actions.push_back(SendToMaster{channel_.stamp(leader_, std::move(message))});
  }

  void finish(Step& step, bool is_given_up = false) {
    session_ = Session::kDone;
    offers_.clear();
    gangs_.clear();
    kills_.clear();
    store_.clear();
    give_up_at_.reset();
    step.out.actions.push_back(Done{.is_given_up = is_given_up});
  }

  bool is_ending() const { return give_up_at_.has_value(); }

  // --- the master's messages -------------------------------------------------------------------

  // A newer master may send messages that this version does not know.
  void on_message(Step& step, const proto::Unknown& message) {
    step.trace(UnknownMessageIgnored{message.tag});
  }

  void on_message(Step&, const proto::Heartbeat&) {}

  // Other messages are never sent to a scheduler.
  template <class Other>
  void on_message(Step& step, const Other& message) {
    unexpected(step, proto::message_name(message));
  }

  void unexpected(Step& step, std::string_view what) {
    step.trace(UnexpectedMessage{what});
    reset(step, text("the master sent an unexpected message, ", what));
  }

  // True if there is a session for this message; if not, the connection is ended.
  bool expects(Step& step, std::string_view what) {
    if (session_ == Session::kSubscribed) return true;
    unexpected(step, what);
    return false;
  }

  void on_message(Step& step, const proto::Subscribed& message) {
    if (session_ != Session::kSubscribing || message.framework.empty() ||
        (!framework_.empty() && framework_ != message.framework)) {
      return unexpected(step, "subscribed");
    }
    framework_ = message.framework;
    cluster_ = message.cluster;
    session_ = Session::kSubscribed;
    heartbeat_ = std::max(message.heartbeat > Duration() ? message.heartbeat : options_.heartbeat,
                          kHeartbeatMin);
    timeout_ = std::max(message.timeout > Duration() ? message.timeout : options_.master_timeout,
                        kHeartbeatMin);
    if (is_ending()) return send(step, proto::Teardown{});

    const bool is_first = !std::exchange(was_subscribed_, true);
    step.trace(SessionBegun{framework_, message.session});
    if (is_first) {
      step.out.actions.push_back(SaveIdentity{framework_, options_.secret});
    }
    tell(step, message);

    // State that may have been lost, or ended with the connection, is sent again. A process that
    // takes over does not know the filters of the previous one and does without them.
    if (suppressed_) {
      send(step, proto::Suppress{});
    } else if (revive_ || (is_first && message.failed_over)) {
      send(step, proto::Revive{});
    }
    revive_ = false;
    if (!asks_.empty()) declare(step);
    questions_.begin(tasks_, is_first && message.failed_over);
    send_questions(step);
    tell_if_all_known(step);
    for (const auto& [task, grace] : kills_) send(step, proto::KillTask{{}, task, grace});
    for (const proto::ReleaseFiles& released : released_.newest()) send(step, released);
    send_store_requests(step);
  }

  void on_message(Step& step, const proto::Reconciled& message) {
    if (!expects(step, "reconciled")) return;
    questions_.answered(message.missing_agents);
    send_questions(step);
    tell_if_all_known(step);
  }

  void tell_if_all_known(Step& step) {
    if (!is_ending() && questions_.becomes_known()) tell(step, AllTasksKnown{});
  }

  void on_message(Step& step, const proto::Offers& message) {
    if (!expects(step, "offers")) return;
    proto::Offers told{.offers = gangs_.arrive(message.offers, asks_, step.now)};
    for (const Offer& offer : told.offers) offers_.add(offer, step.now);
    if (!told.offers.empty()) tell(step, std::move(told));
  }

  void on_message(Step& step, const proto::Rescind& message) {
    if (!expects(step, "rescind")) return;
    // offers that were answered meanwhile are no news
    proto::Rescind news{.offers = offers_.take(message.offers, step.now)};
    if (!news.offers.empty()) tell(step, std::move(news));
    end_gangs(step, gangs_.end(message.offers), "an offer of its gang was rescinded");
  }

  // A gang is launched as a whole or not at all.
  void end_gangs(Step& step, std::vector<GangAnswers::Ended> gangs, const std::string& why) {
    for (GangAnswers::Ended& gang : gangs) {
      refuse(step,
             refuse_all(gang.accepted, text("a gang is launched as a whole or not at all: ", why),
                        proto::TaskReason::kGangIncomplete));
      proto::Rescind open{.offers = offers_.take(gang.rest, step.now)};
      if (session_ != Session::kSubscribed) continue;
      std::vector<OfferId> back = gang.rest;
      back.insert(back.end(), gang.accepted.offers.begin(), gang.accepted.offers.end());
      decline(step, back, Refusal());
      if (!open.offers.empty() && !is_ending()) tell(step, std::move(open));
    }
  }

  void on_message(Step& step, const proto::Update& message) {
    if (!expects(step, "update")) return;
    const proto::TaskStatus& status = message.status;
    if (!message.framework.empty() && message.framework != framework_) {
      return step.trace(UpdateOfAnotherFramework{message.framework, status.task});
    }
    bool is_redeclared = false;
    questions_.heard(status.task);
    // Messages are not lost within a connection, so an answer with an end is older than the launch.
    if (status.sequence == 0 && proto::is_terminal(status.state) &&
        tasks_.was_launched_on(status.task, connection_)) {
      return;
    }
    if (const KnownTasks::Heard heard = tasks_.hear(status); heard.is_news) {
      if (heard.has_ended) {
        if (options_.acknowledges_ends && status.sequence > 0) {
          ends_[status.task] = {{}, status.task, status.agent, status.source, status.sequence};
        }
        kills_.erase(status.task);
        if (status.state == proto::TaskState::kRefused) is_redeclared = give_back(heard.task);
      }
      tell(step, status);
    }
    // A repeated end is acknowledged again, since the first acknowledgement may have been lost.
    const bool is_authors = proto::is_terminal(status.state) && ends_.contains(status.task);
    if (status.sequence > 0 && !is_authors) {
      send(step, proto::Acknowledge{{}, status.task, status.agent, status.source, status.sequence});
    }
    if (is_redeclared) declare(step);
  }

  void on_message(Step& step, const proto::FrameworkMessage& message) {
    if (expects(step, "framework_message")) tell(step, message);
  }

  void on_message(Step& step, const proto::AskReport& message) {
    if (expects(step, "ask_report")) tell(step, message);
  }

  void on_message(Step& step, const proto::RevokeNotice& message) {
    if (!expects(step, "revoke_notice")) return;
    // tasks that have ended meanwhile are no news
    proto::RevokeNotice news = message;
    std::erase_if(news.tasks, [&](const TaskId& task) { return tasks_.has_ended(task); });
    if (!news.tasks.empty()) tell(step, std::move(news));
  }

  void on_message(Step& step, const proto::RevokeWithdrawn& message) {
    if (!expects(step, "revoke_withdrawn")) return;
    proto::RevokeWithdrawn news = message;
    std::erase_if(news.tasks, [&](const TaskId& task) { return tasks_.has_ended(task); });
    if (!news.tasks.empty()) tell(step, std::move(news));
  }

  void on_message(Step& step, const proto::Failure& message) {
    if (expects(step, "failure")) tell(step, message);
  }

  void on_message(Step& step, const proto::StoreResult& message) {
    if (!expects(step, "store_result")) return;
    std::optional<proto::StoreResult> result = store_.answer(message);
    if (!result) return step.trace(UnwantedStoreResult{message.id});
    tell(step, *std::move(result));
    send_store_requests(step);
  }

  void on_message(Step& step, const proto::FrameworkRequest& message) {
    if (!expects(step, "framework_request")) return;
    RelayedRequests::Heard heard = requests_.hear(message);
    if (heard.again) send(step, *std::move(heard.again));
    if (!heard.fresh && !heard.again) step.trace(RequestHeardAgain{message.id});
    if (heard.fresh) tell(step, *std::move(heard.fresh));
  }

  void on_message(Step& step, const proto::ErrorMessage& message) {
    const bool ends = message.ends_session || session_ != Session::kSubscribed;
    const bool is_final = ends && !message.retry;
    if (ends && !is_final && options_.stands_by && !was_subscribed_ &&
        message.code == ErrorCode::kFailedPrecondition) {
      if (!std::exchange(was_told_to_stand_by_, true)) step.trace(StandsBy{message.message});
      return reset(step, message.message);
    }
    step.trace(MasterSentError{message.code, message.message, is_final});
    if (is_final) {
      // a framework that was to be torn down has then ended
      if (!is_ending()) {
        for (proto::StoreResult& result : store_.give_up(
                 {.code = ErrorCode::kUnavailable, .message = "the framework was refused"})) {
          tell(step, std::move(result));
        }
        tell(step, Refused{refusal_of(message)});
      }
      return finish(step);
    }
    if (ends) return reset(step, message.message);
    if (!is_ending())
      tell(step, Complaint{Error(message.code, message.message).with_hint(message.hint)});
  }

  Error refusal_of(const proto::ErrorMessage& message) const {
    std::string hint = message.hint;
    if (message.code == ErrorCode::kNotFound && was_subscribed_) {
      hint = text(
          "the framework was torn down, or disconnected for longer than its failover timeout of ",
          to_text(options_.failover_timeout), "; its tasks have ended; start it again");
    } else if (message.code == ErrorCode::kNotFound && !options_.framework.empty()) {
      // Probably of another cluster: the framework of the session file may be alive there.
      hint = text(
          "check whether this is the framework's cluster; choose another with --master or "
          "$PROFFER_MASTER. If it is, the framework was torn down, or disconnected for longer than "
          "its failover timeout; to start a new framework, use another session file than ",
          options_.session_file.empty() ? "this one" : quoted(options_.session_file));
    }
    return Error(message.code, message.message).with_hint(std::move(hint));
  }

  // A refused launch does not count: its ask wants the task again, unless the author has declared
  // asks since. The master counts in the same way, except for a launch on an earlier connection, on
  // which the ask was declared. Then true is returned, and the ask is declared again.
  bool give_back(const KnownTasks::Task& task) {
    if (task.ask.empty() || task.declaration != declaration_) return false;
    for (Ask& ask : asks_) {
      if (ask.name != task.ask) continue;
      // only whole gangs are wanted again
      if (ask.gang > 1 && ++gang_back_[ask.name] < ask.gang) return false;
      gang_back_.erase(ask.name);
      ask.count = std::min(ask.count + ask.gang, kAskCountMax);
      return task.connection != connection_;
    }
    return false;
  }

  // --- the author's commands ------------------------------------------------------------------

  void on(Step& step, const CommandGiven& event) {
    if (is_ending()) return;
    std::visit([&](const auto& command) { on_command(step, command); }, event.command);
  }

  void on_command(Step& step, const proto::DeclareAsks& command) {
    ++declaration_;
    asks_.clear();
    gang_back_.clear();
    proto::AskReport report{.generation = generation_ + 1};
    std::set<AskName> names;
    size_t bytes = 0;
    for (Ask ask : command.asks) {
      std::sort(ask.max_per.begin(), ask.max_per.end(),
                [](const MaxPer& a, const MaxPer& b) { return a.attribute < b.attribute; });
      std::string why;
      if (const Result<void> checked = check_ask(ask); !checked) {
        why = checked.error().message();
      } else if (!is_own(ask.role)) {
        why = text("its role must be ", quoted(options_.role.str()), " or below it, not ",
                   quoted(ask.role.str()));
      } else if (names.count(ask.name) > 0) {
        why = "another ask of this name is in the same declaration";
      } else if (asks_.size() == kAsksMax || bytes + bytes_of(ask) > kSendableBytesMax) {
        why = text("a framework declares at most ", kAsksMax, " asks and ",
                   kSendableBytesMax / 1024, " KiB");
      }
      // The report says that no agent could ever meet an ask that cannot be declared.
      if (!why.empty()) {
        report.rows.push_back({.ask = ask.name, .could_ever_fit = false, .why = std::move(why)});
        continue;
      }
      bytes += bytes_of(ask);
      names.insert(ask.name);
      asks_.push_back(std::move(ask));
    }
    if (session_ == Session::kSubscribed) declare(step);
    if (report.rows.empty() || is_ending()) return;
    step.trace(AskCannotBeDeclared{report.rows.front().ask, report.rows.front().why});
    tell(step, std::move(report));
  }

  // True for roles of the framework's asks: its own (also if none is named) or one below it.
  bool is_own(const RoleName& role) const { return role.empty() || is_within(role, options_.role); }

  void declare(Step& step) {
    send(step, proto::DeclareAsks{.generation = ++generation_, .asks = asks_});
  }

  void on_command(Step& step, const proto::Accept& command) {
    // Take. An offer is answered once, whatever the answer is.
    std::vector<OfferId> named = command.offers;
    std::sort(named.begin(), named.end());
    named.erase(std::unique(named.begin(), named.end()), named.end());
    const std::vector<OfferId> valid = offers_.take(named, step.now);

    // Decide. The master would also refuse void offers; the author sees the same result, whichever
    // side notices first.
    if (valid.empty() || valid.size() != named.size() || named.size() > kOperationsMax) {
      decline(step, valid, Refusal());  // their tasks were not meant to be refused
      end_gangs(step, gangs_.end(valid), "another offer of it was not valid");
      const std::string why = session_ != Session::kSubscribed
                                  ? "there is no session with the master"
                              : named.empty() ? "the accept names no offer"
                              : named.size() > kOperationsMax
                                  ? text("an accept names at most ", kOperationsMax, " offers")
                                  : "an offer was rescinded, has expired, or was answered before; "
                                    "an offer is answered once: name all tasks in one accept, or "
                                    "wait for the next offer";
      return refuse(step, refuse_all(command, why));
    }
    if (!gangs_.is_member(valid)) return send_accept(step, command, valid);
    if (const std::optional<proto::Accept> whole = gangs_.accept(command)) {
      send_accept(step, *whole, whole->offers);
    }
  }

  void send_accept(Step& step, const proto::Accept& command, const std::vector<OfferId>& valid) {
    AcceptPlan plan = plan_accept(command, tasks_);
    plan.accept.offers = valid;
    if (channel_.version() < 2 && has_reservations(plan.accept)) {
      plan.complaints.push_back(Error::unsupported("this master is too old to reserve"));
    }

    // Apply.
    for (const proto::Operation& operation : plan.accept.operations) {
      const auto* launch = std::get_if<proto::Launch>(&operation);
      if (launch == nullptr) continue;
      for (const proto::TaskSpec& task : launch->tasks) {
        tasks_.launch(task.id, launch->agent, task.ask, declaration_, connection_);
        for (Ask& ask : asks_) {
          if (ask.name == task.ask && ask.count > 0) --ask.count;
        }
      }
    }

    // Tell.
    send(step, std::move(plan.accept));
    refuse(step, plan.refusals);
    for (Error& complaint : plan.complaints) tell(step, Complaint{std::move(complaint)});
  }

  static bool has_reservations(const proto::Accept& accept) {
    return std::any_of(accept.operations.begin(), accept.operations.end(),
                       [](const proto::Operation& operation) {
                         return !std::holds_alternative<proto::Launch>(operation);
                       });
  }

  void refuse(Step& step, const std::vector<LocalRefusal>& refusals) {
    for (const LocalRefusal& refusal : refusals) {
      if (is_valid_name(refusal.task.str()) && tasks_.may_launch(refusal.task)) {
        tasks_.refuse(refusal.task);
        kills_.erase(refusal.task);
      }
      if (is_ending()) continue;
      proto::TaskStatus status = local_status(refusal.task, proto::TaskState::kRefused,
                                              refusal.reason, refusal.message, step.now);
      status.agent = refusal.agent;
      status.labels = refusal.labels;
      tell(step, std::move(status));
    }
  }

  void on_command(Step& step, const proto::Decline& command) {
    const std::vector<OfferId> valid = offers_.take(command.offers, step.now);
    decline(step, valid, command.refusal);
    end_gangs(step, gangs_.end(valid), "another offer of it was declined");
  }

  // Offers are held only in a session.
  void decline(Step& step, const std::vector<OfferId>& offers, const Refusal& refusal) {
    for (size_t first = 0; first < offers.size(); first += kIdsPerMessageMax) {
      const size_t last = std::min(first + kIdsPerMessageMax, offers.size());
      send(step, proto::Decline{{offers.begin() + static_cast<ptrdiff_t>(first),
                                 offers.begin() + static_cast<ptrdiff_t>(last)},
                                sendable(refusal)});
    }
  }

  void on_command(Step& step, const proto::Suppress&) {
    suppressed_ = true;
    if (session_ == Session::kSubscribed) send(step, proto::Suppress{});
  }

  void on_command(Step& step, const proto::Revive&) {
    suppressed_ = false;
    revive_ = session_ != Session::kSubscribed;
    if (!revive_) send(step, proto::Revive{});
  }

  // A kill stays wanted until its task has ended, and is sent again in each session until then.
  void on_command(Step& step, const proto::KillTask& command) {
    if (tasks_.has_ended(command.task)) return;
    if (!is_valid_name(command.task.str())) return unknown(step, command.task);
    std::optional<Duration> grace = command.grace;
    if (grace) grace = std::clamp(*grace, Duration(), hours(24));
    if (!tasks_.is_live(command.task) && kills_.count(command.task) == 0 &&
        kills_.size() >= kUnknownKeptMax + tasks_.live().size()) {
      return step.trace(TooManyKills{command.task});
    }
    kills_[command.task] = grace;
    if (session_ == Session::kSubscribed) send(step, proto::KillTask{{}, command.task, grace});
  }

  void on_command(Step& step, const proto::Reconcile& command) {
    if (command.tasks.empty()) questions_.add_all();
    for (size_t i = 0; i < command.tasks.size(); ++i) {
      const TaskId& task = command.tasks[i];
      const bool names_agent = i < command.agents.size() && is_valid_name(command.agents[i].str());
      if (!is_valid_name(task.str())) {
        unknown(step, task);
      } else if (session_ == Session::kSubscribed || questions_.waiting() < kUnknownKeptMax) {
        questions_.add(task, names_agent ? command.agents[i] : AgentId());
      } else {
        step.trace(TooManyQuestions{task});
      }
    }
    if (session_ == Session::kSubscribed) send_questions(step);
  }

  void send_questions(Step& step) {
    for (proto::Reconcile& question : questions_.take(tasks_, kUnknownKeptMax)) {
      send(step, std::move(question));
    }
  }

  // an invalid id is no task's
  void unknown(Step& step, const TaskId& task) {
    if (is_ending()) return;
    tell(step, local_status(task, proto::TaskState::kLost, proto::TaskReason::kTaskUnknown,
                            text(quoted(task.str()), " is not a task id"), step.now));
  }

  // Without a session the end is reported again in the next session, and then acknowledged as a
  // repeated one.
  void on_command(Step& step, const AcknowledgeEnd& command) {
    const auto end = ends_.extract(command.task);
    if (!end.empty() && session_ == Session::kSubscribed) send(step, end.mapped());
  }

  void on_command(Step& step, const proto::ReleaseFiles& command) {
    for (proto::ReleaseFiles& message : released_.add(command)) {
      if (session_ == Session::kSubscribed) send(step, std::move(message));
    }
  }

  void on_command(Step& step, const proto::FrameworkMessage& command) {
    if (session_ != Session::kSubscribed || !is_valid_name(command.agent.str()) ||
        !is_valid_name(command.executor.str()) || command.data.size() > kPayloadBytesMax) {
      return step.trace(MessageDropped{command.agent, command.executor});
    }
    send(step, proto::FrameworkMessage{
                   .agent = command.agent, .executor = command.executor, .data = command.data});
  }

  void on_command(Step& step, const proto::StoreRequest& command) {
    if (Result<void> added = store_.add(command); !added) {
      return tell(
          step, proto::StoreResult{.id = command.id,
                                   .error = proto::ErrorMessage{.code = added.error().code(),
                                                                .message = added.error().message(),
                                                                .hint = added.error().hint()}});
    }
    if (session_ == Session::kSubscribed) send_store_requests(step);
  }

  void send_store_requests(Step& step) {
    while (std::optional<proto::StoreRequest> request = store_.next()) {
      send(step, *std::move(request));
    }
  }

  void on_command(Step& step, const proto::FrameworkResponse& command) {
    // The answer to a retry is sent only on the connection on which the retry came.
    for (proto::FrameworkResponse& response : requests_.answer(sendable(command))) {
      send(step, std::move(response));
    }
  }

  void on_command(Step& step, const proto::Teardown&) {
    if (session_ == Session::kSubscribed) {
      send(step, proto::Teardown{});
      offers_.clear();
      kills_.clear();
    }
    // a master without a subscription of this framework has nothing to tear down
    if (framework_.empty() && connection_ == 0) return finish(step);
    give_up_at_ = step.now + kTeardownPatience;
  }

  // --- state -----------------------------------------------------------------------------------

  const DriverOptions options_;

  Session session_ = Session::kAway;
  proto::Channel channel_ = {};
  uint64_t connection_ = 0;  // number of connections
  bool was_subscribed_ = false;
  bool was_told_to_stand_by_ = false;
  FrameworkId framework_ = {};
  LeaderEpoch leader_ = {};  // the highest so far
  ClusterId cluster_ = {};   // of the last session
  Duration heartbeat_ = {};
  Duration timeout_ = {};
  Time heard_at_ = {};
  Time sent_at_ = {};
  std::optional<Time> give_up_at_ = {};  // until this time a teardown waits for its answer

  std::vector<Ask> asks_ = {};                 // the last declaration, less the launches since
  std::map<AskName, int64_t> gang_back_ = {};  // refused tasks that do not make a whole gang yet
  uint64_t declaration_ = 0;                   // number of the author's declarations
  uint64_t generation_ = 0;                    // number of sent declarations
  bool suppressed_ = false;
  bool revive_ = false;  // requested while there was no session

  HeldOffers offers_ = {};  // empty without a session
  GangAnswers gangs_ = {};  // likewise
  KnownTasks tasks_;
  std::map<TaskId, proto::Acknowledge> ends_ = {};        // not yet acknowledged by the author
  std::map<TaskId, std::optional<Duration>> kills_ = {};  // wanted kills, with their grace
  TaskQuestions questions_ = {};

  StoreRequests store_ = {};
  RelayedRequests requests_ = {};
  ReleasedFiles released_ = {};
};

Driver::Driver(DriverOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Driver::~Driver() = default;

void Driver::handle(const DriverEvent& event, Time now, DriverOutbox& out) {
  state_->handle(event, now, out);
}
std::optional<Time> Driver::next_deadline() const { return state_->next_deadline(); }
const FrameworkId& Driver::framework() const { return state_->framework(); }
bool Driver::subscribed() const { return state_->subscribed(); }
const std::vector<Ask>& Driver::asks() const { return state_->asks(); }
std::vector<TaskId> Driver::live_tasks() const { return state_->live_tasks(); }
bool Driver::all_tasks_known() const { return state_->all_tasks_known(); }
std::vector<Violation> Driver::violations() const { return state_->violations(); }

}  // namespace proffer::sdk
