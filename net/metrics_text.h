#pragma once

// The text that Prometheus reads: families of samples, each with its help and type (text format
// 0.0.4). Names follow Prometheus' conventions: counters end in _total, times are in seconds, sizes
// in bytes; `promtool check metrics` holds it in the tests.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/latency_histogram.h"
#include "common/resources.h"
#include "net/time_histogram.h"
#include "net/trace_log.h"

namespace proffer {

inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

enum class MetricType : uint8_t { kCounter, kGauge, kSummary, kHistogram };

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  // Begins a family, which may stay without samples. Each family is begun once, and its samples
  // follow it. The functions below begin one themselves if they are given help.
  void family(MetricType type, std::string_view name, std::string_view help);

  // One sample of the family that was begun last.
  void sample(int64_t value, const Labels& labels = {});
  void sample_milli(int64_t milli, const Labels& labels = {});  // in units of 1000 milli
  void sample_seconds(Duration value, const Labels& labels = {});
  // A summary in seconds: p50, p90, p99, p99.9, the sum and the count.
  void sample(const LatencyHistogram& histogram, const Labels& labels = {});
  void sample(const TimeHistogram& histogram);

  // A family of one sample.
  void gauge(std::string_view name, std::string_view help, int64_t value);
  void gauge_seconds(std::string_view name, std::string_view help, Duration value);
  void counter(std::string_view name, std::string_view help, uint64_t value);
  // A family by the labels `kind` and `unit`: CPUs, bytes and GPUs.
  void amounts(std::string_view name, std::string_view help, const ResourceVector& vector);
  // Samples of one vector, or of one kind, in the family that was begun last; `labels` stand before
  // kind and unit.
  void sample_amounts(const ResourceVector& vector, const Labels& labels = {});
  void sample_amount(ResourceKind kind, int64_t milli, Labels labels);
  // proffer_events_total{event="…"} for each kind of event seen.
  void events(const TraceLog& log);
  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view suffix, std::string_view value, const Labels& labels);
  std::string text_;
  std::string name_;  // of the family
};

}  // namespace proffer
