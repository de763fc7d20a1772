// Each kind of row has a `print` and a `read` side by side. Read live_snapshot_pages first: rows go
// into the page in hand until it is full.

#include "proto/json/live_snapshot_json.h"

#include "common/attributes.h"
#include "common/text.h"
#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

using proffer::to_text;

// A page is closed before its rows, which are at most this long each, exceed a reply.
constexpr size_t kPageBytes = kJsonBytesMax / 2;

// What `parse` makes of the text of a member; a member that is not there leaves `out` as it is.
template <class Parse, class Value>
void read_as(const JsonFields& in, std::string_view name, const Parse& parse, Value& out) {
  if (!in.has(name)) return;
  std::string words;
  in.text(name, words);
  auto parsed = parse(words);
  if (!parsed) return in.refuse(name, parsed.error().message());
  out = *std::move(parsed);
}

void read_shape(const JsonFields& in, std::string_view name, ResourceVector& out) {
  in.require(name);
  read_as(in, name, parse_shape, out);
}

Json print_texts(const std::vector<std::string>& words) {
  Json out = Json::array();
  for (const std::string& word : words) out.push_back(word);
  return out;
}

// --- agents, roles, frameworks -------------------------------------------------------------------

Json print(const LiveAgent& row) {
  Json attributes = Json::object();
  for (const auto& [name, value] : row.attributes) attributes[name] = value;
  Json reserved = Json::object();
  for (const auto& [role, amounts] : row.reserved) reserved[role.str()] = to_text(amounts);
  Json out = {{"agent", row.agent.str()},
              {"state", to_text(row.state)},
              {"resources", to_text(row.total)},
              {"attributes", std::move(attributes)},
              {"reserved", std::move(reserved)}};
  if (row.drains_for) out["drains_for_s"] = print_seconds(*row.drains_for);
  return out;
}

void read(const JsonFields& in, LiveAgent& out) {
  in.text("agent", out.agent);
  in.word("state", parse_agent_state, out.state);
  read_as(in, "resources", parse_agent_resources, out.total);
  in.each_text("attributes", [&](const std::string& name, const std::string& value) {
    out.attributes.emplace(name, value);
  });
  in.each_text("reserved", [&](const std::string& role, const std::string& words) {
    const Result<ResourceVector> amounts = parse_shape(words);
    if (!amounts) return in.refuse("reserved", amounts.error().message());
    out.reserved[RoleName(role)] = *amounts;
  });
  if (in.has("drains_for_s")) in.seconds("drains_for_s", out.drains_for.emplace());
}

Json print(const LiveRole& row) {
  return {{"role", row.role.str()},
          {"weight", print_number(row.settings.weight)},
          {"guarantee", to_text(row.settings.guarantee)},
          {"limit", to_text(row.settings.limit)}};
}

void read(const JsonFields& in, LiveRole& out) {
  in.text("role", out.role);
  in.milli("weight", kWeightMin, kWeightMax, out.settings.weight);
  read_as(in, "guarantee", parse_quota, out.settings.guarantee);
  read_as(in, "limit", parse_quota, out.settings.limit);
}

Json print(const LiveFramework& row) {
  return {{"framework", row.framework.str()}, {"name", row.name},
          {"role", row.role.str()},           {"open_offers", row.mode == OfferMode::kOpen},
          {"connected", row.connected},       {"suppressed", row.suppressed}};
}

void read(const JsonFields& in, LiveFramework& out) {
  in.text("framework", out.framework);
  in.text("name", out.name);
  in.text("role", out.role);
  bool open = false;
  in.truth("open_offers", open);
  out.mode = open ? OfferMode::kOpen : OfferMode::kAsks;
  in.truth("connected", out.connected);
  in.truth("suppressed", out.suppressed);
}

// --- asks ----------------------------------------------------------------------------------------

Json print(const LiveAsk& row) {
  const Ask& ask = row.ask;
  Json out = {{"framework", row.framework.str()},
              {"ask", ask.name.str()},
              {"shape", to_text(ask.shape)},
              {"count", ask.count}};
  if (!ask.constraints.empty()) {
    Json constraints = Json::array();
    for (const Constraint& one : ask.constraints) constraints.push_back(to_text(one));
    out["constraints"] = std::move(constraints);
  }
  if (ask.ports != 0) out["ports"] = ask.ports;
  if (ask.priority != 0) out["priority"] = ask.priority;
  if (!ask.role.empty()) out["role"] = ask.role.str();
  if (!ask.spread.empty()) out["spread"] = ask.spread;
  if (!ask.max_per.empty()) {
    Json max_per = Json::object();
    for (const MaxPer& one : ask.max_per) max_per[one.attribute] = one.count;
    out["max_per"] = std::move(max_per);
  }
  if (!ask.prefer.hosts.empty()) out["prefer_hosts"] = print_texts(ask.prefer.hosts);
  if (!ask.prefer.racks.empty()) out["prefer_racks"] = print_texts(ask.prefer.racks);
  if (ask.prefer.wait > Duration()) out["prefer_wait_s"] = print_seconds(ask.prefer.wait);
  if (ask.gang != 1) out["gang"] = ask.gang;
  if (ask.band != Band::kBatch) out["band"] = to_text(ask.band);
  if (!ask.borrow) out["borrow"] = false;
  if (ask.revocable_ok) out["revocable_ok"] = true;
  if (ask.expiry > Duration()) out["expiry_s"] = print_seconds(ask.expiry);
  return out;
}

void read_priority(const JsonFields& in, int32_t& out) {
  int64_t priority = 0;
  in.whole("priority", std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(),
           priority);
  out = static_cast<int32_t>(priority);
}

