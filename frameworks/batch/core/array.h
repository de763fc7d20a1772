#pragma once

// An array: one command that runs once for each element. The elements are indices ("1-100:2"), or
// arguments, which are in the plan (plan.h).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace proffer {
class ByteReader;
class ByteWriter;
}  // namespace proffer

namespace proffer::batch {

// Every maximum with its reason. An array beyond one is refused before it starts.
inline constexpr uint32_t kElementsMax = 500'000;  // the last task has the whole index in memory
inline constexpr uint32_t kIndexMax = 999'999'999;
inline constexpr uint32_t kGangMax = 256;          // each rank receives the hosts of all ranks
inline constexpr size_t kIndexRunsMax = 1'000;     // sent with the order
inline constexpr size_t kCommandWordsMax = 1'000;  // together at most kStreamCommandBytesMax
inline constexpr int32_t kRetriesMax = 100;
inline constexpr int32_t kRequeuesMax = 10'000;
inline constexpr size_t kExitCodesMax = 256;  // no other codes exist
inline constexpr Duration kTimeLimitMax = hours(10'000);
// Exit codes as in a shell: 128 plus the number of a signal, and these.
inline constexpr int32_t kTimedOutCode = 124;   // as `timeout` uses it
inline constexpr int32_t kCannotRunCode = 126;  // the command cannot be executed
inline constexpr int32_t kNoSuchCommandCode = 127;

// --- indices -----------------------------------------------------------------------------------

// `first`, `first + step`, … : `count` indices.
struct IndexRun {
  uint32_t first = 0;
  uint32_t step = 1;
  uint32_t count = 0;
  bool operator==(const IndexRun&) const = default;
};
// In order of their first indices. A *position* counts the indices from 0.
using Indices = std::vector<IndexRun>;

uint32_t count_of(const Indices& indices);
// The index at a position below count_of().
uint32_t index_at(const Indices& indices, uint32_t position);
// `count` indices from a position on; all of them must exist.
Indices slice(const Indices& indices, uint32_t position, uint32_t count);

struct ArrayText {
  Indices indices = {};
  int64_t at_once = 0;  // the most that run at a time; 0: no limit
  bool operator==(const ArrayText&) const = default;
};
// "1-10", "0-20:5", "1,3,7-9", each optionally followed by "%4": at most 4 at a time. Errors:
// kInvalidArgument names text that cannot be parsed, an index that is named twice, and the bounds.
Result<ArrayText> parse_array(std::string_view text);

// --- commands ----------------------------------------------------------------------------------

// True if one of the words has {}, {.}, {/}, {//}, {/.} or {#}.
bool has_replacement(const std::vector<std::string>& command);

// The command for one element. In each word
//   {}    is the argument
//   {.}   without its extension: "a/b.tar.gz" gives "a/b.tar"
//   {/}   without its directory: "b.tar.gz"
//   {//}  its directory: "a", or "." if it has none
//   {/.}  without both: "b.tar"
//   {#}   the index
// Inserted text is not searched again.
std::vector<std::string> command_for(const std::vector<std::string>& command,
                                     std::string_view argument, uint32_t index);

// The words that run a shell command line for each element. Each replacement becomes a parameter of
// the shell, "${1}", so that no argument is read as a part of the line, whether the replacement
// stands in quotes or not: "wc -l {}" gives {"/bin/sh", "-c", "wc -l \"${1}\"", "sh", "{}"}.
std::vector<std::string> words_of_line(std::string_view line);

// --- orders ------------------------------------------------------------------------------------

struct ArrayOrder {
  std::vector<std::string> command = {};  // its words; no shell reads them
  Indices indices = {};                   // empty: its arguments are found when it is planned
  bool is_gang = false;                   // its elements are ranks, which all run at the same time
  bool has_arguments = false;             // {} is an argument from the plan; else it is the index
  std::string directory = {};             // working directory, the same on all agents
  int64_t at_once = 0;                    // the most elements that run at a time; 0: no limit
  int32_t retries = 0;                    // of an element, after its first attempt
  std::vector<int32_t> retry_on = {};     // exit codes that are retried; empty: all but 126 and 127
  std::vector<int32_t> ok = {0};          // exit codes of success
  // Exit codes after which an element runs again, up to kRequeuesMax times, without a failed
  // attempt.
  std::vector<int32_t> requeue_on = {};
  // More failed elements end the job at once. -1: all elements run, and the job fails if one has
  // failed.
  int64_t failed_max = -1;
  Duration timeout = {};  // of one attempt; zero: no limit

  uint32_t size() const { return count_of(indices); }
  bool accepts(int32_t code) const;
  // True if an element is retried whose attempt number `failures` ended with this code.
  bool retries_after(int32_t code, int32_t failures) const;
  // True if an element runs again without a failed attempt that was requeued this often before.
  bool requeues_after(int32_t code, int32_t requeues) const;
  // The most attempts of an element until the job is retried. Attempts cut off do not count.
  int32_t attempts_max() const;
  bool operator==(const ArrayOrder&) const = default;
};

// Errors: kInvalidArgument names the value, what is allowed and the remedy.
Result<void> check_array(const ArrayOrder& array);

// The readers check only bounds; check_order checks an order.
void write(ByteWriter& out, const ArrayOrder& array);
ArrayOrder read_array(ByteReader& in);
void write(ByteWriter& out, const Indices& indices);
Indices read_indices(ByteReader& in);
void write_words(ByteWriter& out, const std::vector<std::string>& words);
std::vector<std::string> read_words(ByteReader& in);
void write_exit_codes(ByteWriter& out, const std::vector<int32_t>& codes);
std::vector<int32_t> read_exit_codes(ByteReader& in, size_t count_max = kExitCodesMax);

// --- arguments ---------------------------------------------------------------------------------

// The plan stores the arguments in entries of this many, each a list.
inline constexpr uint32_t kArgumentsPerEntry = 64;
inline constexpr size_t kArgumentBytesMax = 4'096;
constexpr uint32_t argument_entries(uint32_t elements) {
  return (elements + kArgumentsPerEntry - 1) / kArgumentsPerEntry;
}
std::string encode_arguments(const std::vector<std::string>& arguments);
// Errors: kCorruption.
Result<std::vector<std::string>> decode_arguments(std::string_view bytes);

}  // namespace proffer::batch
