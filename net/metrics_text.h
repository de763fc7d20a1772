#pragma once

// The text that Prometheus reads: families of samples, each with its help and type, in its own text
// format 0.0.4 or, with exemplars, in that of OpenMetrics 1.0.0. Names follow Prometheus'
// conventions: counters end in _total, times are in seconds, sizes in bytes; `promtool check
// metrics` and an OpenMetrics parser hold it in the tests.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/latency_histogram.h"
#include "common/resources.h"
#include "common/time.h"
#include "net/time_histogram.h"
#include "net/trace_log.h"

namespace proffer {

enum class MetricsFormat : uint8_t { kPrometheus, kOpenMetrics };
// The value of Content-Type.
std::string_view content_type(MetricsFormat format);
// The one that a request with this header Accept gets: OpenMetrics if it is named there.
MetricsFormat metrics_format(std::string_view accept);

enum class MetricType : uint8_t { kCounter, kGauge, kSummary, kHistogram };

// One thing that a counter counted, and where more is told about it.
struct Exemplar {
  std::vector<std::pair<std::string_view, std::string>> labels =
      {};  // together at most 128 letters
  Time at = {};
};

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  explicit MetricsText(MetricsFormat format = MetricsFormat::kPrometheus) : format_(format) {}
  MetricsFormat format() const { return format_; }

  // Begins a family, which may stay without samples. Each family is begun once, and its samples
  // follow it. The functions below begin one themselves if they are given help.
  void family(MetricType type, std::string_view name, std::string_view help);

  // One sample of the family that was begun last.
  void sample(int64_t value, const Labels& labels = {});
  // Of a counter. Only OpenMetrics has exemplars.
  void sample(int64_t value, const Labels& labels, const std::optional<Exemplar>& exemplar);
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
  using ExemplarOf = std::function<std::optional<Exemplar>(std::string_view what)>;
  void events(const TraceLog& log, const ExemplarOf& exemplar_of = {});
  // The whole page, which is complete.
  std::string take();

 private:
  void line(std::string_view suffix, std::string_view value, const Labels& labels,
            const std::optional<Exemplar>& exemplar = {});
  void write_labels(const Labels& labels);

  const MetricsFormat format_;
  std::string text_;
  std::string name_;  // of the family
};

}  // namespace proffer
