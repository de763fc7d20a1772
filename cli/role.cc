// proffer role: the entitlements and use of roles, and how to change them.

#include <functional>
#include <map>

#include <pwd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/role_tree.h"
#include "common/limits.h"
#include "common/roles.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

Result<std::vector<proto::RoleRow>> all_roles(const Masters& master) {
  return call_list<proto::RoleRow>(master, "roles", {}, proto::parse_roles);
}

// The known role nearest to a name that is not known; empty if none is near.
std::string nearest_role(std::string_view name, const std::vector<proto::RoleRow>& rows) {
  std::vector<std::string_view> known;
  for (const proto::RoleRow& row : rows) known.push_back(row.role.str());
  return std::string(nearest(name, known));
}

// Settings that are removed from a role without any have probably another name.
void warn_of_unknown_role(const Masters& master, const RoleName& role) {
  const Result<std::vector<proto::RoleRow>> rows = all_roles(master);
  if (!rows) return;
  for (const proto::RoleRow& row : *rows) {
    if (row.role == role) return;
  }
  const std::string near = nearest_role(role.str(), *rows);
  print_warning_text(text("role ", quoted(role.str()),
                          " has no framework and no settings: nothing ", "is removed",
                          near.empty() ? "" : text("; did you mean ", quoted(near), "?"),
                          "\nlist the known roles with: proffer role list"));
}

// Users of other machines that joined are unknown here, so it is no error.
void warn_of_unknown_users(const std::vector<std::string>& users) {
  for (const std::string& user : users) {
    if (::getpwnam(user.c_str()) != nullptr) continue;
    print_warning_text(text("this machine has no user ", quoted(user),
                            ": right for a user of another machine that joined; else name another, "
                            "as in --users ada,bob, or --users all"));
  }
}

