// Signals are frequent where tasks run (SIGCHLD), and may interrupt any call of libzmq. With ten
// thousand tasks on one agent, its process failed a CHECK.

#include <csignal>

#include <gtest/gtest.h>
#include <sys/time.h>

#include "net/dealer.h"
#include "net/router.h"
#include "tests/net/support.h"

namespace proffer::signals_test {
namespace {

using net_test::bytes;
using net_test::run_until;

// Sends a signal about every 30 microseconds; its handler does nothing.
class StormOfSignals {
 public:
  StormOfSignals() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 30}, {0, 30}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~StormOfSignals() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

TEST(Signals, InterruptNoSessionAndLoseNoFrame) {
  constexpr int kFrames = 5'000;
  Loop loop;
  int lost = 0;
  std::unique_ptr<Router> router;
  auto bound = Router::bind(
      loop, "tcp://127.0.0.1:0",
      {.on_frame = [&](PeerId peer,
                       std::span<const std::byte> frame) { router->send(peer, frame); },
       .on_lost = [&](PeerId, PeerLoss) { ++lost; }});
  ASSERT_TRUE(bound);
  router = *std::move(bound);
  int echoed = 0;
  std::unique_ptr<Dealer> dealer = std::make_unique<Dealer>(
      loop, Dealer::Options{.endpoint = router->endpoint()},
      Dealer::Handlers{.on_connected = [&] { dealer->send(bytes("ping")); },
                       .on_frame =
                           [&](std::span<const std::byte>) {
                             if (++echoed < kFrames) dealer->send(bytes("ping"));
                           },
                       .on_disconnected = [&](const std::string&) { ++lost; }});
  const StormOfSignals storm;
  dealer->connect();

  EXPECT_TRUE(run_until(loop, [&] { return echoed == kFrames || lost > 0; }));

  EXPECT_EQ(echoed, kFrames);
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace proffer::signals_test
