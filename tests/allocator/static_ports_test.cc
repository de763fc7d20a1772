// Asks with static ports: an agent is offered if they are free, and explain names the agents where
// they are not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer {
namespace {

using testing::HasSubstr;
using Lines = std::vector<std::string>;

Ask ask_for(uint16_t port, int64_t count = 10) {
  return {.name = AskName("web"),
          .shape = *parse_shape("cpus:1;mem:64"),
          .count = count,
          .ports = 1,
          .static_ports = {port}};
}

TEST(StaticPorts, AnAskThatNamesOneIsOfferedAgentsThatHaveIt) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4096;ports:[80-81]");
  s.agent("a2", "cpus:4;mem:4096;ports:[31000-31010]");
  s.framework("web").asks(ask_for(80));
  s.decide();
  EXPECT_EQ(s.framework("web").offers(), (Lines{"a1 cpus:1;mem:64"}));
}

TEST(StaticPorts, AreCheckedWhenTheyAreDeclared) {
  Ask ask = ask_for(80);
  EXPECT_TRUE(check_ask(ask));
  ask.static_ports = {80, 81};
  EXPECT_THAT(check_ask(ask).error().message(), HasSubstr("only 1 ports"));
  ask.ports = 2;
  ask.static_ports = {81, 80};
  EXPECT_THAT(check_ask(ask).error().message(), HasSubstr("in order, not 80"));
  ask.static_ports = {0, 80};
  EXPECT_THAT(check_ask(ask).error().message(), HasSubstr("not 0"));
}

}  // namespace
}  // namespace proffer
