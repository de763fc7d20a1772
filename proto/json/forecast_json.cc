#include "proto/json/forecast_json.h"

#include <charconv>

#include "common/text.h"
#include "proto/json/eta_fields.h"
#include "proto/json/json_values.h"
#include "proto/json/live_snapshot_json.h"

namespace proffer::proto {
namespace {

struct DurationsLine {
  std::vector<KindDurations> durations = {};
};

// "1500 62000": milliseconds.
std::string print_durations(const std::vector<Duration>& ran) {
  std::string out;
  for (const Duration one : ran) out += proffer::text(out.empty() ? "" : " ", one.millis());
  return out;
}

Result<std::vector<Duration>> parse_durations(std::string_view words) {
  std::vector<Duration> ran;
  const char* at = words.data();
  const char* const end = at + words.size();
  while (at != end) {
    int64_t millis = 0;
    const auto [next, wrong] = std::from_chars(at, end, millis);
    if (wrong != std::errc() || millis < 0 || millis > kDurationMax.millis() ||
        (next != end && *next != ' ')) {
      return Error::invalid_argument("durations are milliseconds with one space between them");
    }
    ran.push_back(milliseconds(millis));
    at = next == end ? end : next + 1;
  }
  return ran;
}

}  // namespace

template <class F>
void fields(F& f, typename F::template Of<KindDurations>& row) {
  f.text_if_any("framework", row.framework);
  f.text_if_any("role", row.role);
  f.text_if_any("kind", row.kind);
  if constexpr (F::kReads) {
    f.as_text("ran_ms", parse_durations, row.ran);
  } else {
    f.text("ran_ms", print_durations(row.ran));
  }
}

template <class F>
void fields(F& f, typename F::template Of<DurationsLine>& line) {
  f.rows("durations", line.durations);
}

std::string forecast_request_lines(const ForecastRequest& request) {
  std::string lines = print_value(DurationsLine{request.durations}) + "\n";
  for (const std::string& page : live_snapshot_pages(request.live)) lines += page + "\n";
  return lines;
}

Result<ForecastRequest> parse_forecast_request(std::string_view lines) {
  ForecastRequest request;
  for (int64_t number = 1; !lines.empty(); ++number) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    if (number == 1) {
      Result<DurationsLine> durations = parse_value<DurationsLine>(line);
      if (!durations) return std::move(durations).error().in("line 1");
      request.durations = std::move(durations->durations);
      continue;
    }
    Result<void> parsed = parse_live_snapshot_page(line, request.live);
    if (!parsed) return std::move(parsed).error().in(proffer::text("line ", number));
  }
  return request;
}

template <class F>
void fields(F& f, typename F::template Of<AskForecast>& row) {
  f.text("framework", row.framework);
  f.text("ask", row.ask);
  f.whole("tasks", row.tasks);
  f.seconds("first_p50_s", row.first.p50);
  f.seconds("first_p90_s", row.first.p90);
  f.seconds("last_p50_s", row.last.p50);
  f.seconds("last_p90_s", row.last.p90);
}

template <class F>
void fields(F& f, typename F::template Of<Forecast>& forecast) {
  f.seconds("as_of_s", forecast.as_of);
  f.whole("runs", forecast.runs);
  f.seconds("reaches_s", forecast.reaches);
  f.rows("asks", forecast.asks);
  f.texts_if_any("unknown", forecast.unknown);
}

std::string forecast_json(const Forecast& forecast) { return print_value(forecast); }
Result<Forecast> parse_forecast(std::string_view json) { return parse_value<Forecast>(json); }

template <class F>
void fields(F& f, typename F::template Of<EtaFigures>& figures) {
  f.whole("starts", figures.starts);
  f.whole("below_p50", figures.below_p50);
  f.whole("below_p90", figures.below_p90);
}

template <class F>
void fields(F& f, typename F::template Of<PendingPage>& page) {
  f.seconds("now_s", page.now);
  f.rows("asks", page.asks);
  f.about("number of forecast starts, and of those that were not later");
  f.value("calibration", page.calibration);
}

std::string explanation_with_pending(std::string explanation, const std::vector<PendingRow>& rows) {
  explanation.back() = ',';
  return explanation + print_list("pending", rows).substr(1);
}

Result<std::vector<PendingRow>> parse_pending_of_explanation(std::string_view json) {
  std::vector<PendingRow> rows;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) { in.rows("pending", rows); });
  if (!parsed) return std::move(parsed).error();
  return rows;
}

JsonShape explanations_with_pending_shape() {
  JsonShape shape = explanations_shape();
  for (JsonShape& member : list_shape<PendingRow>("pending").members) {
    member.is_required = false;
    shape.members.front().members.push_back(std::move(member));
  }
  return shape;
}

JsonShape pending_shape() { return shape_of<PendingPage>(); }
std::string pending_json(const PendingPage& page) { return print_value(page); }
Result<PendingPage> parse_pending(std::string_view json) { return parse_value<PendingPage>(json); }

}  // namespace proffer::proto