void read(const JsonFields& in, LiveAsk& out) {
  Ask& ask = out.ask;
  in.text("framework", out.framework);
  in.text("ask", ask.name);
  read_shape(in, "shape", ask.shape);
  in.whole("count", 0, kAskCountMax, ask.count);
  in.each("constraints", [&](const std::string& words) {
    Result<Constraint> parsed = parse_constraint(words);
    if (!parsed) return in.refuse("constraints", parsed.error().message());
    ask.constraints.push_back(*std::move(parsed));
  });
  in.whole("ports", ask.ports);
  read_priority(in, ask.priority);
  in.text("role", ask.role);
  in.text("spread", ask.spread);
  in.each_whole("max_per", 1, kAskCountMax, [&](const std::string& attribute, int64_t count) {
    ask.max_per.push_back({attribute, count});
  });
  in.each("prefer_hosts", [&](const std::string& host) { ask.prefer.hosts.push_back(host); });
  in.each("prefer_racks", [&](const std::string& rack) { ask.prefer.racks.push_back(rack); });
  in.seconds("prefer_wait_s", ask.prefer.wait);
  in.whole("gang", 1, kAskCountMax, ask.gang);
  in.word("band", parse_band, ask.band);
  in.truth("borrow", ask.borrow);
  in.truth("revocable_ok", ask.revocable_ok);
  in.seconds("expiry_s", ask.expiry);
}

// --- tasks ---------------------------------------------------------------------------------------

Json print(const LiveTask& row) {
  Json out = {{"framework", row.framework.str()}, {"task", row.task.str()},
              {"agent", row.agent.str()},         {"role", row.role.str()},
              {"shape", to_text(row.shape)},      {"since_s", print_seconds(row.since)}};
  if (!row.ask.empty()) out["ask"] = row.ask.str();
  if (row.priority != 0) out["priority"] = row.priority;
  if (row.band != Band::kBatch) out["band"] = to_text(row.band);
  if (row.gang != 0) out["gang"] = std::to_string(row.gang);
  if (row.estimated) out["estimated"] = true;
  if (row.ending) out["ending"] = true;
  return out;
}

void read(const JsonFields& in, LiveTask& out) {
  in.text("framework", out.framework);
  in.text("task", out.task);
  in.text("agent", out.agent);
  in.text("ask", out.ask);
  in.text("role", out.role);
  read_shape(in, "shape", out.shape);
  in.seconds("since_s", out.since);
  read_priority(in, out.priority);
  in.word("band", parse_band, out.band);
  std::string gang;
  in.text("gang", gang);
  for (const char digit : gang) {
    if (digit < '0' || digit > '9' || gang.size() > 20) return in.refuse("gang", "is no number");
    out.gang = out.gang * 10 + static_cast<uint64_t>(digit - '0');
  }
  in.truth("estimated", out.estimated);
  in.truth("ending", out.ending);
}

// --- pages ---------------------------------------------------------------------------------------

class Pages {
 public:
  explicit Pages(Json first) : page_(std::move(first)) {}

  template <class Row>
  void add(std::string_view list, const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      Json one = print(row);
      const size_t bytes = to_json_text(one).size() + 1;
      if (rows_ == kReplyRowsMax || (rows_ > 0 && bytes_ + bytes > kPageBytes)) close();
      page_[std::string(list)].push_back(std::move(one));
      ++rows_;
      bytes_ += bytes;
    }
  }
  std::vector<std::string> all() && {
    close();
    return std::move(closed_);
  }

 private:
  void close() {
    closed_.push_back(to_json_text(std::exchange(page_, Json::object())));
    rows_ = 0;
    bytes_ = 0;
  }

  std::vector<std::string> closed_;
  Json page_;
  size_t rows_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

std::vector<std::string> live_snapshot_pages(const LiveSnapshot& snapshot) {
  Json options = Json::object();
  for (const auto& [name, value] : snapshot.options) options[name] = value;
  Pages pages({{"taken_s", print_seconds(snapshot.taken)}, {"options", std::move(options)}});
  pages.add("agents", snapshot.agents);
  pages.add("roles", snapshot.roles);
  pages.add("frameworks", snapshot.frameworks);
  pages.add("asks", snapshot.asks);
  pages.add("tasks", snapshot.tasks);
  return std::move(pages).all();
}

Result<void> parse_live_snapshot_page(std::string_view json, LiveSnapshot& into) {
  return parse_object(json, [&](const JsonFields& in) {
    in.seconds("taken_s", into.taken);
    in.each_text("options", [&](const std::string& name, const std::string& value) {
      into.options[name] = value;
    });
    in.list("agents", [&](const JsonFields& row) { read(row, into.agents.emplace_back()); });
    in.list("roles", [&](const JsonFields& row) { read(row, into.roles.emplace_back()); });
    in.list("frameworks",
            [&](const JsonFields& row) { read(row, into.frameworks.emplace_back()); });
    in.list("asks", [&](const JsonFields& row) { read(row, into.asks.emplace_back()); });
    in.list("tasks", [&](const JsonFields& row) { read(row, into.tasks.emplace_back()); });
  });
}

std::string live_snapshot_call_json(std::string_view after) {
  Json out = Json::object();
  if (!after.empty()) out["after"] = after;
  return to_json_text(out);
}

Result<std::string> parse_live_snapshot_call(std::string_view json) {
  std::string after;
  Result<void> parsed =
      parse_object(trimmed(json).empty() ? "{}" : json, [&](const JsonFields& in) {
        in.only({"after"});
        in.text("after", after);
      });
  if (!parsed) return std::move(parsed).error();
  return after;
}

}  // namespace proffer::proto