int show(const Words& words, bool as_tree) {
  std::string master_flag;
  std::string within;
  bool json = false;
  Arguments arguments(
      as_tree ? "proffer role tree [ROLE] [--json]" : "proffer role list [ROLE] [--json]",
      as_tree ? "show roles as a tree: their entitlement, use and borrowed resources"
              : "list roles with their settings");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.option("ROLE", &within, "only this role and the roles below it");
  arguments.note(
      as_tree
          ? "ENTITLED: the resources to which the role has a right now, by its guarantee and its "
            "share of the rest. BORROWED: use above that, which the master may preempt. SHARE: "
            "the largest of the fractions of the cluster's CPUs, memory and so on that it uses. "
            "LAG: how far it is "
            "behind its entitlement, in seconds of that entitlement; below two minutes is normal."
          : "USE: resources of the role's tasks. SHARE: the largest of the fractions of the "
            "cluster's CPUs, memory and so on that it uses. USERS: the users that may use the "
            "role.");
  arguments.examples({as_tree ? "proffer role tree eng" : "proffer role list"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (!within.empty()) {
    if (Result<RoleName> role = parse_role(within); !role) return usage_error(role.error(), json);
  }
  Result<std::vector<proto::RoleRow>> rows = all_roles(*master);
  if (!rows) return print_error(rows.error(), json);
  const std::string near = nearest_role(within, *rows);
  std::erase_if(*rows,
                [&](const proto::RoleRow& row) { return !is_within(row.role, RoleName(within)); });
  if (rows->empty() && !within.empty()) {
    return print_error(
        Error::not_found(text("role ", quoted(within), " has no framework and no settings"))
            .with_hint(text(near.empty() ? "" : text("did you mean ", quoted(near), "? "),
                            "list the known roles with: proffer role list")),
        json);
  }
  if (json) {
    print_json(proto::roles_json(*rows));
  } else if (as_tree) {
    role_tree(*rows).print();
  } else {
    role_list(*rows).print();
  }
  return 0;
}

Result<Quota> quota_option(std::string_view option, const std::string& words) {
  if (words == "none") return Quota();
  Result<Quota> quota = parse_quota(words);
  if (!quota) return std::move(quota).error().in(option);
  return *quota;
}

Result<int64_t> weight_option(const std::string& words) {
  const Result<int64_t> weight = parse_milli(words);
  if (weight && *weight >= kWeightMin && *weight <= kWeightMax) return *weight;
  return Error::invalid_argument(text("--weight must be between ", print_milli(kWeightMin), " and ",
                                      print_milli(kWeightMax), ", not ", quoted(words)))
      .with_hint(
          "weights are relative to those of siblings: of two roles with --weight 1 each gets half, "
          "with 3 and 1 the first gets three quarters");
}

int send_setting(const std::string& master_flag, const proto::RoleSetCall& call_of, bool json) {
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<CallResult> answer = call(*master, "role_set", proto::role_set_call_json(call_of));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

int set(const Words& words) {
  std::string master_flag;
  std::string role;
  std::string weight;
  std::string guarantee;
  std::string limit;
  std::string users;
  bool json = false;
  Arguments arguments(
      "proffer role set ROLE [--weight W] [--guarantee RESOURCES] [--limit RESOURCES]\n"
      "                      [--users NAMES]",
      "set the weight, quota or users of a role. Options that are not given leave their setting as "
      "it is; an option that is given replaces its whole setting.");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.option("--weight", &weight, "weight among its siblings, 0.001 to 1000 (default 1)");
  arguments.option("--guarantee", &guarantee,
                   "guaranteed resources, as in 'cpus:100;mem:400GiB'; none removes the guarantee");
  arguments.option("--limit", &limit,
                   "maximum resources of the role with the roles below it; none removes the limit");
  arguments.option(
      "--users", &users,
      "users allowed in the role and below, as in ada,bob (default all); operators always");
  arguments.required("ROLE", &role, "role, as in eng/ads");
  arguments.note(
      "After --limit 'cpus:100;mem:1TiB', --limit cpus:50 leaves mem unlimited: a kind that is not "
      "named has no limit. To remove a setting: --guarantee none, --limit none, --users all, "
      "--weight 1, or `proffer role unset ROLE` for all of them. A limit below the use ends no "
      "task; nothing more "
      "is given until the use is below it. Settings survive restarts of the master.");
  arguments.examples({"proffer role set eng --weight 2 --guarantee 'cpus:100;mem:400GiB'",
                      "proffer role set eng --limit none"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<RoleName> name = parse_role(role);
  if (!name) return usage_error(name.error(), json);
  proto::RoleSetCall setting{.role = *name};
  if (!weight.empty()) {
    const Result<int64_t> milli = weight_option(weight);
    if (!milli) return usage_error(milli.error(), json);
    setting.weight = *milli;
  }
  if (!guarantee.empty()) {
    const Result<Quota> quota = quota_option("--guarantee", guarantee);
    if (!quota) return usage_error(quota.error(), json);
    setting.guarantee = *quota;
  }
  if (!limit.empty()) {
    const Result<Quota> quota = quota_option("--limit", limit);
    if (!quota) return usage_error(quota.error(), json);
    setting.limit = *quota;
  }
  if (!users.empty()) {
    setting.users.emplace();
    if (users != "all") {
      for (const std::string_view user : split(users, ',')) setting.users->emplace_back(user);
    }
  }
  if (!setting.weight && !setting.guarantee && !setting.limit && !setting.users) {
    return usage_error(Error::invalid_argument("no setting is given")
                           .with_hint("give --weight, --guarantee, --limit or --users"),
                       json);
  }
  if (setting.users && !json) warn_of_unknown_users(*setting.users);
  return send_setting(master_flag, setting, json);
}

int unset(const Words& words) {
  std::string master_flag;
  std::string role;
  bool json = false;
  Arguments arguments(
      "proffer role unset ROLE",
      "remove the quota and users of a role, and reset its weight to the master's default");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.required("ROLE", &role, "role, as in eng/ads");
  arguments.examples({"proffer role unset eng"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<RoleName> name = parse_role(role);
  if (!name) return usage_error(name.error(), json);
  if (const Result<Masters> master = master_address(master_flag); master && !json) {
    warn_of_unknown_role(*master, *name);
  }
  return send_setting(master_flag, {.role = *name, .unset = true}, json);
}

}  // namespace

int run_role(const Words& words) {
  const std::string_view verb = words.empty() ? std::string_view() : words.front();
  const Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
  if (verb == "list") return show(rest, false);
  if (verb == "tree") return show(rest, true);
  if (verb == "set") return set(rest);
  if (verb == "unset") return unset(rest);
  if (verb == "--help" || verb == "-h") {
    print_lines("usage: proffer role VERB …\n\n");
    print_lines(help_row("list", "list roles with their settings", 10));
    print_lines(
        help_row("tree", "show entitlement, use and borrowed resources of the tree of roles", 10));
    print_lines(help_row("set", "set the weight, guarantee, limit or users of a role", 10));
    print_lines(help_row("unset", "remove the settings of a role", 10));
    print_lines("\nproffer role VERB --help shows the options of a subcommand.\n");
    return 0;
  }
  return usage_error(unknown_verb(verb, "proffer role", {"list", "tree", "set", "unset"}), false);
}

}  // namespace proffer::cli
