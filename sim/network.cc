// The story of a frame: transmit decides its fate, deliver hands it over if both ends still are
// what they were.

#include "sim/network.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::sim {
namespace {

const std::string kName = "network";

// As net/backoff.
constexpr Duration kBackoffMin = milliseconds(20);
constexpr Duration kBackoffMax = seconds(2);

}  // namespace

Place Network::add_place() {
  places_.emplace_back();
  return Place(places_.size());
}

void Network::listen(Place place, Listener* listener) {
  CHECK(places_[place.value() - 1].listener == nullptr) << "somebody listens there already";
  places_[place.value() - 1].listener = listener;
}

void Network::shut(Place place) {
  places_[place.value() - 1].listener = nullptr;
  std::vector<PeerId> ended;
  for (auto& [peer, connection] : connections_) {
    if (connection.place == place) ended.push_back(peer);
  }
  for (const PeerId peer : ended) {
    Connection& connection = connections_.at(peer);
    connection.listener_up = false;
    if (connection.caller_up) {
      connection.caller_cut = std::min(connection.caller_cut, world_.now() + delay());
      tell_caller(peer, connection.caller_cut, "closed by the other end");
    }
    forget_if_over(peer);
  }
}

Line Network::call(Place place, Caller* caller) {
  lines_.push_back(Calling{.place = place, .caller = caller});
  const Line line(lines_.size());
  try_connect(line);
  return line;
}

void Network::try_connect(Line line) {
  Calling& calling = lines_[line.value() - 1];
  const Duration ceiling =
      std::min(kBackoffMax, kBackoffMin * (int64_t{1} << std::min<uint64_t>(calling.attempts, 8)));
  const Duration wait = nanoseconds(chance_.between(ceiling.nanos() / 2, ceiling.nanos()));
  ++calling.attempts;
  world_.after(wait, [this, line, serial = ++calling.serial] { attempt(line, serial); });
}

void Network::attempt(Line line, uint64_t serial) {
  const Calling& calling = lines_[line.value() - 1];
  if (calling.caller == nullptr || calling.serial != serial) return;
  if (places_[calling.place.value() - 1].listener == nullptr) return try_connect(line);
  world_.after(delay() + delay(), [this, line, serial] { connected(line, serial); });
}

void Network::connected(Line line, uint64_t serial) {
  Calling& calling = lines_[line.value() - 1];
  if (calling.caller == nullptr || calling.serial != serial) return;
  if (places_[calling.place.value() - 1].listener == nullptr) return try_connect(line);
  calling.attempts = 0;
  calling.connection = PeerId(++peers_);
  connections_[calling.connection] = Connection{.line = line, .place = calling.place};
  calling.caller->on_line_connected();
}

void Network::send(PeerId peer, proto::Envelope envelope) {
  const auto at = connections_.find(peer);
  if (at == connections_.end() || !at->second.listener_up) return;
  transmit(peer, false, std::move(envelope));
}

void Network::send(Line line, proto::Envelope envelope) {
  const PeerId peer = lines_[line.value() - 1].connection;
  if (peer) transmit(peer, true, std::move(envelope));
}

void Network::drop(PeerId peer) {
  const auto at = connections_.find(peer);
  if (at == connections_.end()) return;
  at->second.listener_up = false;
  forget_if_over(peer);
}

void Network::reset(Line line) {
  Calling& calling = lines_[line.value() - 1];
  const PeerId peer = calling.connection;
  if (!peer) return;
  Connection& connection = connections_.at(peer);
  tell_caller(peer, world_.now(), "reset");
  tell_listener(peer, std::max(connection.to_listener, world_.now() + delay()));
}

void Network::hang_up(Line line) {
  Calling& calling = lines_[line.value() - 1];
  calling.caller = nullptr;
  const PeerId peer = std::exchange(calling.connection, PeerId());
  if (!peer) return;
  Connection& connection = connections_.at(peer);
  connection.caller_up = false;
  // Some of what was sent may never have left.
  const Time cut = world_.now() + delay();
  connection.listener_cut = std::min(connection.listener_cut, cut);
  tell_listener(peer, cut);
  forget_if_over(peer);
}

Duration Network::delay() {
  int64_t nanos = chance_.between(rates_.delay_min.nanos(), rates_.delay_max.nanos());
  if (happens(rates_.slow)) nanos *= chance_.between(2, 100);
  return nanoseconds(nanos);
}

