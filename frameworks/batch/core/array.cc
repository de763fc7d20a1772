// Arrays, from their text to their commands: parse_array, command_for, check_array.

#include "frameworks/batch/core/array.h"

#include <algorithm>
#include <array>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/job.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kArgumentsTag = "PBl1";
constexpr std::string_view kArrayHint =
    "write 1-10, 0-20:5 or 1,3,7-9; add %4 to run at most 4 elements at a time";

Error bad_array(std::string_view given, std::string_view why) {
  return Error::invalid_argument(text("array ", quoted(given), ": ", why))
      .with_hint(std::string(kArrayHint));
}

std::string_view without_directory(std::string_view argument) {
  const size_t slash = argument.rfind('/');
  return slash == std::string_view::npos ? argument : argument.substr(slash + 1);
}

// Removes the last point of the last component and the text after it.
std::string_view without_extension(std::string_view argument) {
  const size_t dot = argument.rfind('.');
  const bool has_one =
      dot != std::string_view::npos && argument.find('/', dot) == std::string_view::npos;
  return has_one ? argument.substr(0, dot) : argument;
}

std::string_view directory_of(std::string_view argument) {
  // Slashes at the end belong to the last component.
  const size_t end = argument.find_last_not_of('/');
  if (end == std::string_view::npos) return argument.empty() ? "." : "/";
  const size_t slash = argument.rfind('/', end);
  if (slash == std::string_view::npos) return ".";
  const size_t directory = argument.find_last_not_of('/', slash);
  return directory == std::string_view::npos ? "/" : argument.substr(0, directory + 1);
}

struct Replacement {
  std::string_view name;
  std::string_view (*of)(std::string_view argument);
};
// {#} is the only one that does not depend on the argument.
constexpr std::string_view kIndexName = "{#}";
constexpr std::array<Replacement, 5> kReplacements = {{
    {"{}", [](std::string_view argument) { return argument; }},
    {"{.}", without_extension},
    {"{/}", without_directory},
    {"{//}", directory_of},
    {"{/.}",
     [](std::string_view argument) { return without_extension(without_directory(argument)); }},
}};

Result<void> check_codes(std::string_view what, const std::vector<int32_t>& codes) {
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] < 0 || codes[i] > 255) {
      return Error::invalid_argument(text(what, ": exit codes are from 0 to 255, not ", codes[i]));
    }
    if (i > 0 && codes[i] <= codes[i - 1]) {
      return Error::invalid_argument(text(what, ": exit codes must rise"));
    }
  }
  return {};
}

Result<void> check_indices(const Indices& indices) {
  uint64_t count = 0;
  for (const IndexRun& run : indices) {
    const uint64_t last = run.first + uint64_t{run.step} * (std::max(run.count, 1u) - 1);
    if (run.count == 0 || run.step == 0 || last > kIndexMax) {
      return Error::invalid_argument(text("indices are from 0 to ", kIndexMax));
    }
    count += run.count;
  }
  if (count == 0) return Error::invalid_argument("the array has no elements");
  if (count > kElementsMax) {
    return Error::invalid_argument(
               text("the array has ", count, " elements; at most ", kElementsMax, " are allowed"))
        .with_hint("submit it as several jobs");
  }
  if (indices.size() > kIndexRunsMax) {
    return Error::invalid_argument(text("the array is made of ", indices.size(),
                                        " pieces; at most ", kIndexRunsMax, " are allowed"))
        .with_hint("use ranges with steps, or pass the values as arguments of proffer batch map");
  }
  return {};
}

}  // namespace

// --- indices -----------------------------------------------------------------------------------

uint32_t count_of(const Indices& indices) {
  uint64_t count = 0;
  for (const IndexRun& run : indices) count += run.count;
  return static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX));
}

uint32_t index_at(const Indices& indices, uint32_t position) {
  for (const IndexRun& run : indices) {
    if (position < run.count) return run.first + run.step * position;
    position -= run.count;
  }
  CHECK(false) << "a position behind the last element";
  return 0;
}

Indices slice(const Indices& indices, uint32_t position, uint32_t count) {
  Indices part;
  for (const IndexRun& run : indices) {
    if (count == 0) break;
    if (position >= run.count) {
      position -= run.count;
      continue;
    }
    const uint32_t taken = std::min(count, run.count - position);
    part.push_back({.first = run.first + run.step * position, .step = run.step, .count = taken});
    position = 0;
    count -= taken;
  }
  CHECK_EQ(count, 0u) << "a slice behind the last element";
  return part;
}

