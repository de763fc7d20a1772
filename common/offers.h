#pragma once

// What frameworks want and what they are offered, as values: the allocator decides in these terms
// and messages carry them unchanged.

#include <string>
#include <vector>

#include "common/attributes.h"
#include "common/ids.h"
#include "common/resources.h"
#include "common/time.h"

namespace proffer {

// What a framework declares it could use: `count` further tasks of one shape. The count is of tasks
// not yet launched; launching a task that names the ask lowers it, declaring replaces it.
struct Ask {
  AskName name = {};
  ResourceVector shape = {};
  int64_t count = 0;
  std::vector<Constraint> constraints = {};
  int64_t ports = 0;     // dynamic ports that each task will want; an agent needs so many free
  int32_t priority = 0;  // within the framework; higher first
  RoleName role = {};    // empty: the framework's own

  bool operator==(const Ask&) const = default;
};

// How a framework takes resources: to the measure of its asks, or as classic open offers.
enum class OfferMode : uint8_t { kAsks, kOpen };

// A part of one agent's resources with one reservation state; what offers are made of.
struct Slice {
  Resources resources = {};
  RoleName reserved_for = {};  // empty: unreserved
  bool revocable = false;

  bool operator==(const Slice&) const = default;
};

// How many tasks of which ask an offer was made for.
struct AskFill {
  AskName ask = {};
  int64_t count = 0;
  bool operator==(const AskFill&) const = default;
};

// Slices of one agent proposed to one framework under one role. A lease: it ends at `expires`.
struct Offer {
  OfferId id = {};
  AgentId agent = {};
  Attributes attributes = {};
  std::vector<Slice> slices = {};
  std::vector<AskFill> fills = {};  // empty for an open offer
  PortSet ports = {};               // the agent's free ports, for information: taken at launch
  Duration lease = {};              // from when the master sent it

  Resources total() const {
    Resources sum;
    for (const Slice& slice : slices) sum += slice.resources;
    return sum;
  }
  bool operator==(const Offer&) const = default;
};

// Why a framework declines: the offer had too little of a kind, or a wrong agent. An agent declined
// for a reason comes again only when it has more of what was missing.
struct Refusal {
  Duration refuse_for = {};                   // without a reason; zero: no filter
  std::vector<ResourceKind> too_little = {};  // of these kinds
  bool wrong_agent = false;                   // its attributes: until it registers with others

  bool operator==(const Refusal&) const = default;
};

}  // namespace proffer
