// Live snapshots as JSON and back. Read live_snapshot_pages first: rows go into the present page
// until it is full.

#include "proto/json/live_snapshot_json.h"

#include "common/attributes.h"
#include "common/text.h"
#include "proto/json/ask_fields.h"
#include "proto/json/json_text.h"

namespace proffer::proto {

using proffer::to_text;

namespace {
struct SnapshotCall {
  std::string after = {};
};
}  // namespace

template <class F>
void fields(F& f, typename F::template Of<SnapshotCall>& call) {
  f.about("`next` of the previous page; default: take a new snapshot");
  f.text_if_any("after", call.after);
}

// --- agents, roles, frameworks -------------------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<LiveAgent>& row) {
  f.text("agent", row.agent);
  f.word("state", parse_agent_state, row.state);
  if constexpr (F::kReads) {
    f.as_text("resources", parse_agent_resources, row.total);
  } else {
    f.text("resources", print_agent_resources(row.total));
  }
  f.texts("attributes", row.attributes);
  if constexpr (F::kReads) {
    f.each_text("reserved", [&](const std::string& role, const std::string& words) {
      const Result<ResourceVector> amounts = parse_shape(words);
      if (!amounts) return f.refuse("reserved", amounts.error().message());
      row.reserved[RoleName(role)] = *amounts;
    });
  } else {
    std::map<std::string, std::string> reserved;
    for (const auto& [role, amounts] : row.reserved) reserved[role.str()] = to_text(amounts);
    f.texts("reserved", reserved);
  }
  f.seconds("drains_for_s", row.drains_for);
}

template <class F>
void fields(F& f, typename F::template Of<LiveRole>& row) {
  f.text("role", row.role);
  f.milli("weight", kWeightMin, kWeightMax, row.settings.weight);
  f.as_text("guarantee", parse_quota, row.settings.guarantee);
  f.as_text("limit", parse_quota, row.settings.limit);
}

template <class F>
void fields(F& f, typename F::template Of<LiveFramework>& row) {
  f.text("framework", row.framework);
  f.text("name", row.name);
  f.text("role", row.role);
  bool open = row.mode == OfferMode::kOpen;
  f.truth("open_offers", open);
  if constexpr (F::kReads) row.mode = open ? OfferMode::kOpen : OfferMode::kAsks;
  f.truth("connected", row.connected);
  f.truth("suppressed", row.suppressed);
}

// --- tasks ---------------------------------------------------------------------------------------

template <class F>
void fields(F& f, typename F::template Of<LiveTask>& row) {
  f.text("framework", row.framework);
  f.text("task", row.task);
  f.text("agent", row.agent);
  f.text("role", row.role);
  f.require("shape");
  f.as_text("shape", parse_shape, row.shape);
  f.seconds("since_s", row.since);
  f.text_if_any("ask", row.ask);
  if (F::kReads || row.priority != 0) f.whole("priority", row.priority);
  if (F::kReads || row.band != Band::kBatch) f.word("band", parse_band, row.band);
  if (F::kReads || row.gang != 0) f.number("gang", row.gang);
  if (F::kReads || row.estimated) f.truth("estimated", row.estimated);
  if (F::kReads || row.ending) f.truth("ending", row.ending);
  port_numbers(f, "ports", row.ports);
}

// --- pages ---------------------------------------------------------------------------------------

namespace {

// A page is closed before its rows, each at most this long, exceed a reply.
constexpr size_t kPageBytes = kJsonBytesMax / 2;

class Pages {
 public:
  // `page` is the first page, without its end.
  explicit Pages(std::string page) : page_(std::move(page)) {}

  template <class Row>
  void add(std::string_view list, const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const std::string one = print_value(row);
      const size_t bytes = one.size() + 1;
      if (rows_ == kReplyRowsMax || (rows_ > 0 && bytes_ + bytes > kPageBytes)) close();
      begin_row(list);
      page_ += one;
      ++rows_;
      bytes_ += bytes;
    }
  }
  std::vector<std::string> all() && {
    close();
    return std::move(closed_);
  }

 private:
  void begin_row(std::string_view list) {
    if (list_ == list) {
      page_ += ',';
      return;
    }
    end_list();
    list_ = list;
    if (page_.size() > 1) page_ += ',';
    append_text(page_, list);
    page_ += ":[";
  }
  void end_list() {
    if (!list_.empty()) page_ += ']';
    list_ = {};
  }
  void close() {
    end_list();
    page_ += '}';
    closed_.push_back(std::exchange(page_, "{"));
    rows_ = 0;
    bytes_ = 0;
  }

  std::vector<std::string> closed_;
  std::string page_;
  std::string_view list_;  // the list of its last row
  size_t rows_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

JsonShape live_snapshot_shape() {
  using Type = JsonShape::Type;
  JsonShape page;
  page.members = {
      {.name = "taken_s", .type = Type::kSeconds},
      {.name = "options", .type = Type::kTextMap},
      {.name = "agents", .type = Type::kRows, .members = JsonShaper::members_of<LiveAgent>()},
      {.name = "roles", .type = Type::kRows, .members = JsonShaper::members_of<LiveRole>()},
      {.name = "frameworks",
       .type = Type::kRows,
       .members = JsonShaper::members_of<LiveFramework>()},
      {.name = "asks", .type = Type::kRows, .members = JsonShaper::members_of<LiveAsk>()},
      {.name = "tasks", .type = Type::kRows, .members = JsonShaper::members_of<LiveTask>()},
  };
  return page;
}

std::vector<std::string> live_snapshot_pages(const LiveSnapshot& snapshot) {
  std::string first;
  JsonWriter head(first);
  head.seconds("taken_s", snapshot.taken);
  head.texts("options", snapshot.options);
  Pages pages(std::move(first));
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
    in.texts("options", into.options);
    in.rows("agents", into.agents);
    in.rows("roles", into.roles);
    in.rows("frameworks", into.frameworks);
    in.rows("asks", into.asks);
    in.rows("tasks", into.tasks);
  });
}

std::string live_snapshot_call_json(std::string_view after) {
  Json out = Json::object();
  if (!after.empty()) out["after"] = after;
  return to_json_text(out);
}

JsonShape live_snapshot_call_shape() { return shape_of<SnapshotCall>(); }
Result<std::string> parse_live_snapshot_call(std::string_view json) {
  Result<SnapshotCall> call = parse_arguments<SnapshotCall>(json);
  if (!call) return std::move(call).error();
  return std::move(call->after);
}

}  // namespace proffer::proto
