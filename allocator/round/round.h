#pragma once

// One decision, in phases: events due by time (leases, filters, waits for claims); asks, first by
// unmet guarantee, then by least share; open offers of the rest; reclaims for asks that are owed
// resources; claims for asks that starve. At the end grants become offers. A Round lives for one
// decision.
//
//   round.cc        the phases; begin with decide()
//   filling.cc      progressive filling over the asks
//   many.cc         the same for many tasks at once, while resources are plentiful
//   gangs.cc        several tasks at once or none
//   open_offers.cc  offers to frameworks without asks
//   lend.cc         lends resources that are set aside or only estimated to be free
//   turns.h         selects the leaf whose turn it is

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocator/round/decision_record.h"
#include "allocator/round/turns.h"
#include "allocator/round/water_filling.h"
#include "allocator/waiting/waiting.h"

namespace proffer::fair {

struct Denial;

class Round {
 public:
  Round(Cluster& cluster, Waiting& waiting, Time now)
      : cluster_(cluster), waiting_(waiting), now_(now), turns_(cluster) {}
  Round(const Round&) = delete;

  Decision decide();
  // Call after decide().
  DecisionRecord take_record() { return std::move(record_); }

 private:
  // The resources of one agent for one leaf; becomes a grant at the end. Gangs, revocable resources
  // and each time limit have drafts of their own.
  struct Draft {
    Leaf* leaf = nullptr;
    Agent* agent = nullptr;
    uint64_t gang = 0;
    bool revocable = false;
    Duration max_run_time = {};  // not zero: uses resources kept for a claim
    std::vector<Slice> slices = {};
    std::vector<AskFill> fills = {};
    int64_t ports = 0;
    bool in_proportion = false;  // an open offer that is smaller than the leaf might have had
  };
  // A hash table of the drafts; looked up, never walked. It has room for all drafts and a new one.
  class DraftTable {
   public:
    static constexpr size_t kNone = ~size_t{0};
    // The index of the draft; kNone if there is none: a caller that creates the draft sets it.
    size_t& place_of(const std::vector<Draft>& drafts, const Leaf& leaf, const Agent& agent,
                     uint64_t gang, bool revocable, Duration max_run_time);

   private:
    std::vector<size_t> places_;  // a power of two, half of them empty
  };

  // --- round.cc --------------------------------------------------------------------------------
  void let_time_pass();
  void end_leases();
  std::vector<SharedGrant> make_offers();
  // Returns frozen leaves to the orders: another ask may fit, or more is free.
  void thaw(bool more_is_free);
  bool less_is_held(uint64_t grants_before);
  bool less_is_withheld();

  // --- filling.cc ------------------------------------------------------------------------------
  void fill_asks();
  void fill_owed();
  void keep_places();
  void give_place(AskEntry& ask, Agent& agent);
  bool comes_before_claim(const AskEntry& ask, const Agent& agent) const;
  Agent* kept_place(const AskEntry& ask, Agent& agent) const;
  void ask_withheld();
  void fill();
  const LeafOrder& those_owed() const;
  bool is_withheld(const Leaf& leaf);
  bool may_fit_someone(const Agent& agent) const;
  bool comes_with_owed(const AskEntry& ask, const Turn& turn) const;
  bool give_to_asks(const Turn& turn, const LeafOrder& order);
  Agent* place(AskEntry& ask) const;
  bool give_of_claims(AskEntry& ask, const Turn& turn, const LeafOrder& order);
  bool give_of_claim(AskEntry& ask, Agent& agent, const Turn& turn, const LeafOrder& order);
  // Gives the ask at most `most` tasks.
  void give(AskEntry& ask, Agent& agent, const Turn& turn, const LeafOrder& order,
            int64_t most = kAmountMax);
  // The same for tasks of a batch, regardless of the leaf's present order. Returns the number
  // given.
  int64_t give_of(const Batch& batch, int64_t left, Agent& agent);
  void give_tasks(AskEntry& ask, Agent& agent, const Turn& turn, int64_t count, Rank before_last);
  int64_t tasks_in_turn(const Leaf& leaf, const AskEntry& ask, int64_t count_max,
                        const LeafOrder& order, Rank* before_last) const;
  void note_given(AskEntry& ask, bool from_claim);
  void note_denied(Leaf& leaf, const Denial& denied);
  // Returns the draft that contains the grant; valid until the next grant. `max_run_time`: not zero
  // if the grant uses resources kept for a claim.
  Draft& grant(Leaf& leaf, Agent& agent, std::vector<Slice> slices, AskEntry* ask, int64_t count,
               uint64_t gang = 0, Duration max_run_time = {});
  void freeze(Leaf& leaf);

  // --- many.cc ---------------------------------------------------------------------------------
  void fill_many(const LeafOrder& order);
  WaterFilling::Wish wish_of(Leaf& leaf) const;

  // --- gangs.cc --------------------------------------------------------------------------------
  bool give_gang(AskEntry& ask, const Turn& turn);

  // --- open_offers.cc --------------------------------------------------------------------------
  bool fill_open();
  bool give_kept_place(const Turn& turn, const LeafOrder& order);
  bool give_fair_piece(const Turn& turn, const LeafOrder& order);
  bool give_claimed_place(const Turn& turn, const LeafOrder& order);
  ResourceVector probe_of(const Leaf& leaf) const;
  bool give_whole_agent(const Turn& turn, std::vector<Leaf*>& refused);
  void note_permitted(Leaf& leaf, const Agent& agent);
  bool is_open(const Leaf& leaf, const Agent& agent) const;
  struct OpenPlace {
    Agent* agent = nullptr;
    bool some_denied =
        false;  // an agent is open to the leaf, but rules deny the leaf its resources
  };
  OpenPlace place_open(Leaf& leaf, const ResourceVector& most);
  bool has_piece(const Leaf& leaf, const Agent& agent, const ResourceVector& most) const;

  // --- lend.cc ---------------------------------------------------------------------------------
  bool lend();
  bool lend_to(Leaf& leaf);
  bool backfill(AskEntry& ask);
  bool may_backfill_on(const AskEntry& ask, const Agent& agent) const;
  bool may_backfill(const AskEntry& ask, const AskEntry& claimant);

  Cluster& cluster_;
  Waiting& waiting_;
  const Time now_;
  Turns turns_;
  std::vector<Draft> drafts_;
  mutable DraftTable drafts_by_hash_;
  uint64_t grants_made_ = 0;
  std::vector<Leaf*> frozen_;  // outside the orders for the rest of this decision
  Claims::FirstWithDue first_with_due_;
  bool own_only_ = false;   // in this phase asks get nothing that others leave
  bool owed_only_ = false;  // in this phase only owed tasks are given
  // Leaves with an ask that got nothing because of these phases, and whether they were untried.
  std::vector<std::pair<Leaf*, bool>> withheld_;
  // The progress of an open leaf through the agents, the one with most free first.
  struct OpenCursor {
    uint64_t stamp = 0;  // void once other agents have been stamped
    uint64_t since = 0;
    int64_t key = 0;
    const Agent* agent = nullptr;  // the last agent given; nullptr: none
    bool is_at_end = false;
  };
  std::unordered_map<const Leaf*, OpenCursor> open_cursors_;  // looked up only
  std::vector<Leaf*> looked_;        // open leaves that have looked at all agents
  std::vector<Leaf*> open_untried_;  // leaves that were untried before the asks were filled
  DecisionRecord record_;
  // The completion times of claims, while resources are lent; looked up, never walked.
  std::map<const AskEntry*, std::optional<Time>> complete_at_;
};

}  // namespace proffer::fair
