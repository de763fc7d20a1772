// Runs the C client on the loop. `Impl::refresh` asks it which events to wait for, and
// `Impl::process` lets it work. Every callback of the client calls `Impl::settle`, which keeps a
// request for the next connection or completes it.

#include "store/zookeeper_session.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <sys/socket.h>
#include <zookeeper/zookeeper.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

using Status = ZooKeeperSession::Status;
using Write = ZooKeeperSession::Write;

// The maximum number of attempts per request. If a request is too large (jute.maxbuffer), the
// ensemble closes the connection without an error.
constexpr int kAttemptsMax = 10;
// Between rounds of connection attempts to all servers.
constexpr Duration kConnectPause = milliseconds(50);

Status status_of(int code) {
  switch (code) {
    case ZOK:
      return Status::kOk;
    case ZNONODE:
      return Status::kNoNode;
    case ZNODEEXISTS:
      return Status::kNodeExists;
    case ZBADVERSION:
      return Status::kBadVersion;
    case ZNOAUTH:
      return Status::kNoAuth;
    default:
      return Status::kOther;
  }
}

// Whether the request was not carried out, or that is unknown.
bool is_to_repeat(int code) {
  return code == ZCONNECTIONLOSS || code == ZOPERATIONTIMEOUT || code == ZSESSIONMOVED ||
         code == ZTHROTTLEDOP;
}

}  // namespace

struct ZooKeeperSession::Impl : std::enable_shared_from_this<ZooKeeperSession::Impl> {
  enum class Kind : uint8_t { kWrite, kGet, kList, kExists, kSync };
  // Owned by `requests`; the client has its number.
  struct Request {
    Kind kind = Kind::kGet;
    std::string path = {};
    std::vector<Write> writes = {};
    std::vector<zoo_op_result_t> results = {};
    std::function<void(Written)> on_written = {};
    std::function<void(Node)> on_node = {};
    std::function<void(Children)> on_children = {};
    std::function<void()> on_gone = {};
    std::function<void()> on_synced = {};
    int attempts = 0;
    Time sent = {};
  };
  // The context of a request in the client: the session and the request.
  struct Handle {
    Impl* impl = nullptr;
    uint64_t number = 0;
  };

  Loop& loop;
  ZooKeeperOptions options;
  Events events;
  zhandle_t* client = nullptr;
  std::unique_ptr<FdWatcher> watcher;
  Timer timer;
  bool is_refresh_due = false;
  bool is_in_client = false;
  bool is_connected = false;
  bool has_ended = false;
  std::optional<Time> last_answered;
  uint64_t numbers = 0;
  std::map<uint64_t, Request> requests;
  std::vector<uint64_t> to_send;                         // not given to the client yet
  std::map<std::string, std::function<void()>> watched;  // by path
  std::vector<std::function<void()>> answers;  // to be called when the client has returned

  Impl(Loop& on, const ZooKeeperOptions& o, Events e)
      : loop(on), options(o), events(std::move(e)), timer(on, [this] { process(0); }) {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // All relevant facts come as events.
    client = zookeeper_init(options.servers.c_str(), &on_watch,
                            static_cast<int>(options.session_timeout.millis()), nullptr, this, 0);
    CHECK(client != nullptr) << "zookeeper_init of " << options.servers;
    const std::string who = text("proffer:", options.secret);
    CHECK_EQ(
        zoo_add_auth(client, "digest", who.data(), static_cast<int>(who.size()), nullptr, nullptr),
        ZOK);
  }

  // --- the loop ---------------------------------------------------------------------------------

