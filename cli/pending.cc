#include "cli/pending.h"

#include <algorithm>
#include <thread>

#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "proto/json/forecast_json.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

// Limits the wait to 8 s: a forecast usually begins at most 3 s after its request, and takes a
// second or two.
constexpr int kAsksMax = 40;
constexpr std::chrono::milliseconds kAskEvery(200);

std::string span(const std::optional<Duration>& from_now) {
  if (!from_now) return "later";
  return *from_now < seconds(1) ? "now" : age(*from_now);
}

std::string why_none(const proto::PendingRow& row) {
  if (!row.no_eta) return "";
  if (row.unknown.empty()) return std::string(explained(*row.no_eta));
  return text("it may wait for tasks of framework ", quoted(row.unknown),
              " of unknown duration: no task of their kind has ended yet");
}

std::string part(int64_t of, int64_t whole) { return percent(of * 1'000'000 / whole); }

}  // namespace

std::string start_text(const proto::PendingRow& row) {
  if (!row.eta) return text("no estimate: ", why_none(row));
  const proto::Eta& eta = *row.eta;
  const bool is_soon = eta.p50 && *eta.p50 < seconds(1);
  std::string said = is_soon ? "now" : text("in ", span(eta.p50));
  said += eta.p90 ? text(", in nine of ten cases ",
                         *eta.p90 < seconds(1) ? "within 1s" : text("within ", span(eta.p90)))
                  : ", or beyond the forecast's horizon";
  if (row.wanted > 1) {
    said += eta.all_p50 ? text("; all ", row.wanted, " in ", span(eta.all_p50),
                               eta.all_p90 ? text(", within ", span(eta.all_p90)) : ", or later")
                        : text("; all ", row.wanted, " beyond the forecast's horizon");
  }
  return said;
}

bool waits_for_forecast(const std::vector<proto::PendingRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const proto::PendingRow& row) {
    return row.no_eta == proto::NoEta::kNotYet;
  });
}

Result<void> read_pending(const Masters& master, const std::string& prefix,
                          proto::PendingPage& all) {
  all = {};
  proto::TaskQuery query{.prefix = prefix};
  while (true) {
    const Result<CallResult> page = call(master, "pending", proto::task_query_json(query));
    if (!page) return page.error();
    Result<proto::PendingPage> parsed = proto::parse_pending(page->json);
    if (!parsed) return std::move(parsed).error().in("the master's answer");
    all.now = parsed->now;
    all.calibration = parsed->calibration;
    all.asks.insert(all.asks.end(), parsed->asks.begin(), parsed->asks.end());
    if (page->next.empty() || parsed->asks.empty()) return {};
    query.after = page->next;
  }
}

Result<void> ask_until_forecast(const std::function<Result<void>()>& ask,
                                const std::vector<proto::PendingRow>& rows, int times) {
  for (int i = 1;; ++i) {
    if (Result<void> asked = ask(); !asked) return asked;
    if (!waits_for_forecast(rows) || i >= times) return {};
    std::this_thread::sleep_for(kAskEvery);
  }
}

int print_pending(const Masters& master, const std::string& prefix, bool json) {
  proto::PendingPage page;
  const Result<void> asked =
      ask_until_forecast([&] { return read_pending(master, prefix, page); }, page.asks, kAsksMax);
  if (!asked) return print_error(asked.error(), json);
  if (json) {
    print_json(proto::pending_json(page));
    return 0;
  }
  Table table({"FRAMEWORK", "ASK", "TASKS", "EACH", "WAITS", "REASON", "START P50", "P90",
               "ALL P90", "NO ESTIMATE"});
  for (const proto::PendingRow& row : page.asks) {
    const bool knows = row.eta.has_value();
    table.row({row.framework.str(), row.ask.str(), std::to_string(row.wanted), to_text(row.shape),
               row.since == Time() ? "-" : age(page.now - row.since),
               row.reason ? std::string(to_text(*row.reason)) : "-",
               knows ? span(row.eta->p50) : "-", knows ? span(row.eta->p90) : "-",
               knows ? span(row.eta->all_p90) : "-", knows ? "" : why_none(row)});
  }
  table.print();
  if (const proto::EtaFigures& of = page.calibration; of.starts > 0) {
    print_line(text("of ", of.starts, of.starts == 1 ? " start" : " starts",
                    " that were forecast, ", part(of.below_p50, of.starts), " happened by p50 and ",
                    part(of.below_p90, of.starts), " by p90"));
  }
  return 0;
}

}  // namespace proffer::cli