Result<ArrayText> parse_array(std::string_view given) {
  ArrayText array;
  std::string_view rest = given;
  if (const size_t percent = rest.find('%'); percent != std::string_view::npos) {
    const Result<int64_t> at_once =
        parse_whole("number", rest.substr(percent + 1), 1, kElementsMax);
    if (!at_once)
      return bad_array(given, text("the number after % must be at least 1, not ",
                                   quoted(rest.substr(percent + 1)),
                                   ": how many elements run at a time; without %, as many as fit"));
    array.at_once = *at_once;
    rest = rest.substr(0, percent);
  }
  uint64_t count = 0;
  for (const std::string_view piece : split(rest, ',')) {
    const size_t colon = piece.find(':');
    const std::string_view ends = piece.substr(0, colon);
    const size_t dash = ends.find('-');
    const auto number = [](std::string_view digits, int64_t min) {
      return parse_whole("number", digits, min, kIndexMax);
    };
    const Result<int64_t> first = number(ends.substr(0, dash), 0);
    const Result<int64_t> last =
        dash == std::string_view::npos ? first : number(ends.substr(dash + 1), 0);
    const Result<int64_t> step =
        colon == std::string_view::npos ? int64_t{1} : number(piece.substr(colon + 1), 1);
    if (const size_t dots = piece.find(".."); dots != std::string_view::npos) {
      const std::string_view to =
          piece.substr(std::min(piece.size(), piece.find_first_not_of('.', dots)));
      const std::string_view from = piece.substr(0, dots);
      const bool are_indices = number(from, 0) && number(to, 0);
      return Error::invalid_argument(text("array ", quoted(given), ": ", quoted(piece),
                                          " is not an index, a range, or a range and a step"))
          .with_hint(text("write ", are_indices ? text(from, "-", to) : "0-19",
                          ", or 0-20:5 with a step, or 1,3,7-9"));
    }
    if (!first || !last || !step || (colon != std::string_view::npos && dash > colon)) {
      return bad_array(given, text(quoted(piece), " is not an index, a range, or a range and a ",
                                   "step; indices are from 0 to ", kIndexMax));
    }
    if (*last < *first) {
      return Error::invalid_argument(text("array ", quoted(given), ": the range ", quoted(piece),
                                          " ends before it begins; the smaller index is first"))
          .with_hint(text("write ", *last, "-", *first));
    }
    const auto elements = static_cast<uint32_t>((*last - *first) / *step + 1);
    count += elements;
    array.indices.push_back({.first = static_cast<uint32_t>(*first),
                             .step = static_cast<uint32_t>(*step),
                             .count = elements});
  }
  if (Result<void> ok = check_indices(array.indices); !ok) {
    return std::move(ok).error().in(text("array ", quoted(given)));
  }
  std::vector<uint32_t> all;
  all.reserve(count);
  for (const IndexRun& run : array.indices) {
    for (uint32_t i = 0; i < run.count; ++i) all.push_back(run.first + run.step * i);
  }
  std::sort(all.begin(), all.end());
  if (const auto twice = std::adjacent_find(all.begin(), all.end()); twice != all.end()) {
    return bad_array(given, text("index ", *twice, " is given twice"));
  }
  return array;
}

// --- commands ----------------------------------------------------------------------------------

bool has_replacement(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word.find(kIndexName) != std::string::npos ||
           std::any_of(kReplacements.begin(), kReplacements.end(), [&](const Replacement& one) {
             return word.find(one.name) != std::string::npos;
           });
  });
}

std::vector<std::string> command_for(const std::vector<std::string>& command,
                                     std::string_view argument, uint32_t index) {
  std::vector<std::string> words;
  words.reserve(command.size());
  for (const std::string_view word : command) {
    std::string& made = words.emplace_back();
    for (size_t at = 0; at < word.size();) {
      const std::string_view rest = word.substr(at);
      if (rest.starts_with(kIndexName)) {
        made += std::to_string(index);
        at += kIndexName.size();
        continue;
      }
      const auto* found =
          std::find_if(kReplacements.begin(), kReplacements.end(),
                       [&](const Replacement& one) { return rest.starts_with(one.name); });
      if (found == kReplacements.end()) {
        made += word[at++];
        continue;
      }
      made += found->of(argument);
      at += found->name.size();
    }
  }
  return words;
}

