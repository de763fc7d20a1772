// The last task of an array: one index of all results, in the order of the elements.

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/results.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/planning/lanes.h"

namespace proffer::batch {
namespace {

// Written under a temporary name, and put in place atomically.
Result<void> write_index(const GatherWork& work, const std::vector<KeptEnd>& ends) {
  const std::string aside = work.common.output + "/_temporary/index.tsv";
  Result<Fd> file = open_to_write(aside, 0666);
  if (!file) return std::move(file).error();
  BufferedWriter out(file->get());
  WriteOutcome written = out.write(results_header());
  for (const KeptEnd& kept : ends) {
    if (!written.ok()) break;
    written = out.write(results_line(result_of(kept, work.indices, work.ok)));
  }
  if (written.ok()) written = out.flush();
  if (written.error) return std::move(*written.error).in("the index of the results");
  if (::fsync(file->get()) != 0 && errno != EINVAL && errno != EROFS) {
    return system_error("writing the index of the results to disk", errno);
  }
  if (::rename(aside.c_str(), results_path(work.common.output).c_str()) != 0) {
    return system_error("putting the index of the results in place", errno);
  }
  return {};
}

// The output files of a lane.
constexpr LaneFile kOutputFiles[] = {LaneFile::kStdout, LaneFile::kStderr};

// Copies a part of a file to a new file, and puts it in place atomically.
Result<void> copy_part(const std::string& from, int64_t offset, int64_t length,
                       const std::string& aside, const std::string& to) {
  Result<Fd> source = open_to_read(from);
  if (!source) return std::move(source).error();
  Result<Fd> copy = open_to_write(aside, 0666);
  if (!copy) return std::move(copy).error();
  if (::lseek(source->get(), offset, SEEK_SET) < 0) {
    return system_error(text("reading ", quoted(from)), errno);
  }
  std::string buffer(size_t{256} * 1024, '\0');
  while (length > 0) {
    const auto wanted = std::min<int64_t>(length, std::ssize(buffer));
    const Result<size_t> got = read_some(source->get(), buffer.data(), static_cast<size_t>(wanted));
    if (!got) return got.error();
    if (*got == 0) break;  // a command has cut the file
    const WriteOutcome written = write_all(copy->get(), std::string_view(buffer).substr(0, *got));
    if (written.error) return *written.error;
    length -= static_cast<int64_t>(*got);
  }
  if (::fsync(copy->get()) != 0 && errno != EINVAL && errno != EROFS) {
    return system_error(text("writing ", quoted(aside), " to disk"), errno);
  }
  if (::rename(aside.c_str(), to.c_str()) == 0) return {};
  return system_error(text("putting ", quoted(to), " in place"), errno);
}

// Gives the only element of a job its own lane; `only` points to it afterwards. The output of
// attempts that were cut off is in other lanes, which are removed later. The output of attempts
// that failed may be in the same lane, before that of the attempt that counts.
Result<void> give_own_lane(const GatherWork& work, const std::vector<uint32_t>& lanes,
                           KeptEnd& only) {
  const std::string& output = work.common.output;
  struct Part {
    LaneFile file;
    int64_t* offset;
    int64_t length;
  };
  const Part parts[] = {{LaneFile::kStdout, &only.end.stdout_offset, only.end.stdout_length},
                        {LaneFile::kStderr, &only.end.stderr_offset, only.end.stderr_length}};
  bool is_alone = true;
  for (const Part& part : parts) {
    std::error_code error;
    const auto size = std::filesystem::file_size(lane_path(output, part.file, only.lane), error);
    is_alone &= !error && *part.offset == 0 && size == static_cast<uintmax_t>(part.length);
  }
  if (is_alone || lanes.empty()) return {};
  const uint32_t own = lanes.back() + 1;  // parallel attempts at this work choose the same lane
  for (const Part& part : parts) {
    Result<void> copied =
        copy_part(lane_path(output, part.file, only.lane), *part.offset, part.length,
                  text(output, "/_temporary/own-lane-", work.common.attempt),
                  lane_path(output, part.file, own));
    if (!copied) return copied;
    *part.offset = 0;
  }
  only.lane = own;
  return {};
}

// A file that cannot be removed is in no index, so errors are not reported.
void remove_other_lanes(const std::string& output, const std::vector<uint32_t>& lanes,
                        uint32_t kept) {
  for (const uint32_t lane : lanes) {
    for (const LaneFile file : kOutputFiles) {
      if (lane != kept) remove_tree(lane_path(output, file, lane));
    }
  }
}

// The lane that an earlier attempt at this work gave to the only element.
Result<std::optional<uint32_t>> own_lane(const std::string& output) {
  const Result<bool> has_index = is_there(results_path(output));
  if (!has_index) return has_index.error();
  if (!*has_index) return std::optional<uint32_t>();
  Result<Fd> file = open_to_read(results_path(output));
  if (!file) return std::move(file).error();
  LineReader lines(file->get());
  for (;;) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) return line.error();
    if (!*line) return std::optional<uint32_t>();
    const auto result = parse_results_line(**line);
    if (!result) return result.error();
    if (!*result) continue;
    // no task has written there
    const uint32_t lane = (*result)->lane;
    const Result<bool> is_of_task = is_there(lane_path(output, LaneFile::kIndex, lane));
    if (!is_of_task) return is_of_task.error();
    return *is_of_task ? std::optional<uint32_t>() : std::optional<uint32_t>(lane);
  }
}

