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

// Prometheus wants base units: bytes, where resources are in MiB.
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

void MetricsText::family(MetricType type, std::string_view name, std::string_view help) {
  name_ = name;
  text_ += text("# HELP ", name, " ", help, "\n# TYPE ", name, " ", to_text(type), "\n");
}

void MetricsText::line(std::string_view suffix, std::string_view value, const Labels& labels) {
  text_ += name_;
  text_ += suffix;
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
  if (!labels.empty()) text_ += '}';
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void MetricsText::sample(int64_t value, const Labels& labels) {
  line("", std::to_string(value), labels);
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

void MetricsText::events(const TraceLog& log) {
  family(MetricType::kCounter, "proffer_events_total", "What happened, by kind of event.");
  for (const auto& [what, count] : log.counts()) {
    line("", std::to_string(count), {{"event", std::string(what)}});
  }
}

}  // namespace proffer
