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
#include "frameworks/batch/executor/lane.h"
#include "frameworks/batch/executor/task.h"

namespace proffer::batch {
namespace {

bool accepts(const GatherWork& work, int32_t code) {
  return std::binary_search(work.ok.begin(), work.ok.end(), code);
}

// Written aside, and put in place at once.
Result<void> write_index(const GatherWork& work, const std::vector<KeptEnd>& ends) {
  const std::string aside = work.common.output + "/_temporary/index.tsv";
  Result<Fd> file = open_to_write(aside, 0666);
  if (!file) return std::move(file).error();
  BufferedWriter out(file->get());
  WriteOutcome written = out.write(results_header());
  for (const KeptEnd& kept : ends) {
    if (!written.ok()) break;
    written = out.write(results_line({.index = index_at(work.indices, kept.end.position),
                                      .lane = kept.lane,
                                      .is_done = accepts(work, kept.end.code),
                                      .end = kept.end}));
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

// One end of each element: of those with an accepted exit code the first, else the last attempt; of
// a gang the last attempt, which all ranks made together.
std::vector<KeptEnd> choose(const GatherWork& work, std::vector<KeptEnd> ends) {
  const auto is_ok = [&](const KeptEnd& one) { return accepts(work, one.end.code); };
  std::stable_sort(ends.begin(), ends.end(), [&](const KeptEnd& a, const KeptEnd& b) {
    if (a.end.position != b.end.position) return a.end.position < b.end.position;
    if (!work.is_gang && is_ok(a) != is_ok(b)) return is_ok(a);
    return a.end.attempt > b.end.attempt;
  });
  const auto last = std::unique(ends.begin(), ends.end(), [](const KeptEnd& a, const KeptEnd& b) {
    return a.end.position == b.end.position;
  });
  ends.erase(last, ends.end());
  return ends;
}

}  // namespace

Result<void> gather(const GatherWork& work, TaskResult& result) {
  const std::string& output = work.common.output;
  const std::string marker = output + "/_SUCCESS";
  // An output that was made anew is not ours; what another attempt has finished, is.
  const bool is_ours = exists(plan_directory(output, work.common.plan));
  if (!is_ours && !work.commits) return {};
  if (!is_ours && !exists(results_path(output))) {
    return Error::failed_precondition(
               text("the output ", quoted(output), " is not that of this job"))
        .with_hint("the output directory must be the same on all agents");
  }
  if (is_ours) {
    std::vector<KeptEnd> ends;
    const uint32_t size = count_of(work.indices);
    const Result<void> read = read_ends(output, [&](const KeptEnd& kept) {
      if (kept.end.position < size) ends.push_back(kept);
    });
    if (!read) return read.error();
    ends = choose(work, std::move(ends));
    const auto done = std::count_if(
        ends.begin(), ends.end(), [&](const KeptEnd& one) { return accepts(work, one.end.code); });
    if (work.commits && done < int64_t{work.done}) {
      return Error::failed_precondition(text(work.done, " elements have done their work, and ",
                                             done, " of them have a result in ", quoted(output)))
          .with_hint("the output directory must be the same on all agents");
    }
    for (const KeptEnd& one : ends) result.bytes_out += one.end.stdout_length;
    result.records_out = static_cast<int64_t>(ends.size());
    if (Result<void> ok = write_index(work, ends); !ok) return ok;
  }
  if (work.commits) {
    const Fd made(::open(marker.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (made.get() < 0) return system_error(text("making ", quoted(marker)), errno);
  }
  if (work.keeps) return {};
  // The plan goes first: an attempt that finds the index and no plan has nothing more to read.
  std::error_code ignored;
  std::filesystem::remove_all(plan_directory(output, work.common.plan), ignored);
  std::filesystem::remove_all(output + "/_temporary", ignored);
  return {};
}

}  // namespace proffer::batch