void Network::transmit(PeerId peer, bool to_listener, proto::Envelope envelope) {
  ++frames_;
  if (--codec_countdown_ == 0) {
    codec_countdown_ = kCodecEvery;
    pass_through_codec(envelope);
  }
  if (happens(rates_.broken)) {
    note("connection breaks", peer, envelope);
    break_connection(peer);
  }
  if (happens(rates_.lost)) return note("frame lost", peer, envelope);

  Connection& connection = connections_.at(peer);
  Time& last = to_listener ? connection.to_listener : connection.to_caller;
  Time at = world_.now() + delay();
  if (happens(rates_.overtaken)) {
    note("frame overtaken", peer, envelope);
    at = std::max(at, last) + delay() + delay();
  } else {
    at = std::max(at, last);
    last = at;
  }
  if (happens(rates_.repeated)) {
    note("frame repeated", peer, envelope);
    world_.at(at + delay(),
              [this, peer, to_listener, copy = envelope] { deliver(peer, to_listener, copy); });
  }
  world_.at(at, [this, peer, to_listener, frame = std::move(envelope)] {
    deliver(peer, to_listener, frame);
  });
}

void Network::deliver(PeerId peer, bool to_listener, const proto::Envelope& envelope) {
  const auto at = connections_.find(peer);
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  if (to_listener) {
    if (!connection.listener_up) {
      // A frame to a session that was dropped shuts the connection.
      if (connection.caller_up) tell_caller(peer, world_.now() + delay(), "shut");
      return;
    }
    if (world_.now() > connection.listener_cut) return;
    connection.listener_knows = true;
    note("heard", peer, envelope);
    places_[connection.place.value() - 1].listener->on_peer_frame(peer, envelope);
  } else {
    if (!connection.caller_up || world_.now() > connection.caller_cut) return;
    note("told", peer, envelope);
    lines_[connection.line.value() - 1].caller->on_line_frame(envelope);
  }
}

void Network::break_connection(PeerId peer) {
  Connection& connection = connections_.at(peer);
  connection.listener_cut = std::min(connection.listener_cut, world_.now() + delay());
  connection.caller_cut = std::min(connection.caller_cut, world_.now() + delay());
  tell_listener(peer, connection.listener_cut);
  tell_caller(peer, connection.caller_cut, "connection lost");
}

void Network::tell_listener(PeerId peer, Time at) {
  world_.at(std::max(at, world_.now()), [this, peer] {
    const auto found = connections_.find(peer);
    if (found == connections_.end() || !found->second.listener_up) return;
    found->second.listener_up = false;
    Listener* listener = places_[found->second.place.value() - 1].listener;
    const bool knows = found->second.listener_knows;
    forget_if_over(peer);
    if (knows) listener->on_peer_lost(peer);
  });
}

void Network::tell_caller(PeerId peer, Time at, const std::string& reason) {
  world_.at(std::max(at, world_.now()), [this, peer, reason] {
    const auto found = connections_.find(peer);
    if (found == connections_.end() || !found->second.caller_up) return;
    found->second.caller_up = false;
    const Line line = found->second.line;
    // The listener of a connection that broke here alone hears of it as well, if nothing else
    // tells.
    if (found->second.listener_up) tell_listener(peer, world_.now() + delay());
    forget_if_over(peer);
    Calling& calling = lines_[line.value() - 1];
    if (calling.connection != peer) return;
    calling.connection = PeerId();
    try_connect(line);
    if (calling.caller != nullptr) calling.caller->on_line_disconnected(reason);
  });
}

void Network::forget_if_over(PeerId peer) {
  const auto at = connections_.find(peer);
  if (at != connections_.end() && !at->second.caller_up && !at->second.listener_up) {
    connections_.erase(at);
  }
}

void Network::pass_through_codec(proto::Envelope& envelope) {
  const Result<std::span<const std::byte>> frame = encoder_.encode(envelope);
  if (!frame) {
    return world_.violated(
        kName, Violation{text("cannot encode ", proto::message_name(envelope.message), ": ",
                              frame.error().message())});
  }
  Result<proto::Envelope> decoded = proto::decode(*frame);
  if (!decoded) {
    return world_.violated(kName, Violation{text("cannot decode what was encoded, ",
                                                 proto::message_name(envelope.message), ": ",
                                                 decoded.error().message())});
  }
  if (*decoded != envelope) {
    return world_.violated(
        kName, Violation{text("the codec changed a ", proto::message_name(envelope.message))});
  }
  envelope = *std::move(decoded);
}

void Network::note(std::string_view what, PeerId peer, const proto::Envelope& envelope) {
  world_.note(kName, {.what = what,
                      .fields = {{"peer", std::to_string(peer.value())},
                                 {"sequence", std::to_string(envelope.sequence)},
                                 {"message", std::string(proto::message_name(envelope.message))}}});
}

}  // namespace proffer::sim
