// The table of methods in docs/concepts/security.md agrees with the master's rules.

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/shell/routes.h"

namespace proffer::master {
namespace {

Principal one_of(Caller caller) {
  Principal by{.user = "ada", .uid = 1001};
  if (caller == Caller::kOperator) by = {.user = "root", .uid = 0};
  if (caller == Caller::kUser || caller == Caller::kOperator) return by;
  by.key = PublicKey(std::string(kPublicKeyBytes, 'k'));
  by.uid = kNoUid;
  if (caller == Caller::kAgentKey) by.agent = AgentId("a1");
  by.may_only_join = caller == Caller::kJoinToken;
  by.is_master = caller == Caller::kMasterKey;
  return by;
}

// "own": only its own frameworks, tasks and secrets.
std::string cell(const Route& route, Caller caller) {
  const PolicyOptions options{.master_uid = 900};
  const Principal principal = one_of(caller);
  const Principal* const by = caller == Caller::kUnknown ? nullptr : &principal;
  EXPECT_EQ(caller_of(options, by), caller) << to_text(caller);
  if (!check_method(options, by, route.rule())) return "no";
  // An agent may read files only for its own tasks, which the core checks.
  if (caller == Caller::kAgentKey && route.serves == Serves::kFileAccess) return "own";
  if (!route.action || check_permission(options, by, *route.action, "eve")) return "yes";
  return check_permission(options, by, *route.action, principal.user) ? "own" : "no";
}

std::string table() {
  std::string rows = "| method |";
  for (const Caller caller : kCallers) rows += text(' ', to_text(caller), " |");
  rows += "\n|---|";
  for (size_t at = 0; at < kCallerCount; ++at) rows += "---|";
  rows += '\n';
  for (const Route& route : routes()) {
    rows += text("| `", route.name(), "` |");
    for (const Caller caller : kCallers) rows += text(' ', cell(route, caller), " |");
    rows += '\n';
  }
  return rows;
}

TEST(Callers, TheTableInTheDocumentsIsTheMasters) {
  std::ifstream file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/security.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), testing::HasSubstr("\n\n" + table() + "\n")) << table();
}

// As security.md promises for these keys.
TEST(Callers, KeysThatActForNoUserCallTheirOwnMethodsOnly) {
  std::string called;
  for (const Caller caller : {Caller::kAgentKey, Caller::kJoinToken, Caller::kMasterKey}) {
    for (const Route& route : routes()) {
      if (route.callers.has(caller)) called += text(route.name(), ' ');
    }
    called += "| ";
  }
  EXPECT_EQ(called, "file_access key_rotate | join | standby follow_events | ");
  for (const Route& route : routes()) EXPECT_FALSE(route.callers.has(Caller::kUnknown));
}

}  // namespace
}  // namespace proffer::master
