#pragma once

// Writes the text format of Prometheus, 0.0.4, or with exemplars that of OpenMetrics 1.0.0:
// families of samples, each with its help and type. Names follow the conventions of Prometheus:
// counters end in _total, times are in seconds, sizes in bytes. The tests check this with `promtool
// check metrics` and an OpenMetrics parser.

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
// The format for a request with this Accept header: OpenMetrics if the header lists it.
MetricsFormat metrics_format(std::string_view accept);

enum class MetricType : uint8_t { kCounter, kGauge, kSummary, kHistogram };

// One counted thing, with a reference to more information about it.
struct Exemplar {
  std::vector<std::pair<std::string_view, std::string>> labels =
      {};  // at most 128 characters in total
  Time at = {};
};

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  explicit MetricsText(MetricsFormat format = MetricsFormat::kPrometheus) : format_(format) {}
  MetricsFormat format() const { return format_; }

  // Begins a family, which may have no samples. Each family is begun once, and its samples follow
  // it. The functions below with a help text begin one themselves.
  void family(MetricType type, std::string_view name, std::string_view help);

  // A sample of the last family.
  void sample(int64_t value, const Labels& labels = {});
  // For a counter. Only OpenMetrics has exemplars.
  void sample(int64_t value, const Labels& labels, const std::optional<Exemplar>& exemplar);
  void sample_milli(int64_t milli, const Labels& labels = {});  // in units of 1000 milli
  void sample_seconds(Duration value, const Labels& labels = {});
  // A summary in seconds: p50, p90, p99, p99.9, the sum and the count.
  void sample(const LatencyHistogram& histogram, const Labels& labels = {});
  void sample(const TimeHistogram& histogram);

  // A family with one sample.
  void gauge(std::string_view name, std::string_view help, int64_t value);
  void gauge_seconds(std::string_view name, std::string_view help, Duration value);
  void counter(std::string_view name, std::string_view help, uint64_t value);
  // A family with the labels `kind` and `unit`: CPUs, bytes and GPUs.
  void amounts(std::string_view name, std::string_view help, const ResourceVector& vector);
  // Samples of one vector, or of one kind, in the last family; `labels` come before kind and unit.
  void sample_amounts(const ResourceVector& vector, const Labels& labels = {});
  void sample_amount(ResourceKind kind, int64_t milli, Labels labels);
  // proffer_events_total{event="…"} for each kind of event that has occurred.
  using ExemplarOf = std::function<std::optional<Exemplar>(std::string_view what)>;
  void events(const TraceLog& log, const ExemplarOf& exemplar_of = {});
  // Returns the complete page.
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
