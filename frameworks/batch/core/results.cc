#include "frameworks/batch/core/results.h"

#include <algorithm>
#include <limits>

#include "common/text.h"
#include "frameworks/batch/core/bytes.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kDone = "done";
constexpr std::string_view kFailed = "failed";

bool accepts(const std::vector<int32_t>& ok, const KeptEnd& kept) {
  return std::binary_search(ok.begin(), ok.end(), kept.end.code);
}

}  // namespace

std::vector<KeptEnd> choose_ends(std::vector<KeptEnd> ends, const std::vector<int32_t>& ok,
                                 bool is_gang) {
  std::stable_sort(ends.begin(), ends.end(), [&](const KeptEnd& a, const KeptEnd& b) {
    if (a.end.position != b.end.position) return a.end.position < b.end.position;
    if (!is_gang && accepts(ok, a) != accepts(ok, b)) return accepts(ok, a);
    return a.end.attempt > b.end.attempt;
  });
  const auto last = std::unique(ends.begin(), ends.end(), [](const KeptEnd& a, const KeptEnd& b) {
    return a.end.position == b.end.position;
  });
  ends.erase(last, ends.end());
  return ends;
}

ElementResult result_of(const KeptEnd& kept, const Indices& indices,
                        const std::vector<int32_t>& ok) {
  return {.index = index_at(indices, kept.end.position),
          .lane = kept.lane,
          .is_done = accepts(ok, kept),
          .end = kept.end};
}

std::string results_path(std::string_view output) { return text(output, "/index.tsv"); }

std::string results_header() {
  return "#index\tattempt\texit\tresult\tseconds\tlane\tstdout_offset\tstdout_length\t"
         "stderr_offset\tstderr_length\n";
}

std::string results_line(const ElementResult& result) {
  const ElementEnd& end = result.end;
  return text(result.index, "\t", end.attempt, "\t", end.code, "\t",
              result.is_done ? kDone : kFailed, "\t", print_milli(end.micros / 1'000), "\t",
              result.lane, "\t", end.stdout_offset, "\t", end.stdout_length, "\t",
              end.stderr_offset, "\t", end.stderr_length, "\n");
}

Result<std::optional<ElementResult>> parse_results_line(std::string_view line) {
  if (line.starts_with('#')) return std::optional<ElementResult>();
  const std::vector<std::string_view> fields = split(line, '\t');
  bool is_sound = fields.size() == 10;
  const auto number = [&](size_t field, int64_t max) {
    const Result<int64_t> value =
        is_sound ? parse_whole("number", fields[field], 0, max) : Result<int64_t>(int64_t{0});
    is_sound &= value.has_value();
    return value ? *value : 0;
  };
  ElementResult result;
  result.index = static_cast<uint32_t>(number(0, kIndexMax));
  result.end.attempt = static_cast<uint32_t>(number(1, std::numeric_limits<uint32_t>::max()));
  result.end.code = static_cast<int32_t>(number(2, 255));
  result.lane = static_cast<uint32_t>(number(5, kElementsMax));
  result.end.stdout_offset = number(6, kBytesAmountMax);
  result.end.stdout_length = number(7, kBytesAmountMax);
  result.end.stderr_offset = number(8, kBytesAmountMax);
  result.end.stderr_length = number(9, kBytesAmountMax);
  if (is_sound) {
    result.is_done = fields[3] == kDone;
    const Result<int64_t> took = parse_milli(fields[4]);
    is_sound = took.has_value() && (result.is_done || fields[3] == kFailed);
    if (took) result.end.micros = *took * 1'000;
  }
  if (!is_sound) return Error::corruption(text("not a line of index.tsv: ", quoted(line)));
  return std::optional<ElementResult>(result);
}

}  // namespace proffer::batch
