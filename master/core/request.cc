// Relays a user's request to a framework's scheduler, and its answer back. Begin with
// on_framework_call. No part is durable: a user without an answer repeats the request with the same
// id, and the scheduler prevents that it is carried out twice.

#include <algorithm>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

constexpr Duration kTimeoutMin = milliseconds(1);
constexpr Duration kTimeoutMax = hours(1);
constexpr std::string_view kAskAgain =
    "its tasks run on; send the request again, with the same id if it has one: it is not done "
    "twice";

Result<void> check_call(const FrameworkCall& call) {
  if (Result<void> checked = check_name("request id", call.id); !checked) return checked;
  if (call.timeout < kTimeoutMin || call.timeout > kTimeoutMax) {
    return Error::invalid_argument(text("the timeout of a request must be from ",
                                        to_text(kTimeoutMin), " to ", to_text(kTimeoutMax),
                                        ", not ", call.timeout.nanos(), " ns"));
  }
  if (call.data.size() > kRelayedBytesMax) {
    return Error::resource_exhausted(text("a request to a framework has at most ", kRelayedBytesMax,
                                          " bytes, not ", call.data.size()))
        .with_hint("put the data into a file that the framework can read, and send its path");
  }
  return {};
}

DeadlineKey deadline_of(uint64_t relay) {
  return {.kind = DeadlineKind::kRelay, .peer = {}, .id = std::to_string(relay)};
}

}  // namespace

void Master::State::on_framework_call(FrameworkCall&& call, Step& step) {
  // Decide.
  Result<Framework*> found = find_relay_target(call);
  if (!found) return answer(call.call, std::move(found).error(), step);
  Framework& framework = **found;
  if (Result<void> may = may_call(framework, call, step); !may) {
    return answer(call.call, std::move(may).error(), step);
  }

  // Apply. The next leader also needs to know for which users the framework runs tasks. Relay
  // numbers include the leader epoch, so that a late answer to an earlier number is not mistaken
  // for this one.
  const uint64_t relay = (options_.leader.value() << 32) + ++relays_made_;
  if (framework.record.serves_users && framework.record.users.insert(call.by->user).second &&
      framework.durable()) {
    write(framework.record, false, step);
  }
  relays_.add(relay, {.call = call.call, .framework = framework.id(), .timeout = call.timeout});
  deadlines_.arm(deadline_of(relay), step.now + call.timeout);

  // Tell.
  step.trace(RequestRelayed{framework.id(), call.id});
  send(framework.peer,
       proto::FrameworkRequest{.relay = relay,
                               .id = std::move(call.id),
                               .principal = call.by->user,
                               .data = std::move(call.data),
                               .timeout = call.timeout,
                               .is_operator = is_operator(options_.policy, *call.by),
                               .role = std::move(call.role)},
       step);
}

// A framework that serves users accepts requests of all users who may use the role in the request,
// or else the framework's role. It runs their tasks as these users.
Result<void> Master::State::may_call(const Framework& framework, const FrameworkCall& call,
                                     Step& step) {
  const PrincipalPtr& by = call.by;
  const proto::FrameworkRecord& record = framework.record;
  if (!call.role.empty() && !is_within(call.role, record.role)) {
    return Error::invalid_argument(text("framework ", framework.id().str(), " is in role ",
                                        quoted(record.role.str()), ": it cannot charge ",
                                        quoted(call.role.str())))
        .with_hint("name its role or a role below it, or use a framework in that role");
  }
  const bool names_role = !call.role.empty();
  if (!record.serves_users || by == nullptr || !acts_for_a_user(*by)) {
    Result<void> may = permit(by, Action::kCallFramework, framework.id().str(), step, record.user);
    if (!may || !names_role) return may;
    return may_use_role(by, call.role, step);
  }
  if (Result<void> may = may_use_role(by, names_role ? call.role : record.role, step); !may) {
    return may;
  }
  if (Result<void> may = agents_run_tasks_of(*by); !may) return may;
  if (record.users.size() < kFrameworkUsersMax || record.users.contains(by->user)) return {};
  return Error::resource_exhausted(text("framework ", framework.id().str(), " serves ",
                                        kFrameworkUsersMax, " users, which is the maximum"));
}

// The named framework, if it can be asked now.
Result<Framework*> Master::State::find_relay_target(const FrameworkCall& call) {
  if (Result<void> checked = check_call(call); !checked) return std::move(checked).error();
  Result<const Framework*> named = frameworks_.named(call.framework);
  if (!named) return std::move(named).error();
  const FrameworkId& id = (*named)->id();
  if (!(*named)->connected()) {
    return Error::unavailable(text("the scheduler of framework ", id.str(), " is not connected"))
        .with_hint(text("start the scheduler again, or wait until it is back; ", kAskAgain));
  }
  if (relays_.count(id) >= kRelaysPerFrameworkMax || relays_.size() >= kRelaysMax) {
    const bool own = relays_.count(id) >= kRelaysPerFrameworkMax;
    return Error::resource_exhausted(own ? text("framework ", id.str(), " has ",
                                                kRelaysPerFrameworkMax,
                                                " unanswered requests, which is the maximum")
                                         : text("the master waits for ", kRelaysMax,
                                                " answers of frameworks, which is the maximum"))
        .with_hint("try again later");
  }
  return frameworks_.find(id);
}

void Master::State::on_framework_response(const Framework& framework,
                                          proto::FrameworkResponse&& response, Step& step) {
  const std::optional<RelayedCall> call = relays_.take(response.relay, framework.id());
  if (!call) {
    step.trace(ResponseIgnored{framework.id(), response.relay});
    return;
  }
  deadlines_.cancel(deadline_of(response.relay));
  if (response.error) {
    step.out.actions.emplace_back(
        Answer{call->call, Error(response.error->code, std::move(response.error->message))
                               .with_hint(std::move(response.error->hint))});
  } else {
    step.out.actions.emplace_back(Answer{call->call, std::move(response.data)});
  }
}

void Master::State::on_relay_timeout(uint64_t relay, Step& step) {
  const RelayedCall* waiting = relays_.find(relay);
  if (waiting == nullptr) return;
  const RelayedCall call = *relays_.take(relay, FrameworkId(waiting->framework));
  step.trace(RequestNotAnswered{call.framework, call.timeout});
  step.out.actions.emplace_back(
      Answer{call.call, Error::timeout(text("the scheduler of framework ", call.framework.str(),
                                            " did not answer in ", to_text(call.timeout)))
                            .with_hint(std::string(kAskAgain))});
}

// The session has ended, so its requests will not be answered.
void Master::State::end_relays(const Framework& framework, Step& step) {
  for (const uint64_t relay : relays_.of(framework.id())) {
    const RelayedCall call = *relays_.take(relay, framework.id());
    deadlines_.cancel(deadline_of(relay));
    step.out.actions.emplace_back(Answer{
        call.call, Error::unavailable(text("the connection to the scheduler of framework ",
                                           framework.id().str(), " was lost before it answered"))
                       .with_hint(std::string(kAskAgain))});
  }
}

}  // namespace proffer::master