  // Called after each call of the client.
  void refresh_soon() {
    if (std::exchange(is_refresh_due, true)) return;
    loop.defer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->refresh();
    });
  }

  void refresh() {
    is_refresh_due = false;
    if (client == nullptr) return;
    watcher.reset();  // The client may close its descriptor at any time.
    int fd = -1;
    int interest = 0;
    timeval wait{};
    is_in_client = true;  // It may detect a lost connection here.
    const int code = zookeeper_interest(client, &fd, &interest, &wait);
    is_in_client = false;
    give_up_half_sent(fd);
    if (!answers.empty()) tell_soon();
    Duration until = seconds(wait.tv_sec) + microseconds(wait.tv_usec);
    if (code == ZINVALIDSTATE) return end();
    // After an error the descriptor is already closed.
    if (code != ZOK) fd = -1;
    if (fd == -1) until = std::max(until, kConnectPause);
    timer.arm(loop.now() + until);
    if (fd == -1) return;
    watcher = std::make_unique<FdWatcher>(
        loop, fd,
        FdWatcher::Events{.readable = (interest & ZOOKEEPER_READ) != 0,
                          .writable = (interest & ZOOKEEPER_WRITE) != 0},
        [this](FdWatcher::Events found) {
          process((found.readable ? ZOOKEEPER_READ : 0) | (found.writable ? ZOOKEEPER_WRITE : 0));
        });
  }

  // When a send fails, the client (3.8) closes the connection silently, opens another, and
  // continues there with the rest of the message. The server would not understand it, and the
  // client would wait for two thirds of the session timeout. Ending the connection makes the client
  // discard the message.
  void give_up_half_sent(int fd) {
    if (!is_connected || zoo_state(client) == ZOO_CONNECTED_STATE) return;
    is_connected = false;
    if (events.on_disconnected) answers.push_back(events.on_disconnected);
    if (fd != -1) ::shutdown(fd, SHUT_RDWR);
  }

  void process(int happened) {
    const auto self = shared_from_this();
    watcher.reset();
    if (client == nullptr) return;
    is_in_client = true;
    zookeeper_process(client, happened);
    is_in_client = false;
    is_refresh_due = true;  // It is called at the end, for all calls made meanwhile.
    tell();
    if (client == nullptr) return;
    if (is_unrecoverable(client) != ZOK) return end();
    if (is_connected) send_waiting();
    refresh();
  }

  // Callbacks of the owner are not called within the client, which they may destroy.
  void tell() {
    std::vector<std::function<void()>> ready;
    ready.swap(answers);
    for (const auto& one : ready) {
      if (client == nullptr) return;
      one();
    }
  }

  void tell_soon() {
    loop.defer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tell();
    });
  }

  void tell_later(std::function<void()> answer) {
    answers.push_back(std::move(answer));
    if (!is_in_client) tell_soon();
  }

  void end() {
    if (std::exchange(has_ended, true)) return;
    close();
    if (events.on_ended) {
      loop.defer([weak = weak_from_this(), fn = events.on_ended] {
        if (weak.lock() != nullptr) fn();
      });
    }
  }

  void close() {
    watcher.reset();
    timer.arm(std::nullopt);
    is_connected = false;
    zhandle_t* const closing = std::exchange(client, nullptr);
    // Calls the callbacks of pending requests, which find the session ended.
    if (closing != nullptr) zookeeper_close(closing);
    requests.clear();
    to_send.clear();
    answers.clear();
    watched.clear();
  }

  // --- requests ---------------------------------------------------------------------------------

  void add(Request request) {
    if (client == nullptr) return;
    const uint64_t number = ++numbers;
    requests.emplace(number, std::move(request));
    to_send.push_back(number);
    if (is_connected && !is_in_client) {
      send_waiting();
      refresh_soon();
    }
  }

  void send_waiting() {
    std::vector<uint64_t> ready;
    ready.swap(to_send);
    for (const uint64_t number : ready) {
      const auto at = requests.find(number);
      if (at != requests.end()) send(number, at->second);
    }
  }

  void send(uint64_t number, Request& request) {
    ++request.attempts;
    request.sent = loop.now();
    auto* const handle = new Handle{.impl = this, .number = number};
    int code = ZOK;
    const char* const path = request.path.c_str();
    switch (request.kind) {
      case Kind::kWrite:
        code = send_writes(request, handle);
        break;
      case Kind::kGet:
        code = zoo_aget(client, path, 0, &on_data, handle);
        break;
      case Kind::kList:
        code = zoo_aget_children(client, path, 0, &on_strings, handle);
        break;
      case Kind::kSync:
        code = zoo_async(client, path, &on_synced_string, handle);
        break;
      case Kind::kExists:
        code = zoo_awexists(client, path, &on_node_watch, this, &on_stat, handle);
        break;
    }
    if (code == ZOK) return;
    delete handle;
    settle(number, code, [&](Request& failed) { answer_with_status(failed, code); });
  }

  int send_writes(Request& request, Handle* handle) {
    std::vector<zoo_op_t> ops(request.writes.size());
    request.results.assign(request.writes.size(), {});
    for (size_t i = 0; i < ops.size(); ++i) {
      const Write& write = request.writes[i];
      const auto size = static_cast<int>(write.data.size());
      switch (write.kind) {
        case Write::Kind::kCreate:
        case Write::Kind::kCreateEphemeral:
          zoo_create_op_init(
              &ops[i], write.path.c_str(), write.data.data(), size, &ZOO_CREATOR_ALL_ACL,
              write.kind == Write::Kind::kCreateEphemeral ? ZOO_EPHEMERAL : 0, nullptr, 0);
          break;
        case Write::Kind::kSet:
          zoo_set_op_init(&ops[i], write.path.c_str(), write.data.data(), size, write.version,
                          nullptr);
          break;
        case Write::Kind::kErase:
          zoo_delete_op_init(&ops[i], write.path.c_str(), write.version);
          break;
      }
    }
    return zoo_amulti(client, static_cast<int>(ops.size()), ops.data(), request.results.data(),
                      &on_void, handle);
  }

  // Keeps the request for the next connection, or removes it and calls `answer` with it.
  void settle(uint64_t number, int code, const std::function<void(Request&)>& answer) {
    const auto at = requests.find(number);
    if (client == nullptr || at == requests.end()) return;
    const bool is_given_up = at->second.attempts >= kAttemptsMax;
    if (is_to_repeat(code) && !is_given_up) {
      to_send.push_back(number);
      return;
    }
    const bool is_of_all = at->second.kind == Kind::kWrite || at->second.kind == Kind::kSync;
    if (is_of_all && !is_to_repeat(code) && code != ZINVALIDSTATE && code != ZSESSIONEXPIRED &&
        code != ZCLOSING) {
      last_answered = std::max(last_answered.value_or(at->second.sent), at->second.sent);
    }
    // The session has ended: process() detects this next.
    if (code == ZINVALIDSTATE || code == ZSESSIONEXPIRED || code == ZCLOSING) return;
    Request done = std::move(at->second);
    requests.erase(at);
    answer(done);
  }

  static Status status_of_failure(int code) {
    return is_to_repeat(code) ? Status::kUnreachable : status_of(code);
  }

  void answer_with_status(Request& request, int code) {
    const Status status = status_of_failure(code);
    if (request.on_written) {
      Written written{.status = status, .attempts = request.attempts, .error = zerror(code)};
      for (size_t i = 0; i < request.results.size(); ++i) {
        const int failed = request.results[i].err;
        if (failed == ZOK || failed == ZRUNTIMEINCONSISTENCY) continue;
        written.failed = i;
        break;
      }
      tell_later(
          [fn = std::move(request.on_written), written = std::move(written)] { fn(written); });
    }
    if (request.on_node) {
      tell_later([fn = std::move(request.on_node), status] { fn(Node{.status = status}); });
    }
    if (request.on_synced) tell_later(std::move(request.on_synced));
    if (request.on_children) {
      tell_later([fn = std::move(request.on_children), status] { fn(Children{.status = status}); });
    }
  }

  // --- the client's callbacks -------------------------------------------------------------------

  static void with(const void* data, int code, const std::function<void(Impl&, Request&)>& answer) {
    const std::unique_ptr<const Handle> handle(static_cast<const Handle*>(data));
    Impl& impl = *handle->impl;
    impl.settle(handle->number, code, [&](Request& request) { answer(impl, request); });
  }

  static void on_void(int code, const void* data) {
    with(data, code,
         [code](Impl& impl, Request& request) { impl.answer_with_status(request, code); });
  }

  static void on_data(int code, const char* value, int size, const Stat* stat, const void* data) {
    with(data, code, [&](Impl& impl, Request& request) {
      if (code != ZOK) return impl.answer_with_status(request, code);
      Node node{.version = stat->version, .children = stat->numChildren};
      if (size > 0) node.data.assign(value, static_cast<size_t>(size));
      node.is_mine = stat->ephemeralOwner != 0 &&
                     stat->ephemeralOwner == zoo_client_id(impl.client)->client_id;
      impl.tell_later([fn = std::move(request.on_node), node = std::move(node)] { fn(node); });
    });
  }

  static void on_strings(int code, const String_vector* strings, const void* data) {
    with(data, code, [&](Impl& impl, Request& request) {
      if (code != ZOK) return impl.answer_with_status(request, code);
      Children children;
      for (int i = 0; i < strings->count; ++i) children.names.emplace_back(strings->data[i]);
      impl.tell_later(
          [fn = std::move(request.on_children), children = std::move(children)] { fn(children); });
    });
  }

  static void on_synced_string(int code, const char*, const void* data) {
    with(data, code,
         [](Impl& impl, Request& request) { impl.tell_later(std::move(request.on_synced)); });
  }

  static void on_stat(int code, const Stat*, const void* data) {
    with(data, code, [code](Impl& impl, Request& request) {
      if (code == ZOK) {
        impl.watched[request.path] = std::move(request.on_gone);
        return;
      }
      impl.tell_later(std::move(request.on_gone));
    });
  }

  // For a watched node.
  static void on_node_watch(zhandle_t*, int type, int, const char* path, void* context) {
    auto& impl = *static_cast<Impl*>(context);
    if (impl.client == nullptr || type == ZOO_SESSION_EVENT || path == nullptr) return;
    const auto at = impl.watched.find(path);
    if (at == impl.watched.end()) return;
    impl.tell_later(std::move(at->second));
    impl.watched.erase(at);
  }

  // For the session.
  static void on_watch(zhandle_t* handle, int type, int state, const char*, void*) {
    auto* const impl = static_cast<Impl*>(const_cast<void*>(zoo_get_context(handle)));
    if (type != ZOO_SESSION_EVENT || impl == nullptr || impl->client == nullptr) return;
    const bool was_connected = std::exchange(impl->is_connected, state == ZOO_CONNECTED_STATE);
    if (impl->is_connected == was_connected) return;
    const auto& told =
        impl->is_connected ? impl->events.on_connected : impl->events.on_disconnected;
    if (told) impl->tell_later(told);
  }
};

