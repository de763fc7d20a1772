#pragma once

// The leadership of one life of a simulated master in an Ensemble; like
// store/zookeeper_leadership.h, with the same Lease.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/ensemble.h"
#include "sim/world.h"
#include "store/leadership.h"
#include "store/lease.h"

namespace proffer::sim {

class EnsembleLeadership final : public Leadership {
 public:
  // `when_awake` calls its argument now, or when the master's process is awake again.
  EnsembleLeadership(World& world, Ensemble& ensemble,
                     std::function<void(std::function<void()>)> when_awake);
  // As after kill -9: requests on their way still arrive, and the session expires after its
  // timeout.
  ~EnsembleLeadership() override;

  void campaign(MasterPlace, Events events) override;
  bool may_serve(Time now) const override { return leads_ && lease_.holds(now); }
  Store& store() override { return store_; }
  std::optional<MasterPlace> other_leader() const override { return std::nullopt; }

  bool has_expired() const { return ensemble_.has_expired(session_); }

 private:
  class Writes final : public Store {
   public:
    explicit Writes(EnsembleLeadership& owner) : owner_(owner) {}
    void append(std::vector<StoreRecord> batch, Done done) override;
    size_t pending() const override { return waiting_.size() + in_flight_.size(); }

   private:
    void pump();
    void settle(const Result<void>& result);

    EnsembleLeadership& owner_;
    std::deque<std::pair<std::vector<StoreRecord>, Done>> waiting_;
    std::deque<Done> in_flight_;  // owed by the request on its way
  };

  void elected(Ensemble::Session session);
  // Runs `request` at the ensemble, then `answered` here; in order.
  template <class Answer>
  void ask(std::function<Answer()> request, std::function<void(Answer)> answered);
  void probe();
  void check_deadline();
  void lose(Error why);

  World& world_;
  Ensemble& ensemble_;
  const std::function<void(std::function<void()>)> when_awake_;
  Events events_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::optional<uint64_t> candidate_;
  Ensemble::Session session_ = 0;
  Time arrives_;  // the last request
  Time answers_;  // the answer to the last request
  Lease lease_;
  bool leads_ = false;
  bool is_over_ = false;
  Writes store_{*this};
};

}  // namespace proffer::sim
