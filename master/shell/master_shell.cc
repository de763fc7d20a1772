// The way of a frame: it is decoded, the core makes one step, the step's records are made durable,
// and its messages are sent. Read Impl::step first. Steps leave in order: while one waits for the
// disk, later ones wait behind it. Before this master leads there is no core (Impl::gained), and a
// standby answers.

#include "master/shell/master_shell.h"

#include <optional>
#include <utility>

#include <unistd.h>

#include "common/check.h"
#include "common/latency_histogram.h"
#include "common/load_limits.h"
#include "common/text.h"
#include "master/core/trace.h"
#include "master/shell/api.h"
#include "master/shell/condition_keeper.h"
#include "master/shell/event_log.h"
#include "master/shell/forecaster.h"
#include "master/shell/hearing.h"
#include "master/shell/http_api.h"
#include "master/shell/intake.h"
#include "master/shell/key_principals.h"
#include "master/shell/log_check.h"
#include "master/shell/master_id.h"
#include "master/shell/metrics.h"
#include "master/shell/peer_principals.h"
#include "master/shell/recorder.h"
#include "master/shell/secrets.h"
#include "master/shell/shedding.h"
#include "master/shell/standby.h"
#include "master/shell/standby_link.h"
#include "net/daemon_http.h"
#include "net/held_port.h"
#include "net/http_server.h"
#include "net/metrics_page.h"
#include "net/randomness.h"
#include "net/router.h"
#include "net/trace_log.h"
#include "net/users.h"
#include "proto/codec/codec.h"
#include "proto/codec/records.h"
#include "proto/json/json.h"
#include "proto/json/keys_json.h"
#include "store/directory_lock.h"
#include "store/elected_at_once.h"
#include "store/sqlite_store.h"
#include "store/zookeeper_leadership.h"

namespace proffer::master {
namespace {

// HTTP connections at the socket and the port together; three quarters may follow events.
constexpr size_t kMasterHttpConnectionsMax = 6'000;

proto::Reply refusal(uint64_t call, const Error& why) {
  return {.id = call, .error = proto::ErrorMessage{why.code(), why.message(), why.hint()}};
}

}  // namespace

struct MasterShell::Impl {
  explicit Impl(Loop& l)
      : loop(l),
        intake(l, {.on_frame =
                       [this](PeerId peer, std::span<const std::byte> frame) {
                         const uint64_t before = tasks.moves();
                         on_frame(peer, frame);
                         return static_cast<size_t>(tasks.moves() - before);
                       },
                   .on_lost = [this](PeerId peer, PeerLoss loss) { on_lost(peer, loss); },
                   .on_shed =
                       [this](PeerId peer, std::span<const std::byte> frame, bool is_user_full) {
                         const std::string user = audit_name(principals.of(peer).get());
                         return shedding.shed(peer, user, frame, is_user_full, loop.now());
                       },
                   .principal_of = [this](PeerId peer) { return principals.of(peer); },
                   .on_flood = [this](PeerId peer,
                                      const std::string& user) { shedding.end_flood(peer, user); },
                   .pace_of =
                       [this](PeerId peer, const Principal* by) {
                         if (may_be_shed(options.core.policy, by)) return Pace::kUser;
                         return core != nullptr && core->is_daemon(peer) ? Pace::kNone
                                                                         : Pace::kConnection;
                       },
                   .name_of = [this](PeerId peer) { return name_of(peer); },
                   .may_serve = [this] { return !waits_for_disk(); }}),
        shedding(
            {.answer = [this](PeerId peer, uint64_t call,
                              const Error& why) { reply(peer, refusal(call, why)); },
             .end =
                 [this](PeerId peer, Error why) {
                   step(PeerShed{peer, std::move(why)});
                 },
             .cut =
                 [this](PeerId peer) {
                   router->cut(peer);
                   on_lost(peer, PeerLoss::kOverflow);
                 },
             .charge = [this](PeerId peer, int64_t arrivals) { router->charge(peer, arrivals); },
             .waits_for_disk = [this] { return waits_for_disk(); }}),
        principals({.origin_of = [this](PeerId peer) { return origin_of(peer); },
                    .find_key = [this](const PublicKey& key) { return find_key(key); },
                    .now = [this] { return loop.now(); }}),
        api({.loop = l,
             .core = core,
             .history = history,
             .events = events,
             .conditions = conditions,
             .forecaster = forecaster,
             .secrets = secrets,
             .policy = options.core.policy,
             .tell = [this](const std::vector<TraceEvent>& happened) { tell(happened); },
             .step = [this](MasterEvent event) { step(std::move(event)); },
             .send = [this](PeerId standby, proto::Call call) { send(standby, std::move(call)); },
             .join_token_reply = [this] { return join_token_reply(); }}),
        http_api({.loop = l,
                  .api = api,
                  .core = core,
                  .events = events,
                  .policy = options.core.policy,
                  .leader = [this] { return options.core.leader; },
                  .may_serve = [this] { return may_serve(); },
                  .waits_for_disk = [this] { return waits_for_disk(); }}) {}
  // While the lock is held, no other process owns the path.
  ~Impl() {
    if (history) history->finish(core->last_history(loop.now()));
    // The log is incomplete if the registry may have steps whose events were not logged.
    if (events) events->finish(outcome && leadership->store().pending() == 0);
    if (recorder) recorder->finish();
    router.reset();
    http.reset();
    if (socket_lock) ::unlink(socket.c_str());
  }

