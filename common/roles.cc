#include "common/roles.h"

#include <algorithm>
#include <ostream>

#include "common/limits.h"
#include "common/text.h"

namespace proffer {

namespace {

// The next step for a name that is valid elsewhere: "*" of Mesos, "/eng" of a path.
std::string hint_for_role(std::string_view whole) {
  if (whole == "*") return "the role of all who name none is: default";
  const size_t begin = whole.find_first_not_of('/');
  const size_t end = whole.find_last_not_of('/');
  if (begin == whole.npos) return "for example ads/batch, or default";
  const std::string_view inner = whole.substr(begin, end + 1 - begin);
  if (is_valid_path(inner, kRoleBytesMax)) return text("write ", inner);
  return "for example ads/batch, or default";
}

}  // namespace

Result<RoleName> parse_role(std::string_view whole) {
  if (is_valid_path(whole, kRoleBytesMax)) return RoleName(std::string(whole));
  return Error::invalid_argument(
             text("a role must be names of A-Z a-z 0-9 . _ - joined by '/', at most ",
                  kRoleBytesMax, " bytes, as in ads/batch, not ", quoted(whole)))
      .with_hint(hint_for_role(whole));
}

Result<RoleWeights> parse_role_weights(std::string_view whole) {
  RoleWeights weights;
  if (trimmed(whole).empty()) return weights;
  for (const std::string_view part : split(whole, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Error::invalid_argument(
          text("weights must be ROLE=WEIGHT separated by ',', as in ads=2,batch=0.5, not ",
               quoted(part)));
    }
    const std::string_view name = trimmed(part.substr(0, equals));
    const std::string_view amount = trimmed(part.substr(equals + 1));
    Result<RoleName> role = parse_role(name);
    if (!role) return std::move(role).error();
    const Result<int64_t> weight = parse_milli(amount);
    if (!weight || *weight < kWeightMin || *weight > kWeightMax) {
      return Error::invalid_argument(text("weight of role ", quoted(name), " must be between ",
                                          print_milli(kWeightMin), " and ", print_milli(kWeightMax),
                                          ", not ", quoted(amount)));
    }
    if (!weights.emplace(*std::move(role), *weight).second) {
      return Error::invalid_argument(text("role ", quoted(name), " is given two weights"));
    }
  }
  return weights;
}

RoleName parent_of(const RoleName& role) {
  const size_t slash = role.str().rfind('/');
  return slash == std::string::npos ? RoleName() : RoleName(role.str().substr(0, slash));
}

bool is_within(const RoleName& role, const RoleName& ancestor) {
  if (ancestor.empty() || role == ancestor) return true;
  const std::string& name = role.str();
  const size_t size = ancestor.str().size();
  return name.size() > size && name[size] == '/' && name.starts_with(ancestor.str());
}

Quota Quota::of(const ResourceVector& amounts) {
  Quota quota;
  for (const ResourceKind kind : kResourceKinds) {
    if (amounts[kind] > 0) quota.set(kind, amounts[kind]);
  }
  return quota;
}

bool Quota::contains(const ResourceVector& use) const {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    const std::optional<int64_t> bound = (*this)[kind];
    return !bound || use[kind] <= *bound;
  });
}

ResourceVector Quota::amounts(const ResourceVector& otherwise) const {
  ResourceVector all = otherwise;
  for (const ResourceKind kind : kResourceKinds) {
    if (const std::optional<int64_t> bound = (*this)[kind]) all[kind] = *bound;
  }
  return all;
}

Result<Quota> parse_quota(std::string_view whole) {
  Quota quota;
  if (trimmed(whole).empty()) return quota;
  for (const std::string_view part : split(whole, ';')) {
    Result<Resources> parsed = parse_resources(part);
    if (!parsed) return std::move(parsed).error();
    const std::string_view name = trimmed(part.substr(0, part.find(':')));
    const std::optional<ResourceKind> kind = parse_resource_kind(name);
    if (!kind) {
      return Error::invalid_argument(text("a quota can have cpus, mem, disk and gpus, not ",
                                          quoted(name), " as in ", quoted(whole)));
    }
    if (quota[*kind]) {
      return Error::invalid_argument(
          text("resource kind ", quoted(name), " is given twice in ", quoted(whole)));
    }
    quota.set(*kind, parsed->amounts[*kind]);
  }
  return quota;
}

std::string to_text(const Quota& quota) {
  std::string out;
  for (const ResourceKind kind : kResourceKinds) {
    const std::optional<int64_t> bound = quota[kind];
    if (bound) out += text(out.empty() ? "" : ";", to_text(kind), ":", print_milli(*bound));
  }
  return out;
}

