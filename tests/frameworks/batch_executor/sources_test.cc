// The address from which a reducer fetches a map output. Executors on other machines report it, so
// it is checked.

#include "frameworks/batch/executor/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::batch {
namespace {

// The address that the reducer contacts; "" if it refuses.
std::string goes_to(const std::string& told, bool serves_other_machines) {
  Sources sources("f-1", {told},
                  {.name = "a1",
                   .http_address = "/run/a1/executors-http.sock",
                   .serves_other_machines = serves_other_machines});
  const Result<HttpPlace> place = sources.place(0, false);
  return place ? place->address : "";
}

TEST(Sources, AreAgentsAndNoOtherServersOfThisMachine) {
  const std::string own = "/run/a1/executors-http.sock";
  const std::string beside = "/run/a2/executors-http.sock";
  EXPECT_EQ(goes_to("agent/a1", true), own);
  EXPECT_EQ(goes_to(own, true), own);
  // Agents that serve other machines are reported by name, never by address.
  EXPECT_EQ(goes_to(beside, true), "");
  EXPECT_EQ(goes_to("127.0.0.1:5081", true), "");
  EXPECT_EQ(goes_to("/run/docker.sock", true), "");
  // Without remote access, all agents are on this machine.
  EXPECT_EQ(goes_to(beside, false), beside);
  EXPECT_EQ(goes_to("127.0.0.1:5081", false), "127.0.0.1:5081");
  EXPECT_EQ(goes_to("/run/docker.sock", false), "");
}

}  // namespace
}  // namespace proffer::batch
