// What `proffer role list` and `tree` print.

#include "cli/role_tree.h"

#include <gtest/gtest.h>

namespace proffer::cli::role_tree_test {
namespace {

std::vector<proto::RoleRow> rows() {
  return {{.role = RoleName("eng-2")},
          {.role = RoleName("eng/ads"),
           .weight = 2'500,
           .allocated = *parse_shape("cpus:3"),
           .dominant_share_millionths = 300'000,
           .guarantee = *parse_quota("cpus:4"),
           .limit = *parse_quota("cpus:8;gpus:0"),
           .entitlement = *parse_shape("cpus:2"),
           .borrowed = *parse_shape("cpus:1"),
           .guarantee_met = false,
           .lag = seconds(75),
           .frameworks = 2,
           .users = {"ada", "bob"}}};
}

std::vector<std::string> lines_of(const Table& table) {
  std::vector<std::string> lines;
  for (std::string line : table.lines()) {
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  return lines;
}

TEST(RoleTree, IndentsChildrenBelowParentsEvenThoseOfWhichNobodySpoke) {
  EXPECT_EQ(lines_of(role_tree(rows())),
            (std::vector<std::string>{
                "ROLE   WEIGHT  GUARANTEE         LIMIT          USE     ENTITLED  BORROWED  "
                "SHARE  LAG",
                "eng    1       -                 -              -       -         -         "
                "0.0%   0s",
                "  ads  2.5     cpus:4 (not met)  cpus:8;gpus:0  cpus:3  cpus:2    cpus:1    "
                "30.0%  75s",
                "eng-2  1       -                 -              -       -         -         "
                "0.0%   0s",
            }));
}

TEST(RoleList, IsFlat) {
  EXPECT_EQ(
      lines_of(role_list(rows())),
      (std::vector<std::string>{
          "ROLE     WEIGHT  GUARANTEE         LIMIT          USE     SHARE  FRAMEWORKS  USERS",
          "eng-2    1       -                 -              -       0.0%   0           all",
          "eng/ads  2.5     cpus:4 (not met)  cpus:8;gpus:0  cpus:3  30.0%  2           ada,bob",
      }));
}

}  // namespace
}  // namespace proffer::cli::role_tree_test
