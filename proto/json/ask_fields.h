#pragma once

// An ask as JSON and back, with the fields idiom of json_text.h. For this folder only.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/attributes.h"
#include "common/text.h"
#include "proto/json/json_text.h"
#include "proto/live_snapshot.h"

namespace proffer::proto {

// Ports by number.
template <class F>
void port_numbers(F& f, std::string_view name,
                  typename F::template Of<std::vector<uint16_t>>& ports) {
  if constexpr (F::kReads) {
    f.each(name, [&](const std::string& number) {
      const Result<int64_t> port = parse_whole(name, number, 1, 65'535);
      if (!port) return f.refuse(name, port.error().message());
      ports.push_back(static_cast<uint16_t>(*port));
    });
  } else {
    std::vector<std::string> numbers;
    for (const uint16_t port : ports) numbers.push_back(std::to_string(port));
    f.texts_if_any(name, numbers);
  }
}

// The members of an ask that are printed only if they differ from the default.
template <class F>
void fields_of_places(F& f, typename F::template Of<Ask>& ask) {
  f.text_if_any("spread", ask.spread);
  f.text_if_any("group", ask.group);
  if constexpr (F::kReads) {
    f.each_whole("max_per", 1, kAskCountMax, [&](const std::string& attribute, int64_t count) {
      ask.max_per.push_back({attribute, count});
    });
  } else if (!ask.max_per.empty()) {
    f.object("max_per", [&](F& max_per) {
      for (const MaxPer& one : ask.max_per) max_per.whole(one.attribute, one.count);
    });
  }
  f.texts_if_any("prefer_hosts", ask.prefer.hosts);
  f.texts_if_any("prefer_racks", ask.prefer.racks);
  if (F::kReads || ask.prefer.wait > Duration()) f.seconds("prefer_wait_s", ask.prefer.wait);
}

template <class F>
void fields(F& f, typename F::template Of<LiveAsk>& row) {
  auto& ask = row.ask;
  f.text("framework", row.framework);
  f.text("ask", ask.name);
  f.require("shape");
  f.as_text("shape", parse_shape, ask.shape);
  f.whole("count", 0, kAskCountMax, ask.count);
  if constexpr (F::kReads) {
    f.each("constraints", [&](const std::string& words) {
      Result<Constraint> parsed = parse_constraint(words);
      if (!parsed) return f.refuse("constraints", parsed.error().message());
      ask.constraints.push_back(*std::move(parsed));
    });
  } else {
    std::vector<std::string> constraints;
    for (const Constraint& one : ask.constraints) constraints.push_back(to_text(one));
    f.texts_if_any("constraints", constraints);
  }
  if (F::kReads || ask.ports != 0) f.whole("ports", ask.ports);
  port_numbers(f, "static_ports", ask.static_ports);
  if (F::kReads || ask.priority != 0) f.whole("priority", ask.priority);
  f.text_if_any("role", ask.role);
  fields_of_places(f, ask);
  if (F::kReads || ask.gang != 1) f.whole("gang", 1, kAskCountMax, ask.gang);
  if (F::kReads || ask.band != Band::kBatch) f.word("band", parse_band, ask.band);
  if (F::kReads || !ask.borrow) f.truth("borrow", ask.borrow);
  if (F::kReads || ask.revocable_ok) f.truth("revocable_ok", ask.revocable_ok);
  if (F::kReads || ask.expiry > Duration()) f.seconds("expiry_s", ask.expiry);
  if (F::kReads || ask.duration > Duration()) f.seconds("duration_s", ask.duration);
  if (F::kReads || ask.max_run_time > Duration()) f.seconds("max_run_time_s", ask.max_run_time);
  if (F::kReads || row.claims) f.truth("claims", row.claims);
}

}  // namespace proffer::proto
