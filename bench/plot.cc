// Lines from standard input as a plot in SVG, for the scripts here.
//
//   build/bin/bench_plot [--log] TITLE X_LABEL Y_LABEL <POINTS >PLOT.svg
//
// A line of POINTS is "SERIES X Y"; blanks in a series are written as _. The points of a series are
// joined in their order. --log: both axes are logarithmic, and points that are not above zero are
// left out.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace proffer::bench {
namespace {

// The frame within the picture, in pixels. The names of the series are to its right.
constexpr double kWidth = 860, kHeight = 440;
constexpr double kLeft = 80, kRight = 640, kTop = 40, kBottom = 380;
// Distinguishable for people who confuse red and green (Okabe and Ito).
constexpr std::string_view kColours[] = {"#0072B2", "#D55E00", "#009E73",
                                         "#CC79A7", "#E69F00", "#56B4E9"};

struct Point {
  double x = 0, y = 0;
};

struct Series {
  std::string name = {};
  std::vector<Point> points = {};
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    if (c == '<') out += "&lt;";
    if (c != '&' && c != '<') out += c;
  }
  return out;
}

// One axis: it converts values to pixels, and has the marks.
class Axis {
 public:
  Axis(bool log, double pixel_min, double pixel_max)
      : log_(log), pixel_min_(pixel_min), pixel_max_(pixel_max) {}

  void include(double value) {
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }
  // Widens the range to the marks.
  void finish() {
    if (log_) {
      min_ = std::pow(10, std::floor(std::log10(min_)));
      max_ = std::pow(10, std::ceil(std::log10(max_)));
      if (min_ == max_) max_ *= 10;
      for (double mark = min_; mark <= max_ * 1.001; mark *= 10) marks_.push_back(mark);
      return;
    }
    if (min_ == max_) max_ = min_ + 1;
    const double rough = (max_ - min_) / 6;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    const double step = power * (rough / power < 1.5   ? 1
                                 : rough / power < 3.5 ? 2
                                 : rough / power < 7.5 ? 5
                                                       : 10);
    min_ = std::floor(min_ / step) * step;
    max_ = std::ceil(max_ / step) * step;
    for (int i = 0; min_ + i * step <= max_ + step / 2; ++i) marks_.push_back(min_ + i * step);
  }
  double at(double value) const {
    const double part =
        log_ ? std::log(value / min_) / std::log(max_ / min_) : (value - min_) / (max_ - min_);
    return pixel_min_ + part * (pixel_max_ - pixel_min_);
  }
  const std::vector<double>& marks() const { return marks_; }

 private:
  bool log_;
  double pixel_min_, pixel_max_;
  double min_ = std::numeric_limits<double>::max();
  double max_ = std::numeric_limits<double>::lowest();
  std::vector<double> marks_;
};

std::string mark_text(double mark) {
  if (mark >= 1'000'000) return fmt::format("{:g}M", mark / 1e6);
  if (mark >= 10'000) return fmt::format("{:g}k", mark / 1e3);
  return fmt::format("{:g}", mark);
}

std::string label(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(words));
}

std::string line(double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", x1, y1,
      x2, y2);
}

std::string plot(const std::vector<Series>& all, bool log, std::string_view title,
                 std::string_view x_label, std::string_view y_label) {
  Axis x(log, kLeft, kRight);
  Axis y(log, kBottom, kTop);
  for (const Series& series : all) {
    for (const Point& point : series.points) {
      x.include(point.x);
      y.include(point.y);
    }
  }
  x.finish();
  y.finish();
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += label((kLeft + kRight) / 2, kTop - 16, "middle", title);
  for (const double mark : x.marks()) {
    out += line(x.at(mark), kTop, x.at(mark), kBottom);
    out += label(x.at(mark), kBottom + 18, "middle", mark_text(mark));
  }
  for (const double mark : y.marks()) {
    out += line(kLeft, y.at(mark), kRight, y.at(mark));
    out += label(kLeft - 8, y.at(mark) + 4, "end", mark_text(mark));
  }
  out += label((kLeft + kRight) / 2, kBottom + 42, "middle", x_label);
  out += fmt::format(
      "<text transform=\"translate(20,{:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      (kTop + kBottom) / 2, escaped(y_label));
  // Names in the order in which the lines end, so that their height identifies them too.
  std::vector<const Series*> ranked;
  for (const Series& series : all) ranked.push_back(&series);
  std::stable_sort(ranked.begin(), ranked.end(), [](const Series* a, const Series* b) {
    return a->points.back().y > b->points.back().y;
  });
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string_view colour = kColours[i % std::size(kColours)];
    std::string points;
    for (const Point& point : all[i].points) {
      points += fmt::format("{:.1f},{:.1f} ", x.at(point.x), y.at(point.y));
      if (all[i].points.size() > 30) continue;
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                         x.at(point.x), y.at(point.y), colour);
    }
    out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                       points, colour);
    const auto rank =
        static_cast<double>(std::find(ranked.begin(), ranked.end(), &all[i]) - ranked.begin());
    const double height = kTop + 12 + 20 * rank;
    out += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"14\" height=\"3\" fill=\"{}\"/>\n",
                       kRight + 14, height - 6, colour);
    out += label(kRight + 34, height, "start", all[i].name);
  }
  return out + "</svg>\n";
}

int run(int argc, char** argv) {
  const bool log = argc > 1 && std::string_view(argv[1]) == "--log";
  if (argc != (log ? 5 : 4)) {
    std::fputs("usage: bench_plot [--log] TITLE X_LABEL Y_LABEL <POINTS >PLOT.svg\n", stderr);
    return 2;
  }
  argv += log ? 1 : 0;
  std::vector<Series> all;
  std::string row;
  while (std::getline(std::cin, row)) {
    std::istringstream parts(row);
    std::string name;
    Point point;
    if (!(parts >> name >> point.x >> point.y)) {
      std::fprintf(stderr, "error: a line must be SERIES X Y, not '%s'\n", row.c_str());
      return 1;
    }
    if (log && (point.x <= 0 || point.y <= 0)) continue;
    std::replace(name.begin(), name.end(), '_', ' ');
    auto at = std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.name == name; });
    if (at == all.end()) at = all.insert(all.end(), Series{.name = name});
    at->points.push_back(point);
  }
  if (all.empty()) {
    std::fputs("error: there are no points\n", stderr);
    return 1;
  }
  std::cout << plot(all, log, argv[1], argv[2], argv[3]);
  return std::cout.good() ? 0 : 1;
}

}  // namespace
}  // namespace proffer::bench

int main(int argc, char** argv) { return proffer::bench::run(argc, argv); }
