#pragma once

// A report of one job: its stages, the use of its attempts compared with their requests, slow and
// failed attempts, and when and where each attempt ran. It is made from the job's status and the
// master's history by plain functions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "frameworks/batch/core/work.h"
#include "proto/batch_status.h"
#include "proto/history.h"
#include "proto/shape_usage.h"

namespace proffer::batch {

// An attempt that has ended.
struct ReportedAttempt {
  TaskName name = {};
  AgentId agent = {};
  proto::TaskState state = proto::TaskState::kFinished;
  Time began = {};
  Time ended = {};
  std::string why = {};  // the reason, if it did not finish

  Duration took() const { return ended - began; }
};

struct ReportedStage {
  TaskKind kind = TaskKind::kMap;
  int64_t attempts = 0;
  int64_t failed = 0;  // by their own fault
  int64_t lost = 0;    // their agent was lost, or they were killed
  // Of the attempts that finished.
  Duration shortest = {};
  Duration median = {};
  Duration longest = {};
  proto::ShapeUsage use = {};  // compared with the request, with advice
};

struct JobReport {
  proto::BatchJob job = {};
  std::vector<ReportedStage> stages = {};
  std::vector<ReportedAttempt> attempts = {};  // in the order in which they began
  // Indices of attempts: those that took at least twice the median of their stage, longest first;
  // and those that did not finish, newest last. At most kReportedMax each.
  std::vector<size_t> slow = {};
  std::vector<size_t> unfinished = {};
};
inline constexpr size_t kReportedMax = 10;
// The most attempts of one report, since each has a bar in the timeline.
inline constexpr size_t kReportAttemptsMax = 20'000;

// Entries of the history that are not attempts of this job are left out.
JobReport make_report(const proto::BatchJob& job, const std::vector<proto::EndedTask>& history);

// Lines for a terminal.
std::string report_text(const JobReport& report);
std::string report_json(const JobReport& report);
// One self-contained file: the same report, and a timeline of the attempts on each agent.
std::string report_html(const JobReport& report);

// Escapes text for HTML, also for attributes.
std::string html_text(std::string_view text);

}  // namespace proffer::batch
