#include "net/metrics_text.h"

#include <gtest/gtest.h>

namespace proffer {
namespace {

TEST(MetricsText, EscapesLabelsAndKeepsFamiliesWithoutSamples) {
  MetricsText page;
  page.family(MetricType::kGauge, "a", "An a.");
  page.sample(3, {{"of", "a\"b\\c\nd"}});
  page.family(MetricType::kCounter, "b_total", "Bs.");
  EXPECT_EQ(page.take(),
            "# HELP a An a.\n# TYPE a gauge\na{of=\"a\\\"b\\\\c\\nd\"} 3\n"
            "# HELP b_total Bs.\n# TYPE b_total counter\n");
}

TEST(MetricsText, OpenMetricsHasExemplarsAndAnEnd) {
  const Exemplar last = {.labels = {{"seq", "17.4021"}}, .at = Time() + milliseconds(1'500)};
  MetricsText page(MetricsFormat::kOpenMetrics);
  page.family(MetricType::kCounter, "b_total", "Bs.");
  page.sample(3, {{"of", "x"}}, last);
  page.sample(4, {}, last);
  page.sample(5, {{"of", "y"}});
  EXPECT_EQ(page.take(),
            "# HELP b Bs.\n# TYPE b counter\n"
            "b_total{of=\"x\"} 3 # {seq=\"17.4021\"} 1 1.500000\n"
            "b_total 4 # {seq=\"17.4021\"} 1 1.500000\n"
            "b_total{of=\"y\"} 5\n# EOF\n");

  MetricsText plain;
  plain.family(MetricType::kCounter, "b_total", "Bs.");
  plain.sample(3, {{"of", "x"}}, last);
  EXPECT_EQ(plain.take(), "# HELP b_total Bs.\n# TYPE b_total counter\nb_total{of=\"x\"} 3\n");
}

TEST(MetricsText, IsInTheFormatThatWasAskedFor) {
  EXPECT_EQ(metrics_format("application/openmetrics-text;version=1.0.0;q=0.9,text/plain;q=0.5"),
            MetricsFormat::kOpenMetrics);
  for (const char* accept : {"", "*/*", "text/plain;version=0.0.4"}) {
    EXPECT_EQ(metrics_format(accept), MetricsFormat::kPrometheus) << accept;
  }
}

TEST(MetricsText, BucketsOfAHistogramAddUp) {
  TimeHistogram times;
  times.record(microseconds(100));  // A bound belongs to its bucket.
  times.record(milliseconds(3));
  times.record(hours(1));
  times.record(Duration() - seconds(1));
  MetricsText page;
  page.family(MetricType::kHistogram, "turn_seconds", "Turns.");
  page.sample(times);
  const std::string text = page.take();
  for (const char* line :
       {"turn_seconds_bucket{le=\"0.0001\"} 2\n", "turn_seconds_bucket{le=\"0.001\"} 2\n",
        "turn_seconds_bucket{le=\"0.005\"} 3\n", "turn_seconds_bucket{le=\"10\"} 3\n",
        "turn_seconds_bucket{le=\"+Inf\"} 4\n", "turn_seconds_count 4\n",
        "turn_seconds_sum 3600.003100\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(MetricsText, SizesAreInBytes) {
  ResourceVector amounts;
  amounts[ResourceKind::kMem] = 1'500;
  amounts[ResourceKind::kCpus] = 2'500;
  MetricsText page;
  page.amounts("r", "Resources.", amounts);
  const std::string text = page.take();
  EXPECT_NE(text.find("r{kind=\"mem\",unit=\"byte\"} 1572864\n"), std::string::npos) << text;
  EXPECT_NE(text.find("r{kind=\"cpus\",unit=\"cpu\"} 2.5\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace proffer
