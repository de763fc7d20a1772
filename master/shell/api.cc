// Read Api::call first: the route states which part of the master answers.

#include "master/shell/api.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"
#include "common/text.h"
#include "master/core/trace.h"
#include "net/file_token.h"
#include "proto/json/events_json.h"
#include "proto/json/file_access_json.h"
#include "proto/json/masters_json.h"

namespace proffer::master {
namespace {

// Adds the method's name to errors of its arguments.
Error wrong_arguments(const Api::Call& call, Error error) {
  return std::move(error).in(text("arguments of ", call.route.method));
}

}  // namespace

Error no_events_kept() {
  return Error::failed_precondition("this master has no event log")
      .with_hint("start proffer-master with --events_mib above 0");
}

Api::Api(Process process)
    : process_(std::move(process)), history_calls_(process_.loop, process_.send) {}

Result<void> Api::permit(const Call& call) {
  const MethodRule rule = call.route.rule();
  Result<void> may = check_method(process_.policy, call.by.get(), rule);
  if (may) return may;
  // The arguments contain a secret.
  const bool is_secret = call.route.serves == Serves::kSetSecret;
  process_.tell({AuditRefused{
      .user = audit_name(call.by.get()),
      .action = rule.action ? std::string(to_text(*rule.action)) : text("call ", rule.name),
      .of = std::string(is_secret ? std::string_view() : call.arguments)
                .substr(0, kReasonTextBytesMax)}});
  return may;
}

void Api::call(const Call& call, Done done) {
  const Route& route = call.route;
  switch (route.serves) {
    case Serves::kRead: {
      const std::string history = history_words();
      const auto add_behind = [this](std::vector<proto::MasterRow>& rows) {
        add_events_behind(rows);
      };
      const auto conditions = [this]() -> const std::vector<proto::ConditionRow>& {
        return process_.conditions->current().rows();
      };
      const ReadContext from{.core = *process_.core,
                             .by = call.by.get(),
                             .history = history,
                             .conditions = conditions,
                             .now = process_.loop.now(),
                             .forecaster = process_.forecaster.get(),
                             .add_events_behind = add_behind};
      return done(route.read(from, call.arguments));
    }
    case Serves::kSnapshot:
      return done(snapshots_.page(*process_.core, call.arguments, process_.loop.now()));
    case Serves::kHistory:
      return history_calls_.read(*process_.core, process_.history.get(), call.arguments, call.by,
                                 std::move(done));
    case Serves::kEvents:
      return read_events(call, std::move(done));
    case Serves::kFileAccess:
      return grant_files(call, done);
    case Serves::kChange:
      return change(call, std::string("{}"), std::move(done));
    case Serves::kJoinToken:
      return change(call, process_.join_token_reply(), std::move(done));
    case Serves::kSetSecret:
      return set_secret(call, std::move(done));
    case Serves::kStandBy:
      return stand_by(call, std::move(done));
    case Serves::kFollow:
      return follow_events(call, std::move(done));
    case Serves::kRequest: {
      Result<proto::RequestCall> request = proto::parse_request_call(call.arguments);
      if (!request) return done(std::move(request).error());
      return relay(
          *std::move(request), call.by, [done = std::move(done)](Result<std::string> told) {
            Result<std::string> json = told ? proto::request_reply_json(*told) : std::move(told);
            if (!json) return done(std::move(json).error());
            done(Page{.json = *std::move(json)});
          });
    }
    case Serves::kServers:
      break;  // Only possible over HTTP, which relays it itself.
  }
  done(unknown_method(route.method));
}

uint64_t Api::wait_for_answer(Relayed done) {
  waiting_[++calls_] = std::move(done);
  return calls_;
}

void Api::answer(Answer answer) {
  const auto at = waiting_.find(answer.call);
  if (at == waiting_.end()) return;
  const Relayed done = std::move(at->second);
  waiting_.erase(at);
  done(std::move(answer.result));
}

Api::Relayed Api::answered_by(std::string json, Done done) const {
  return [json = std::move(json), done = std::move(done)](Result<std::string> told) {
    if (!told) return done(std::move(told).error());
    done(Page{.json = json});
  };
}

void Api::change(const Call& call, const Result<std::string>& json, Done done) {
  Result<MasterEvent> event = call.route.change(call.arguments, calls_ + 1, call.by);
  if (!event) return done(wrong_arguments(call, std::move(event).error()));
  if (!json) return done(json.error());
  wait_for_answer(answered_by(*json, std::move(done)));
  process_.step(*std::move(event));
}

void Api::set_secret(const Call& call, Done done) {
  Result<SetSecret> event =
      process_.secrets.set(call.arguments, calls_ + 1, call.by, *process_.core);
  if (!event) return done(std::move(event).error());
  wait_for_answer(answered_by("{}", std::move(done)));
  process_.step(*std::move(event));
}

void Api::stand_by(const Call& call, Done done) {
  Result<proto::StandbyCall> standby = proto::parse_standby_call(call.arguments);
  if (!standby) return done(wrong_arguments(call, std::move(standby).error()));
  const uint64_t number = wait_for_answer(answered_by("{}", std::move(done)));
  process_.step(
      StandBy{.call = number, .peer = call.peer, .by = call.by, .standby = *std::move(standby)});
}

void Api::relay(proto::RequestCall request, PrincipalPtr by, Relayed done) {
  const uint64_t number = wait_for_answer(std::move(done));
  process_.step(FrameworkCall{.call = number,
                              .framework = std::move(request.framework),
                              .id = std::move(request.id),
                              .by = std::move(by),
                              .timeout = request.timeout,
                              .data = std::move(request.data),
                              .role = std::move(request.role)});
}

void Api::read_events(const Call& call, Done done) {
  if (process_.events == nullptr) {
    return done(no_events_kept());
  }
  Result<proto::EventQuery> query = proto::parse_event_query(call.arguments);
  if (!query) return done(wrong_arguments(call, std::move(query).error()));
  const bool is_by_operator = call.by != nullptr && is_operator(process_.policy, *call.by);
  // The page itself contains the place of the next page.
  process_.events->read(*std::move(query), call.by, is_by_operator,
                        [done = std::move(done)](Result<Page> page) {
                          if (page) page->next.clear();
                          done(std::move(page));
                        });
}

// Only a standby may follow, on its own connection.
void Api::follow_events(const Call& call, Done done) {
  const Master& core = *process_.core;
  const proto::StandbyCall* const standby = core.standby_at(call.peer);
  if (standby == nullptr) {
    process_.tell({AuditRefused{.user = audit_name(call.by.get()),
                                .action = "follow the event log",
                                .of = "as a master that is not a standby"}});
    return done(Error::permission_denied("only a standby master may follow the event log")
                    .with_hint("use proffer events"));
  }
  if (process_.events == nullptr) return done(no_events_kept());
  const Result<proto::FollowCall> follow = proto::parse_follow_call(call.arguments);
  if (!follow) return done(wrong_arguments(call, follow.error()));
  if (followed_.size() >= proto::kStandbysMax && !followed_.contains(standby->master)) {
    followed_.clear();  // Standbys report their places with their next call.
  }
  followed_[standby->master] = follow->from;
  // The page itself contains the place of the next page.
  process_.events->follow(standby->master, *follow, [done = std::move(done)](Result<Page> page) {
    if (page) page->next.clear();
    done(std::move(page));
  });
}

bool Api::is_standby_behind() const {
  if (process_.core == nullptr || process_.events == nullptr) return false;
  for (const proto::MasterRow& row : process_.core->masters()) {
    const auto followed = followed_.find(row.id);
    if (row.role != proto::MasterRole::kStandby || followed == followed_.end()) continue;
    const proto::EventPlace& from = followed->second;
    if (from < process_.events->end() && process_.events->is_near_end(from)) return true;
  }
  return false;
}

void Api::add_events_behind(std::vector<proto::MasterRow>& masters) const {
  if (process_.events == nullptr) return;
  const proto::EventPlace end = process_.events->end();
  for (proto::MasterRow& row : masters) {
    const auto followed = followed_.find(row.id);
    if (row.role != proto::MasterRole::kStandby || followed == followed_.end()) continue;
    const proto::EventPlace& from = followed->second;
    const uint64_t first = from.leader == end.leader ? std::min(from.number, end.number) : 1;
    row.events_behind = static_cast<int64_t>(end.number - first);
  }
}

// A token for the files of a framework at one agent, which the agent accepts from other machines.
void Api::grant_files(const Call& call, const Done& done) {
  const Result<proto::FileAccessCall> wanted = proto::parse_file_access_call(call.arguments);
  if (!wanted) return done(wrong_arguments(call, wanted.error()));
  const Time now = process_.loop.now();
  const Result<FileGrant> grant = process_.core->grant_files(*wanted, call.by.get(), now);
  if (!grant) {
    if (grant.error().code() == ErrorCode::kPermissionDenied) {
      process_.tell({AuditRefused{.user = audit_name(call.by.get()),
                                  .action = "read files of another machine",
                                  .of = text(wanted->agent.str(), " ", wanted->framework.str())}});
    }
    return done(grant.error());
  }
  const FileToken token{.until = grant->until,
                        .user = grant->user,
                        .is_operator = grant->is_operator,
                        .prefix = grant->prefix};
  done(Page{.json = proto::file_access_reply_json({.address = grant->files.address,
                                                   .pin = grant->files.pin,
                                                   .token = seal(token, grant->files.token_key),
                                                   .valid_for = kFileTokenAge})});
}

std::string Api::history_words() const {
  return process_.history == nullptr ? "off" : process_.history->trouble();
}

std::string Api::next_request_id(LeaderEpoch leader) const {
  return text("http-", leader.value(), '-', calls_ + 1);
}

}  // namespace proffer::master
