// campaign and elected lead to the lead; probe keeps it, and check_deadline ends it.

#include "sim/ensemble_leadership.h"

#include <algorithm>
#include <utility>

namespace proffer::sim {

EnsembleLeadership::EnsembleLeadership(World& world, Ensemble& ensemble,
                                       std::function<void(std::function<void()>)> when_awake)
    : world_(world),
      ensemble_(ensemble),
      when_awake_(std::move(when_awake)),
      lease_{.session_timeout = ensemble.session_timeout()} {}

EnsembleLeadership::~EnsembleLeadership() {
  if (candidate_) ensemble_.withdraw(*candidate_);
}

void EnsembleLeadership::campaign(MasterPlace, Events events) {
  events_ = std::move(events);
  candidate_ = ensemble_.campaign([this](Ensemble::Session session) {
    candidate_.reset();
    // It was alive at this moment, and receives the answer later.
    lease_.answered = world_.now();
    world_.after(ensemble_.delay(), [this, session, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) elected(session);
    });
  });
}

template <class Answer>
void EnsembleLeadership::ask(std::function<Answer()> request,
                             std::function<void(Answer)> answered) {
  const Time sent = world_.now();
  arrives_ = std::max({arrives_, sent + ensemble_.delay(), ensemble_.reachable_at(session_)});
  answers_ = std::max(answers_, arrives_ + ensemble_.delay());
  world_.at(arrives_, [this, sent, answers = answers_, request = std::move(request),
                       answered = std::move(answered), &world = world_,
                       alive = std::weak_ptr<bool>(alive_)]() mutable {
    world.at(answers, [this, sent, answer = request(), answered = std::move(answered),
                       alive = std::move(alive)]() mutable {
      if (alive.expired()) return;
      when_awake_([this, sent, answer = std::move(answer), answered = std::move(answered), alive] {
        if (alive.expired() || is_over_) return;
        lease_.answered = std::max(lease_.answered.value_or(sent), sent);
        answered(answer);
      });
    });
  });
}

void EnsembleLeadership::elected(Ensemble::Session session) {
  session_ = session;
  probe();
  const std::weak_ptr<bool> alive = alive_;
  check_deadline();  // this may end this object
  if (alive.expired() || is_over_) return;
  ask<Result<LeaderEpoch>>(
      [&ensemble = ensemble_, session] { return ensemble.begin_epoch(session); },
      [this](const Result<LeaderEpoch>& epoch) {
        if (!epoch) return lose(epoch.error());
        using Rows = Result<std::vector<StoreRecord>>;
        ask<Rows>([&ensemble = ensemble_, session = session_] { return ensemble.load(session); },
                  [this, epoch = *epoch](const Rows& rows) {
                    if (!rows) return lose(rows.error());
                    leads_ = true;
                    events_.gained(epoch, *rows);
                  });
      });
}

void EnsembleLeadership::probe() {
  if (is_over_) return;
  ask<bool>([&ensemble = ensemble_, session = session_] { return ensemble.hear(session); },
            [this](bool is_alive) {
              if (!is_alive) lose(Error::unavailable("the session has expired"));
            });
  world_.after(lease_.probe_every(), [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    when_awake_([this, alive] {
      if (!alive.expired()) probe();
    });
  });
}

void EnsembleLeadership::check_deadline() {
  if (is_over_) return;
  if (!lease_.holds(world_.now())) {
    return lose(Error::unavailable("the session may have expired"));
  }
  world_.at(*lease_.ends(), [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    when_awake_([this, alive] {
      if (!alive.expired()) check_deadline();
    });
  });
}

void EnsembleLeadership::lose(Error why) {
  if (std::exchange(is_over_, true)) return;
  leads_ = false;
  const auto lost = events_.lost;  // this may end this object
  lost(std::move(why));
}

// --- the store -----------------------------------------------------------------------------------

void EnsembleLeadership::Writes::append(std::vector<StoreRecord> batch, Done done) {
  waiting_.emplace_back(std::move(batch), std::move(done));
  pump();
}

// Waiting writes share one request.
void EnsembleLeadership::Writes::pump() {
  if (!in_flight_.empty() || waiting_.empty()) return;
  std::vector<StoreRecord> group;
  for (auto& [batch, done] : waiting_) {
    std::move(batch.begin(), batch.end(), std::back_inserter(group));
    in_flight_.push_back(std::move(done));
  }
  waiting_.clear();
  owner_.ask<Result<void>>(
      [&ensemble = owner_.ensemble_, session = owner_.session_,
       group = std::move(group)]() mutable { return ensemble.commit(session, std::move(group)); },
      [this](const Result<void>& result) { settle(result); });
}

void EnsembleLeadership::Writes::settle(const Result<void>& result) {
  const std::weak_ptr<bool> alive = owner_.alive_;
  const std::deque<Done> owed = std::exchange(in_flight_, {});
  for (const Done& done : owed) {
    done(result);
    if (alive.expired()) return;
  }
  pump();
}

}  // namespace proffer::sim
