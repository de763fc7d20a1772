#pragma once

// The simulated network: net/Router and net/Dealer under virtual time, with the faults of real
// networks.
//
// A site is a machine, a party a process on it, a place an address where one party may listen.
// Others call it, each over its own line. Each connection of a line is new and gives the listener a
// new PeerId with its first frame. A connection has a pipe for each direction. Frames arrive in
// order, after some delay, and so does the end of the connection: the other end notices that a
// process has ended or hung up after all its earlier frames have arrived.
//
// Faults: links between sites are cut, one way or both (frames wait, as TCP resends them, and no
// connection can be made), or slow; parties are frozen (their frames wait) or slow (each frame
// takes them long); a site loses its power without a message; connections break, which each end
// notices at its own time or when it next sends; frames are lost and repeated. An end for which too
// many frames wait loses its session as in net/: see kTransit.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/prng.h"
#include "common/time.h"
#include "proto/codec/codec.h"
#include "proto/messages.h"
#include "sim/world.h"

namespace proffer::sim {

using Site = Number<struct SiteTag>;
using Party = Number<struct PartyTag>;
using Place = Number<struct PlaceTag>;
using Line = Number<struct LineTag>;

// Rates of the network's faults, per million frames.
struct NetworkRates {
  Duration delay_min = microseconds(50);
  Duration delay_max = milliseconds(2);
  uint32_t slow = 0;  // takes up to a hundred times as long, and later frames wait
  uint32_t lost = 0;
  uint32_t repeated = 0;
  // It arrives after frames that were sent later. No network does that within one connection; but
  // the other end sees the same if a frame could not be encoded or queued: a gap, and then a late
  // frame. (Frames of an older connection can arrive after those of a newer one without this fault,
  // since each connection has its own delays.)
  uint32_t overtaken = 0;
  uint32_t broken = 0;     // breaks its connection; both ends notice soon
  uint32_t half_open = 0;  // likewise, but an end notices late, or only when it next sends
  // Frames that may wait for one slow peer, in addition to those in transit (Router::Options).
  size_t outgoing_max = kOutgoingPerPeerMax;
  // The time to connect to a listening place; none: random times, as attempts are spread.
  std::optional<Duration> connects_in = {};
};

// A faulty link between machines: from each of `from` to each of `to`. Processes of one machine
// always reach each other.
struct LinkRule {
  std::set<Site> from = {};
  std::set<Site> to = {};
  bool blocked = false;
  Duration extra = {};  // added delay
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
  // Frames that ZeroMQ and the kernel accept before any wait in the sender's own queue. They still
  // arrive after the sender gives up. The real number is about a thousand.
  static constexpr size_t kTransit = 50;

  explicit Network(World& world)
      : world_(world), chance_(world.chance("network")), codec_countdown_(kCodecEvery) {}

  Site add_site();
  Party add_party(Site site);
  // On a separate site.
  Party add_party() { return add_party(add_site()); }
  Site site_of(Party party) const { return parties_[party.value() - 1].site; }

  // --- the listening end -----------------------------------------------------------------------
  Place add_place(Party party);
  void listen(Place place, Listener* listener);
  // The process ended: all connections end.
  void shut(Place place);
  void send(PeerId peer, proto::Envelope envelope);
  // Frames sent before still arrive; the other end notices when it next sends. There is no
  // on_peer_lost.
  void drop(PeerId peer);

  // --- the calling end: connects and reconnects by itself, until hung up ------------------------
  // With several places, the next is tried when an attempt has failed or a connection has ended.
  Line call(Party party, const std::vector<Place>& places, Caller* caller);
  void send(Line line, proto::Envelope envelope);
  // on_line_disconnected follows, then a new connection.
  void reset(Line line);
  // Hangs up, as when the process ends. The caller is not called any more.
  void hang_up(Line line);

  // --- faults ----------------------------------------------------------------------------------
  void set_rates(const NetworkRates& rates) { rates_ = rates; }
  // For long runs in which frames are not examined: they are neither written into the history nor
  // passed through the codec.
  void set_plain() { plain_ = true; }
  // Active until end_rule(). Then all waiting frames arrive at once; with `breaks`, some of the
  // connections are broken instead.
  uint64_t add_rule(LinkRule rule);
  void end_rule(uint64_t rule, bool breaks);
  // A frozen process receives nothing and notices nothing; its frames wait.
  void freeze(Party party);
  void thaw(Party party);
  // The time that this process takes for each frame.
  void set_pace(Party party, Duration per_frame);
  // Without power nothing leaves, and no peer is informed. Before or after it, end all that listens
  // and calls there with shut() and hang_up().
  void set_power(Site site, bool on) { sites_[site.value() - 1].powered = on; }
  // Removes all rules and rates; all parties are awake and fast.
  void heal();

  uint64_t frames() const { return frames_; }
  uint64_t overflows() const {
    return overflows_;
  }  // sessions that ended because too many frames
     // waited

 private:
  // One of this many frames passes through the real codec; the others are passed as values.
  static constexpr uint64_t kCodecEvery = 16;

