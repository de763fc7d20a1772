#pragma once

// Servers and clients of any transport that record events.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/ids.h"
#include "net/peer_loss.h"
#include "tests/net/support.h"

namespace proffer::net_test {

// A server that uses Router or LocalServer.
template <class Socket>
struct Server {
  std::vector<std::pair<PeerId, std::string>> frames;
  std::vector<std::pair<PeerId, PeerLoss>> lost;
  std::function<void(PeerId, const std::string&)> also;
  std::unique_ptr<Socket> socket;

  Server(Loop& loop, const std::string& where, typename Socket::Options options = {}) {
    auto bound = Socket::bind(
        loop, where,
        {.on_frame =
             [this](PeerId peer, std::span<const std::byte> frame) {
               frames.emplace_back(peer, text_of(frame));
               if (also) also(peer, frames.back().second);
             },
         .on_lost = [this](PeerId peer, PeerLoss why) { lost.emplace_back(peer, why); }},
        options);
    CHECK(bound) << bound.error().message();
    socket = *std::move(bound);
  }
  void echoes() {
    also = [this](PeerId peer, const std::string& frame) { socket->send(peer, bytes(frame)); };
  }
};

// A client that uses Dealer or LocalClient.
template <class Socket>
struct Client {
  int connected = 0;
  std::vector<std::string> frames;
  std::vector<std::string> disconnects;
  std::vector<std::string> failures;
  std::string greeting;  // sent at each connect
  std::function<void(const std::string&)> also;
  std::unique_ptr<Socket> socket;

  Client(Loop& loop, typename Socket::Options options, std::string hello = "hello")
      : greeting(std::move(hello)) {
    socket = std::make_unique<Socket>(
        loop, std::move(options),
        typename Socket::Handlers{
            .on_connected =
                [this] {
                  ++connected;
                  if (!greeting.empty()) socket->send(bytes(greeting));
                },
            .on_frame =
                [this](std::span<const std::byte> frame) {
                  frames.push_back(text_of(frame));
                  if (also) also(frames.back());
                },
            .on_disconnected = [this](const std::string& why) { disconnects.push_back(why); },
            .on_failed = [this](const std::string& why) { failures.push_back(why); }});
    socket->connect();
  }
};

}  // namespace proffer::net_test
