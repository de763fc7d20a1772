// The lower bound of the master's latencies: the same Router and Dealers, as many peers, the same
// rate and size of frames, with only a Router that returns each frame.

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "bench/cluster/shared.h"
#include "common/check.h"
#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/router.h"

namespace proffer::bench {

void run_echo_server(Shared& shared) {
  Loop loop;
  std::unique_ptr<Router> router;
  Result<std::unique_ptr<Router>> bound = Router::bind(
      loop, "tcp://127.0.0.1:0", {.on_frame = [&](PeerId peer, std::span<const std::byte> frame) {
        router->send(peer, frame);
      }});
  CHECK(bound) << bound.error().message();
  router = *std::move(bound);
  shared.echo_port = router->port();
  Timer control(loop, [&] {
    if (shared.stop) return loop.stop();
    control.arm(loop.now() + milliseconds(10));
  });
  control.arm(loop.now());
  loop.run();
}

void run_echo_clients(const Echo& echo, Shared& shared) {
  Loop loop;
  std::vector<std::unique_ptr<Dealer>> dealers;
  int connected = 0;
  int64_t began_at = 0;
  for (int i = 0; i < echo.peers; ++i) {
    dealers.push_back(std::make_unique<Dealer>(
        loop,
        Dealer::Options{.endpoint = zmq_endpoint({"127.0.0.1", echo.port}),
                        .seed = static_cast<uint64_t>(i)},
        Dealer::Handlers{.on_connected =
                             [&] {
                               ++connected;
                               ++shared.echo_connected;
                             },
                         .on_frame =
                             [&](std::span<const std::byte> frame) {
                               int64_t sent_at = 0;
                               CHECK_GE(frame.size(), sizeof sent_at);
                               std::memcpy(&sent_at, frame.data(), sizeof sent_at);
                               ++shared.echoed;
                               if (sent_at - began_at < kWarmNanos) return;
                               shared.round_trip.add(monotonic_nanos() - sent_at);
                             },
                         .on_disconnected = [&](const std::string&) { ++shared.disconnects; }}));
    dealers.back()->connect();
  }
  std::vector<std::byte> frame(static_cast<size_t>(std::max<int64_t>(echo.frame_bytes, 8)));
  int64_t sent = 0;
  size_t next = 0;
  // Like the ends of tasks: the frames that are due in a millisecond are sent together.
  Timer control(loop, [&] {
    if (shared.stop) return loop.stop();
    if (connected == echo.peers) {
      if (began_at == 0) began_at = monotonic_nanos();
      const int64_t due =
          (monotonic_nanos() - began_at) / 1'000 * echo.frames_per_second / 1'000'000;
      for (; sent < due; ++sent) {
        const int64_t now = monotonic_nanos();
        std::memcpy(frame.data(), &now, sizeof now);
        dealers[next]->send(frame);
        next = (next + 1) % dealers.size();
      }
    }
    control.arm(loop.now() + milliseconds(1));
  });
  control.arm(loop.now());
  loop.run();
}

}  // namespace proffer::bench
