#include "master/shell/recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>

#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::master {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kStepsPerSum = 1'000;
constexpr std::string_view kSuffix = ".rec";

std::string name_of(LeaderEpoch leader) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%012llu", static_cast<unsigned long long>(leader.value()));
  return text(digits, kSuffix);
}

bool is_recording(const fs::path& path) {
  const std::string name = path.filename();
  return path.extension() == kSuffix && name.size() == 12 + kSuffix.size() &&
         name.find_first_not_of("0123456789") == 12;
}

// Removes recordings of earlier lives, the oldest first, until the rest fits; the last one is kept.
void forget_old(const std::string& directory, uint64_t bytes_max) {
  std::vector<std::pair<fs::path, uint64_t>> files;
  uint64_t all = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!is_recording(entry.path())) continue;
    const uint64_t bytes = entry.file_size(error);
    if (error) continue;
    files.emplace_back(entry.path(), bytes);
    all += bytes;
  }
  std::sort(files.begin(), files.end());
  if (!files.empty()) files.pop_back();
  for (const auto& [path, bytes] : files) {
    if (all <= bytes_max) return;
    if (fs::remove(path, error)) all -= bytes;
  }
}

// The directory will contain session secrets.
Result<void> make_own(const std::string& directory) {
  std::error_code error;
  fs::create_directories(fs::path(directory).parent_path(), error);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::unavailable(
        text("cannot make the directory ", quoted(directory), ": ", std::strerror(errno)));
  }
  struct stat found {};
  if (::stat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return Error::failed_precondition(text(quoted(directory), " is not a directory"));
  }
  if (found.st_uid != ::geteuid() || (found.st_mode & 0077) != 0) {
    return Error::failed_precondition(
               text(quoted(directory), " belongs to another user, or is open to others"))
        .with_hint(text("chmod 700 ", directory, ", or use another directory"));
  }
  return {};
}

}  // namespace

// Used by the worker or by finish(), one at a time.
struct Recorder::File {
  std::unique_ptr<CheckpointLog> log;
  std::mutex writing;
};

Recorder::Recorder(Loop& loop, RecorderOptions options)
    : loop_(loop), options_(std::move(options)), timer_(loop, [this] { write(); }) {}

Recorder::~Recorder() { *alive_ = false; }

Result<std::unique_ptr<Recorder>> Recorder::open(Loop& loop, RecorderOptions options,
                                                 const MasterOptions& core,
                                                 const MasterSnapshot& snapshot) {
  if (Result<void> made = make_own(options.directory); !made) return std::move(made).error();
  forget_old(options.directory, options.bytes_max / 2);
  const std::string path = options.directory + "/" + name_of(core.leader);
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(path);
  if (!opened) return std::move(opened).error();
  if (!opened->records.empty()) {
    return Error::already_exists(text(quoted(path), " is the recording of another master"))
        .with_hint("use a --record directory that no other master writes to");
  }
  std::unique_ptr<Recorder> made(new Recorder(loop, std::move(options)));
  made->file_ = std::make_shared<File>();
  made->file_->log = std::move(opened->log);
  // Written here, since it may be larger than the limit for waiting records.
  const std::vector<std::string> begin =
      made->writer_.begin(made->options_.version, core, snapshot);
  if (Result<void> written = made->file_->log->append(begin); !written) {
    return std::move(written).error();
  }
  for (const std::string& record : begin) made->bytes_ += record.size();
  return made;
}

void Recorder::add(const MasterEvent& event, Time now, std::span<const std::byte> frame) {
  if (!ended_.empty()) return;
  std::vector<std::string> records;
  writer_.add(event, now, frame, records);
  for (std::string& record : records) keep(std::move(record));
}

void Recorder::note_outcome(const MasterOutbox& out) {
  if (!ended_.empty()) return;
  hash_.add(out);
  if (++steps_ % kStepsPerSum == 0) keep(writer_.sum(steps_, hash_.value()));
  if (bytes_ > options_.bytes_max / 2) {
    return end(
        text("this life has filled its half of --record_mib, ", options_.bytes_max >> 21, " MiB"));
  }
  if (waiting_bytes_ > options_.waiting_max) {
    end("the disk is too slow for the recording");
  }
}

// The part recorded so far can be replayed.
void Recorder::end(std::string why) {
  LOG(ERROR) << "the recording has ended: " << why
             << "; the master continues, and records again after its next start";
  keep(writer_.sum(steps_, hash_.value()));
  keep(writer_.end(why));
  ended_ = std::move(why);
}

void Recorder::keep(std::string record) {
  bytes_ += record.size();
  waiting_bytes_ += record.size();
  waiting_.push_back(std::move(record));
  if (!is_writing_ && !timer_.is_armed()) timer_.arm(loop_.now() + options_.delay);
}

void Recorder::write() {
  if (is_writing_ || waiting_.empty()) return;
  is_writing_ = true;
  // The part on the disk can be compared up to its last step.
  if (ended_.empty()) waiting_.push_back(writer_.sum(steps_, hash_.value()));
  const auto batch = std::make_shared<std::vector<std::string>>(std::exchange(waiting_, {}));
  waiting_bytes_ = 0;
  const auto result = std::make_shared<Result<void>>();
  loop_.work(
      [file = file_, batch, result] {
        const std::lock_guard writing(file->writing);
        if (!batch->empty()) *result = file->log->append(*batch);
        batch->clear();
      },
      [this, alive = alive_, result] {
        if (!*alive) return;
        is_writing_ = false;
        if (!*result) return on_refused(result->error());
        if (!waiting_.empty()) timer_.arm(loop_.now() + options_.delay);
      });
  in_flight_ = batch;
}

// The end record is retried, so that a reader can tell a master that continued from one that was
// killed.
void Recorder::on_refused(const Error& error) {
  if (ended_.empty()) {
    ended_ = error.message();
    LOG(ERROR) << "the recording has ended: " << ended_
               << "; the master continues, and records again after its next start";
  }
  waiting_ = {writer_.end(ended_)};
  waiting_bytes_ = waiting_.front().size();
  timer_.arm(loop_.now() + options_.retry);
}

void Recorder::finish() {
  if (ended_.empty()) {
    keep(writer_.sum(steps_, hash_.value()));
    keep(writer_.end(kMasterEnded));
  }
  const std::lock_guard writing(file_->writing);
  // If a worker has not begun, it finds no records left.
  if (in_flight_ != nullptr && !in_flight_->empty()) {
    waiting_.insert(waiting_.begin(), std::make_move_iterator(in_flight_->begin()),
                    std::make_move_iterator(in_flight_->end()));
    in_flight_->clear();
  }
  if (waiting_.empty()) return;
  if (const Result<void> written = file_->log->append(waiting_); !written) {
    LOG(ERROR) << "the end of the recording is lost: " << written.error().message();
  }
  waiting_.clear();
}

}  // namespace proffer::master