ZooKeeperSession::ZooKeeperSession(Loop& loop, const ZooKeeperOptions& options, Events events)
    : impl_(std::make_shared<Impl>(loop, options, std::move(events))) {
  impl_->refresh_soon();
}

ZooKeeperSession::~ZooKeeperSession() { impl_->close(); }

void ZooKeeperSession::write(std::vector<Write> writes, std::function<void(Written)> done) {
  CHECK(!writes.empty());
  impl_->add(
      {.kind = Impl::Kind::kWrite, .writes = std::move(writes), .on_written = std::move(done)});
}

void ZooKeeperSession::get(const std::string& path, std::function<void(Node)> done) {
  impl_->add({.kind = Impl::Kind::kGet, .path = path, .on_node = std::move(done)});
}

void ZooKeeperSession::list(const std::string& path, std::function<void(Children)> done) {
  impl_->add({.kind = Impl::Kind::kList, .path = path, .on_children = std::move(done)});
}

void ZooKeeperSession::sync(const std::string& path, std::function<void()> done) {
  impl_->add({.kind = Impl::Kind::kSync, .path = path, .on_synced = std::move(done)});
}

void ZooKeeperSession::watch_gone(const std::string& path, std::function<void()> gone) {
  impl_->add({.kind = Impl::Kind::kExists, .path = path, .on_gone = std::move(gone)});
}

bool ZooKeeperSession::is_connected() const { return impl_->is_connected; }
std::optional<Time> ZooKeeperSession::last_answered() const { return impl_->last_answered; }

Duration ZooKeeperSession::timeout() const {
  const int agreed = impl_->client == nullptr ? 0 : zoo_recv_timeout(impl_->client);
  return agreed > 0 ? milliseconds(agreed) : impl_->options.session_timeout;
}

}  // namespace proffer
