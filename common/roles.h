#pragma once

// The tree of roles: names, weights, quota.

#include <array>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/resources.h"
#include "common/result.h"

namespace proffer {

// Names of [A-Za-z0-9._-] joined by '/', at most kRoleBytesMax. Errors: kInvalidArgument.
Result<RoleName> parse_role(std::string_view text);

// Milli-weights by role. A role that is not listed has kWeightOne.
using RoleWeights = std::map<RoleName, int64_t>;

// "ads=2,batch=0.5". Errors: kInvalidArgument names the part: no '=', a wrong role or a role given
// twice, a weight outside 0.001 to 1000. Empty text is no weights.
Result<RoleWeights> parse_role_weights(std::string_view text);

// The role above: "eng" of "eng/ads"; empty of one at the top.
RoleName parent_of(const RoleName& role);
// Whether `role` is `ancestor` or below it. All roles are below the empty one, which is the root.
bool is_within(const RoleName& role, const RoleName& ancestor);

// Amounts of some kinds, a guarantee or a limit. A kind that it does not name is not bounded by it;
// one named as zero is.
class Quota {
 public:
  constexpr Quota() = default;
  // Of every kind that is above zero in `amounts`.
  static Quota of(const ResourceVector& amounts);

  constexpr std::optional<int64_t> operator[](ResourceKind kind) const {
    return amounts_[static_cast<size_t>(kind)];
  }
  constexpr void set(ResourceKind kind, std::optional<int64_t> milli) {
    amounts_[static_cast<size_t>(kind)] = milli;
  }
  // Whether it names no kind.
  bool empty() const { return *this == Quota(); }
  // Whether `use` is at most this in each kind that it names.
  bool contains(const ResourceVector& use) const;
  // The amounts, those of kinds that it does not name from `otherwise`.
  ResourceVector amounts(const ResourceVector& otherwise) const;
  bool operator==(const Quota&) const = default;

 private:
  std::array<std::optional<int64_t>, kResourceKindCount> amounts_ = {};
};

// "cpus:10;mem:10GiB", kinds in this order, "cpus:0" too; empty text names no kind. Errors:
// kInvalidArgument names the part: as parse_resources, and ports, which have no quota.
Result<Quota> parse_quota(std::string_view text);
std::string to_text(const Quota& quota);
std::ostream& operator<<(std::ostream& out, const Quota& quota);

// What an operator says of a role. One that is not listed has these defaults.
struct RoleSettings {
  int64_t weight = kWeightOne;  // milli, among its siblings
  Quota guarantee = {};         // what it gets if it wants it; lent while it does not
  Quota limit = {};             // what it and those below it never exceed, offers included

  bool operator==(const RoleSettings&) const = default;
};
using RoleTable = std::map<RoleName, RoleSettings>;
RoleTable table_of(const RoleWeights& weights);

// Whether a table is consistent. Errors say the value, the rule and what to do
// (kInvalidArgument):
// a weight outside kWeightMin..kWeightMax; an amount that is negative or above kAmountMax; a
// guarantee above the limit of the role or of a role above it; guarantees of a role's children that
// together exceed the guarantee of the role, if it has one (a child without a guarantee of a kind
// counts with the sum of its own children's). O(roles * depth).
Result<void> check_roles(const RoleTable& table);
// The same if `role` had these settings; the table as it is must be consistent. Looks at the role,
// the roles above and below it, and the roles that add their guarantee to one above: O(these).
Result<void> check_role(const RoleTable& table, const RoleName& role, const RoleSettings& settings);

}  // namespace proffer
