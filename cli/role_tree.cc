#include "cli/role_tree.h"

#include <algorithm>
#include <map>

#include "common/roles.h"
#include "common/text.h"

namespace proffer::cli {
namespace {

std::string or_dash(const std::string& words) { return words.empty() ? "-" : words; }

std::string guarantee_of(const proto::RoleRow& row) {
  const std::string words = or_dash(to_text(row.guarantee));
  return row.guarantee_met ? words : words + " (not met)";
}

std::string users_of(const proto::RoleRow& row) {
  std::string words;
  for (const std::string& user : row.users) words += (words.empty() ? "" : ",") + user;
  return words.empty() ? "all" : words;
}

}  // namespace

Table role_list(const std::vector<proto::RoleRow>& rows) {
  Table table({"ROLE", "WEIGHT", "GUARANTEE", "LIMIT", "USE", "SHARE", "FRAMEWORKS", "USERS"});
  for (const proto::RoleRow& row : rows) {
    table.row({row.role.str(), print_milli(row.weight), guarantee_of(row),
               or_dash(to_text(row.limit)), or_dash(to_text(row.allocated)),
               percent(row.dominant_share_millionths), std::to_string(row.frameworks),
               users_of(row)});
  }
  return table;
}

Table role_tree(const std::vector<proto::RoleRow>& rows) {
  // Sorts by path components: "eng/ads" comes after "eng" and before "eng-2".
  std::map<std::vector<std::string>, const proto::RoleRow*> tree;
  const auto parts_of = [](const RoleName& role) {
    std::vector<std::string> parts;
    for (const std::string_view part : split(role.str(), '/')) parts.emplace_back(part);
    return parts;
  };
  for (const proto::RoleRow& row : rows) {
    tree[parts_of(row.role)] = &row;
    for (RoleName at = parent_of(row.role); !at.empty(); at = parent_of(at)) {
      tree.try_emplace(parts_of(at), nullptr);
    }
  }
  Table table(
      {"ROLE", "WEIGHT", "GUARANTEE", "LIMIT", "USE", "ENTITLED", "BORROWED", "SHARE", "LAG"});
  static const proto::RoleRow kNothing;
  for (const auto& [parts, found] : tree) {
    const proto::RoleRow& row = found == nullptr ? kNothing : *found;
    table.row({std::string(2 * (parts.size() - 1), ' ') + parts.back(), print_milli(row.weight),
               guarantee_of(row), or_dash(to_text(row.limit)), or_dash(to_text(row.allocated)),
               or_dash(to_text(row.entitlement)), or_dash(to_text(row.borrowed)),
               percent(row.dominant_share_millionths), age(row.lag)});
  }
  return table;
}

}  // namespace proffer::cli
