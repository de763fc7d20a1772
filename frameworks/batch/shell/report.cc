#include "frameworks/batch/shell/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/text.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/shell/progress.h"
#include "proto/json/batch_json.h"
#include "proto/json/json.h"
#include "sdk/shell/history.h"

namespace proffer::batch {
namespace {

using proto::TaskState;

// "map-3", "map-3, attempt 2", "elements 0 to 31".
std::string attempt_text(const TaskName& name) {
  if (name.kind == TaskKind::kRange) {
    return text("elements ", name.first, " to ", name.first + name.count - 1);
  }
  std::string out = text(to_text(name.kind), "-", name.number);
  if (name.attempt > 1) out += text(", attempt ", name.attempt);
  return out;
}

std::string duration_text(Duration duration) {
  const int64_t millis = std::max<int64_t>(0, duration.millis());
  if (millis < 100'000) return fmt::format("{}.{} s", millis / 1'000, millis % 1'000 / 100);
  const int64_t whole = millis / 1'000;
  if (whole < 3'600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3'600, whole / 60 % 60);
}

std::string cpus_text(const std::optional<int64_t>& milli) {
  return milli ? print_milli(*milli) : "-";
}

// The submitter does not choose the resources of a job's last task.
bool has_advice(TaskKind kind) { return kind != TaskKind::kEnd; }

// Ranges are cut by time, so all take equally long unless their elements differ much.
bool can_be_slow(TaskKind kind) { return kind != TaskKind::kRange; }

// Twice as long as others is reported, but not below a second.
constexpr Duration kSlowLeast = seconds(1);

void add_times(ReportedStage& stage, std::vector<Duration> took) {
  if (took.empty()) return;
  std::sort(took.begin(), took.end());
  stage.shortest = took.front();
  stage.median = took[took.size() / 2];
  stage.longest = took.back();
}

std::string why_of(const proto::TaskStatus& status) {
  if (!status.message.empty()) return printable_tail(status.message, 400);
  if (status.exit_code) return text("exit ", *status.exit_code);
  if (status.signal) return text("signal ", *status.signal);
  return std::string(to_text(status.reason));
}

// "words-7 of ann: finished in 12.3 s".
std::string headline(const proto::BatchJob& job) {
  const bool ended = proto::has_ended(job.phase);
  return text(job.job, " of ", job.owner, ": ", to_text(job.phase),
              ended ? text(" in ", duration_text(job.ended_at - job.submitted_at)) : "");
}

// Facts about the whole job: name and value.
std::vector<std::pair<std::string, std::string>> facts(const proto::BatchJob& job) {
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("submitted", sdk::local_time(job.submitted_at));
  if (job.started_at != Time()) {
    out.emplace_back("waited", duration_text(job.started_at - job.submitted_at));
  }
  if (!job.role.empty()) out.emplace_back("role", job.role.str());
  if (job.array) {
    out.emplace_back("elements", text(job.array->done, " of ", job.array->total, " done, ",
                                      job.array->failed, " failed"));
  } else if (job.map.total > 0) {
    out.emplace_back("read", text(job.map.records_in, " records, ", print_bytes(job.map.bytes_in)));
    if (job.reduce.total > 0) {
      out.emplace_back("shuffled",
                       text(job.reduce.records_in, " records, ", print_bytes(job.reduce.bytes_in)));
    }
    const proto::BatchStage& last = job.reduce.total > 0 ? job.reduce : job.map;
    out.emplace_back("wrote", text(last.records_out, " records, ", print_bytes(last.bytes_out)));
  }
  if (std::string places = places_text(job); !places.empty()) {
    out.emplace_back("hosts", std::move(places));
  }
  if (!job.output.empty()) out.emplace_back("output", job.output);
  if (!job.error.empty()) out.emplace_back("error", job.error);
  return out;
}

const std::vector<std::string> kStageColumns = {"STAGE",     "ATTEMPTS", "FAILED",  "LOST",
                                                "SHORTEST",  "MEDIAN",   "LONGEST", "ASKED",
                                                "CPUS MEAN", "MEM PEAK", "ADVICE",  "WHY"};

std::vector<std::string> stage_cells(const ReportedStage& stage) {
  const proto::ShapeUsage& use = stage.use;
  return {std::string(to_text(stage.kind)),
          std::to_string(stage.attempts),
          std::to_string(stage.failed),
          std::to_string(stage.lost),
          duration_text(stage.shortest),
          duration_text(stage.median),
          duration_text(stage.longest),
          to_text(use.asked),
          cpus_text(use.cpus_mean),
          use.memory_peak_bytes ? print_bytes(*use.memory_peak_bytes) : "-",
          use.advised ? to_text(*use.advised) : "-",
          use.advised ? use.why : ""};
}

Duration median_of(const JobReport& report, TaskKind kind) {
  for (const ReportedStage& stage : report.stages) {
    if (stage.kind == kind) return stage.median;
  }
  return {};
}

std::string slow_text(const JobReport& report, size_t index) {
  const ReportedAttempt& attempt = report.attempts[index];
  const int64_t median = std::max<int64_t>(1, median_of(report, attempt.name.kind).millis());
  const int64_t tenfold = attempt.took().millis() * 10 / median;
  return fmt::format("{} on {} took {}, {}.{} times the median of its stage",
                     attempt_text(attempt.name), attempt.agent.str(), duration_text(attempt.took()),
                     tenfold / 10, tenfold % 10);
}

std::string unfinished_text(const ReportedAttempt& attempt) {
  return text(attempt_text(attempt.name), " on ", attempt.agent.str(), " ", to_text(attempt.state),
              " after ", duration_text(attempt.took()),
              attempt.why.empty() ? "" : text(": ", attempt.why));
}

}  // namespace

JobReport make_report(const proto::BatchJob& job, const std::vector<proto::EndedTask>& history) {
  JobReport report{.job = job};
  std::map<TaskKind, std::vector<proto::TaskSample>> samples;
  std::map<TaskKind, std::vector<Duration>> took;
  std::map<TaskKind, ReportedStage> stages;
  for (const proto::EndedTask& ended : history) {
    const std::optional<TaskName> name = parse_task_id(ended.status.task);
    if (!name || name->job.str() != job.job || ended.framework != job.framework) continue;
    if (report.attempts.size() == kReportAttemptsMax) break;
    const TaskState state = ended.status.state;
    ReportedAttempt attempt{.name = *name,
                            .agent = ended.status.agent,
                            .state = state,
                            .began = ended.launched_at,
                            .ended = std::max(ended.status.at, ended.launched_at)};
    ReportedStage& stage = stages[name->kind];
    ++stage.attempts;
    if (state == TaskState::kFinished) {
      took[name->kind].push_back(attempt.took());
    } else {
      ++(state == TaskState::kFailed ? stage.failed : stage.lost);
      attempt.why = why_of(ended.status);
    }
    samples[name->kind].push_back({.asked = ended.amounts,
                                   .ran = attempt.took(),
                                   .ended = true,
                                   .usage = ended.status.usage});
    report.attempts.push_back(std::move(attempt));
  }
  for (auto& [kind, stage] : stages) {
    stage.kind = kind;
    add_times(stage, std::move(took[kind]));
    std::vector<proto::ShapeUsage> shapes = proto::by_shape(samples[kind]);
    if (!shapes.empty()) stage.use = std::move(shapes.front());
    if (!has_advice(kind)) stage.use.advised.reset();
    report.stages.push_back(std::move(stage));
  }
  std::stable_sort(
      report.attempts.begin(), report.attempts.end(),
      [](const ReportedAttempt& a, const ReportedAttempt& b) { return a.began < b.began; });
  for (size_t i = 0; i < report.attempts.size(); ++i) {
    const ReportedAttempt& attempt = report.attempts[i];
    if (attempt.state != TaskState::kFinished) {
      report.unfinished.push_back(i);
    } else if (can_be_slow(attempt.name.kind) && attempt.took() >= kSlowLeast &&
               attempt.took() >= median_of(report, attempt.name.kind) * 2) {
      report.slow.push_back(i);
    }
  }
  std::stable_sort(report.slow.begin(), report.slow.end(), [&report](size_t a, size_t b) {
    return report.attempts[a].took() > report.attempts[b].took();
  });
  if (report.slow.size() > kReportedMax) report.slow.resize(kReportedMax);
  if (report.unfinished.size() > kReportedMax) {
    report.unfinished.erase(report.unfinished.begin(), report.unfinished.end() - kReportedMax);
  }
  return report;
}

std::string report_text(const JobReport& report) {
  std::string out = headline(report.job) + "\n";
  for (const auto& [name, value] : facts(report.job)) {
    out += fmt::format("  {:<10} {}\n", name, value);
  }
  std::vector<std::vector<std::string>> rows = {kStageColumns};
  for (const ReportedStage& stage : report.stages) rows.push_back(stage_cells(stage));
  std::vector<size_t> widths(kStageColumns.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  if (report.stages.empty()) return out + "\nthe history has no attempts of this job\n";
  out += "\n";
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  if (!report.slow.empty()) out += "\nslow:\n";
  for (const size_t index : report.slow) out += text("  ", slow_text(report, index), "\n");
  if (!report.unfinished.empty()) out += "\ndid not finish:\n";
  for (const size_t index : report.unfinished) {
    out += text("  ", unfinished_text(report.attempts[index]), "\n");
  }
  return out;
}

std::string report_json(const JobReport& report) {
  using Row = std::vector<std::pair<std::string_view, proto::JsonValue>>;
  const auto in_seconds = [](Duration duration) {
    return proto::MilliNumber{.milli = duration.millis()};
  };
  // Lists one object per line, by hand, since json_line supports only flat objects.
  std::string out = text("{\"job\":", proto::batch_job_json(report.job), ",\"stages\":[");
  for (const ReportedStage& stage : report.stages) {
    if (out.back() != '[') out += ',';
    Row members = {{"stage", std::string(to_text(stage.kind))},
                   {"attempts", stage.attempts},
                   {"failed", stage.failed},
                   {"lost", stage.lost},
                   {"shortest_s", in_seconds(stage.shortest)},
                   {"median_s", in_seconds(stage.median)},
                   {"longest_s", in_seconds(stage.longest)},
                   {"asked", to_text(stage.use.asked)},
                   {"cpu_nanos", stage.use.cpu_nanos}};
    if (stage.use.cpus_mean) {
      members.emplace_back("cpus_mean", proto::MilliNumber{*stage.use.cpus_mean});
    }
    if (stage.use.memory_peak_bytes) {
      members.emplace_back("memory_peak_bytes", *stage.use.memory_peak_bytes);
    }
    if (stage.use.advised) {
      members.emplace_back("advised", to_text(*stage.use.advised));
      members.emplace_back("why", stage.use.why);
    }
    out += proto::json_line(members);
  }
  out += "],\"attempts\":[";
  for (const ReportedAttempt& attempt : report.attempts) {
    if (out.back() != '[') out += ',';
    Row members = {{"task", to_task_id(attempt.name).str()},
                   {"agent", attempt.agent.str()},
                   {"state", std::string(to_text(attempt.state))},
                   {"began_s", proto::MilliNumber{attempt.began.nanos() / 1'000'000}},
                   {"took_s", in_seconds(attempt.took())}};
    if (!attempt.why.empty()) members.emplace_back("why", attempt.why);
    out += proto::json_line(members);
  }
  return out + "]}";
}

// --- HTML --------------------------------------------------------------------------------------

std::string html_text(std::string_view given) {
  std::string out;
  for (const char c : given) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } .scroll { overflow-x: auto; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
th { font-weight: 600; border-bottom: 1px solid #8888; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; } dd { margin: 0; }
dt { opacity: .7; } svg { width: 100%; height: auto; }
svg text { fill: currentColor; font-size: 11px; }
svg rect { stroke: Canvas; stroke-width: .5; } .grid { stroke: #8886; }
.map, .range { fill: #4c78a8; } .reduce { fill: #54a24b; } .end, .plan { fill: #9d9d9d; }
.bad { fill: #e45756; }
.key { display: inline-block; width: .8em; height: .8em; }
)";

// A bar has a row of its agent to itself while it lasts.
struct Bar {
  size_t attempt = 0;
  size_t row = 0;
};
struct Lane {
  AgentId agent = {};
  std::vector<Bar> bars = {};
  std::vector<Time> row_ends = {};
};

std::vector<Lane> lanes_of(const JobReport& report) {
  std::map<AgentId, Lane> lanes;
  for (size_t i = 0; i < report.attempts.size(); ++i) {
    const ReportedAttempt& attempt = report.attempts[i];
    Lane& lane = lanes[attempt.agent];
    lane.agent = attempt.agent;
    size_t row = 0;
    while (row < lane.row_ends.size() && lane.row_ends[row] > attempt.began) ++row;
    if (row == lane.row_ends.size()) lane.row_ends.emplace_back();
    lane.row_ends[row] = attempt.ended;
    lane.bars.push_back({.attempt = i, .row = row});
  }
  std::vector<Lane> out;
  for (auto& [agent, lane] : lanes) out.push_back(std::move(lane));
  return out;
}

// Steps of 1, 2 or 5 times a power of ten, at most ten of them.
int64_t grid_step_millis(int64_t span) {
  for (int64_t step = 100;; step *= 10) {
    for (const int64_t factor : {1, 2, 5}) {
      if (span <= 10 * step * factor) return step * factor;
    }
  }
}

// Coordinates are in thousandths of the width of the bars.
std::string timeline(const JobReport& report) {
  constexpr int64_t kLeft = 140;
  constexpr int64_t kWidth = 1'000;
  constexpr int64_t kRow = 10;
  constexpr int64_t kTop = 20;
  Time begin = Time::far_future();
  Time end;
  for (const ReportedAttempt& attempt : report.attempts) {
    begin = std::min(begin, attempt.began);
    end = std::max(end, attempt.ended);
  }
  const int64_t span = std::max<int64_t>(1, (end - begin).millis());
  const auto x = [&](Time at) { return kLeft + (at - begin).millis() * kWidth / span; };
  std::string bars;
  int64_t y = kTop;
  for (const Lane& lane : lanes_of(report)) {
    bars += fmt::format("<text x='0' y='{}'>{}</text>\n", y + kRow, html_text(lane.agent.str()));
    for (const Bar& bar : lane.bars) {
      const ReportedAttempt& attempt = report.attempts[bar.attempt];
      const bool is_fine = attempt.state == TaskState::kFinished;
      std::string title = text(attempt_text(attempt.name), ": ", to_text(attempt.state), ", ",
                               duration_text(attempt.took()), ", began after ",
                               duration_text(attempt.began - begin));
      if (!attempt.why.empty()) title += text(", ", attempt.why);
      bars += fmt::format(
          "<rect class='{}' x='{}' y='{}' width='{}' height='{}'><title>{}</title></rect>\n",
          is_fine ? to_text(attempt.name.kind) : "bad", x(attempt.began),
          y + static_cast<int64_t>(bar.row) * kRow,
          std::max<int64_t>(1, x(attempt.ended) - x(attempt.began)), kRow - 1, html_text(title));
    }
    y += static_cast<int64_t>(lane.row_ends.size()) * kRow + kRow;
  }
  std::string grid;
  const int64_t step = grid_step_millis(span);
  for (int64_t millis = 0; millis <= span; millis += step) {
    const int64_t at = kLeft + millis * kWidth / span;
    grid += fmt::format(
        "<line class='grid' x1='{0}' y1='{1}' x2='{0}' y2='{2}'/>"
        "<text x='{0}' y='12'>{3}</text>\n",
        at, kTop - 4, y, duration_text(milliseconds(millis)));
  }
  return fmt::format(
      "<svg viewBox='0 0 {} {}' role='img' aria-label='When attempts ran'>\n{}{}"
      "</svg>\n",
      kLeft + kWidth + 50, y, grid, bars);
}

template <class Range, class Print>
std::string html_list(std::string_view title, const Range& range, const Print& print) {
  if (range.empty()) return "";
  std::string out = text("<h2>", title, "</h2>\n<ul>\n");
  for (const size_t index : range) out += text("<li>", html_text(print(index)), "</li>\n");
  return out + "</ul>\n";
}

}  // namespace

std::string report_html(const JobReport& report) {
  const std::string title = html_text(headline(report.job));
  std::string out = text("<!doctype html>\n<html lang='en'>\n<meta charset='utf-8'>\n<meta ",
                         "name='viewport' content='width=device-width'>\n<title>", title,
                         "</title>\n<style>", kStyle, "</style>\n<h1>", title, "</h1>\n<dl>\n");
  for (const auto& [name, value] : facts(report.job)) {
    out += text("<dt>", html_text(name), "</dt><dd>", html_text(value), "</dd>\n");
  }
  out += "</dl>\n";
  if (report.stages.empty())
    return out + "<p>The history has no attempts of this job.</p>\n</html>\n";
  out += "<h2>Stages</h2>\n<div class='scroll'><table>\n<tr>";
  for (const std::string& column : kStageColumns) {
    out += text("<th scope='col'>", html_text(column), "</th>");
  }
  out += "</tr>\n";
  for (const ReportedStage& stage : report.stages) {
    out += "<tr>";
    for (const std::string& cell : stage_cells(stage))
      out += text("<td>", html_text(cell), "</td>");
    out += "</tr>\n";
  }
  out += "</table></div>\n";
  out += text("<h2>Attempts by agent</h2>\n<p>");
  for (const ReportedStage& stage : report.stages) {
    out += fmt::format("<svg class='key'><rect class='{0}' width='100%' height='100%'/></svg> {0} ",
                       to_text(stage.kind));
  }
  out +=
      "<svg class='key'><rect class='bad' width='100%' height='100%'/></svg> did not finish</p>\n";
  out += timeline(report);
  if (report.attempts.size() == kReportAttemptsMax) {
    out += text("<p>Only ", kReportAttemptsMax, " attempts are shown.</p>\n");
  }
  out +=
      html_list("Slow", report.slow, [&report](size_t index) { return slow_text(report, index); });
  out += html_list("Did not finish", report.unfinished,
                   [&report](size_t index) { return unfinished_text(report.attempts[index]); });
  return out + "</html>\n";
}

}  // namespace proffer::batch
