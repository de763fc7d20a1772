#pragma once

// One session with a ZooKeeper ensemble on the loop: requests with callbacks, and nothing that
// blocks. Built on the official C client in its single-threaded form.
//
// A request whose connection was lost before its answer is sent again when the session is connected
// again; nobody knows whether the first one was carried out, so the answer says that there was more
// than one attempt. When the session ends (on_ended), requests under way are forgotten: none of
// their callbacks is called.
//
// All nodes are made with an ACL that gives all rights to holders of the secret and none to
// others. Loop thread; callbacks are called from the loop, never from within a call.

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
  std::string secret = {};   // without ':' at its start and without line ends
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
    kUnreachable,  // lost too often while it was under way: perhaps it is too large
    kOther,
  };

  // One of a transaction.
  struct Write {
    enum class Kind : uint8_t { kCreate, kCreateEphemeral, kSet, kErase };
    Kind kind = Kind::kCreate;
    std::string path = {};
    std::string data = {};
    int32_t version = -1;  // of kSet: which one the node must have; -1: any
  };

  struct Written {
    Status status = Status::kOk;
    size_t failed = 0;       // which write it was, if the status is not kOk
    int attempts = 1;        // above 1: an earlier one may have been carried out
    std::string error = {};  // the client's words
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
    std::vector<std::string> names = {};  // in no order
  };

  struct Events {
    std::function<void()> on_connected = {};  // for the first time, or again
    std::function<void()> on_disconnected = {};
    // The session is over and its ephemeral nodes are gone, or will be. Told once.
    std::function<void()> on_ended = {};
  };

  ZooKeeperSession(Loop& loop, const ZooKeeperOptions& options, Events events);
  // Ends the session: its ephemeral nodes go at once if the ensemble can be reached.
  ~ZooKeeperSession();
  ZooKeeperSession(const ZooKeeperSession&) = delete;
  ZooKeeperSession& operator=(const ZooKeeperSession&) = delete;

  // All writes or none.
  void write(std::vector<Write> writes, std::function<void(Written)> done);
  void get(const std::string& path, std::function<void(Node)> done);
  void list(const std::string& path, std::function<void(Children)> done);
  // Goes through most of the servers, and changes nothing: a sign that the session is alive.
  void sync(const std::string& path, std::function<void()> done);
  // `gone` once the node is not there (any more). Replaces what watched this path before.
  void watch_gone(const std::string& path, std::function<void()> gone);

  bool is_connected() const;
  // The session cannot have expired before this time plus timeout(): when the latest write or sync
  // was sent that has been answered. What is only read is answered by a single server, which may
  // have lost the others, and not know that they let the session expire.
  std::optional<Time> last_answered() const;
  // As agreed with the ensemble, which may allow less or more than was asked for.
  Duration timeout() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