  struct SiteState {
    bool powered = true;
  };
  struct PartyState {
    Site site = {};
    bool frozen = false;
    Duration per_frame = {};
    Time busy_until = {};
  };
  struct Listening {
    Party party = {};
    Listener* listener = nullptr;
  };
  struct Calling {
    Party party = {};
    std::vector<Place> places = {};
    Place place = {};  // the place that is tried
    Caller* caller = nullptr;
    PeerId connection = {};  // none if there is none
    uint64_t attempts = 0;   // since the last connection
    uint64_t serial = 0;     // identifies attempts that are out of date
  };
  // The two directions, named by the receiver.
  enum class To : uint8_t { kListener, kCaller };
  struct Item {
    Time at = {};
    bool end = false;  // of the connection
    proto::Envelope envelope = {};
  };
  struct Pipe {
    std::deque<Item> items = {};
    Time last = {};        // arrival time of the last frame
    bool planned = false;  // a pump() is planned
    bool ended = false;    // the sending end has sent its end
  };
  struct Connection {
    Line line = {};
    Place place = {};
    bool caller_up = true;
    bool listener_up = true;
    bool listener_knows = false;  // a frame has arrived
    // Nothing passes any more. An end may notice it when it sends, or else at its own time.
    bool broken = false;
    bool caller_told_on_send = false;
    bool listener_told_on_send = false;
    Pipe to_listener = {};
    Pipe to_caller = {};
  };

  // Connections by peer. Numbers of peers rise, so those of open connections are close together:
  // O(1).
  class Connections {
   public:
    Connection* find(PeerId peer) {
      const uint64_t at = peer.value() - first_;  // wraps for earlier peers
      return at < slots_.size() ? slots_[at].get() : nullptr;
    }
    Connection& at(PeerId peer) {
      Connection* found = find(peer);
      CHECK(found != nullptr) << "connection " << peer.value();
      return *found;
    }
    // Peers are added in order.
    void add(PeerId peer, Connection connection) {
      CHECK_EQ(peer.value(), first_ + slots_.size());
      slots_.push_back(std::make_unique<Connection>(std::move(connection)));
    }
    void erase(PeerId peer) {
      slots_[peer.value() - first_].reset();
      while (!slots_.empty() && slots_.front() == nullptr) {
        slots_.pop_front();
        ++first_;
      }
    }
    // The open ones, in order.
    std::vector<PeerId> peers() const {
      std::vector<PeerId> open;
      for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i] != nullptr) open.emplace_back(first_ + i);
      }
      return open;
    }

   private:
    std::deque<std::unique_ptr<Connection>> slots_;
    uint64_t first_ = 1;
  };

  Duration delay();
  bool happens(uint32_t rate) { return rate > 0 && chance_.chance(rate, 1'000'000); }
  void try_connect(Line line);
  void try_next(Line line);
  void attempt(Line line, uint64_t serial);
  void connected(Line line, uint64_t serial);
  bool may_connect(Line line) const;

  Party party_of(const Connection& connection, To end) const;
  Site site_of(const Connection& connection, To end) const {
    return site_of(party_of(connection, end));
  }
  bool is_blocked(const Connection& connection, To to) const;
  Duration extra(const Connection& connection, To to) const;
  static Pipe& pipe_of(Connection& connection, To to) {
    return to == To::kListener ? connection.to_listener : connection.to_caller;
  }

  void transmit(PeerId peer, To to, proto::Envelope envelope);
  void put(PeerId peer, To to, Item item);
  bool gives_up(PeerId peer, To to);
  void plan(PeerId peer, To to);
  void pump(PeerId peer, To to);
  void pump_all();
  void deliver(PeerId peer, To to, Item item);
  // Drops frames in the pipe that would arrive later.
  void cut(Pipe& pipe, Time at);
  // The end of the connection, after the frames that were sent.
  void send_end(PeerId peer, To to);
  enum class Break : uint8_t { kSoon, kHalfOpen };
  void break_connection(PeerId peer, Break how);
  void tell_later(PeerId peer, To end, Time at, const std::string& reason);
  void tell(PeerId peer, To end, const std::string& reason);
  void forget_if_over(PeerId peer);
  // Encodes and decodes the envelope; the result must be equal.
  void pass_through_codec(proto::Envelope& envelope);
  void note(std::string_view what, PeerId peer, const proto::Envelope& envelope);

  World& world_;
  Prng chance_;
  NetworkRates rates_;
  bool plain_ = false;
  std::vector<SiteState> sites_;
  std::vector<PartyState> parties_;
  std::vector<Listening> places_;
  std::vector<Calling> lines_;
  Connections connections_;
  std::map<uint64_t, LinkRule> rules_;
  uint64_t rule_numbers_ = 0;
  uint64_t peers_ = 0;
  uint64_t frames_ = 0;
  uint64_t overflows_ = 0;
  uint64_t codec_countdown_;
  proto::Encoder encoder_;
};

}  // namespace proffer::sim
