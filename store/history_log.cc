#include "store/history_log.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer {
namespace {

constexpr std::string_view kSuffix = ".log";
constexpr size_t kDigits = 12;
constexpr std::string_view kAside = ".aside-";
// The number of files into which the log is divided.
constexpr uint64_t kFiles = 16;
constexpr uint64_t kFileBytesMin = uint64_t{64} << 10;
constexpr uint64_t kFileBytesMax = uint64_t{4} << 20;

std::string path_of_number(const std::string& directory, uint64_t number) {
  const std::string digits = std::to_string(number);
  return text(directory, "/", std::string(kDigits - std::min(kDigits, digits.size()), '0'), digits,
              kSuffix);
}

std::optional<uint64_t> number_of(std::string_view name) {
  if (name.size() < kDigits + kSuffix.size() || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  uint64_t number = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (code != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// The numbers of `<directory>.aside-<n>`, sorted.
Result<std::vector<uint64_t>> logs_aside(const std::filesystem::path& directory) {
  const std::string prefix = directory.filename().string() + std::string(kAside);
  std::vector<uint64_t> numbers;
  std::error_code code;
  std::filesystem::directory_iterator entry(directory.parent_path(), code);
  for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const Result<int64_t> number =
        parse_whole("number", std::string_view(name).substr(prefix.size()), 1, INT64_MAX - 1);
    if (number) numbers.push_back(static_cast<uint64_t>(*number));
  }
  if (code) {
    return Error::unavailable(
        text("cannot read ", quoted(directory.parent_path().string()), ": ", code.message()));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Error refused(std::string_view what, const std::string& path) {
  return Error::unavailable(text("cannot ", what, " ", quoted(path), ": ", std::strerror(errno)));
}

}  // namespace

uint64_t HistoryLogOptions::file_bytes() const {
  return std::clamp(bytes_max / kFiles, kFileBytesMin, kFileBytesMax);
}

Result<std::unique_ptr<HistoryLog>> HistoryLog::open(HistoryLogOptions options, Time now) {
  std::unique_ptr<HistoryLog> log(new HistoryLog(std::move(options)));
  const Result<bool> may_grow = log->load(now);
  if (!may_grow) return may_grow.error();
  if (!*may_grow) return log;
  Result<CheckpointLog::Opened> opened =
      CheckpointLog::open(path_of_number(log->options_.directory, log->files_.back().number));
  if (!opened) return std::move(opened).error();
  log->newest_ = std::move(opened->log);
  log->begun_ = now;
  return log;
}

Result<std::unique_ptr<HistoryLog>> HistoryLog::look(HistoryLogOptions options, Time now) {
  std::unique_ptr<HistoryLog> log(new HistoryLog(std::move(options)));
  const Result<bool> loaded = log->load(now);
  if (!loaded) return loaded.error();
  return log;
}

Result<std::unique_ptr<HistoryLog>> HistoryLog::open_anew(HistoryLogOptions options, Time now) {
  const std::string& directory = options.directory;
  Result<std::vector<uint64_t>> aside = logs_aside(directory);
  if (!aside) return aside.error();
  const auto path = [&](uint64_t number) { return text(directory, kAside, number); };
  // An empty directory is the rest of a failed call.
  std::error_code ignored;
  if (!std::filesystem::is_empty(directory, ignored)) {
    const uint64_t next = aside->empty() ? 1 : aside->back() + 1;
    if (::rename(directory.c_str(), path(next).c_str()) == 0) {
      aside->push_back(next);
    } else if (errno != ENOENT) {
      return refused("rename", directory);
    }
  }
  // If a removal fails, it is repeated the next time.
  for (size_t i = 0; i + kLogsAsideMax < aside->size(); ++i) {
    std::filesystem::remove_all(path((*aside)[i]), ignored);
  }
  return open(std::move(options), now);
}

// Whether records can be appended to the newest file, which must exist.
Result<bool> HistoryLog::load(Time now) {
  const std::string& directory = options_.directory;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return refused("make", directory);
  if (Result<void> found = find_files(); !found) return std::move(found).error();

  // Reads the newest record of all; the newest file may have none.
  bool may_grow = false;
  for (size_t i = files_.size(); i > 0 && !last_; --i) {
    Result<Records> records = read(directory, files_[i - 1]);
    if (!records) return std::move(records).error();
    if (!records->records.empty()) last_ = std::move(records->records.back());
    if (i == files_.size()) {
      may_grow = records->damaged_bytes == 0 && files_.back().bytes < options_.file_bytes();
    }
  }
  forget(now);
  return may_grow;
}

Result<void> HistoryLog::find_files() {
  DIR* folder = ::opendir(options_.directory.c_str());
  if (folder == nullptr) return refused("read", options_.directory);
  while (const dirent* entry = ::readdir(folder)) {
    const std::optional<uint64_t> number = number_of(entry->d_name);
    struct stat status = {};
    if (!number || ::lstat(path_of_number(options_.directory, *number).c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    files_.push_back({*number, static_cast<uint64_t>(status.st_size),
                      Time::from_nanos(int64_t{status.st_mtim.tv_sec} * 1'000'000'000 +
                                       status.st_mtim.tv_nsec)});
  }
  ::closedir(folder);
  std::sort(files_.begin(), files_.end(),
            [](const File& a, const File& b) { return a.number < b.number; });
  return {};
}

Result<void> HistoryLog::begin_file(Time now) {
  const uint64_t number = files_.empty() ? 1 : files_.back().number + 1;
  const std::string path = path_of_number(options_.directory, number);
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(path);
  if (!opened) {
    ::unlink(path.c_str());  // Without a complete header it would count as damaged.
    return std::move(opened).error();
  }
  newest_ = std::move(opened->log);
  begun_ = now;
  files_.push_back({number, newest_->size(), now});
  return {};
}

Result<void> HistoryLog::append(const std::vector<std::string>& records, Time now) {
  // A file is removed as a whole, so no file may cover much more time than the others.
  const bool is_old = now - begun_ > options_.age_max / static_cast<int64_t>(kFiles);
  if (newest_ == nullptr || newest_->size() >= options_.file_bytes() || is_old) {
    newest_.reset();
    if (Result<void> begun = begin_file(now); !begun) return begun;
  }
  if (Result<void> written = newest_->append(records); !written) return written;
  files_.back().bytes = newest_->size();
  files_.back().changed = std::max(files_.back().changed, now);
  forget(now);
  return {};
}

// The newest file stays.
void HistoryLog::forget(Time now) {
  uint64_t all = bytes();
  size_t gone = 0;
  while (gone + 1 < files_.size()) {
    const File& oldest = files_[gone];
    const bool is_old = now - oldest.changed > options_.age_max;
    if (all <= options_.bytes_max && !is_old) break;
    ::unlink(path_of_number(options_.directory, oldest.number).c_str());
    all -= oldest.bytes;
    ++gone;
  }
  files_.erase(files_.begin(), files_.begin() + static_cast<std::ptrdiff_t>(gone));
}

uint64_t HistoryLog::bytes() const {
  uint64_t sum = 0;
  for (const File& file : files_) sum += file.bytes;
  return sum;
}

std::string HistoryLog::path_of(const std::string& directory, const File& file) {
  return path_of_number(directory, file.number);
}

Result<HistoryLog::Records> HistoryLog::read(const std::string& directory, const File& file) {
  Result<CheckpointLog::Readable> found = CheckpointLog::read(path_of(directory, file), file.bytes);
  if (!found) return std::move(found).error();
  return Records{std::move(found->records), found->damaged_bytes};
}

}  // namespace proffer
