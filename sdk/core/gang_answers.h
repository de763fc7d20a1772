#pragma once

// Gangs of offers, which are told to the author together and answered as one, whether the author
// accepts them one by one or at once. Pure.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class GangAnswers {
 public:
  // A gang that is not launched: what the author had accepted of it, and its other offers.
  struct Ended {
    proto::Accept accepted = {};
    std::vector<OfferId> rest = {};
  };

  // What of these is told to the author now: offers of no gang, and gangs that are complete with
  // them, by what `asks` say of their size. Others wait for the rest.
  std::vector<Offer> arrive(const std::vector<Offer>& offers, const std::vector<Ask>& asks,
                            Time now);
  // Whether it names an offer of a gang.
  bool is_member(const std::vector<OfferId>& offers) const;
  // An accept of valid offers, all of one gang or none; nothing if offers of it are still to be
  // answered, else the accept of all of them.
  std::optional<proto::Accept> accept(const proto::Accept& accept);
  // The gangs that end because these of their offers are declined or rescinded.
  std::vector<Ended> end(const std::vector<OfferId>& offers);
  // The gangs with a lease that has ended.
  std::vector<Ended> expire(Time now);
  // All.
  std::vector<Ended> clear();
  size_t size() const { return gangs_.size(); }

 private:
  struct Gang {
    std::vector<Offer> waiting = {};  // not yet told
    int64_t tasks = 0;                // that its offers were made for
    std::set<OfferId> open = {};      // told, and not answered
    proto::Accept accepted = {};
    Time expires = Time::far_future();
  };
  Ended take(std::map<uint64_t, Gang>::iterator gang);

  std::map<uint64_t, Gang> gangs_;
  std::map<OfferId, uint64_t> gang_of_;
};

}  // namespace proffer::sdk