  Loop& loop;
  MasterShellOptions options;
  std::optional<DirectoryLock> data_lock;  // with an ensemble; without one it is the registry's
  std::unique_ptr<Leadership> leadership;
  std::unique_ptr<Master> core;              // nullptr: this master does not lead
  std::unique_ptr<History> history;          // nullptr: none is kept, or this master does not lead
  std::unique_ptr<EventLog> events;          // the same
  std::span<const std::byte> frame_in_hand;  // the frame of the event that is the next step
  std::unique_ptr<LogCheck> log_check;       // nullptr: this master does not lead
  bool is_id_new = false;                    // master_id was missing
  bool has_been_here = false;                // the data directory is of an earlier life
  std::unique_ptr<Recorder> recorder;        // nullptr: not recording, or not leading
  std::unique_ptr<ConditionKeeper> conditions;  // nullptr: this master does not lead
  std::unique_ptr<Forecaster> forecaster;       // the same
  std::unique_ptr<Router> router;
  Intake intake;
  std::unique_ptr<StandbyLink> link;  // nullptr: this master leads, or is the only one
  Shedding shedding;
  PeerPrincipals principals;
  std::unique_ptr<DaemonHttp> http;
  std::unique_ptr<Timer> timer;
  bool is_ending = false;
  std::unique_ptr<Timer> end_timer;
  std::string socket;  // its path, while socket_lock is held
  std::optional<DirectoryLock> socket_lock;
  std::optional<KeyPair> keys;      // the masters' key, if this master serves other machines
  Address tcp;                      // the address for other machines, if any, also before it leads
  std::optional<HeldPort> held;     // while it does not lead
  std::vector<Address> advertised;  // from its options
  Result<void> outcome;
  Secrets secrets;

  proto::Encoder encoder;
  MasterOutbox out;
  TraceLog trace;
  // The time of the first event that required a decision, until that decision is made.
  std::optional<Time> undecided_since;
  Hearing hearing;
  LatencyHistogram decisions;
  RegistryWrites writes;
  TaskCounts tasks;
  // These use the members above.
  Api api;
  HttpApi http_api;