// Writes the index of a job of one element. Its files hold the output of the attempt that counts,
// and no other output; returns its lane.
Result<uint32_t> write_only(const GatherWork& work, const std::vector<uint32_t>& lanes,
                            KeptEnd only) {
  const Result<std::optional<uint32_t>> earlier = own_lane(work.common.output);
  if (!earlier) return earlier.error();
  if (*earlier) return **earlier;
  if (Result<void> ok = give_own_lane(work, lanes, only); !ok) return ok.error();
  if (Result<void> ok = write_index(work, {only}); !ok) return ok.error();
  return only.lane;
}

Result<void> make_marker(const std::string& path) {
  const Fd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (made.get() < 0) return system_error(text("making ", quoted(path)), errno);
  return {};
}

// The chosen ends of the job's elements.
Result<std::vector<KeptEnd>> find_ends(const GatherWork& work) {
  std::vector<KeptEnd> ends;
  const uint32_t size = count_of(work.indices);
  const Result<void> read = read_ends(work.common.output, [&](const KeptEnd& kept) {
    if (kept.end.position < size) ends.push_back(kept);
  });
  if (!read) return read.error();
  return choose_ends(std::move(ends), work.ok, work.is_gang);
}

}  // namespace

Result<void> gather(const GatherWork& given, TaskResult& result) {
  const auto is_of_another = [&] {
    return Error::failed_precondition(
               text("the output ", quoted(given.common.output), " belongs to another job"))
        .with_hint("the output directory must be the same on all agents");
  };
  // The directory stays the same if it is renamed meanwhile, even if this process stops for long:
  // the files that are checked below are the files that are changed.
  const Result<bool> is_here = is_there(given.common.output);
  if (!is_here) return is_here.error();
  if (!*is_here && !given.commits) return {};
  Result<Fd> pinned = open_directory(given.common.output);
  if (!pinned) return std::move(pinned).error();
  GatherWork work = given;
  work.common.output = path_of(*pinned);
  const std::string& output = work.common.output;
  const std::string marker = output + "/_SUCCESS";
  // An output that was made anew is not ours; an output that another attempt finished is.
  const Result<bool> is_ours = is_there(plan_directory(output, work.common.plan));
  if (!is_ours) return is_ours.error();
  if (!*is_ours) {
    if (!work.commits) return {};
    const Result<bool> has_index = is_there(results_path(output));
    const Result<bool> has_marker = is_there(marker);
    if (!has_index) return has_index.error();
    if (!has_marker) return has_marker.error();
    if (!*has_index || !*has_marker) return is_of_another();
    remove_scratch(output);
    return {};
  }
  const Result<std::vector<KeptEnd>> ends = find_ends(work);
  if (!ends) return ends.error();
  const auto done = std::count_if(ends->begin(), ends->end(), [&](const KeptEnd& one) {
    return std::binary_search(work.ok.begin(), work.ok.end(), one.end.code);
  });
  if (work.commits && done < int64_t{work.done}) {
    return Error::failed_precondition(text(work.done, " elements are done, but only ", done,
                                           " of them have a result in ",
                                           quoted(given.common.output)))
        .with_hint("the output directory must be the same on all agents");
  }
  for (const KeptEnd& one : *ends) result.bytes_out += one.end.stdout_length;
  result.records_out = std::ssize(*ends);
  if (work.commits && count_of(work.indices) == 1 && ends->size() == 1) {
    const Result<std::vector<uint32_t>> lanes = lanes_of(output);
    if (!lanes) return lanes.error();
    const Result<uint32_t> lane = write_only(work, *lanes, ends->front());
    if (!lane) return lane.error();
    if (Result<void> ok = make_marker(marker); !ok) return ok;
    // After the marker: without the marker a retry continues with the lanes.
    remove_other_lanes(output, *lanes, *lane);
  } else {
    if (Result<void> ok = write_index(work, *ends); !ok) return ok;
    if (work.commits) {
      if (Result<void> ok = make_marker(marker); !ok) return ok;
    }
  }
  if (work.keeps) return {};
  // The plan is removed first: an attempt that finds the index and no plan has nothing more to
  // read.
  remove_tree(plan_directory(output, work.common.plan));
  remove_scratch(output);
  return {};
}

}  // namespace proffer::batch
