#pragma once

// One session with a ZooKeeper ensemble on the loop, with non-blocking requests and callbacks. It
// uses the official C client in its single-threaded form.
//
// If the connection is lost before a request is answered, the request is sent again on the next
// connection of the session. It is unknown whether the first attempt was carried out, so the answer
// states that there was more than one attempt. When the session ends (on_ended), pending requests
// are dropped without a callback.
//
// All nodes are made with an ACL that gives all rights to holders of the secret and none to others.
// Loop thread; callbacks come from the loop, never within a call.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "net/loop.h"

namespace proffer {

struct ZooKeeperOptions {
  std::string servers = {};  // "127.0.0.1:2181,127.0.0.1:2182"
  std::string root = {};     // the folder of this cluster: "/proffer"
  std::string secret = {};   // must not begin with ':' or contain line ends
  Duration session_timeout = seconds(4);
};

class ZooKeeperSession {
 public:
  enum class Status : uint8_t {
    kOk,
    kNoNode,
    kNodeExists,
    kBadVersion,
    kNoAuth,       // the node belongs to another secret
    kUnreachable,  // the connection was lost too often during the request: it may be too large
    kOther,
  };

  // One write of a transaction.
  struct Write {
    enum class Kind : uint8_t { kCreate, kCreateEphemeral, kSet, kErase };
    Kind kind = Kind::kCreate;
    std::string path = {};
    std::string data = {};
    int32_t version = -1;  // for kSet: the required version of the node; -1: any
  };

  struct Written {
    Status status = Status::kOk;
    size_t failed = 0;       // index of the failed write, if the status is not kOk
    int attempts = 1;        // above 1: an earlier attempt may have been carried out
    std::string error = {};  // the client's error text
  };

  struct Node {
    Status status = Status::kOk;
    std::string data = {};
    int32_t version = 0;
    int32_t children = 0;
    bool is_mine = false;  // an ephemeral node of this session
  };

  struct Children {
    Status status = Status::kOk;
    std::vector<std::string> names = {};  // in any order
  };

  struct Events {
    std::function<void()> on_connected = {};  // for the first time, or again
    std::function<void()> on_disconnected = {};
    // The session has ended, and its ephemeral nodes are gone, or will be. Called once.
    std::function<void()> on_ended = {};
  };

  ZooKeeperSession(Loop& loop, const ZooKeeperOptions& options, Events events);
  // Ends the session: its ephemeral nodes are removed at once if the ensemble can be reached.
  ~ZooKeeperSession();
  ZooKeeperSession(const ZooKeeperSession&) = delete;
  ZooKeeperSession& operator=(const ZooKeeperSession&) = delete;

  // All writes or none.
  void write(std::vector<Write> writes, std::function<void(Written)> done);
  void get(const std::string& path, std::function<void(Node)> done);
  void list(const std::string& path, std::function<void(Children)> done);
  // Involves most of the servers, and changes nothing: it proves that the session is alive.
  void sync(const std::string& path, std::function<void()> done);
  // Calls `gone` when the node does not exist (any more). Replaces an earlier watch on this path.
  void watch_gone(const std::string& path, std::function<void()> gone);

  bool is_connected() const;
  // The session cannot have expired before this time plus timeout(): the time at which the latest
  // answered write or sync was sent. Reads do not count: a single server answers them, which may
  // have lost the others without noticing that they let the session expire.
  std::optional<Time> last_answered() const;
  // As agreed with the ensemble, which may shorten or lengthen the requested one.
  Duration timeout() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
