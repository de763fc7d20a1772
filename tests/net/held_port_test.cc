#include "net/held_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/loop.h"
#include "net/router.h"

namespace proffer::held_port_test {
namespace {

using testing::HasSubstr;

Result<std::unique_ptr<Router>> serve(Loop& loop, const Address& at) {
  return Router::bind(
      loop, zmq_endpoint(at),
      {.on_frame = [](PeerId, std::span<const std::byte>) {}, .on_lost = [](PeerId, PeerLoss) {}});
}

TEST(HeldPorts, AreServedLaterByWhoHoldsThem) {
  Result<HeldPort> held = HeldPort::take({.host = "127.0.0.1"});
  ASSERT_TRUE(held);
  EXPECT_NE(held->address().port, 0);
  Loop loop;
  const auto router = serve(loop, held->address());
  ASSERT_TRUE(router) << router.error().message();
  EXPECT_EQ((*router)->port(), held->address().port);
}

TEST(HeldPorts, ThatSomebodyServesAreToldAtOnce) {
  Loop loop;
  const auto router = serve(loop, {.host = "127.0.0.1"});
  ASSERT_TRUE(router);
  const auto taken = HeldPort::take({.host = "127.0.0.1", .port = (*router)->port()});
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message(), HasSubstr("Address already in use"));
  const auto elsewhere = HeldPort::take({.host = "198.51.100.7", .port = 5050});
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message(), HasSubstr("198.51.100.7:5050"));
  EXPECT_FALSE(HeldPort::take({.host = "master.example", .port = 5050}));
}

}  // namespace
}  // namespace proffer::held_port_test