namespace {

Result<void> check_amounts(const RoleName& role, std::string_view what, const Quota& quota) {
  for (const ResourceKind kind : kResourceKinds) {
    const std::optional<int64_t> amount = quota[kind];
    if (!amount || (*amount >= 0 && *amount <= kAmountMax)) continue;
    return Error::invalid_argument(text("the ", what, " of role ", quoted(role.str()), " in ",
                                        to_text(kind), " must be between 0 and ",
                                        print_milli(kAmountMax), ", not ", print_milli(*amount)));
  }
  return {};
}

// A guarantee that its own limit, or a limit above it, makes impossible.
Result<void> check_below_limits(const RoleTable& table, const RoleName& role,
                                const Quota& guarantee) {
  for (RoleName at = role; !at.empty(); at = parent_of(at)) {
    const auto found = table.find(at);
    if (found == table.end()) continue;
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> wanted = guarantee[kind];
      const std::optional<int64_t> limit = found->second.limit[kind];
      if (!wanted || !limit || *wanted <= *limit) continue;
      return Error::invalid_argument(text("the guarantee of role ", quoted(role.str()), ", ",
                                          to_text(kind), ":", print_milli(*wanted), ", is above ",
                                          at == role ? std::string("its own limit")
                                                     : text("the limit of role ", quoted(at.str())),
                                          ", ", to_text(kind), ":", print_milli(*limit)))
          .with_hint("lower the guarantee or raise the limit");
    }
  }
  return {};
}

}  // namespace

Result<void> check_roles(const RoleTable& table) {
  // The sum of the guarantees of each role's children; saturating, for extreme amounts.
  std::map<RoleName, ResourceVector> of_children;
  RoleTable all = table;
  for (const auto& [role, settings] : table) {
    for (RoleName at = parent_of(role); !at.empty(); at = parent_of(at)) all.try_emplace(at);
  }
  // A name sorts before all names with this prefix, so in reverse order children come before
  // parents.
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const auto& [role, settings] = *at;
    if (settings.weight < kWeightMin || settings.weight > kWeightMax) {
      return Error::invalid_argument(
          text("weight of role ", quoted(role.str()), " must be between ", print_milli(kWeightMin),
               " and ", print_milli(kWeightMax), ", not ", print_milli(settings.weight)));
    }
    if (Result<void> ok = check_amounts(role, "guarantee", settings.guarantee); !ok) return ok;
    if (Result<void> ok = check_amounts(role, "limit", settings.limit); !ok) return ok;
    if (Result<void> ok = check_below_limits(all, role, settings.guarantee); !ok) return ok;
    const ResourceVector& children = of_children[role];
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> own = settings.guarantee[kind];
      if (!own || children[kind] <= *own) continue;
      return Error::invalid_argument(
                 text("the guarantees of the roles in ", quoted(role.str()), " add up to ",
                      to_text(kind), ":", print_milli(children[kind]),
                      ", more than its own guarantee of ", to_text(kind), ":", print_milli(*own)))
          .with_hint(text("raise the guarantee of ", quoted(role.str()),
                          " first, or lower the guarantee of a role in it"));
    }
    const ResourceVector counted = settings.guarantee.amounts(children);
    ResourceVector& above = of_children[parent_of(role)];
    for (const ResourceKind kind : kResourceKinds) {
      above[kind] = std::min(above[kind] + counted[kind], kAmountMax * 2);
    }
  }
  return {};
}

RoleTable table_of(const RoleWeights& weights) {
  RoleTable table;
  for (const auto& [role, weight] : weights) table[role].weight = weight;
  return table;
}

Result<void> check_role(const RoleTable& table, const RoleName& role,
                        const RoleSettings& settings) {
  RoleTable concerned;
  const auto add_below = [&](const RoleName& top) {
    const std::string path = top.str() + '/';
    for (auto at = table.lower_bound(RoleName(path));
         at != table.end() && at->first.str().compare(0, path.size(), path) == 0; ++at) {
      concerned.insert(*at);
    }
  };
  add_below(role);
  for (RoleName above = parent_of(role); !above.empty(); above = parent_of(above)) {
    const auto at = table.find(above);
    if (at == table.end()) continue;
    concerned.insert(*at);
    if (!at->second.guarantee.empty()) add_below(above);
  }
  concerned[role] = settings;
  return check_roles(concerned);
}

std::ostream& operator<<(std::ostream& out, const Quota& quota) { return out << to_text(quota); }

}  // namespace proffer
