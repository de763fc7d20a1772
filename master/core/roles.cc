// An operator changes the weight, guarantee or limit of a role. The whole table must stay valid
// (check_role). It is durable before the operator gets the answer. A lower limit preempts no tasks:
// a role above its limit gets nothing until it is below.

#include "common/roles.h"

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

std::string joined(const std::set<std::string>& users) {
  std::string out;
  for (const std::string& user : users) out += (out.empty() ? "" : ", ") + user;
  return out;
}

}  // namespace

void Master::State::on_set_role(const SetRole& message, Step& step) {
  // Decide.
  if (Result<void> may = permit(message.by, Action::kSetRole, message.role.str(), step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  const Result<RoleSettings> wanted = settings_wanted(message);
  if (!wanted) return answer(message.call, wanted.error(), step);

  Result<std::set<std::string>> users = users_wanted(message);
  if (!users) return answer(message.call, std::move(users).error(), step);

  // Apply. Settings from the master's flags are not stored, since they are read again at each
  // start.
  const proto::RoleRecord record{
      .role = message.role, .settings = *wanted, .users = *std::move(users)};
  if (*wanted == settings_of_flags(message.role) && record.users.empty()) {
    if (registry_.roles().contains(message.role)) write(record, true, step);
  } else {
    write(record, false, step);
  }
  allocator_.set_role(message.role, *wanted);
  report_dirty(step);

  // Tell.
  step.trace(RoleSet{message.role, *wanted, joined(record.users)});
  answer(message.call, std::string(), step);
}

RoleSettings Master::State::settings_of_flags(const RoleName& role) const {
  const auto found = options_.allocator.roles.find(role);
  return found == options_.allocator.roles.end() ? RoleSettings() : found->second;
}

Result<RoleSettings> Master::State::settings_wanted(const SetRole& message) const {
  const RoleTable& table = allocator_.role_table();
  const auto known = table.find(message.role);
  RoleSettings wanted = known == table.end() ? RoleSettings() : known->second;
  if (message.unset) {
    if (message.weight || message.guarantee || message.limit || message.users) {
      return Error::invalid_argument("unset cannot be combined with other settings of the role");
    }
    wanted = settings_of_flags(message.role);
  } else if (!message.weight && !message.guarantee && !message.limit && !message.users) {
    return Error::invalid_argument(
               text("no setting is given for role ", quoted(message.role.str())))
        .with_hint("give a weight, a guarantee, a limit or users");
  }
  if (message.role == kGoneRole) {
    return Error::invalid_argument(
        text("role ", quoted(kGoneRole.str()), " is reserved for the master"));
  }
  if (message.weight) wanted.weight = *message.weight;
  if (message.guarantee) wanted.guarantee = *message.guarantee;
  if (message.limit) wanted.limit = *message.limit;
  if (known == table.end() && table.size() >= kRolesMax && wanted != RoleSettings()) {
    return Error::resource_exhausted(
        text("at most ", kRolesMax, " roles have settings of their own"));
  }
  if (Result<void> checked = check_role(table, message.role, wanted); !checked) {
    return std::move(checked).error();
  }
  return wanted;
}

Result<std::set<std::string>> Master::State::users_wanted(const SetRole& message) const {
  const auto known = registry_.roles().find(message.role);
  if (message.unset) return std::set<std::string>();
  if (!message.users) {
    return known == registry_.roles().end() ? std::set<std::string>() : known->second.users;
  }
  if (message.users->size() > kRoleUsersMax) {
    return Error::resource_exhausted(
        text("a role has at most ", kRoleUsersMax, " users, not ", message.users->size()));
  }
  std::set<std::string> users;
  for (const std::string& user : *message.users) {
    if (user.empty() || user.size() > kNameBytesMax || user.find('\0') != std::string::npos) {
      return Error::invalid_argument(
          text("a user of a role is a name of 1 to ", kNameBytesMax, " bytes, not ", quoted(user)));
    }
    users.insert(user);
  }
  return users;
}

// The nearest role upwards that lists users decides.
Result<void> Master::State::may_use_role(const PrincipalPtr& by, const RoleName& role,
                                         Step& step) const {
  if (by == nullptr || is_operator(options_.policy, *by)) return {};
  for (RoleName at = role; !at.empty(); at = parent_of(at)) {
    const auto known = registry_.roles().find(at);
    if (known == registry_.roles().end() || known->second.users.empty()) continue;
    if (known->second.users.contains(by->user)) return {};
    step.trace(AuditRefused{.user = by->user, .action = "use a role", .of = role.str()});
    return Error::permission_denied(
               text("user ", quoted(by->user), " may not use role ", quoted(role.str())))
        .with_hint(text("only the users of role ", quoted(at.str()),
                        " may: ", joined(known->second.users)));
  }
  return {};
}

}  // namespace proffer::master
