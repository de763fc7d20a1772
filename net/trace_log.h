#pragma once

// What daemons do with a core's trace: log lines (glog), and one counter for each kind of event.
// They come from the same events, so they cannot disagree.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/latency_histogram.h"
#include "common/result.h"
#include "common/trace.h"

namespace proffer {

class TraceLog {
 public:
  // Logs by level and counts. Warnings that peers can cause are limited to ten per event, user and
  // second; how many were left out is said with the next one.
  void write(const std::vector<TraceEvent>& events, int64_t now_s);

  const std::map<std::string_view, uint64_t>& counts() const { return counts_; }

 private:
  struct Limit {
    int64_t second = 0;
    uint64_t in_second = 0;
    uint64_t left_out = 0;
  };
  void warn(const TraceEvent& event, int64_t now_s);

  std::map<std::string_view, uint64_t> counts_;
  std::map<std::pair<std::string_view, std::string>, Limit> limits_;  // by event and user
};

// The text that Prometheus reads, line by line.
class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  // `help` once per name; all samples of a name must follow each other.
  void gauge(std::string_view name, std::string_view help, int64_t value,
             const Labels& labels = {});
  void counter(std::string_view name, std::string_view help, uint64_t value,
               const Labels& labels = {});
  // In units of 1000 milli.
  void gauge_milli(std::string_view name, std::string_view help, int64_t milli,
                   const Labels& labels = {});
  // A summary in seconds: p50, p90, p99, p99.9, the sum and the count.
  void latency(std::string_view name, std::string_view help, const LatencyHistogram& histogram,
               const Labels& labels = {});
  // proffer_events_total{event="…"} for each kind of event seen.
  void events(const TraceLog& log);
  std::string take() { return std::move(text_); }

 private:
  void sample(std::string_view type, std::string_view name, std::string_view help,
              std::string_view value, const Labels& labels);
  void line(std::string_view name, std::string_view value, const Labels& labels);
  std::string text_;
  std::string last_name_;
};

// Writes `bytes` to `path` by a temporary file beside it and a rename: readers see all or nothing.
// Errors: kUnavailable with the path and why.
Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                   mode_t mode = 0644);

}  // namespace proffer
