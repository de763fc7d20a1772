// The path of a frame: transmit decides its fate, put adds it to the pipe, pump takes out the
// frames that have arrived when the other end can receive them, deliver passes one on if that end
// still exists.

#include "sim/network.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "sim/trace.h"

namespace proffer::sim {
namespace {

const std::string kName = "network";

// As in net/backoff and net/dealer.
constexpr Duration kBackoffMin = milliseconds(20);
constexpr Duration kBackoffMax = seconds(2);
constexpr Duration kConnectTimeout = seconds(5);
// The longest delay of a late notice to an end.
constexpr Duration kToldLate = seconds(60);

}  // namespace

// --- sites, parties and places -----------------------------------------------------------------

Site Network::add_site() {
  sites_.emplace_back();
  return Site(sites_.size());
}

Party Network::add_party(Site site) {
  parties_.push_back(PartyState{.site = site});
  return Party(parties_.size());
}

Place Network::add_place(Party party) {
  places_.push_back(Listening{.party = party});
  return Place(places_.size());
}

Party Network::party_of(const Connection& connection, To end) const {
  return end == To::kListener ? places_[connection.place.value() - 1].party
                              : lines_[connection.line.value() - 1].party;
}

bool Network::is_blocked(const Connection& connection, To to) const {
  if (rules_.empty()) return false;
  const Site target = site_of(connection, to);
  const Site source = site_of(connection, to == To::kListener ? To::kCaller : To::kListener);
  if (source == target) return false;
  return std::any_of(rules_.begin(), rules_.end(), [&](const auto& entry) {
    const LinkRule& rule = entry.second;
    return rule.blocked && rule.from.count(source) > 0 && rule.to.count(target) > 0;
  });
}

Duration Network::extra(const Connection& connection, To to) const {
  Duration extra;
  if (rules_.empty()) return extra;
  const Site target = site_of(connection, to);
  const Site source = site_of(connection, to == To::kListener ? To::kCaller : To::kListener);
  for (const auto& [number, rule] : rules_) {
    if (source != target && rule.from.count(source) > 0 && rule.to.count(target) > 0) {
      extra = extra + rule.extra;
    }
  }
  return extra;
}

// --- the listening end -------------------------------------------------------------------------

void Network::listen(Place place, Listener* listener) {
  CHECK(places_[place.value() - 1].listener == nullptr) << "the address is already in use";
  places_[place.value() - 1].listener = listener;
}

void Network::shut(Place place) {
  places_[place.value() - 1].listener = nullptr;
  std::vector<PeerId> ended;
  for (const PeerId peer : connections_.peers()) {
    const Connection& connection = connections_.at(peer);
    if (connection.place == place && connection.listener_up) ended.push_back(peer);
  }
  for (const PeerId peer : ended) {
    Connection& connection = connections_.at(peer);
    connection.listener_up = false;
    // Some of the sent frames may never have left.
    cut(connection.to_caller, world_.now() + delay());
    send_end(peer, To::kCaller);
    forget_if_over(peer);
  }
}

void Network::send(PeerId peer, proto::Envelope envelope) {
  const Connection* connection = connections_.find(peer);
  if (connection == nullptr || !connection->listener_up) return;
  transmit(peer, To::kCaller, std::move(envelope));
}

void Network::drop(PeerId peer) {
  Connection* connection = connections_.find(peer);
  if (connection == nullptr) return;
  connection->listener_up = false;
  forget_if_over(peer);
}

// --- the calling end ---------------------------------------------------------------------------

Line Network::call(Party party, const std::vector<Place>& places, Caller* caller) {
  lines_.push_back(
      Calling{.party = party, .places = places, .place = places.front(), .caller = caller});
  const Line line(lines_.size());
  try_connect(line);
  return line;
}

void Network::try_next(Line line) {
  Calling& calling = lines_[line.value() - 1];
  const auto at = std::find(calling.places.begin(), calling.places.end(), calling.place);
  calling.place = at + 1 == calling.places.end() ? calling.places.front() : *(at + 1);
  try_connect(line);
}

void Network::try_connect(Line line) {
  Calling& calling = lines_[line.value() - 1];
  const bool listened = places_[calling.place.value() - 1].listener != nullptr;
  if (rates_.connects_in && calling.attempts == 0 && listened && may_connect(line)) {
    ++calling.attempts;
    return world_.after(*rates_.connects_in,
                        [this, line, serial = ++calling.serial] { connected(line, serial); });
  }
  const Duration ceiling =
      std::min(kBackoffMax, kBackoffMin * (int64_t{1} << std::min<uint64_t>(calling.attempts, 8)));
  const Duration wait = nanoseconds(chance_.between(ceiling.nanos() / 2, ceiling.nanos()));
  ++calling.attempts;
  world_.after(wait, [this, line, serial = ++calling.serial] { attempt(line, serial); });
}

// Both directions and both ends: a handshake needs them all.
bool Network::may_connect(Line line) const {
  const Place place = lines_[line.value() - 1].place;
  const PartyState& listener = parties_[places_[place.value() - 1].party.value() - 1];
  const Connection imagined{.line = line, .place = place};
  return !listener.frozen && sites_[listener.site.value() - 1].powered &&
         !is_blocked(imagined, To::kListener) && !is_blocked(imagined, To::kCaller);
}

void Network::attempt(Line line, uint64_t serial) {
  const Calling& calling = lines_[line.value() - 1];
  if (calling.caller == nullptr || calling.serial != serial) return;
  if (parties_[calling.party.value() - 1].frozen) return try_next(line);
  if (!may_connect(line)) {  // no answer comes
    return world_.after(kConnectTimeout, [this, line, serial] {
      const Calling& again = lines_[line.value() - 1];
      if (again.caller != nullptr && again.serial == serial) try_next(line);
    });
  }
  if (places_[calling.place.value() - 1].listener == nullptr) return try_next(line);
  world_.after(delay() + delay(), [this, line, serial] { connected(line, serial); });
}

void Network::connected(Line line, uint64_t serial) {
  Calling& calling = lines_[line.value() - 1];
  if (calling.caller == nullptr || calling.serial != serial) return;
  if (places_[calling.place.value() - 1].listener == nullptr || !may_connect(line) ||
      parties_[calling.party.value() - 1].frozen) {
    return try_next(line);
  }
  calling.attempts = 0;
  calling.connection = PeerId(++peers_);
  connections_.add(calling.connection, Connection{.line = line, .place = calling.place});
  calling.caller->on_line_connected();
}

void Network::send(Line line, proto::Envelope envelope) {
  const PeerId peer = lines_[line.value() - 1].connection;
  if (peer) transmit(peer, To::kListener, std::move(envelope));
}

void Network::reset(Line line) {
  const PeerId peer = lines_[line.value() - 1].connection;
  if (!peer) return;
  send_end(peer, To::kListener);
  tell_later(peer, To::kCaller, world_.now(), "reset");
}

void Network::hang_up(Line line) {
  Calling& calling = lines_[line.value() - 1];
  calling.caller = nullptr;
  const PeerId peer = std::exchange(calling.connection, PeerId());
  if (!peer) return;
  Connection& connection = connections_.at(peer);
  connection.caller_up = false;
  // Some of the sent frames may never have left.
  cut(connection.to_listener, world_.now() + delay());
  send_end(peer, To::kListener);
  forget_if_over(peer);
}

// --- the path of a frame -----------------------------------------------------------------------

Duration Network::delay() {
  int64_t nanos = chance_.between(rates_.delay_min.nanos(), rates_.delay_max.nanos());
  if (happens(rates_.slow)) nanos *= chance_.between(2, 100);
  return nanoseconds(nanos);
}

void Network::transmit(PeerId peer, To to, proto::Envelope envelope) {
  ++frames_;
  if (!plain_ && --codec_countdown_ == 0) {
    codec_countdown_ = kCodecEvery;
    pass_through_codec(envelope);
  }
  if (happens(rates_.broken)) {
    note("connection breaks", peer, envelope);
    break_connection(peer, Break::kSoon);
  } else if (happens(rates_.half_open)) {
    note("connection is half open", peer, envelope);
    break_connection(peer, Break::kHalfOpen);
  }
  Connection& connection = connections_.at(peer);
  if (connection.broken) {
    const To sender = to == To::kListener ? To::kCaller : To::kListener;
    if (sender == To::kCaller ? connection.caller_told_on_send : connection.listener_told_on_send) {
      tell_later(peer, sender, world_.now() + delay(), "reset by the other end");
    }
    return;
  }
  if (happens(rates_.lost)) return note("frame lost", peer, envelope);
  if (gives_up(peer, to)) return;

  Pipe& pipe = pipe_of(connection, to);
  const Time at = std::max(world_.now() + delay() + extra(connection, to), pipe.last);
  if (happens(rates_.overtaken)) {
    note("frame overtaken", peer, envelope);
    const Duration behind = delay() + delay();
    world_.at(at + behind, [this, peer, to, frame = std::move(envelope)] {
      put(peer, to, {.at = world_.now(), .envelope = frame});
    });
    return;
  }
  pipe.last = at;
  if (happens(rates_.repeated)) {
    note("frame repeated", peer, envelope);
    world_.at(at + delay(), [this, peer, to, copy = envelope] {
      put(peer, to, {.at = world_.now(), .envelope = copy});
    });
  }
  put(peer, to, {.at = at, .envelope = std::move(envelope)});
}

// As Router::send and Dealer::send: frames in ZeroMQ and the kernel still arrive, the rest and the
// session are gone. A listener gives no notice: the other end notices when it next sends.
bool Network::gives_up(PeerId peer, To to) {
  Connection& connection = connections_.at(peer);
  Pipe& pipe = pipe_of(connection, to);
  if (pipe.items.size() < kTransit + rates_.outgoing_max) return false;
  ++overflows_;
  world_.note(kName, TooMuchWaits{peer});
  pipe.items.resize(kTransit);
  if (to == To::kListener) {
    send_end(peer, To::kListener);
    tell_later(peer, To::kCaller, world_.now(), "the other end reads too slowly");
  } else {
    tell_later(peer, To::kListener, world_.now(), "overflow");
  }
  return true;
}

void Network::put(PeerId peer, To to, Item item) {
  Connection* connection = connections_.find(peer);
  if (connection == nullptr || connection->broken) return;
  Pipe& pipe = pipe_of(*connection, to);
  if (pipe.ended) return;
  if (!pipe.items.empty()) item.at = std::max(item.at, pipe.items.back().at);
  pipe.items.push_back(std::move(item));
  plan(peer, to);
}

void Network::plan(PeerId peer, To to) {
  Connection* connection = connections_.find(peer);
  if (connection == nullptr) return;
  Pipe& pipe = pipe_of(*connection, to);
  if (pipe.planned || pipe.items.empty()) return;
  pipe.planned = true;
  const Time busy = parties_[party_of(*connection, to).value() - 1].busy_until;
  // In two words, which a std::function holds without an allocation: there is one for each frame.
  const uint64_t both = peer.value() << 1 | (to == To::kCaller ? 1 : 0);
  world_.at(std::max({world_.now(), pipe.items.front().at, busy}),
            [this, both] { pump(PeerId(both >> 1), both & 1 ? To::kCaller : To::kListener); });
}

// One frame; the next is another event, so that all peers share one instant.
void Network::pump(PeerId peer, To to) {
  Connection* found = connections_.find(peer);
  if (found == nullptr) return;
  Connection& connection = *found;
  Pipe& pipe = pipe_of(connection, to);
  pipe.planned = false;
  PartyState& party = parties_[party_of(connection, to).value() - 1];
  // When this ends, all pipes are examined again.
  if (party.frozen || is_blocked(connection, to)) return;
  if (!pipe.items.empty() && pipe.items.front().at <= world_.now() &&
      party.busy_until <= world_.now()) {
    Item item = std::move(pipe.items.front());
    pipe.items.pop_front();
    if (!item.end && party.per_frame > Duration()) {
      party.busy_until = world_.now() + party.per_frame;
    }
    deliver(peer, to, std::move(item));
  }
  plan(peer, to);
}

void Network::pump_all() {
  for (const PeerId peer : connections_.peers()) {
    plan(peer, To::kListener);
    plan(peer, To::kCaller);
  }
}

void Network::deliver(PeerId peer, To to, Item item) {
  Connection& connection = connections_.at(peer);
  if (item.end) return tell(peer, to, "closed by the other end");
  const bool is_up = to == To::kListener ? connection.listener_up : connection.caller_up;
  if (!is_up) {  // the connection is closed, unless the machine is off
    const To sender = to == To::kListener ? To::kCaller : To::kListener;
    if (sites_[site_of(connection, to).value() - 1].powered) send_end(peer, sender);
    return;
  }
  if (to == To::kListener) {
    connection.listener_knows = true;
    note("heard", peer, item.envelope);
    places_[connection.place.value() - 1].listener->on_peer_frame(peer, std::move(item.envelope));
  } else {
    note("told", peer, item.envelope);
    lines_[connection.line.value() - 1].caller->on_line_frame(std::move(item.envelope));
  }
}

// --- how connections end -----------------------------------------------------------------------

void Network::cut(Pipe& pipe, Time at) {
  while (!pipe.items.empty() && pipe.items.back().at > at) pipe.items.pop_back();
}

void Network::send_end(PeerId peer, To to) {
  Connection& connection = connections_.at(peer);
  const To sender = to == To::kListener ? To::kCaller : To::kListener;
  if (connection.broken || !sites_[site_of(connection, sender).value() - 1].powered) return;
  Pipe& pipe = pipe_of(connection, to);
  const Time at = std::max(world_.now() + delay() + extra(connection, to), pipe.last);
  put(peer, to, {.at = at, .end = true});
  pipe.ended = true;
}

void Network::break_connection(PeerId peer, Break how) {
  Connection& connection = connections_.at(peer);
  if (std::exchange(connection.broken, true)) return;
  cut(connection.to_listener, world_.now() + delay());
  cut(connection.to_caller, world_.now() + delay());
  const auto soon = [this] { return world_.now() + delay(); };
  const auto late = [this] {
    return world_.now() + nanoseconds(chance_.between(seconds(1).nanos(), kToldLate.nanos()));
  };
  const bool caller_late = how == Break::kHalfOpen && chance_.chance(2, 3);
  const bool listener_late = how == Break::kHalfOpen && (!caller_late || chance_.chance(1, 3));
  connection.caller_told_on_send = caller_late && chance_.chance(1, 2);
  connection.listener_told_on_send = listener_late && chance_.chance(1, 2);
  tell_later(peer, To::kListener, listener_late ? late() : soon(), "connection lost");
  tell_later(peer, To::kCaller, caller_late ? late() : soon(), "connection lost");
}

// Not through the pipe: the end notices by itself.
void Network::tell_later(PeerId peer, To end, Time at, const std::string& reason) {
  world_.at(std::max(at, world_.now()), [this, peer, end, reason] {
    const Connection* found = connections_.find(peer);
    if (found == nullptr) return;
    if (parties_[party_of(*found, end).value() - 1].frozen) {  // not before it wakes up
      return tell_later(peer, end, world_.now() + milliseconds(100), reason);
    }
    tell(peer, end, reason);
  });
}

void Network::tell(PeerId peer, To end, const std::string& reason) {
  Connection* found = connections_.find(peer);
  if (found == nullptr) return;
  Connection& connection = *found;
  if (end == To::kListener) {
    if (!connection.listener_up) return;
    connection.listener_up = false;
    Listener* listener = places_[connection.place.value() - 1].listener;
    const bool knows = connection.listener_knows;
    forget_if_over(peer);
    if (knows) listener->on_peer_lost(peer);
    return;
  }
  if (!connection.caller_up) return;
  connection.caller_up = false;
  const Line line = connection.line;
  send_end(peer, To::kListener);
  forget_if_over(peer);
  Calling& calling = lines_[line.value() - 1];
  if (calling.connection != peer) return;
  calling.connection = PeerId();
  try_next(line);
  if (calling.caller != nullptr) calling.caller->on_line_disconnected(reason);
}

void Network::forget_if_over(PeerId peer) {
  const Connection* connection = connections_.find(peer);
  if (connection != nullptr && !connection->caller_up && !connection->listener_up) {
    connections_.erase(peer);
  }
}

// --- faults ------------------------------------------------------------------------------------

uint64_t Network::add_rule(LinkRule rule) {
  rules_[++rule_numbers_] = std::move(rule);
  return rule_numbers_;
}

void Network::end_rule(uint64_t number, bool breaks) {
  const auto at = rules_.find(number);
  if (at == rules_.end()) return;
  std::vector<PeerId> held;
  for (const PeerId peer : connections_.peers()) {
    const Connection& connection = connections_.at(peer);
    if ((is_blocked(connection, To::kListener) && !connection.to_listener.items.empty()) ||
        (is_blocked(connection, To::kCaller) && !connection.to_caller.items.empty())) {
      held.push_back(peer);
    }
  }
  rules_.erase(at);
  for (const PeerId peer : held) {
    if (breaks && chance_.chance(1, 2)) {
      // waiting frames are lost with it
      connections_.at(peer).to_listener.items.clear();
      connections_.at(peer).to_caller.items.clear();
      break_connection(peer, chance_.chance(1, 2) ? Break::kSoon : Break::kHalfOpen);
    }
  }
  pump_all();
}

void Network::freeze(Party party) { parties_[party.value() - 1].frozen = true; }

void Network::thaw(Party party) {
  if (!std::exchange(parties_[party.value() - 1].frozen, false)) return;
  pump_all();
}

void Network::set_pace(Party party, Duration per_frame) {
  parties_[party.value() - 1].per_frame = per_frame;
}

void Network::heal() {
  rates_ = NetworkRates();
  rules_.clear();
  for (PartyState& party : parties_) {
    party.frozen = false;
    party.per_frame = Duration();
  }
  pump_all();
}

void Network::pass_through_codec(proto::Envelope& envelope) {
  const Result<std::span<const std::byte>> frame = encoder_.encode(envelope);
  if (!frame) {
    return world_.violated(
        kName, Violation{text("cannot encode ", proto::message_name(*envelope.message), ": ",
                              frame.error().message())});
  }
  Result<proto::Envelope> decoded = proto::decode(*frame);
  if (!decoded) {
    return world_.violated(kName, Violation{text("cannot decode what was encoded, ",
                                                 proto::message_name(*envelope.message), ": ",
                                                 decoded.error().message())});
  }
  if (*decoded != envelope) {
    return world_.violated(
        kName, Violation{text("the codec changed a ", proto::message_name(*envelope.message))});
  }
  envelope = *std::move(decoded);
}

void Network::note(std::string_view what, PeerId peer, const proto::Envelope& envelope) {
  if (plain_) return;
  world_.note(kName,
              FrameNews{what, peer, envelope.sequence, proto::message_name(*envelope.message)});
}

}  // namespace proffer::sim
