#include "net/metrics_text.h"

#include <fmt/format.h>

#include "common/text.h"

namespace proffer {
namespace {

std::string_view to_text(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kSummary:
      return "summary";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string in_seconds(Duration duration) { return fmt::format("{:.6f}", duration.seconds()); }

// Prometheus uses base units: bytes, where resources are in MiB.
std::string_view unit_of(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::kCpus:
      return "cpu";
    case ResourceKind::kMem:
    case ResourceKind::kDisk:
      return "byte";
    case ResourceKind::kGpus:
      return "gpu";
  }
  return "";
}

}  // namespace

std::string_view content_type(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

MetricsFormat metrics_format(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos
             ? MetricsFormat::kOpenMetrics
             : MetricsFormat::kPrometheus;
}

void MetricsText::family(MetricType type, std::string_view name, std::string_view help) {
  name_ = name;
  // A counter family is named without the suffix of its samples.
  constexpr std::string_view kTotal = "_total";
  if (format_ == MetricsFormat::kOpenMetrics && name.ends_with(kTotal)) {
    name.remove_suffix(kTotal.size());
  }
  text_ += text("# HELP ", name, " ", help, "\n# TYPE ", name, " ", to_text(type), "\n");
}

std::string MetricsText::take() {
  if (format_ == MetricsFormat::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

void MetricsText::line(std::string_view suffix, std::string_view value, const Labels& labels,
                       const std::optional<Exemplar>& exemplar) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) write_labels(labels);
  text_ += ' ';
  text_ += value;
  if (exemplar && format_ == MetricsFormat::kOpenMetrics) {
    text_ += " # ";
    write_labels(exemplar->labels);
    text_ += " 1 ";
    text_ += in_seconds(exemplar->at - Time());
  }
  text_ += '\n';
}

void MetricsText::write_labels(const Labels& labels) {
  if (labels.empty()) text_ += '{';
  for (size_t i = 0; i < labels.size(); ++i) {
    text_ += i == 0 ? "{" : ",";
    text_ += labels[i].first;
    text_ += "=\"";
    for (const char c : labels[i].second) {
      if (c == '\\' || c == '"') text_ += '\\';
      if (c == '\n')
        text_ += "\\n";
      else
        text_ += c;
    }
    text_ += '"';
  }
  text_ += '}';
}

void MetricsText::sample(int64_t value, const Labels& labels) {
  line("", std::to_string(value), labels);
}

void MetricsText::sample(int64_t value, const Labels& labels,
                         const std::optional<Exemplar>& exemplar) {
  line("", std::to_string(value), labels, exemplar);
}

void MetricsText::sample_milli(int64_t milli, const Labels& labels) {
  line("", print_milli(milli), labels);
}

void MetricsText::sample_seconds(Duration value, const Labels& labels) {
  line("", in_seconds(value), labels);
}

void MetricsText::sample(const LatencyHistogram& histogram, const Labels& labels) {
  for (const auto& [permille, quantile] : {std::pair(500, "0.5"), std::pair(900, "0.9"),
                                           std::pair(990, "0.99"), std::pair(999, "0.999")}) {
    Labels of_quantile = labels;
    of_quantile.emplace_back("quantile", quantile);
    line("", in_seconds(histogram.percentile(permille)), of_quantile);
  }
  line("_sum", in_seconds(histogram.sum()), labels);
  line("_count", std::to_string(histogram.count()), labels);
}

void MetricsText::sample(const TimeHistogram& histogram) {
  uint64_t until = 0;
  for (size_t i = 0; i < TimeHistogram::kBounds.size(); ++i) {
    until += histogram.counts()[i];
    line("_bucket", std::to_string(until),
         {{"le", fmt::format("{}", TimeHistogram::kBounds[i].seconds())}});
  }
  line("_bucket", std::to_string(histogram.count()), {{"le", "+Inf"}});
  line("_sum", in_seconds(histogram.sum()), {});
  line("_count", std::to_string(histogram.count()), {});
}

void MetricsText::gauge(std::string_view name, std::string_view help, int64_t value) {
  family(MetricType::kGauge, name, help);
  sample(value);
}

void MetricsText::gauge_seconds(std::string_view name, std::string_view help, Duration value) {
  family(MetricType::kGauge, name, help);
  sample_seconds(value);
}

void MetricsText::counter(std::string_view name, std::string_view help, uint64_t value) {
  family(MetricType::kCounter, name, help);
  line("", std::to_string(value), {});
}

void MetricsText::amounts(std::string_view name, std::string_view help,
                          const ResourceVector& vector) {
  family(MetricType::kGauge, name, help);
  sample_amounts(vector);
}

void MetricsText::sample_amounts(const ResourceVector& vector, const Labels& labels) {
  for (const ResourceKind kind : kResourceKinds) sample_amount(kind, vector[kind], labels);
}

void MetricsText::sample_amount(ResourceKind kind, int64_t milli, Labels labels) {
  constexpr double kBytesPerMib = 1 << 20;  // exact up to 2^53 bytes, 8 PiB
  labels.emplace_back("kind", proffer::to_text(kind));
  labels.emplace_back("unit", unit_of(kind));
  const bool is_size = kind == ResourceKind::kMem || kind == ResourceKind::kDisk;
  line("",
       is_size ? fmt::format("{:.0f}", static_cast<double>(milli) / 1000 * kBytesPerMib)
               : print_milli(milli),
       labels);
}

void MetricsText::events(const TraceLog& log, const ExemplarOf& exemplar_of) {
  family(MetricType::kCounter, "proffer_events_total", "Events by kind.");
  for (const auto& [what, count] : log.counts()) {
    line("", std::to_string(count), {{"event", std::string(what)}},
         exemplar_of ? exemplar_of(what) : std::nullopt);
  }
}

}  // namespace proffer
