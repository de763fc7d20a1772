#pragma once

// Gangs of offers. The offers of a gang are reported to the author together and answered as one,
// even if the author accepts them one by one. Pure.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class GangAnswers {
 public:
  // A gang that is not launched: the part that the author had accepted, and its other offers.
  struct Ended {
    proto::Accept accepted = {};
    std::vector<OfferId> rest = {};
  };

  // The offers to report to the author now: offers without a gang, and the offers of gangs that are
  // complete with these. `asks` give the size of each gang. Other offers wait for the rest of their
  // gang.
  std::vector<Offer> arrive(const std::vector<Offer>& offers, const std::vector<Ask>& asks,
                            Time now);
  // True if one of these offers belongs to a gang.
  bool is_member(const std::vector<OfferId>& offers) const;
  // Adds an accept of valid offers, which are all of one gang or of none. Returns the accept for
  // all offers of the gang, or nothing while some of them have no answer.
  std::optional<proto::Accept> accept(const proto::Accept& accept);
  // Ends and returns the gangs of these offers, which were declined or rescinded.
  std::vector<Ended> end(const std::vector<OfferId>& offers);
  // Ends and returns the gangs whose lease has ended.
  std::vector<Ended> expire(Time now);
  // Ends and returns all gangs.
  std::vector<Ended> clear();
  size_t size() const { return gangs_.size(); }

 private:
  struct Gang {
    std::vector<Offer> waiting = {};  // not yet reported
    int64_t tasks = 0;                // tasks for which its offers were made
    std::set<OfferId> open = {};      // reported, and not answered
    proto::Accept accepted = {};
    Time expires = Time::far_future();
  };
  Ended take(std::map<uint64_t, Gang>::iterator gang);

  std::map<uint64_t, Gang> gangs_;
  std::map<OfferId, uint64_t> gang_of_;
};

}  // namespace proffer::sdk