  Result<void> start();
  Result<void> open_registry();
  Result<std::string> serve();
  Result<void> listen(const Address& at);
  Result<void> listen_by_keys();
  void gained(LeaderEpoch leader, const std::vector<StoreRecord>& rows);
  void lost(Error why);
  void end();
  void serve_last(PeerId peer, const Result<proto::Envelope>& envelope);
  bool may_serve() const;
  bool waits_for_disk() const;
  PeerPrincipals::Origin origin_of(PeerId peer) const;
  const KnownKey* find_key(const PublicKey& key) const;
  bool may_connect(const PublicKey& key);
  void drop_key(const PublicKey& key);
  void on_frame(PeerId peer, std::span<const std::byte> frame);
  void on_lost(PeerId peer, PeerLoss loss);
  void on_call(PeerId peer, const proto::Call& call);
  bool hears(PeerId peer);
  Result<std::string> join_token_reply() const;
  // Logs events of the core, or of this shell.
  void tell(const std::vector<TraceEvent>& happened);
  void begin_logs(const MasterSnapshot& snapshot);
  void begin_events();
  HistoryLogOptions history_log() const;
  HistoryLogOptions events_log() const;
  std::optional<Time> led_until(const MasterSnapshot& snapshot) const;
  Circumstances circumstances();
  void on_request(const HttpRequest& request, HttpResponder responder);
  void tick();
  LoopTimes::Name name_of(PeerId peer);
  void step(MasterEvent event);
  void deliver(std::vector<MasterAction> actions, std::optional<Time> decided_since);
  void send(PeerId peer, const proto::Envelope& envelope);
  void send(PeerId peer, proto::BoxedMessage message);  // without a session
  void reply(PeerId peer, proto::Reply message) { send(peer, std::move(message)); }
};

Result<void> MasterShell::Impl::start() {
  if (Result<void> opened = open_registry(); !opened) return opened;
  timer = std::make_unique<Timer>(loop, [this] { tick(); });
  Result<std::string> served = serve();
  if (!served) return std::move(served).error();
  Result<OwnMasterId> id = own_master_id(options.data_dir);
  if (!id) return std::move(id).error();
  options.core.master = std::move(id->id);
  is_id_new = id->is_new;
  options.core.name = *served;
  options.core.keeps_history = options.history_bytes > 0;
  options.core.history_age = options.history_age;
  if (options.zookeeper) {
    link = std::make_unique<StandbyLink>(
        loop, StandbyLink::Options{
                  .says = {.master = options.core.master,
                           .name = options.core.name,
                           .keeps_history = options.core.keeps_history},
                  .keys = keys,
                  .history = history_log(),
                  .events = options.events_bytes > 0 ? std::optional(events_log()) : std::nullopt,
                  .heartbeat = options.core.heartbeat});
  }

  Result<std::unique_ptr<DaemonHttp>> listening = DaemonHttp::listen(
      loop,
      {.socket = socket.empty() ? "" : http_socket_beside(socket),
       .port = options.http_port,
       .directory = options.data_dir,
       .names = options.http_names,
       .handler = [this](const HttpRequest& request,
                         HttpResponder responder) { on_request(request, std::move(responder)); },
       .encode_error = proto::error_json,
       .verbs_of = verbs_of,
       .connections_max = kMasterHttpConnectionsMax});
  if (!listening) return std::move(listening).error();
  http = *std::move(listening);

  leadership->campaign({.address = *served, .http_port = http->port()},
                       {.gained = [this](LeaderEpoch leader,
                                         std::vector<StoreRecord> rows) { gained(leader, rows); },
                        .follows =
                            [this](const std::optional<MasterPlace>& leader) {
                              LOG(INFO) << "master is a standby leader="
                                        << (leader ? leader->address : "unknown");
                              if (link) link->follow(leader);
                            },
                        .lost = [this](Error why) { lost(std::move(why)); }});
  if (!outcome) return outcome;
  LOG(INFO) << "master listens address=" << *served << " http=" << http->address()
            << " http_port=" << http->port();
  return write_file_atomically(options.data_dir + "/address.json",
                               proto::json_line({{"address", *served},
                                                 {"tcp", tcp.port == 0 ? "" : to_text(tcp)},
                                                 {"http", http->address()},
                                                 {"http_port", http->port()},
                                                 {"pid", static_cast<int64_t>(getpid())}}) +
                                   "\n");
}

Result<void> MasterShell::Impl::open_registry() {
  if (options.zookeeper) {
    Result<DirectoryLock> taken = DirectoryLock::take(options.data_dir);
    if (!taken) return std::move(taken).error();
    data_lock.emplace(*std::move(taken));
    const std::string alone = options.data_dir + "/registry.db";
    if (::access(alone.c_str(), F_OK) == 0) {
      return Error::failed_precondition(
                 text(quoted(alone),
                      " is the registry of a single master; with --zk its content would be lost"))
          .with_hint(
              "use another --data_dir, or move that registry away to start with an empty one");
    }
    leadership =
        std::make_unique<ZooKeeperLeadership>(loop, *options.zookeeper, random_secret().str());
    has_been_here = !traces_of_a_master(options.data_dir, events_log(), loop.now()).files.empty();
    return {};
  }
  const TracesOfAMaster traces = traces_of_a_master(options.data_dir, events_log(), loop.now());
  has_been_here = !traces.files.empty();
  Result<std::unique_ptr<SqliteStore>> opened =
      SqliteStore::open(options.data_dir,
                        [this](std::function<void()> work, std::function<void()> done) {
                          loop.work(std::move(work), std::move(done));
                        },
                        {.accepts_older = options.accepts_older_registry, .traces = traces});
  if (!opened) return std::move(opened).error();
  if (const std::string& remark = (*opened)->remark(); !remark.empty()) LOG(WARNING) << remark;
  leadership = std::make_unique<ElectedAtOnce>(*std::move(opened));
  if (options.accepts_older_registry) {
    LOG(WARNING) << "--accept_older_registry is set: a registry that lacks commits is accepted; "
                    "leave it out at the next start";
  }
  return {};
}

// The core begins its life here, with the rows of the registry.
void MasterShell::Impl::gained(LeaderEpoch leader, const std::vector<StoreRecord>& rows) {
  link.reset();  // This releases the event log.
  MasterSnapshot snapshot;
  for (const StoreRecord& record : rows) {
    Result<proto::RegistryRow> row = proto::decode_row(record.table, record.key, *record.value);
    if (!row) return lost(std::move(row).error().in("reading the registry"));
    snapshot.rows.push_back(*std::move(row));
  }
  if (Result<void> loaded = secrets.load(options.data_dir); !loaded) {
    return lost(std::move(loaded).error());
  }
  options.core.secrets_key = secrets.key_id();
  options.core.leader = leader;
  options.core.cluster_if_new = ClusterId(random_secret().str());
  options.core.started_at = loop.now();
  if (!options.record.empty()) {
    Result<std::unique_ptr<Recorder>> opened = Recorder::open(loop,
                                                              {.directory = options.record,
                                                               .bytes_max = options.record_bytes,
                                                               .version = options.version},
                                                              options.core, snapshot);
    if (opened) {
      recorder = *std::move(opened);
    } else {
      LOG(ERROR) << "the recording cannot begin: " << opened.error().message() << "; "
                 << opened.error().hint();
    }
  }
  core = std::make_unique<Master>(options.core, snapshot);
  begin_logs(snapshot);
  conditions = std::make_unique<ConditionKeeper>(loop, options.core.heartbeat,
                                                 [this] { return circumstances(); });
  forecaster = std::make_unique<Forecaster>(
      loop, *core, history.get(), ForecasterOptions{.directory = options.data_dir + "/forecast"});
  if (Result<void> listening = listen_by_keys(); !listening) {
    return lost(std::move(listening).error());
  }
  timer->arm(core->next_deadline());
  LOG(INFO) << "master leads leader=" << leader.value() << " records=" << rows.size();
}

// Checks for missing files before the logs are written.
void MasterShell::Impl::begin_logs(const MasterSnapshot& snapshot) {
  const LeaderEpoch leader = options.core.leader;
  has_been_here = has_been_here || (options.zookeeper == std::nullopt && leader.value() > 1);
  log_check = std::make_unique<LogCheck>(
      loop,
      LogCheck::Options{
          .leader = leader, .is_alone = !options.zookeeper, .has_been_here = has_been_here},
      [this](const std::vector<TraceEvent>& found) { tell(found); });
  if (options.core.keeps_history) {
    log_check->look(LogCheck::Kind::kHistory, history_log());
    history = std::make_unique<History>(
        loop,
        HistoryOptions{.log = history_log(), .leader = leader, .led_until = led_until(snapshot)});
  }
  if (options.events_bytes > 0) {
    log_check->look(LogCheck::Kind::kEvents, events_log());
    begin_events();
  }
  log_check->start();
  if (is_id_new && has_been_here) {
    LOG(WARNING) << "there was no " << proffer::quoted(options.data_dir + "/master_id")
                 << ": it was created, and this master counts as a new one";
  }
  if (const std::optional<Error> wrong = secrets.mismatch(*core)) {
    LOG(ERROR) << wrong->message() << "; " << wrong->hint();
  }
}

HistoryLogOptions MasterShell::Impl::history_log() const {
  return {.directory = options.data_dir + "/history",
          .bytes_max = options.history_bytes,
          .age_max = options.history_age};
}

HistoryLogOptions MasterShell::Impl::events_log() const {
  return {.directory = options.data_dir + "/events",
          .bytes_max = options.events_bytes,
          .age_max = options.history_age};
}

void MasterShell::Impl::begin_events() {
  proto::EventOwners owners;
  for (const proto::FrameworkRow& row : core->frameworks()) {
    owners[row.framework.str()] = {row.user, row.role.str()};
  }
  events = std::make_unique<EventLog>(
      loop, EventLogOptions{
                .log = events_log(), .leader = options.core.leader, .owners = std::move(owners)});
}

void MasterShell::Impl::tell(const std::vector<TraceEvent>& happened) {
  const Time now = loop.now();
  trace.write(happened, now.nanos() / 1'000'000'000);
  if (events) events->add(now, happened);
}

// The end of this master's last lead, if another master has led since.
std::optional<Time> MasterShell::Impl::led_until(const MasterSnapshot& snapshot) const {
  for (const proto::RegistryRow& row : snapshot.rows) {
    const auto* cluster = std::get_if<proto::ClusterRecord>(&row);
    if (cluster == nullptr) continue;
    for (const proto::LedMaster& led : cluster->led) {
      if (led.master == options.core.master) return led.until;
    }
  }
  return std::nullopt;
}

// Stops all work and all messages: the process ends, and its restart is a standby (ADR 0053).
void MasterShell::Impl::lost(Error why) {
  if (!outcome) return;
  LOG(ERROR) << "the master ends: " << why.message() << "; " << why.hint();
  outcome = std::move(why);
  timer->arm(std::nullopt);
  loop.stop();
}

// Another master leads after this one has given up its session with ZooKeeper. Until then no master
// would serve, so this one waits only for standbys that will soon have all events.
void MasterShell::Impl::end() {
  const bool is_second = std::exchange(is_ending, true);
  if (is_second || core == nullptr || events == nullptr || !outcome) return loop.stop();
  end_timer = std::make_unique<Timer>(loop, [this] { loop.stop(); });
  end_timer->arm(loop.now() + kLastEventsWithin);
  const auto finish = [this](const Result<void>& done) {
    if (done) events->finish();
    if (!api.is_standby_behind()) loop.stop();
  };
  // Events that wait for the registry have happened, so they are written before the end event.
  if (leadership->store().pending() == 0) return finish({});
  leadership->store().append({}, finish);
}

void MasterShell::Impl::serve_last(PeerId peer, const Result<proto::Envelope>& envelope) {
  const auto* call = envelope ? std::get_if<proto::Call>(&*envelope->message) : nullptr;
  if (call == nullptr || call->method != kFollowMethod) return;
  on_call(peer, *call);
  if (events->is_finished() && !api.is_standby_behind()) loop.stop();
}

bool MasterShell::Impl::may_serve() const {
  return core != nullptr && outcome && !is_ending && leadership->may_serve(loop.now());
}

// The store fails for good at kStoreQueuedMax; before that, frames wait until the disk is back.
bool MasterShell::Impl::waits_for_disk() const {
  return core != nullptr && leadership->store().pending() >= kStoreServedMax;
}

Result<void> MasterShell::Impl::listen(const Address& at) {
  if (router != nullptr) return router->listen(zmq_endpoint(at));
  const Router::Handlers handlers = {
      .on_frame = [this](PeerId peer,
                         ReceivedFrame frame) { intake.receive(peer, std::move(frame)); },
      .on_lost = [this](PeerId peer, PeerLoss loss) { intake.lost(peer, loss); },
      .on_shut = [](const std::string& what) { LOG_EVERY_T(WARNING, 1) << what; }};
  Router::Options router_options{.frames_per_turn = kReadAheadPerTurn,
                                 .turn_time_max = kReadTimeMax,
                                 .may_read = [this] { return intake.may_read(); }};
  if (options.keys) {
    router_options.keys =
        Router::Keys{.own = *options.keys,
                     .may_connect = [this](const PublicKey& key) { return may_connect(key); }};
  }
  Result<std::unique_ptr<Router>> bound =
      Router::bind(loop, zmq_endpoint(at), handlers, std::move(router_options));
  if (!bound) return std::move(bound).error();
  router = *std::move(bound);
  return {};
}

// A standby knows no keys, so its port is closed, and peers try the next master at once.
Result<void> MasterShell::Impl::listen_by_keys() {
  if (!keys) return {};
  if (Result<void> listening = listen(tcp); !listening) return listening;
  held.reset();
  LOG(INFO) << "serving other machines by keys address=" << to_text(tcp)
            << " key=" << keys->public_key.str();
  return {};
}

// Returns where it can be reached: the socket if there is one, and its port for peers of other
// masters.
Result<std::string> MasterShell::Impl::serve() {
  std::string served;
  if (options.tcp) {
    if (options.keys) {
      Result<HeldPort> port = HeldPort::take(*options.tcp);
      if (!port) return std::move(port).error();
      held.emplace(*std::move(port));
      tcp = held->address();
      keys = options.keys;
      principals.serve_by(keys->public_key);
      advertised = options.advertised;
      served = options.zookeeper ? reachable_at(tcp, advertised).front() : to_text(tcp);
    } else {
      if (Result<void> listening = listen(*options.tcp); !listening)
        return std::move(listening).error();
      tcp = {options.tcp->host, router->port()};
      served = to_text(tcp);
      LOG(WARNING) << "each user that can reach " << served << " has all the rights of user "
                   << user_name(geteuid()) << " here (--insecure_tcp)";
    }
  }
  if (options.socket.empty()) return served;
  Result<DirectoryLock> taken = DirectoryLock::take_socket(options.socket);
  if (!taken) {
    Error error = std::move(taken).error();
    if (!error.hint().empty()) return error;
    return std::move(error).with_hint("use another --socket");
  }
  socket_lock.emplace(*std::move(taken));
  socket = options.socket;
  const Address at = {.socket = socket};
  if (Result<void> listening = listen(at); !listening) return std::move(listening).error();
  return options.zookeeper && keys ? served : to_text(at);
}

PeerPrincipals::Origin MasterShell::Impl::origin_of(PeerId peer) const {
  return {.process = router->process_of(peer),
          .key = router->key_of(peer),
          .host = router->peer_address(peer)};
}

const KnownKey* MasterShell::Impl::find_key(const PublicKey& key) const {
  return core == nullptr ? nullptr : core->find_key(key, loop.now());
}

// Called in the handshake of each connection from another machine.
bool MasterShell::Impl::may_connect(const PublicKey& key) {
  if (key == keys->public_key) return true;  // another master, which is a standby
  if (find_key(key) != nullptr) return true;
  // The limit on log lines is not per key: a stranger can make any number of keys.
  tell({AuditRefused{.user = "unknown-key", .action = "connect", .of = key.str()}});
  return false;
}

void MasterShell::Impl::drop_key(const PublicKey& key) {
  for (const PeerId peer : principals.forget_key(key)) router->drop(peer);
}

void MasterShell::Impl::on_frame(PeerId peer, std::span<const std::byte> frame) {
  // The session may have ended while the frame waited.
  if (!router->has_session(peer) && !principals.knows(peer)) return;
  const PublicKey key = router->key_of(peer);
  if (!key.empty() && principals.of(peer) == nullptr) {
    principals.forget(peer);
    return router->drop(peer);
  }
  Result<proto::Envelope> envelope = proto::decode(frame);
  if (core == nullptr) {
    for (const proto::Envelope& answer : standby_answers(envelope, leadership->other_leader())) {
      send(peer, answer);
    }
    return;
  }
  if (is_ending) return serve_last(peer, envelope);
  if (!may_serve()) return;
  if (const KnownKey* known = key.empty() ? nullptr : find_key(key);
      known != nullptr && !known->replaces.empty()) {
    step(KeyUsed{key});
  }
  if (!envelope) return step(FrameMalformed{peer, std::move(envelope).error()});
  if (const auto* call = std::get_if<proto::Call>(&*envelope->message)) return on_call(peer, *call);
  if (const auto* answer = std::get_if<proto::Reply>(&*envelope->message);
      answer != nullptr && core->is_standby(peer)) {
    return api.history_calls().on_reply(peer, *answer);
  }
  frame_in_hand = frame;
  step(FrameReceived{peer, *std::move(envelope), principals.of(peer)});
}

void MasterShell::Impl::on_lost(PeerId peer, PeerLoss loss) {
  principals.forget(peer);
  shedding.forget(peer);
  api.history_calls().on_lost(peer);
  step(PeerLost{.peer = peer, .is_closed = loss == PeerLoss::kDisconnected});
}

void MasterShell::Impl::on_call(PeerId peer, const proto::Call& call) {
  const auto answer = [this, peer, id = call.id](Result<Page> page) {
    if (page) {
      return reply(peer, {.id = id, .json = std::move(page->json), .next = std::move(page->next)});
    }
    reply(peer, refusal(id, page.error()));
  };
  const PrincipalPtr by = principals.of(peer);
  const Route* const route = find_route(call.method);
  if (route == nullptr) return answer(unknown_method(call.method));
  const Api::Call wanted{.route = *route, .arguments = call.json, .by = by, .peer = peer};
  if (const Result<void> may = api.permit(wanted); !may) return answer(may.error());
  if (!route->changes() && !hears(peer)) return;
  api.call(wanted, answer);
}

// A peer that has disconnected gets no answer, because an answer may take milliseconds to make. A
// peer that does not read its answers is dropped.
bool MasterShell::Impl::hears(PeerId peer) {
  if (!router->is_connected(peer)) return false;
  if (router->queued(peer) < kCallsPerPeerMax &&
      router->queued_bytes(peer) < kUnreadBytesPerPeerMax) {
    return true;
  }
  shedding.cut(peer, kMisusedArrivals);
  return false;
}

Result<std::string> MasterShell::Impl::join_token_reply() const {
  if (keys) {
    return proto::join_token_reply_json({.master_key = keys->public_key,
                                         .addresses = reachable_at(tcp, advertised),
                                         .several = options.zookeeper.has_value()});
  }
  return Error::failed_precondition("this master serves only this machine")
      .with_hint("make its key with proffer keys init, then start proffer-master --port=5050");
}

Circumstances MasterShell::Impl::circumstances() {
  Circumstances now{.status = core->status(),
                    .agents = core->agents(),
                    .frameworks = core->frameworks(),
                    .roles = core->roles(),
                    .series = core->framework_series(loop.now()),
                    .loop = intake.times().most(loop.now()),
                    .oldest_write = writes.oldest(loop.now()),
                    .event_log = events ? events->trouble() : "",
                    .data_dir = options.data_dir};
  now.status.history = history ? history->trouble() : "";
  now.status.now = loop.now();
  return now;
}

void MasterShell::Impl::on_request(const HttpRequest& request, HttpResponder responder) {
  const bool is_api = request.path.starts_with(kApiPrefix);
  if (!is_api && request.method == "POST") {
    const std::string verbs = verbs_of(request.path);
    return responder.respond(
        405, kJsonType,
        proto::error_json(Error::unsupported(text(request.path, " takes ", verbs, ", not POST"))),
        {{"Allow", verbs}});
  }
  if (request.path == "/healthz") return responder.respond_text(200, "ok\n");
  if (core == nullptr && request.path == "/metrics") {
    return respond_metrics(
        loop, standby_metrics(trace, link ? link->events() : nullptr, wanted_format(request)),
        std::move(responder));
  }
  if (core == nullptr) {
    return answer_as_standby(request, leadership->other_leader(), std::move(responder));
  }
  if (!may_serve()) {
    return responder.respond_json(
        503, proto::error_json(Error::unavailable("this master is no longer the leader")
                                   .with_hint("try again: another master leads")));
  }
  if (request.path == "/metrics") {
    std::vector<proto::MasterRow> masters = core->masters();
    api.add_events_behind(masters);
    return respond_metrics(loop,
                           master_metrics({.core = *core,
                                           .leader = options.core.leader,
                                           .decisions = decisions,
                                           .history = history.get(),
                                           .events = events.get(),
                                           .router = *router,
                                           .inbox = intake.inbox(),
                                           .writes_waiting = leadership->store().pending(),
                                           .writes = writes,
                                           .tasks = tasks,
                                           .conditions = conditions->last(),
                                           .forecaster = *forecaster,
                                           .masters = masters,
                                           .shed = shedding.counters(),
                                           .trace = trace,
                                           .now = loop.now()},
                                          wanted_format(request)),
                           std::move(responder));
  }
  http_api.on_request(request, std::move(responder));
}

// As `proffer status` names it.
LoopTimes::Name MasterShell::Impl::name_of(PeerId peer) {
  // A peer whose session has just ended must not be remembered again.
  if (core == nullptr || !principals.knows(peer) || core->is_daemon(peer)) return {};
  const std::string user = audit_name(principals.of(peer).get());
  const FrameworkId framework = core->framework_of(peer);
  return {.object = framework.empty() ? text("calls of ", user) : framework.str(), .user = user};
}

void MasterShell::Impl::tick() {
  const Time now = loop.now();
  Tick tick{.is_deaf = hearing.is_deaf(now, router->read_until(now))};
  if (!intake.inbox().empty()) {
    for (const PeerId peer : core->silent_peers(now)) {
      if (intake.inbox().waiting(peer) > 0) tick.waiting.push_back(peer);
    }
  }
  step(std::move(tick));
}

// One event, one step. Messages leave only when the records of their step are on disk, so peers
// never learn of a decision that a restart could forget.
void MasterShell::Impl::step(MasterEvent event) {
  if (!may_serve()) return;
  out.clear();
  const Time now = loop.now();
  const bool decides = std::holds_alternative<Tick>(event);
  if (recorder) recorder->add(event, now, std::exchange(frame_in_hand, {}));
  core->handle(std::move(event), now, out);
  if (recorder) recorder->note_outcome(out);
  const std::optional<Time> deadline = core->next_deadline();
  std::optional<Time> decided_since;
  if (decides) {
    decided_since = std::exchange(undecided_since, std::nullopt);
  } else if (!undecided_since && deadline && *deadline <= now) {
    undecided_since = now;
  }
  trace.write(out.trace, now.nanos() / 1'000'000'000);
  forecaster->hear(out.trace, out.history);
  tasks.count(out.trace);
  if (history) history->add(std::exchange(out.history, {}));
  const bool is_quiet = out.actions.empty() &&
                        (events == nullptr || std::ranges::none_of(out.trace, EventLog::is_event));
  if (out.records.empty() && (is_quiet || leadership->store().pending() == 0)) {
    if (events) events->add(now, out.trace);
    deliver(std::move(out.actions), decided_since);
  } else {
    std::vector<StoreRecord> records;
    for (const proto::RegistryWrite& write : out.records) {
      StoreRecord record{.table = proto::table_of(write.row), .key = proto::key_of(write.row)};
      if (!write.erase) record.value = proto::encode_row(write.row);
      records.push_back(std::move(record));
    }
    writes.began(now);
    leadership->store().append(
        std::move(records), [this, decided_since, now, actions = std::move(out.actions),
                             happened = std::exchange(out.trace, {})](Result<void> done) mutable {
          writes.ended(loop.now());
          // Followers, like peers, get only events that a restart cannot revert.
          if (done && events) events->add(now, happened);
          if (done) return deliver(std::move(actions), decided_since);
          lost(std::move(done).error().in("the registry cannot be written"));
        });
  }
  timer->arm(deadline);
  hearing.expect(deadline);
}

void MasterShell::Impl::deliver(std::vector<MasterAction> actions,
                                std::optional<Time> decided_since) {
  if (!may_serve()) return;
  for (MasterAction& action : actions) {
    if (auto* message = std::get_if<Send>(&action)) {
      secrets.open(*message->envelope.message);
      send(message->peer, message->envelope);
      if (decided_since && std::holds_alternative<proto::Offers>(*message->envelope.message)) {
        decisions.record(loop.now() - *decided_since);
      }
    } else if (const auto* ended = std::get_if<Drop>(&action)) {
      router->drop(ended->peer);
      principals.forget(ended->peer);
      shedding.forget(ended->peer);
    } else if (auto* answer = std::get_if<Answer>(&action)) {
      api.answer(std::move(*answer));
    } else if (const auto* revoked = std::get_if<DropKey>(&action)) {
      drop_key(revoked->key);
    }
  }
}

void MasterShell::Impl::send(PeerId peer, const proto::Envelope& envelope) {
  const Result<std::span<const std::byte>> frame = encoder.encode(envelope);
  if (!frame) {  // The gap in the sequence ends that session; its peer registers again.
    LOG(ERROR) << "cannot send " << proto::message_name(*envelope.message) << ": "
               << frame.error().message();
    return;
  }
  router->send(peer, *frame);
}

void MasterShell::Impl::send(PeerId peer, proto::BoxedMessage message) {
  send(peer, proto::Envelope{.version = proto::kProtocolVersionMin,
                             .leader = LeaderEpoch(),
                             .sequence = 0,
                             .message = std::move(message)});
}

Result<std::unique_ptr<MasterShell>> MasterShell::start(Loop& loop, MasterShellOptions options) {
  auto impl = std::make_unique<Impl>(loop);
  impl->options = std::move(options);
  if (Result<void> started = impl->start(); !started) {
    return std::move(started).error();
  }
  return std::unique_ptr<MasterShell>(new MasterShell(std::move(impl)));
}

MasterShell::MasterShell(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MasterShell::~MasterShell() = default;
void MasterShell::end() { impl_->end(); }
const Result<void>& MasterShell::outcome() const { return impl_->outcome; }
bool MasterShell::was_deposed() const {
  if (!impl_->options.zookeeper || impl_->outcome) return false;
  return impl_->core != nullptr || impl_->outcome.error().code() == ErrorCode::kUnavailable;
}

}  // namespace proffer::master
