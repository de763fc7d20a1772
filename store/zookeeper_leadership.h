#pragma once

// The election among masters that share a ZooKeeper ensemble. The leader is the one whose session
// owns the ephemeral node ROOT/leader; the others watch it, and the first to make it anew leads
// next. Then its epoch begins (store/zookeeper_store.h), which fences all leaders before it.
//
// How long a leader may serve is said by its Lease (store/lease.h).

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
  // `writer` is a word that no other process ever had or will have, without spaces. Its epoch will
  // not be below `epoch_at_least`.
  ZooKeeperLeadership(Loop& loop, ZooKeeperOptions options, std::string writer,
                      int64_t epoch_at_least = 0);
  // If it leads, another is elected at once.
  ~ZooKeeperLeadership() override;

  void campaign(MasterPlace here, Events events) override;
  bool may_serve(Time now) const override;
  Store& store() override;
  std::optional<MasterPlace> other_leader() const override { return other_; }
  // Whether another session leads, as ZooKeeper said while it was within reach. That leader may
  // have no address: `proffer registry` gives none.
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
  uint64_t sessions_ = 0;  // callbacks of earlier ones mean nothing
  bool is_connected_ = false;
  bool has_nodes_ = false;
  bool knows_leader_ = false;  // has heard in this session which master leads
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