std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> names;  // of the replacements, in the order of their parameters
  const auto parameter_of = [&names](std::string_view name) {
    const auto known = std::find(names.begin(), names.end(), name);
    const auto at = known - names.begin();
    if (known == names.end()) names.emplace_back(name);
    return text("${", at + 1, "}");
  };
  std::string made;
  char quote = '\0';
  bool is_arithmetic = false;  // within $((…)), where a quote is no quote
  for (size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    if (quote != '\'' && rest.starts_with("$((")) is_arithmetic = true;
    if (rest.starts_with("))")) is_arithmetic = false;
    std::string_view name;
    if (rest.starts_with(kIndexName)) name = kIndexName;
    for (const Replacement& one : kReplacements) {
      if (rest.starts_with(one.name)) name = one.name;
    }
    if (!name.empty()) {
      const std::string parameter = parameter_of(name);
      if (quote == '"' || is_arithmetic) {
        made += parameter;
      } else {
        made += quote == '\'' ? text("'\"", parameter, "\"'") : text("\"", parameter, "\"");
      }
      at += name.size();
      continue;
    }
    const char c = line[at++];
    made += c;
    if (c == '\\' && quote != '\'' && at < line.size()) {
      made += line[at++];
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
  }
  std::vector<std::string> words = {"/bin/sh", "-c", std::move(made)};
  if (!names.empty()) words.emplace_back("sh");
  for (std::string& name : names) words.push_back(std::move(name));
  return words;
}

// --- orders ------------------------------------------------------------------------------------

bool ArrayOrder::accepts(int32_t code) const {
  return std::binary_search(ok.begin(), ok.end(), code);
}

bool ArrayOrder::retries_after(int32_t code, int32_t failures) const {
  if (failures > retries) return false;
  if (!retry_on.empty()) return std::binary_search(retry_on.begin(), retry_on.end(), code);
  return code != kCannotRunCode && code != kNoSuchCommandCode;
}

bool ArrayOrder::requeues_after(int32_t code, int32_t requeues) const {
  return requeues < kRequeuesMax && std::binary_search(requeue_on.begin(), requeue_on.end(), code);
}

int32_t ArrayOrder::attempts_max() const {
  return retries + 1 + (requeue_on.empty() ? 0 : kRequeuesMax);
}

namespace {

Result<void> check_meanings(const ArrayOrder& array) {
  for (const int32_t code : array.requeue_on) {
    const bool is_retried = std::binary_search(array.retry_on.begin(), array.retry_on.end(), code);
    if (!is_retried && !array.accepts(code)) continue;
    return Error::invalid_argument(text("requeue_on and ", is_retried ? "retry_on" : "ok",
                                        " both have exit code ", code))
        .with_hint("an exit code can have one meaning: remove it from one of them");
  }
  return {};
}

}  // namespace

Result<void> check_array(const ArrayOrder& array) {
  if (array.command.empty() || array.command.front().empty()) {
    return Error::invalid_argument("the command of the array is missing")
        .with_hint("give it after --");
  }
  size_t bytes = 0;
  for (const std::string& word : array.command) {
    bytes += word.size() + 1;
    if (word.find('\0') != std::string::npos) {
      return Error::invalid_argument("the command has a NUL byte");
    }
  }
  if (bytes > kStreamCommandBytesMax || array.command.size() > kCommandWordsMax) {
    return Error::invalid_argument(text("the command has ", array.command.size(), " words of ",
                                        bytes, " bytes; at most ", kCommandWordsMax, " of ",
                                        kStreamCommandBytesMax, " are allowed"))
        .with_hint("put it into a script, and its arguments after :::");
  }
  const bool awaits_plan = array.has_arguments && array.indices.empty();
  if (Result<void> ok = check_indices(array.indices); !awaits_plan && !ok) return ok;
  if (array.directory.empty() || array.directory.front() != '/' ||
      array.directory.size() >= kPathBytesMax || array.directory.find('\0') != std::string::npos) {
    return Error::invalid_argument(
        text("the directory of the command must be an absolute path of less than ", kPathBytesMax,
             " bytes, not ", quoted(array.directory)));
  }
  if (array.is_gang) {
    if (array.size() < 1 || array.size() > kGangMax || array.has_arguments) {
      return Error::invalid_argument(text("a gang has from 1 to ", kGangMax, " ranks, not ",
                                          array.size(), ", and no arguments"));
    }
    if (array.at_once != 0 || array.failed_max != -1) {
      return Error::invalid_argument("a gang cannot have at_once or max_failed")
          .with_hint("all of its ranks run together, and one failed rank fails the gang");
    }
  }
  if (array.at_once < 0 || array.at_once > kElementsMax) {
    return Error::invalid_argument(text("at most ", kElementsMax, " elements can run at a time"));
  }
  if (array.retries < 0 || array.retries > kRetriesMax) {
    return Error::invalid_argument(
        text("retries must be from 0 to ", kRetriesMax, ", not ", array.retries));
  }
  if (Result<void> ok = check_codes("retry_on", array.retry_on); !ok) return ok;
  if (Result<void> ok = check_codes("ok", array.ok); !ok) return ok;
  if (Result<void> ok = check_codes("requeue_on", array.requeue_on); !ok) return ok;
  if (Result<void> ok = check_meanings(array); !ok) return ok;
  if (array.ok.empty()) {
    return Error::invalid_argument("ok needs at least one exit code")
        .with_hint("0 is the usual one");
  }
  if (array.failed_max < -1 || array.failed_max > kElementsMax) {
    return Error::invalid_argument(
        text("max_failed must be a number of elements, not ", array.failed_max));
  }
  if (array.timeout < Duration() || array.timeout > kTimeLimitMax) {
    return Error::invalid_argument(
        text("the time limit must be at most ", kTimeLimitMax.millis() / 3'600'000, " hours"));
  }
  return {};
}

