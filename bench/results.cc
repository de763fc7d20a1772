#include "bench/results.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include <sys/utsname.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::bench {
namespace {

std::string output_of(const char* command) {
  std::FILE* pipe = ::popen(command, "r");
  if (pipe == nullptr) return "?";
  std::array<char, 256> line{};
  std::string out;
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) out += line.data();
  ::pclose(pipe);
  const std::string_view shown = trimmed(out);
  return shown.empty() ? "?" : std::string(shown);
}

std::string machine() {
  utsname system{};
  ::uname(&system);
  return text(::sysconf(_SC_NPROCESSORS_ONLN), " cores, ",
              output_of("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1"), ", ",
              system.sysname, " ", system.release, "; load before ",
              output_of("cut -d' ' -f1 /proc/loadavg"));
}

}  // namespace

int64_t percentile(std::vector<int64_t> values, int percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t rank = (values.size() * static_cast<size_t>(percent) + 99) / 100;
  return values[std::max<size_t>(rank, 1) - 1];
}

std::string millis(int64_t micros) {
  const std::string hundredths = std::to_string(1000 + micros % 1000);
  return text(micros / 1000, ".", hundredths.substr(1, 2));
}

std::string hundredths(int64_t value) {
  return text(value / 100, ".", value % 100 / 10, value % 10);
}

std::string latency_row(const std::string& what, const std::vector<int64_t>& micros) {
  return text("| ", what, " | ", millis(percentile(micros, 50)), " | ",
              millis(percentile(micros, 99)), " |\n");
}

void write_section(const std::string& path, const std::string& name, const std::string& command,
                   const std::string& body) {
  const std::string begin = text("<!-- begin ", name, " -->\n");
  const std::string end = text("<!-- end ", name, " -->\n");
  std::array<char, 32> date{};
  const std::time_t now = std::time(nullptr);
  std::strftime(date.data(), date.size(), "%Y-%m-%d", std::gmtime(&now));
  const std::string section = text(begin, "## ", name, "\n\n", date.data(), " · commit ",
                                   output_of("git rev-parse --short HEAD 2>/dev/null"), " · ",
                                   machine(), "\n\n    ", command, "\n\n", body, end);
  std::fputs(section.c_str(), stdout);
  std::ifstream in(path);
  CHECK(in.is_open()) << path << " does not exist: a misspelt argument makes no file";
  std::stringstream content;
  content << in.rdbuf();
  std::string whole = content.str();
  const size_t from = whole.find(begin);
  const size_t to = whole.find(end);
  if (from != std::string::npos && to != std::string::npos && from < to) {
    whole.replace(from, to + end.size() - from, section);
  } else {
    if (!whole.empty()) whole += '\n';
    whole += section;
  }
  std::ofstream out(path);
  out << whole;
  CHECK(out.good()) << path;
}

}  // namespace proffer::bench
