// proffer batch report.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "common/text.h"
#include "frameworks/batch/shell/calls.h"
#include "frameworks/batch/shell/report.h"
#include "sdk/shell/history.h"
#include "sdk/shell/master_call.h"

namespace proffer::batch {
namespace {

Result<JobReport> fetch_report(const std::string& name, const CommandOptions& options) {
  const Result<proto::BatchJob> job = ask_for_job(options, {.verb = "status", .job = name});
  if (!job) return job.error();
  const Result<Masters> masters = sdk::masters_at(options.master);
  if (!masters) return masters.error();
  const Result<sdk::HistoryRows> rows = sdk::fetch_history(
      *masters, {.task = text(job->framework.str(), "/", job->job, ".")}, kReportAttemptsMax);
  if (!rows) return Error(rows.error()).in("the history");
  return make_report(*job, rows->page.tasks);
}

// An existing file is replaced when the new one is whole.
Result<void> write_file(const std::string& path, const std::string& content) {
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(part.c_str());
    return Error::unavailable(text("cannot write ", quoted(path), ": ", std::strerror(error)));
  }
  return {};
}

}  // namespace

int report(const std::string& job, const std::string& html_file, const CommandOptions& options) {
  const Result<JobReport> made = fetch_report(job, options);
  if (!made) return print_answer(made.error(), options.json);
  if (!html_file.empty()) {
    if (Result<void> ok = write_file(html_file, report_html(*made)); !ok) {
      return print_error(ok.error(), options.json);
    }
  }
  if (options.json) {
    print_json(report_json(*made));
  } else if (html_file.empty()) {
    print_lines(report_text(*made));
  }
  return 0;
}

}  // namespace proffer::batch
