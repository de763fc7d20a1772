#include "net/process_figures.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace proffer {
namespace {

std::string read_all(const char* path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find_first_of(" \n"), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

int64_t number_of(std::string_view word) {
  int64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

int64_t count_descriptors() {
  constexpr const char* kDirectory = "/proc/self/fd";
  struct stat facts {};
  if (::stat(kDirectory, &facts) == 0 && facts.st_size > 0) return facts.st_size;  // Linux 6.2
  DIR* const directory = ::opendir(kDirectory);
  if (directory == nullptr) return 0;
  int64_t count = 0;
  while (const dirent* entry = ::readdir(directory)) count += entry->d_name[0] != '.';
  ::closedir(directory);
  return count - 1;  // Without the descriptor of the directory itself.
}

Time machine_start() {
  const std::string stat = read_all("/proc/stat");
  const size_t at = stat.find("\nbtime ");
  if (at == std::string::npos) return {};
  return Time::from_nanos(0) + seconds(number_of(std::string_view(stat).substr(at + 7, 20)));
}

}  // namespace

ProcessFigures read_process_figures() {
  ProcessFigures figures;
  // The program's name may contain spaces and parentheses, and ends at the last parenthesis. The
  // state after it is field 3 of proc(5).
  const std::string stat = read_all("/proc/self/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end != std::string::npos) {
    const auto fields = words_of(std::string_view(stat).substr(name_end + 1));
    const auto field = [&](size_t number) {
      return number - 3 < fields.size() ? number_of(fields[number - 3]) : 0;
    };
    const Duration tick = seconds(1) / sysconf(_SC_CLK_TCK);
    figures.cpu = tick * (field(14) + field(15));
    figures.threads = field(20);
    figures.started_at = machine_start() + tick * field(22);
    figures.virtual_bytes = field(23);
    figures.resident_bytes = field(24) * sysconf(_SC_PAGESIZE);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    figures.descriptors_max = static_cast<int64_t>(limit.rlim_cur);
  }
  return figures;
}

int64_t open_descriptors(Loop& loop) {
  struct Counted {
    int64_t descriptors = count_descriptors();
    bool is_counting = false;
  };
  static Counted known;
  if (!std::exchange(known.is_counting, true)) {
    const auto counted = std::make_shared<int64_t>(0);
    loop.work([counted] { *counted = count_descriptors(); },
              [counted] {
                known = {*counted, false};
              });
  }
  return known.descriptors;
}

}  // namespace proffer
