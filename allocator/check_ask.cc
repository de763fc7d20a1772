// Checks of asks from peers. Begin with check_ask(), at the end; an error names the value, the rule
// and the ask.

#include "allocator/allocator.h"
#include "common/constraint_matcher.h"
#include "common/text.h"

namespace proffer {
namespace {

Error wrong(std::string message) { return Error::invalid_argument(std::move(message)); }

// Checks constraints, limits, spread and preferences.
Result<void> check_places(const Ask& ask) {
  if (!ask.spread.empty()) {
    if (Result<void> checked = check_name("attribute", ask.spread); !checked) {
      return std::move(checked).error().in("spread");
    }
  }
  if (!ask.group.empty()) {
    if (Result<void> checked = check_name("group", ask.group); !checked) return checked;
  }
  if (ask.max_per.size() > kMaxPerMax) {
    return wrong(text("it limits its tasks by ", ask.max_per.size(), " attributes, at most ",
                      kMaxPerMax, " are allowed"));
  }
  for (size_t i = 0; i < ask.max_per.size(); ++i) {
    const MaxPer& most = ask.max_per[i];
    if (Result<void> checked = check_name("attribute", most.attribute); !checked) {
      return std::move(checked).error().in("max_per");
    }
    if (most.count < 1 || most.count > kAskCountMax) {
      return wrong(text("its max_per of ", quoted(most.attribute), " must be from 1 to ",
                        kAskCountMax, ", not ", most.count));
    }
    if (i > 0 && most.attribute <= ask.max_per[i - 1].attribute) {
      return wrong(text("its max_per must be sorted by attribute, each once; ",
                        quoted(most.attribute), " comes after ",
                        quoted(ask.max_per[i - 1].attribute)));
    }
  }
  for (const auto* names : {&ask.prefer.hosts, &ask.prefer.racks}) {
    if (names->size() <= kPreferredMax) continue;
    return wrong(text("it prefers ", names->size(),
                      names == &ask.prefer.hosts ? " hosts" : " racks", ", at most ", kPreferredMax,
                      " are allowed"));
  }
  for (const std::string& host : ask.prefer.hosts) {
    if (Result<void> checked = check_name("preferred host", host); !checked) return checked;
  }
  for (const std::string& rack : ask.prefer.racks) {
    if (Result<void> checked = check_attribute("rack", rack); !checked) {
      return std::move(checked).error().in("preferred rack");
    }
  }
  return {};
}

Result<void> check_gang(const Ask& ask) {
  if (ask.gang < 1 || ask.gang > kGangMax) {
    return wrong(text("its gang must be from 1 to ", kGangMax, " tasks, not ", ask.gang));
  }
  if (ask.count % ask.gang != 0) {
    return wrong(
        text("its count must be a multiple of its gang of ", ask.gang, " tasks, not ", ask.count));
  }
  if (static_cast<size_t>(ask.band) >= kBandCount) {
    return wrong(text("its band must be free, batch, production or monitoring, not number ",
                      static_cast<int>(ask.band)));
  }
  return {};
}

Result<void> check_times(const Ask& ask) {
  struct Row {
    std::string_view name;
    Duration duration;
  };
  for (const Row& row :
       {Row{"wait for preferred hosts", ask.prefer.wait}, Row{"expiry", ask.expiry},
        Row{"duration", ask.duration}, Row{"max_run_time", ask.max_run_time}}) {
    if (row.duration >= Duration() && row.duration <= kDurationMax) continue;
    return wrong(text("its ", row.name, " must be from 0 to ", to_text(kDurationMax), ", not ",
                      to_text(row.duration)));
  }
  return {};
}

}  // namespace

Result<void> check_ask(const Ask& ask) {
  if (Result<void> checked = check_name("ask", ask.name.str()); !checked) return checked;
  const auto context = [&] { return text("ask ", quoted(ask.name.str())); };
  if (Result<void> checked = check_shape(ask.shape); !checked) {
    return std::move(checked).error().in(context());
  }
  if (ask.count < 0 || ask.count > kAskCountMax) {
    return Error::invalid_argument(
               text("its count must be from 0 to ", kAskCountMax, ", not ", ask.count))
        .in(context());
  }
  if (ask.ports < 0 || ask.ports > static_cast<int64_t>(kPortNamesMax)) {
    return Error::invalid_argument(
               text("its ports must be from 0 to ", kPortNamesMax, ", not ", ask.ports))
        .in(context());
  }
  if (static_cast<int64_t>(ask.static_ports.size()) > ask.ports) {
    return Error::invalid_argument(text("it has ", ask.static_ports.size(),
                                        " ports by number, which are among its ports, and only ",
                                        ask.ports, " ports"))
        .in(context());
  }
  for (size_t i = 0; i < ask.static_ports.size(); ++i) {
    if (ask.static_ports[i] != 0 && (i == 0 || ask.static_ports[i - 1] < ask.static_ports[i])) {
      continue;
    }
    return Error::invalid_argument(
               text("its ports by number must be from 1 to 65535, each once and in order, not ",
                    ask.static_ports[i]))
        .in(context());
  }
  if (!ask.role.empty()) {
    Result<RoleName> role = parse_role(ask.role.str());
    if (!role) return std::move(role).error().in(context());
  }
  if (ask.constraints.size() > kConstraintsMax) {
    return Error::invalid_argument(text("it has ", ask.constraints.size(), " constraints, at most ",
                                        kConstraintsMax, " are allowed"))
        .in(context());
  }
  Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(ask.constraints);
  if (!matcher) return std::move(matcher).error().in(context());
  for (const auto check : {check_places, check_gang, check_times}) {
    if (Result<void> checked = check(ask); !checked) {
      return std::move(checked).error().in(context());
    }
  }
  return {};
}

}  // namespace proffer
