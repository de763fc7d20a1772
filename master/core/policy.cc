#include "master/core/policy.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/text.h"

namespace proffer::master {
namespace {

struct Rule {
  std::string_view text;   // the action, after "may not"
  bool everybody = false;  // permitted to these; always permitted to operators
  bool owner = false;
  bool agent_user = false;
  bool token = false;   // permitted to join tokens only
  bool master = false;  // permitted to masters only
};

constexpr std::array<Rule, kActionCount> kRules = {{
    {.text = "begin a framework", .everybody = true},
    {.text = "continue a framework of another user", .owner = true},
    {.text = "send a request to a framework of another user", .owner = true},
    {.text = "kill a task of another user", .owner = true},
    {.text = "tear down a framework of another user", .owner = true},
    {.text = "register an agent", .agent_user = true},
    {.text = "drain an agent"},
    {.text = "change a role"},
    {.text = "reserve resources"},
    {.text = "see the command of a task of another user", .owner = true},
    {.text = "begin a framework that runs tasks of other users"},
    {.text = "manage keys"},
    {.text = "join the cluster", .token = true},
    {.text = "declare an agent gone"},
    {.text = "lift the brake on lost agents"},
    {.text = "stand by as a master", .master = true},
    {.text = "rotate its key", .everybody = true},
    {.text = "set a secret", .everybody = true},
    {.text = "remove a secret of another user", .owner = true},
}};

const Rule& rule_of(Action action) { return kRules.at(static_cast<size_t>(action)); }

std::string who_may(const Rule& rule, std::string_view owner) {
  if (rule.token) return "use a join token: an operator makes one with proffer join-token";
  if (rule.master) {
    return "only masters may: with the cluster's key, or on this machine as root or the master's "
           "user";
  }
  if (rule.everybody) return "every user that the kernel of this machine identifies may";
  std::string who = "root, the master's user and members of the operators' group may";
  if (rule.owner && !owner.empty()) return text("user ", quoted(owner), ", ", who);
  if (rule.agent_user) return text("the users of --agent_users, ", who);
  return who;
}

// On this machine: the users that can read the cluster's key, identified by the kernel.
bool may_stand_by(const PolicyOptions& options, const Principal& by) {
  return by.key.empty() && (by.uid == 0 || by.uid == options.master_uid);
}

}  // namespace

std::string_view to_text(Action action) { return rule_of(action).text; }

bool acts_for_a_user(const Principal& by) {
  return by.agent.empty() && !by.may_only_join && !by.is_master;
}

bool may_be_shed(const PolicyOptions& options, const Principal* by) {
  if (by == nullptr || !by->key.empty()) return true;
  return !by->is_unproven && by->uid != 0 && by->uid != options.master_uid;
}

bool is_operator(const PolicyOptions& options, const Principal& by) {
  if (!acts_for_a_user(by)) return false;
  if (by.uid == 0 || by.uid == options.master_uid) return true;
  return options.operators_group &&
         std::find(by.groups.begin(), by.groups.end(), *options.operators_group) != by.groups.end();
}

Result<void> check_permission(const PolicyOptions& options, const Principal* by, Action action,
                              std::string_view owner) {
  const Rule& rule = rule_of(action);
  if (by != nullptr && by->may_only_join) {
    if (rule.token) return {};
    return Error::permission_denied(text("a join token may not ", rule.text))
        .with_hint("use it to register a key: proffer join");
  }
  if (by != nullptr && by->is_master) {
    if (rule.master) return {};
    return Error::permission_denied(text("the key of the masters may not ", rule.text))
        .with_hint("a standby master may use it only to stand by");
  }
  if (by != nullptr && !by->agent.empty()) {
    if (action == Action::kRegisterAgent && owner == by->agent.str()) return {};
    if (action == Action::kRotateKey) return {};
    return Error::permission_denied(text("the key of agent ", quoted(by->agent.str()), " may not ",
                                         action == Action::kRegisterAgent
                                             ? text("register agent ", quoted(owner))
                                             : std::string(rule.text)))
        .with_hint(text("this key may only be used by agent ", quoted(by->agent.str())));
  }
  if (by != nullptr && rule.master && may_stand_by(options, *by)) return {};
  if (by != nullptr && !rule.token && !rule.master) {
    if (rule.everybody || is_operator(options, *by)) return {};
    if (rule.owner && !owner.empty() && owner == by->user) return {};
    if (rule.agent_user && options.agent_uids.contains(by->uid)) return {};
  }
  const std::string user = by == nullptr ? "an unknown user" : text("user ", quoted(by->user));
  return Error::permission_denied(text(user, " may not ", rule.text))
      .with_hint(who_may(rule, owner));
}

std::string_view to_text(Caller caller) {
  switch (caller) {
    case Caller::kOperator:
      return "operators";
    case Caller::kUser:
      return "users of this machine";
    case Caller::kJoinedUser:
      return "users with a key";
    case Caller::kAgentKey:
      return "the key of an agent";
    case Caller::kJoinToken:
      return "a join token";
    case Caller::kMasterKey:
      return "the key of the masters";
    case Caller::kUnknown:
      return "an unknown user";
  }
  return "an unknown user";
}

Caller caller_of(const PolicyOptions& options, const Principal* by) {
  if (by == nullptr) return Caller::kUnknown;
  if (by->may_only_join) return Caller::kJoinToken;
  if (by->is_master) return Caller::kMasterKey;
  if (!by->agent.empty()) return Caller::kAgentKey;
  if (is_operator(options, *by)) return Caller::kOperator;
  return by->key.empty() ? Caller::kUser : Caller::kJoinedUser;
}

Result<void> check_method(const PolicyOptions& options, const Principal* by,
                          const MethodRule& method) {
  const Caller caller = caller_of(options, by);
  if (method.callers.has(caller)) return {};
  if (method.action) {
    if (Result<void> may = check_permission(options, by, *method.action); !may) return may;
  }
  const auto refused = [&](std::string_view who) {
    return Error::permission_denied(text(who, " may not call ", quoted(method.name)));
  };
  switch (caller) {
    case Caller::kAgentKey:
      return refused(text("the key of agent ", quoted(by->agent.str())))
          .with_hint(text("this key may only be used by agent ", quoted(by->agent.str()),
                          ": a user of this machine joins with a token of its own"));
    case Caller::kJoinToken:
      return refused(to_text(caller)).with_hint("use it to register a key: proffer join");
    case Caller::kMasterKey:
      return refused(to_text(caller)).with_hint("a standby master may use it only to stand by");
    case Caller::kUnknown:
      return refused(to_text(caller))
          .with_hint("the kernel or a key must identify the user of the process");
    case Caller::kOperator:
    case Caller::kUser:
    case Caller::kJoinedUser:
      break;
  }
  std::string who;
  for (const Caller other : kCallers) {
    if (method.callers.has(other)) who += text(who.empty() ? "" : ", ", to_text(other));
  }
  return refused(text("user ", quoted(by->user))).with_hint(text("allowed callers: ", who));
}

}  // namespace proffer::master
