// Recovery of an agent's log. Input: 'r' and the bytes of a complete file; or 's' and a script that
// writes a valid log and then damages it, because a fuzzer does not guess checksums. The script has
// pairs of bytes (operation, amount) that add records, cut the end or change a byte.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/check.h"
#include "store/checkpoint_log.h"
#include "tests/fuzz/laws.h"
#include "tests/support/temporary_directory.h"

namespace proffer::fuzz {
namespace checkpoint_log_fuzz {
namespace {

namespace fs = std::filesystem;
using Records = std::vector<std::string>;

class Directory {
 public:
  std::string log() const { return (path_ / "checkpoint.log").string(); }
  void clear() const {
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) fs::remove(entry.path());
  }

 private:
  static fs::path base() {
    const fs::path memory = "/dev/shm";
    std::error_code error;
    return fs::is_directory(memory, error) ? memory : fs::temp_directory_path();
  }

  test::TemporaryDirectory directory_{base()};
  fs::path path_ = directory_.path();
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// For any bytes: the log opens or is set aside, no record is found twice, and new records can be
// added.
std::optional<Records> check_recovery(const std::string& path) {
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(path);
  if (!opened) {
    check_told(opened.error());
    if (opened.error().code() == ErrorCode::kUnsupported) return std::nullopt;
    CHECK(opened.error().code() == ErrorCode::kCorruption) << opened.error().message();
    const Result<Records> saved = CheckpointLog::salvage(path);
    CHECK(saved) << saved.error().message();
    const Result<CheckpointLog::Opened> fresh = CheckpointLog::open(path);
    CHECK(fresh && fresh->records.empty() && fresh->cut_bytes == 0);
    return std::nullopt;
  }
  Records records = std::move(opened->records);
  const uint64_t size = opened->log->size();
  CHECK_EQ(size, fs::file_size(path));
  opened->log.reset();
  {
    Result<CheckpointLog::Opened> again = CheckpointLog::open(path);
    CHECK(again && again->cut_bytes == 0 && again->records == records);
    CHECK(again->log->append({"one", "", "two"}));
  }
  Records longer = records;
  longer.insert(longer.end(), {"one", "", "two"});
  Result<CheckpointLog::Opened> last = CheckpointLog::open(path);
  CHECK(last && last->cut_bytes == 0 && last->records == longer);
  CHECK(last->log->rewrite(records));
  CHECK_EQ(last->log->size(), fs::file_size(path));
  last->log.reset();
  const Result<CheckpointLog::Opened> rewritten = CheckpointLog::open(path);
  CHECK(rewritten && rewritten->cut_bytes == 0 && rewritten->records == records);
  return records;
}

// Writes a valid log, then damages it. Only its end may be lost without an error.
void run_script(const std::string& path, Input script) {
  Records written;
  bool cut = false;
  size_t changed = 0;
  std::string bytes;
  {
    Result<CheckpointLog::Opened> made = CheckpointLog::open(path);
    CHECK(made) << made.error().message();
    for (size_t i = 0; i + 1 < script.size(); i += 2) {
      if (script[i] >= 128) continue;
      // Lengths up to about a kilobyte; each record has different bytes.
      const size_t length = size_t{script[i]} * script[i] / 16;
      written.emplace_back(length, static_cast<char>(script[i + 1]));
      CHECK(made->log->append({written.back()}));
    }
  }
  bytes = contents(path);
  for (size_t i = 0; i + 1 < script.size() && !bytes.empty(); i += 2) {
    if (script[i] < 128) continue;
    if (script[i] < 192) {
      bytes.resize(bytes.size() - std::min<size_t>(bytes.size(), script[i + 1]));
      cut = true;
    } else {
      const size_t place = (size_t{script[i] & 63u} << 8 | script[i + 1]) % bytes.size();
      bytes[place] = static_cast<char>(bytes[place] ^ (1 << (script[i] & 7)));
      ++changed;
    }
  }
  put(path, bytes);
  const std::optional<Records> found = check_recovery(path);
  if (changed == 0) CHECK(found) << "a log that was only cut is refused";
  if (!cut && changed == 0) CHECK(*found == written);
  if (!found) return;
  // For any damage, the found records are a prefix of the written ones.
  CHECK_LE(found->size(), written.size());
  CHECK(std::equal(found->begin(), found->end(), written.begin()));
}

}  // namespace
}  // namespace checkpoint_log_fuzz

void fuzz_checkpoint_log(Input input) {
  static const checkpoint_log_fuzz::Directory directory;
  if (input.empty()) return;
  directory.clear();
  const std::string path = directory.log();
  if (input[0] == 's') {
    checkpoint_log_fuzz::run_script(path, input.subspan(1));
  } else {
    checkpoint_log_fuzz::put(path, text_of(input.subspan(1)));
    checkpoint_log_fuzz::check_recovery(path);
  }
}

}  // namespace proffer::fuzz