// --- bytes -------------------------------------------------------------------------------------

void write(ByteWriter& out, const Indices& indices) {
  out.number(indices.size());
  for (const IndexRun& run : indices) {
    out.number(run.first);
    out.number(run.step);
    out.number(run.count);
  }
}

Indices read_indices(ByteReader& in) {
  Indices indices;
  const size_t runs = in.count(kIndexRunsMax);
  for (size_t i = 0; in.ok() && i < runs; ++i) {
    const uint32_t first = in.number32(kIndexMax);
    const uint32_t step = in.number32(kIndexMax);
    const uint32_t count = in.number32(kElementsMax);
    indices.push_back({.first = first, .step = step, .count = count});
  }
  if (in.ok() && runs > 0 && !check_indices(indices)) in.fail();
  return indices;
}

void write_words(ByteWriter& out, const std::vector<std::string>& words) {
  out.number(words.size());
  for (const std::string& word : words) out.bytes(word);
}

std::vector<std::string> read_words(ByteReader& in) {
  std::vector<std::string> words;
  const size_t count = in.count(kCommandWordsMax);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    words.emplace_back(in.bytes(kStreamCommandBytesMax));
  }
  return words;
}

void write_exit_codes(ByteWriter& out, const std::vector<int32_t>& codes) {
  out.number(codes.size());
  for (const int32_t code : codes) out.signed_number(code);
}

std::vector<int32_t> read_exit_codes(ByteReader& in, size_t count_max) {
  std::vector<int32_t> codes;
  const size_t count = in.count(count_max);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    codes.push_back(static_cast<int32_t>(in.number(255)));
  }
  return codes;
}

void write(ByteWriter& out, const ArrayOrder& array) {
  write_words(out, array.command);
  write(out, array.indices);
  const bool is_requeued = !array.requeue_on.empty();
  out.number((array.has_arguments ? 1 : 0) | (array.is_gang ? 2 : 0) | (is_requeued ? 4 : 0));
  out.bytes(array.directory);
  out.signed_number(array.at_once);
  out.signed_number(array.retries);
  write_exit_codes(out, array.retry_on);
  write_exit_codes(out, array.ok);
  out.signed_number(array.failed_max + 1);
  out.signed_number(array.timeout.nanos());
  if (is_requeued) write_exit_codes(out, array.requeue_on);
}

ArrayOrder read_array(ByteReader& in) {
  ArrayOrder array;
  array.command = read_words(in);
  array.indices = read_indices(in);
  const uint64_t flags = in.number(7);
  array.has_arguments = (flags & 1) != 0;
  array.is_gang = (flags & 2) != 0;
  array.directory = in.bytes(kPathBytesMax);
  array.at_once = in.amount(kElementsMax);
  array.retries = static_cast<int32_t>(in.amount(kRetriesMax));
  array.retry_on = read_exit_codes(in);
  array.ok = read_exit_codes(in);
  array.failed_max = in.amount(int64_t{kElementsMax} + 1) - 1;
  array.timeout = nanoseconds(in.amount(kTimeLimitMax.nanos()));
  if ((flags & 4) != 0) {
    array.requeue_on = read_exit_codes(in);
    if (array.requeue_on.empty()) in.fail();
  }
  return array;
}

std::string encode_arguments(const std::vector<std::string>& arguments) {
  ByteWriter out(kArgumentsTag);
  out.number(arguments.size());
  for (const std::string& argument : arguments) out.bytes(argument);
  return std::move(out).take();
}

Result<std::vector<std::string>> decode_arguments(std::string_view bytes) {
  ByteReader in(bytes, kArgumentsTag);
  std::vector<std::string> arguments;
  const size_t count = in.count(kArgumentsPerEntry);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    arguments.emplace_back(in.bytes(kArgumentBytesMax));
    if (arguments.back().find('\0') != std::string::npos) in.fail();
  }
  if (!in.ended_well()) return corrupt("arguments");
  return arguments;
}

}  // namespace proffer::batch
