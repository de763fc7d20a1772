#include "frameworks/batch/executor/lane.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::batch {
namespace {

// Pauses between tries to store an end.
constexpr std::chrono::milliseconds kPauses[] = {
    std::chrono::milliseconds(0), std::chrono::milliseconds(10), std::chrono::milliseconds(100),
    std::chrono::seconds(1),      std::chrono::seconds(3),       std::chrono::seconds(6)};
// Space is reserved in these units: a block of most file systems.
constexpr int64_t kRoomBytes = 4'096;

Result<Fd> open_file(const std::string& path, int flags) {
  const int fd =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | flags, 0666);
  if (fd >= 0) return Fd(fd);
  return system_error(text("opening ", quoted(path)), errno)
      .with_hint("the output directory must be the same on all agents");
}

Result<int64_t> size_of(const Fd& file) {
  struct stat seen = {};
  if (::fstat(file.get(), &seen) != 0) return system_error("the size of an output file", errno);
  return static_cast<int64_t>(seen.st_size);
}

// True if another task has it. Without locks in the file system it is always false: the scheduler
// gives each task its own lane, as far as it knows.
bool is_taken(const Fd& index) {
  return ::flock(index.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool is_empty(const std::string& path) {
  struct stat seen = {};
  return ::stat(path.c_str(), &seen) != 0 ? errno == ENOENT : seen.st_size == 0;
}

bool is_tidy(const std::string& output, uint32_t lane, const Fd& index, int64_t size) {
  // No element has ended there. A task that was killed may have written nevertheless.
  if (size == 0) {
    return is_empty(lane_path(output, LaneFile::kStdout, lane)) &&
           is_empty(lane_path(output, LaneFile::kStderr, lane));
  }
  if (size % static_cast<int64_t>(kElementEndBytes) != 0) return false;
  char bytes[kElementEndBytes];
  const off_t at = static_cast<off_t>(size) - static_cast<off_t>(kElementEndBytes);
  if (::pread(index.get(), bytes, sizeof bytes, at) != static_cast<ssize_t>(sizeof bytes)) {
    return false;
  }
  const Result<ElementEnd> end = decode_element_end({bytes, sizeof bytes});
  return end && end->position == kTidyMark;
}

Result<void> sync(const Fd& file) {
  if (::fsync(file.get()) == 0 || errno == EINVAL || errno == EROFS) return {};
  return system_error("writing output to disk", errno);
}

}  // namespace

Result<Lane> Lane::open(const std::string& output, uint32_t first) {
  for (uint32_t lane = first; lane < first + kElementsMax; ++lane) {
    // A partial entry is written again at its place, so the file is not opened for appending.
    Result<Fd> index = open_file(lane_path(output, LaneFile::kIndex, lane), 0);
    if (!index) return std::move(index).error();
    if (is_taken(*index)) continue;
    const Result<int64_t> size = size_of(*index);
    if (!size || !is_tidy(output, lane, *index, *size)) continue;
    Result<Fd> out = open_file(lane_path(output, LaneFile::kStdout, lane), O_APPEND);
    if (!out) return std::move(out).error();
    Result<Fd> err = open_file(lane_path(output, LaneFile::kStderr, lane), O_APPEND);
    if (!err) return std::move(err).error();
    return Lane(*std::move(index), *size, *std::move(out), *std::move(err));
  }
  return Error::unavailable("no output file is free");
}

Result<void> Lane::measure() {
  const Result<int64_t> out = size_of(out_);
  const Result<int64_t> err = size_of(err_);
  if (!out) return out.error();
  if (!err) return err.error();
  out_begin_ = *out;
  err_begin_ = *err;
  return {};
}

Result<void> Lane::begin() {
  // For the end, and for the mark after it.
  const int64_t wanted = index_bytes_ + 2 * static_cast<int64_t>(kElementEndBytes);
  if (room_until_ < wanted) {
    int failed = -1;
    do {
      failed = ::fallocate(index_.get(), FALLOC_FL_KEEP_SIZE, index_bytes_, kRoomBytes);
    } while (failed != 0 && errno == EINTR);
    // Some file systems cannot reserve space.
    if (failed != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) {
      return system_error("reserving space for the end of an element in the output directory",
                          errno);
    }
    room_until_ = index_bytes_ + kRoomBytes;
  }
  return measure();
}

// Writes all of it at its place, over the rest of an earlier try.
Result<void> Lane::put(const ElementEnd& end) {
  const std::string bytes = encode_element_end(end);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::pwrite(index_.get(), bytes.data() + at, bytes.size() - at,
                                     static_cast<off_t>(index_bytes_ + static_cast<int64_t>(at)));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("writing the index of the results", errno);
    at += static_cast<size_t>(written);
  }
  index_bytes_ += static_cast<int64_t>(bytes.size());
  return {};
}

Result<void> Lane::keep(ElementEnd& end) {
  end.stdout_offset = out_begin_;
  end.stderr_offset = err_begin_;
  has_kept_ = true;
  Result<void> kept = {};
  for (const auto pause : kPauses) {
    std::this_thread::sleep_for(pause);
    kept = measure();
    if (!kept) continue;
    // A command may cut the file that it writes to.
    end.stdout_length = std::max<int64_t>(out_begin_ - end.stdout_offset, 0);
    end.stderr_length = std::max<int64_t>(err_begin_ - end.stderr_offset, 0);
    kept = put(end);
    if (kept) break;
  }
  return kept;
}

std::string Lane::stderr_tail(const ElementEnd& end, size_t bytes_max) const {
  const int64_t length = std::min<int64_t>(end.stderr_length, static_cast<int64_t>(bytes_max));
  std::string tail(static_cast<size_t>(length), '\0');
  const ssize_t got =
      ::pread(err_.get(), tail.data(), tail.size(), end.stderr_offset + end.stderr_length - length);
  tail.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return tail;
}

Result<void> Lane::close() {
  if (has_kept_) {
    for (const Fd* file : {&out_, &err_, &index_}) {
      if (Result<void> ok = sync(*file); !ok) return ok;
    }
  }
  // Without the mark no task continues in this lane, and nothing is lost.
  (void)put({.position = kTidyMark});
  return {};
}

}  // namespace proffer::batch
