#include "frameworks/batch/shell/results.h"

#include <algorithm>
#include <memory>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/planning/input.h"
#include "frameworks/batch/planning/lanes.h"
#include "net/fd.h"

namespace proffer::batch {
namespace {

// The most bytes of an index with kElementsMax elements.
constexpr size_t kResultsBytesMax = size_t{128} << 20;

Fd open_to_read(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

Error cannot_read(const std::string& path, int error_number) {
  const char* words = ::strerrordesc_np(error_number);
  return Error::unavailable(
      text("reading ", quoted(path), ": ", words != nullptr ? words : "unknown error"));
}

}  // namespace

Result<JobOrder> read_order(const std::string& output) {
  const auto no_array = [&] {
    return Error::not_found(text("no array writes to ", quoted(output)))
        .with_hint("the output directory must be the same on all machines");
  };
  const Result<std::vector<std::string>> names = names_in(output + "/_temporary");
  if (!names) return names.error().code() == ErrorCode::kNotFound ? no_array() : names.error();
  for (const std::string& name : *names) {
    if (!name.starts_with("plan-")) continue;
    const std::string plan = text(output, "/_temporary/", name);
    Result<std::string> bytes = read_file(made_plan(plan) + "/order", kOrderBytesMax);
    if (!bytes && bytes.error().code() == ErrorCode::kNotFound) {
      bytes = read_file(plan + "/order", kOrderBytesMax);
    }
    if (!bytes) return bytes.error();
    Result<JobOrder> order = decode_order(*bytes);
    if (order && !order->array) return Error::corruption("the order belongs to another job");
    return order;
  }
  return no_array();
}

namespace {

Result<std::vector<ElementResult>> read_index(const std::string& path) {
  const Result<std::string> whole = read_file(path, kResultsBytesMax);
  if (!whole) return whole.error();
  std::vector<ElementResult> results;
  std::string_view rest = *whole;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const Result<std::optional<ElementResult>> line = parse_results_line(rest.substr(0, end));
    if (!line) return Error(line.error()).in(path);
    if (*line) results.push_back(**line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return results;
}

Result<std::vector<ElementResult>> read_lanes(const std::string& output, const ArrayOrder& array) {
  std::vector<KeptEnd> ends;
  const Result<void> read = read_ends(output, [&](const KeptEnd& kept) {
    if (kept.end.position < array.size()) ends.push_back(kept);
  });
  if (!read) return read.error();
  std::vector<ElementResult> results;
  for (const KeptEnd& kept : choose_ends(std::move(ends), array.ok, array.is_gang)) {
    results.push_back(result_of(kept, array.indices, array.ok));
  }
  return results;
}

}  // namespace

Result<std::vector<ElementResult>> read_results(const std::string& output) {
  const std::string index = results_path(output);
  if (::access((output + "/_SUCCESS").c_str(), F_OK) == 0) return read_index(index);
  // While it can be retried its ends are in the lanes, indexed or not.
  const Result<JobOrder> order = read_order(output);
  if (!order && order.error().code() == ErrorCode::kNotFound) return read_index(index);
  if (!order) return order.error();
  return read_lanes(output, *order->array);
}

namespace {

// Copies `left` bytes of a lane's file, from `at` on.
Result<void> copy_bytes(const Fd& file, const std::string& path, int64_t at, int64_t left, int to) {
  std::string buffer(64 * 1024, '\0');
  while (left > 0) {
    const auto wanted = std::min<int64_t>(left, static_cast<int64_t>(buffer.size()));
    const ssize_t got = ::pread(file.get(), buffer.data(), static_cast<size_t>(wanted), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, errno);
    if (got == 0) return {};  // a command has cut the file
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = ::write(to, buffer.data() + done, static_cast<size_t>(got - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Error::unavailable("writing the results failed");
      done += written;
    }
    at += got;
    left -= got;
  }
  return {};
}

}  // namespace

Result<void> copy_output(const std::string& output, const ElementResult& result, bool is_stderr,
                         int to) {
  const ElementEnd& end = result.end;
  const int64_t length = is_stderr ? end.stderr_length : end.stdout_length;
  if (length == 0) return {};
  const std::string path =
      lane_path(output, is_stderr ? LaneFile::kStderr : LaneFile::kStdout, result.lane);
  const Fd file = open_to_read(path);
  if (file.get() < 0) return cannot_read(path, errno);
  return copy_bytes(file, path, is_stderr ? end.stderr_offset : end.stdout_offset, length, to);
}

void ResultStream::pump() {
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> directory(::opendir((output_ + "/_temporary").c_str()));
  if (directory == nullptr) return;  // it has ended
  while (const dirent* entry = ::readdir(directory.get())) {
    if (const std::optional<uint32_t> lane = parse_lane_index(entry->d_name)) read_lane(*lane);
  }
  for (auto at = waiting_.begin(); at != waiting_.end() && (as_ended_ || at->first == next_);
       at = waiting_.erase(at)) {
    if (!print(at->second)) return;  // the job has ended meanwhile: finish() finds it
    printed_.insert(at->first);
    while (printed_.erase(next_) > 0) ++next_;
  }
}

void ResultStream::read_lane(uint32_t lane) {
  const Fd file = open_to_read(lane_path(output_, LaneFile::kIndex, lane));
  if (file.get() < 0) return;
  int64_t& at = read_[lane];
  char bytes[kElementEndBytes];
  while (::pread(file.get(), bytes, sizeof bytes, at) == static_cast<ssize_t>(sizeof bytes)) {
    at += static_cast<int64_t>(sizeof bytes);
    const Result<ElementEnd> end = decode_element_end({bytes, sizeof bytes});
    if (!end || end->position >= array_.size() || is_printed(end->position)) continue;
    // An element that failed before the last retry runs again. If elements are requeued, attempts
    // are not failures, so failed ones are printed at the end.
    const int64_t attempt = int64_t{end->attempt} - attempts_before_;
    if (!array_.accepts(end->code) &&
        (attempt <= 0 || !array_.requeue_on.empty() ||
         array_.retries_after(end->code, static_cast<int32_t>(attempt)))) {
      continue;
    }
    waiting_.try_emplace(end->position, ElementResult{.index = 0, .lane = lane, .end = *end});
  }
}

void ResultStream::finish() {
  const Result<std::vector<ElementResult>> results = read_results(output_);
  if (!results) return;
  uint32_t position = 0;
  const uint32_t size = array_.size();
  for (const ElementResult& result : *results) {
    while (position < size && index_at(array_.indices, position) != result.index) ++position;
    if (!is_printed(position++)) (void)print(result);
  }
}

bool ResultStream::print(const ElementResult& result) {
  const ElementEnd& end = result.end;
  const std::string out_path = lane_path(output_, LaneFile::kStdout, result.lane);
  const std::string err_path = lane_path(output_, LaneFile::kStderr, result.lane);
  const Fd out = open_to_read(out_path);
  const Fd err = open_to_read(err_path);
  if (out.get() < 0 || err.get() < 0) return false;
  // A reader that has gone must not end the command before the job.
  (void)copy_bytes(out, out_path, end.stdout_offset, end.stdout_length, STDOUT_FILENO);
  (void)copy_bytes(err, err_path, end.stderr_offset, end.stderr_length, STDERR_FILENO);
  return true;
}

}  // namespace proffer::batch
