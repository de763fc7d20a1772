#pragma once

// The tree of roles: names, weights and quotas.

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

// Parses "ads=2,batch=0.5". Errors: kInvalidArgument names the part: no '=', a wrong role or a role
// given twice, a weight outside 0.001 to 1000. An empty text has no weights.
Result<RoleWeights> parse_role_weights(std::string_view text);

// The parent role: "eng" for "eng/ads"; empty for a role at the top.
RoleName parent_of(const RoleName& role);
// True if `role` is `ancestor` or below it. The empty role is the root, above all roles.
bool is_within(const RoleName& role, const RoleName& ancestor);

// The amounts of some kinds: a guarantee or a limit. A kind that it does not name is not bounded; a
// kind that it names with zero is bounded by zero.
class Quota {
 public:
  constexpr Quota() = default;
  // The quota that names each kind above zero in `amounts`.
  static Quota of(const ResourceVector& amounts);

  constexpr std::optional<int64_t> operator[](ResourceKind kind) const {
    return amounts_[static_cast<size_t>(kind)];
  }
  constexpr void set(ResourceKind kind, std::optional<int64_t> milli) {
    amounts_[static_cast<size_t>(kind)] = milli;
  }
  // True if it names no kind.
  bool empty() const { return *this == Quota(); }
  // True if `use` is at most this quota in each kind that it names.
  bool contains(const ResourceVector& use) const;
  // The named amounts; for other kinds, those of `otherwise`.
  ResourceVector amounts(const ResourceVector& otherwise) const;
  bool operator==(const Quota&) const = default;

 private:
  std::array<std::optional<int64_t>, kResourceKindCount> amounts_ = {};
};

// Parses "cpus:10;mem:10GiB"; "cpus:0" names cpus, and an empty text names no kind. to_text()
// prints the kinds in this order. Errors: those of parse_resources, and ports, which have no quota.
Result<Quota> parse_quota(std::string_view text);
std::string to_text(const Quota& quota);
std::ostream& operator<<(std::ostream& out, const Quota& quota);

// An operator's settings for a role. A role without settings has these defaults.
struct RoleSettings {
  int64_t weight = kWeightOne;  // milli, among its siblings
  Quota guarantee = {};         // the amounts that it gets on demand; else they are lent
  Quota limit = {};             // the most for it and the roles below, including offers

  bool operator==(const RoleSettings&) const = default;
};
using RoleTable = std::map<RoleName, RoleSettings>;
RoleTable table_of(const RoleWeights& weights);

// Checks that a table is consistent. Errors (kInvalidArgument) name the value, the rule and the
// remedy: a weight outside kWeightMin..kWeightMax; an amount that is negative or above kAmountMax;
// a guarantee above the limit of the role or of a role above it; guarantees of a role's children
// that together exceed the guarantee of the role, if it has one (a child without a guarantee of a
// kind counts with the sum of its own children's). O(roles * depth).
Result<void> check_roles(const RoleTable& table);
// Checks the table as if `role` had these settings; the current table must be consistent. Examines
// the role, the roles above and below it, and the roles that add their guarantee to one above:
// O(these).
Result<void> check_role(const RoleTable& table, const RoleName& role, const RoleSettings& settings);

}  // namespace proffer
