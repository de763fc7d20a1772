#pragma once

// The simulated network: what net/Router and net/Dealer do, under virtual time, and all that real
// networks do to them.
//
// A place is an address. One process may listen there; others call it over lines of their own. Each
// connection of a line is fresh and gives the listener a new PeerId with its first frame. Without
// faults frames arrive in order, after some delay. With faults they are lost, repeated, overtaken,
// and connections break; both ends are told, each at its own time.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/prng.h"
#include "common/time.h"
#include "proto/codec/codec.h"
#include "proto/messages.h"
#include "sim/world.h"

namespace proffer::sim {

using Place = Number<struct PlaceTag>;
using Line = Number<struct LineTag>;

// How the network behaves. Rates are per million frames.
struct NetworkRates {
  Duration delay_min = microseconds(50);
  Duration delay_max = milliseconds(2);
  uint32_t slow = 0;  // takes up to a hundred times as long, and what is behind it waits
  uint32_t lost = 0;
  uint32_t repeated = 0;
  uint32_t overtaken = 0;
  uint32_t broken = 0;  // breaks its connection
};

// The listening end of a process. Never called from within a call of the Network.
class Listener {
 public:
  virtual void on_peer_frame(PeerId peer, proto::Envelope envelope) = 0;
  virtual void on_peer_lost(PeerId peer) = 0;

 protected:
  ~Listener() = default;
};

// The calling end. Never called from within a call of the Network.
class Caller {
 public:
  virtual void on_line_connected() = 0;
  virtual void on_line_frame(proto::Envelope envelope) = 0;
  virtual void on_line_disconnected(const std::string& reason) = 0;

 protected:
  ~Caller() = default;
};

class Network {
 public:
  explicit Network(World& world)
      : world_(world), chance_(world.chance("network")), codec_countdown_(kCodecEvery) {}

  void set_rates(const NetworkRates& rates) { rates_ = rates; }

  Place add_place();
  // --- the listening end -----------------------------------------------------------------------
  void listen(Place place, Listener* listener);
  // The process ended: all connections break.
  void shut(Place place);
  void send(PeerId peer, proto::Envelope envelope);
  // What was sent before still arrives; the other end notices when it next sends. No on_peer_lost.
  void drop(PeerId peer);

  // --- the calling end: connects by itself, again and again, until hung up ---------------------
  Line call(Place place, Caller* caller);
  void send(Line line, proto::Envelope envelope);
  // on_line_disconnected follows, then a fresh connection.
  void reset(Line line);
  // Hangs up, as when the process ends. The caller is not called any more.
  void hang_up(Line line);

  uint64_t frames() const { return frames_; }

 private:
  // One frame in so many passes through the real codec; the others are handed over as values.
  static constexpr uint64_t kCodecEvery = 16;

  struct Listening {
    Listener* listener = nullptr;
  };
  struct Calling {
    Place place = {};
    Caller* caller = nullptr;
    PeerId connection = {};  // none while there is none
    uint64_t attempts = 0;   // since the last connection
    uint64_t serial = 0;     // tells an attempt that is out of date
  };
  struct Connection {
    Line line = {};
    Place place = {};
    bool caller_up = true;
    bool listener_up = true;
    bool listener_knows = false;  // a frame arrived
    Time to_listener = {};        // when the last frame sent arrives
    Time to_caller = {};
    Time listener_cut = Time::far_future();  // frames that would arrive later are lost
    Time caller_cut = Time::far_future();
  };

  Duration delay();
  bool happens(uint32_t rate) { return rate > 0 && chance_.chance(rate, 1'000'000); }
  void try_connect(Line line);
  void attempt(Line line, uint64_t serial);
  void connected(Line line, uint64_t serial);
  void transmit(PeerId peer, bool to_listener, proto::Envelope envelope);
  void deliver(PeerId peer, bool to_listener, const proto::Envelope& envelope);
  void break_connection(PeerId peer);
  // The end notices, after what still reaches it.
  void tell_listener(PeerId peer, Time at);
  void tell_caller(PeerId peer, Time at, const std::string& reason);
  void forget_if_over(PeerId peer);
  // Through bytes and back; what comes out must be what went in.
  void pass_through_codec(proto::Envelope& envelope);
  void note(std::string_view what, PeerId peer, const proto::Envelope& envelope);

  World& world_;
  Prng chance_;
  NetworkRates rates_;
  std::vector<Listening> places_;
  std::vector<Calling> lines_;
  std::map<PeerId, Connection> connections_;
  uint64_t peers_ = 0;
  uint64_t frames_ = 0;
  uint64_t codec_countdown_;
  proto::Encoder encoder_;
};

}  // namespace proffer::sim
