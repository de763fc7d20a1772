#include "cli/events_on_disk.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "common/text.h"
#include "proto/json/event_lines.h"
#include "store/checkpoint_log.h"

namespace proffer {
namespace {

namespace fs = std::filesystem;

std::string lines_of(const std::vector<std::string>& records) {
  std::string all;
  for (const std::string& record : records) {
    for (proto::EventLineReader lines(record); lines.next();) {
      all += lines.line();
      all += '\n';
    }
  }
  return all;
}

}  // namespace

Result<std::string> events_on_disk(const std::string& directory, size_t bytes_max) {
  std::error_code failed;
  std::vector<std::string> files;
  fs::directory_iterator entry(directory, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    std::error_code gone;
    if (entry->is_regular_file(gone)) files.push_back(entry->path().string());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    return Error::unavailable(text("cannot read ", quoted(directory), ": ", failed.message()));
  }
  if (files.empty()) return Error::not_found(text("no event log in ", quoted(directory)));
  std::sort(files.begin(), files.end());
  std::string all;
  while (!files.empty() && all.size() < bytes_max) {
    const Result<CheckpointLog::Readable> read = CheckpointLog::read(files.back(), UINT64_MAX);
    if (!read && read.error().code() != ErrorCode::kNotFound) return read.error();
    if (read) all.insert(0, lines_of(read->records));
    files.pop_back();
  }
  if (all.size() > bytes_max) {
    const size_t end_of_line = all.find('\n', all.size() - bytes_max - 1);
    all.erase(0, end_of_line == std::string::npos ? all.size() : end_of_line + 1);
  }
  return all;
}

}  // namespace proffer
