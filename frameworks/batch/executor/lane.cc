#include "frameworks/batch/executor/lane.h"

#include <algorithm>
#include <memory>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::batch {
namespace {

Result<Fd> open_to_append(const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0666);
  if (fd >= 0) return Fd(fd);
  return system_error(text("opening ", quoted(path)), errno)
      .with_hint("the output directory must be the same on all agents");
}

Result<int64_t> size_of(const Fd& file) {
  struct stat seen = {};
  if (::fstat(file.get(), &seen) != 0) return system_error("the size of an output file", errno);
  return static_cast<int64_t>(seen.st_size);
}

// Another task has it. If the file system has no locks, this is never true: the scheduler gives
// each task a lane of its own, as far as it knows.
bool is_taken(const Fd& index) {
  return ::flock(index.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool is_empty(const std::string& path) {
  struct stat seen = {};
  return ::stat(path.c_str(), &seen) != 0 ? errno == ENOENT : seen.st_size == 0;
}

bool is_tidy(const std::string& output, uint32_t lane, const Fd& index) {
  const Result<int64_t> size = size_of(index);
  if (!size) return false;
  // Nothing has ended there. A task that was killed may have written nevertheless.
  if (*size == 0) {
    return is_empty(lane_path(output, LaneFile::kStdout, lane)) &&
           is_empty(lane_path(output, LaneFile::kStderr, lane));
  }
  if (*size % static_cast<int64_t>(kElementEndBytes) != 0) return false;
  char bytes[kElementEndBytes];
  const off_t at = static_cast<off_t>(*size) - static_cast<off_t>(kElementEndBytes);
  if (::pread(index.get(), bytes, sizeof bytes, at) != static_cast<ssize_t>(sizeof bytes)) {
    return false;
  }
  const Result<ElementEnd> end = decode_element_end({bytes, sizeof bytes});
  return end && end->position == kTidyMark;
}

Result<void> put(const Fd& index, const ElementEnd& end) {
  const WriteOutcome written = write_all(index.get(), encode_element_end(end));
  if (written.error) return Error(*written.error).in("the index of the results");
  return {};
}

Result<void> sync(const Fd& file) {
  if (::fsync(file.get()) == 0 || errno == EINVAL || errno == EROFS) return {};
  return system_error("writing output to disk", errno);
}

}  // namespace

Result<Lane> Lane::open(const std::string& output, uint32_t first) {
  for (uint32_t lane = first; lane < first + kElementsMax; ++lane) {
    Result<Fd> index = open_to_append(lane_path(output, LaneFile::kIndex, lane));
    if (!index) return std::move(index).error();
    if (is_taken(*index) || !is_tidy(output, lane, *index)) continue;
    Result<Fd> out = open_to_append(lane_path(output, LaneFile::kStdout, lane));
    if (!out) return std::move(out).error();
    Result<Fd> err = open_to_append(lane_path(output, LaneFile::kStderr, lane));
    if (!err) return std::move(err).error();
    return Lane(*std::move(index), *std::move(out), *std::move(err));
  }
  return Error::unavailable("no file for output is free");
}

Result<void> Lane::begin() {
  const Result<int64_t> out = size_of(out_);
  const Result<int64_t> err = size_of(err_);
  if (!out) return out.error();
  if (!err) return err.error();
  out_begin_ = *out;
  err_begin_ = *err;
  return {};
}

Result<void> Lane::keep(ElementEnd& end) {
  end.stdout_offset = out_begin_;
  end.stderr_offset = err_begin_;
  if (Result<void> ok = begin(); !ok) return ok;
  // A command may cut the file that it writes to.
  end.stdout_length = std::max<int64_t>(out_begin_ - end.stdout_offset, 0);
  end.stderr_length = std::max<int64_t>(err_begin_ - end.stderr_offset, 0);
  has_kept_ = true;
  return put(index_, end);
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
  return put(index_, {.position = kTidyMark});
}

Result<void> read_ends(const std::string& output, const std::function<void(const KeptEnd&)>& take) {
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  const std::string path = output + "/_temporary";
  const std::unique_ptr<DIR, Close> directory(::opendir(path.c_str()));
  if (directory == nullptr) return system_error(text("reading ", quoted(path)), errno);
  std::vector<uint32_t> lanes;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (const std::optional<uint32_t> lane = parse_lane_index(entry->d_name)) {
      lanes.push_back(*lane);
    }
  }
  std::sort(lanes.begin(), lanes.end());
  constexpr size_t kEntries = 1'024;
  std::string buffer(kEntries * kElementEndBytes, '\0');
  for (const uint32_t lane : lanes) {
    Result<Fd> file = open_to_read(lane_path(output, LaneFile::kIndex, lane));
    if (!file) return std::move(file).error();
    for (int64_t at = 0;;) {
      const ssize_t got = ::pread(file->get(), buffer.data(), buffer.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error("reading the index of the results", errno);
      const size_t whole = static_cast<size_t>(got) / kElementEndBytes * kElementEndBytes;
      if (whole == 0) break;  // A killed task may have left half an entry.
      for (size_t i = 0; i < whole; i += kElementEndBytes) {
        const Result<ElementEnd> end =
            decode_element_end(std::string_view(buffer).substr(i, kElementEndBytes));
        if (end && end->position != kTidyMark) take({.lane = lane, .end = *end});
      }
      at += static_cast<int64_t>(whole);
    }
  }
  return {};
}

}  // namespace proffer::batch
