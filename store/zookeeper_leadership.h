#pragma once

// The election among masters that share a ZooKeeper ensemble. The leader's session owns the
// ephemeral node ROOT/leader. The others watch it, and the first to make it again leads next. Then
// its epoch begins (store/zookeeper_store.h), which fences all earlier leaders.
//
// Its Lease (store/lease.h) determines how long a leader may serve.

#include <memory>
#include <optional>
#include <string>

#include "net/loop.h"
#include "store/leadership.h"
#include "store/lease.h"
#include "store/zookeeper_session.h"
#include "store/zookeeper_store.h"

namespace proffer {

class ZooKeeperLeadership final : public Leadership {
 public:
  // `writer` is a word without spaces that no other process ever uses. The epoch will be at least
  // `epoch_at_least`.
  ZooKeeperLeadership(Loop& loop, ZooKeeperOptions options, std::string writer,
                      int64_t epoch_at_least = 0);
  // If this master leads, another one is elected at once.
  ~ZooKeeperLeadership() override;

  void campaign(MasterPlace here, Events events) override;
  bool may_serve(Time now) const override;
  Store& store() override;
  std::optional<MasterPlace> other_leader() const override { return other_; }
  // Whether another session leads, according to the last contact with ZooKeeper. That leader may
  // have no address: `proffer registry` has none.
  bool is_led_by_other() const { return is_connected_ && knows_leader_ && store_ == nullptr; }

 private:
  void begin_session();
  void session_ended();
  void make_nodes();
  void make_node(size_t next);
  void elect();
  void learn_leader();
  void elected();
  void follow(std::optional<MasterPlace> leader);
  void probe();
  void check_deadline();
  Lease lease() const;
  void lose(Error why);

  Loop& loop_;
  const ZooKeeperOptions options_;
  const std::string writer_;
  const int64_t epoch_at_least_;
  MasterPlace here_;
  Events events_;
  uint64_t sessions_ = 0;  // callbacks of earlier sessions are ignored
  bool is_connected_ = false;
  bool has_nodes_ = false;
  bool knows_leader_ = false;  // in this session, ZooKeeper has reported which master leads
  bool leads_ = false;
  bool is_over_ = false;
  bool is_probing_ = false;
  std::optional<MasterPlace> other_;
  std::unique_ptr<ZooKeeperSession> session_;
  std::unique_ptr<ZooKeeperStore> store_;  // destroyed before its session
  Timer probe_timer_;
  Timer deadline_timer_;
};

}  // namespace proffer
