// The rules for a job, before it is started. `check_job` is the list of them.

#include "frameworks/batch/core/job.h"

#include <array>
#include <cstdlib>
#include <limits>

#include "common/byte_units.h"
#include "common/roles.h"
#include "common/text.h"
#include "proto/batch_status.h"
#include "proto/fetched_files.h"
#include "proto/private_tmp.h"

namespace proffer::batch {
namespace {

bool is_environment_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || (name[0] >= '0' && name[0] <= '9'))
    return false;
  for (const char c : name) {
    if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) {
      return false;
    }
  }
  return true;
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Result<void> check_command(std::string_view what, std::string_view command) {
  if (command.size() > kStreamCommandBytesMax) {
    return Error::invalid_argument(text("the command of ", what, " has ", command.size(),
                                        " bytes; at most ", kStreamCommandBytesMax, " are allowed"))
        .with_hint("put it into a script, and ship that with files");
  }
  if (has_nul(command)) {
    return Error::invalid_argument(text("the command of ", what, " has a NUL byte"));
  }
  return {};
}

Result<void> check_path(std::string_view what, std::string_view path) {
  if (path.empty() || path.front() != '/' || path.size() >= kPathBytesMax || has_nul(path)) {
    return Error::invalid_argument(text(what, " path ", quoted(path),
                                        " must be absolute, without NUL ",
                                        "bytes, and shorter than ", kPathBytesMax, " bytes"));
  }
  return {};
}

// The exit codes of a signal, or of a command that cannot begin, cannot mean success.
Result<void> check_exit_codes(std::string_view what, const std::vector<int32_t>& codes) {
  if (codes.size() > kAcceptedExitCodesMax) {
    return Error::invalid_argument(text(what, " has ", codes.size(), " exit codes; at most ",
                                        kAcceptedExitCodesMax, " are allowed"));
  }
  for (size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] < 1 || codes[i] > 125) {
      return Error::invalid_argument(
          text(what, ": an exit code must be from 1 to 125, not ", codes[i]));
    }
    if (i > 0 && codes[i] <= codes[i - 1]) {
      return Error::invalid_argument(
          text(what, ": ", codes[i], " is given twice, or out of order"));
    }
  }
  return {};
}

Result<void> check_environment(const proto::Environment& env) {
  size_t bytes = 0;
  for (const auto& [name, value] : env) {
    if (!is_environment_name(name)) {
      return Error::invalid_argument(text("environment name ", quoted(name),
                                          " must be of A-Z a-z 0-9 _ and not start with a digit"));
    }
    if (has_nul(value)) {
      return Error::invalid_argument(
          text("the value of environment variable ", name, " has a NUL byte"));
    }
    bytes += name.size() + value.size();
  }
  if (bytes > kJobEnvironmentBytesMax) {
    return Error::invalid_argument(text("the environment has ", bytes, " bytes; at most ",
                                        kJobEnvironmentBytesMax, " are allowed"));
  }
  return {};
}

Result<void> check_files(const JobSpec& spec) {
  size_t bytes = 0;
  for (const auto& [name, content] : spec.files) {
    if (Result<void> ok = check_shipped_name(name); !ok) return ok;
    bytes += content.size();
  }
  for (const auto& [name, path] : spec.large_files) {
    if (Result<void> ok = check_shipped_name(name); !ok) return ok;
  }
  if (bytes > kShippedBytesMax) {
    return Error::invalid_argument(text("the shipped files have ", bytes,
                                        " bytes together; at most ", kShippedBytesMax,
                                        " are allowed"))
        .with_hint("put large files where all agents can read them, and give their path");
  }
  const size_t count = spec.files.size() + spec.large_files.size();
  if (count > kShippedFilesMax) {
    return Error::invalid_argument(
               text(count, " files are shipped; at most ", kShippedFilesMax, " are allowed"))
        .with_hint("pack them into an archive, and unpack it in the command");
  }
  return {};
}

// Fetched files share the sandbox with shipped files and with the task's own files.
Result<void> check_fetch(const JobSpec& spec) {
  if (Result<void> ok = proto::check_fetched_files(spec.fetch); !ok) {
    return std::move(ok).error().in("fetch");
  }
  for (const proto::FetchedFile& file : spec.fetch) {
    const std::string name = proto::stored_name(file);
    if (name.empty()) continue;
    if (name == "map.out" || name == "map.index" || name == ".proffer" ||
        spec.files.contains(name) || spec.large_files.contains(name)) {
      return Error::invalid_argument(text("fetch: a file cannot be named ", quoted(name),
                                          ": the task has another file of that name"))
          .with_hint("add ,name=NAME to give it another name");
    }
  }
  return {};
}

}  // namespace

Result<void> check_shipped_name(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOurs = {"stdout", "stderr", "map.out", "map.index",
                                                     ".proffer"};
  if (Result<void> ok = check_name("name of a shipped file", name); !ok) return ok;
  for (const std::string_view ours : kOurs) {
    if (name == ours) {
      return Error::invalid_argument(text("a shipped file cannot be named ", quoted(name),
                                          ": the task has a file of that name"));
    }
  }
  return {};
}

namespace {

Result<void> check_shuffle(const JobSpec& spec) {
  const Shuffle& shuffle = spec.shuffle;
  if (Result<void> ok = check_command("the combiner", shuffle.combine); !ok) return ok;
  if (Result<void> ok = check_keys(shuffle.keys); !ok) return ok;
  if (spec.reducers == 0 && shuffle != Shuffle{.is_packed = shuffle.is_packed}) {
    return Error::invalid_argument(
               "combine, key_fields, partition_fields, separator, sort and sort_memory need "
               "reducers")
        .with_hint("leave them out: without reducers nothing is sorted");
  }
  const int64_t mem = spec.resources[ResourceKind::kMem] / 1'000 << 20;
  const int64_t max = mem > 0 ? std::min(mem / 2, kSortBytesMax) : kSortBytesMax;
  if (shuffle.sort_bytes != 0 && (shuffle.sort_bytes < kSortBytesMin || shuffle.sort_bytes > max)) {
    return Error::invalid_argument(text("sort_memory must be from ", print_bytes(kSortBytesMin),
                                        " to ", print_bytes(max),
                                        mem > 0 ? ", half of the task's memory," : "", " not ",
                                        print_bytes(shuffle.sort_bytes)))
        .with_hint("give the tasks more memory with resources, as in cpus:1;mem:1GiB");
  }
  return {};
}

Result<void> check_map_reduce(const JobSpec& spec) {
  if (spec.map.empty()) {
    return Error::invalid_argument("the job has no mapper")
        .with_hint("add --map 'COMMAND', or `map: COMMAND` in the job file");
  }
  if (spec.reducers < 0 || spec.reducers > kReducersMax) {
    return Error::invalid_argument(
        text("reducers must be from 0 to ", kReducersMax, ", not ", spec.reducers));
  }
  if (spec.reduce.empty() && spec.reducers > 0) {
    return Error::invalid_argument("the job has no reducer")
        .with_hint("add --reduce 'COMMAND', or set --reducers 0 for a job with mappers only");
  }
  if (!spec.reduce.empty() && spec.reducers == 0) {
    return Error::invalid_argument("the job has a reducer, but reducers is 0")
        .with_hint("leave out reduce, or set reducers to at least 1");
  }
  if (Result<void> ok = check_command("map", spec.map); !ok) return ok;
  if (Result<void> ok = check_command("reduce", spec.reduce); !ok) return ok;
  if (Result<void> ok = check_exit_codes("map_accepts", spec.map_accepts); !ok) return ok;
  if (Result<void> ok = check_exit_codes("reduce_accepts", spec.reduce_accepts); !ok) return ok;
  if (spec.inputs.empty()) {
    return Error::invalid_argument("the job has no input")
        .with_hint("add --input PATH, or `input: PATH` in the job file");
  }
  if (spec.inputs.size() > kInputsMax) {
    return Error::invalid_argument(text("the job has ", spec.inputs.size(), " inputs; at most ",
                                        kInputsMax, " are allowed"))
        .with_hint("name the directory that contains them");
  }
  for (const std::string& input : spec.inputs) {
    if (Result<void> ok = check_path("input", input); !ok) return ok;
  }
  if (Result<void> ok = check_shuffle(spec); !ok) return ok;
  if (spec.split_bytes < 1) {
    return Error::invalid_argument(text("split must be at least 1 byte, not ", spec.split_bytes));
  }
  return {};
}

Result<void> check_arguments(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (has_nul(arguments[i]) || arguments[i].size() > kArgumentBytesMax) {
      return Error::invalid_argument(text("argument ", i + 1, " has ", arguments[i].size(),
                                          " bytes or a NUL; at most ", kArgumentBytesMax,
                                          " bytes are allowed"))
          .with_hint("put it into a file, and give the file's name");
    }
  }
  return {};
}

// Values that an array cannot have.
Result<void> check_no_map_reduce(const JobSpec& spec) {
  if (!spec.map_accepts.empty() || !spec.reduce_accepts.empty()) {
    return Error::invalid_argument("an array cannot have map_accepts or reduce_accepts")
        .with_hint("name the exit codes that count as success with ok");
  }
  if (spec.shuffle != Shuffle()) {
    return Error::invalid_argument(
               "an array cannot have combine, key_fields, partition_fields, separator, sort or "
               "sort_memory")
        .with_hint("leave them out: an array has no map and reduce");
  }
  if (spec.map.empty() && spec.reduce.empty() && spec.inputs.empty()) return {};
  return Error::invalid_argument("a job is either an array, or has map, reduce and input")
      .with_hint("submit two jobs");
}

// Executors write the output and read the input, so they would look for both in their own /tmp.
Result<void> check_private_tmp(const JobSpec& spec) {
  if (!proto::wants_private_tmp(spec.env)) return {};
  std::vector<std::string_view> paths(spec.inputs.begin(), spec.inputs.end());
  paths.push_back(spec.output);
  if (spec.array) paths.push_back(spec.array->directory);
  for (const std::string_view path : paths) {
    if (!path.starts_with("/tmp/") && !path.starts_with("/var/tmp/")) continue;
    return Error::invalid_argument(
               text(quoted(path), " is hidden from tasks with a /tmp of their own"))
        .with_hint("use a directory that is not below /tmp, or leave private_tmp out");
  }
  return {};
}

}  // namespace

Result<void> check_job(const JobSpec& spec) {
  if (Result<void> ok = check_name("job name", spec.name); !ok) return ok;
  if (!spec.role.empty()) {
    if (Result<RoleName> role = parse_role(spec.role.str()); !role) return std::move(role).error();
  }
  if (std::abs(spec.priority) > proto::kBatchPriorityMax) {
    return Error::invalid_argument(text("priority must be from ", -proto::kBatchPriorityMax, " to ",
                                        proto::kBatchPriorityMax, ", not ", spec.priority));
  }
  if (Result<void> ok = spec.array ? check_no_map_reduce(spec) : check_map_reduce(spec); !ok) {
    return ok;
  }
  if (Result<void> ok = check_private_tmp(spec); !ok) return ok;
  if (spec.array) {
    if (Result<void> ok = check_array(*spec.array); !ok) return ok;
    if (Result<void> ok = check_arguments(spec.arguments); !ok) return ok;
  }
  if (spec.output.empty()) {
    return Error::invalid_argument("the job has no output")
        .with_hint("add --output DIRECTORY, or `output: DIRECTORY` in the job file");
  }
  if (Result<void> ok = check_path("output", spec.output); !ok) return ok;
  if (Result<void> ok = check_files(spec); !ok) return ok;
  if (Result<void> ok = check_fetch(spec); !ok) return ok;
  if (Result<void> ok = check_environment(spec.env); !ok) return ok;
  if (Result<void> ok = check_shape(spec.resources); !ok)
    return std::move(ok).error().in("resources");
  if (spec.attempts < 1) {
    return Error::invalid_argument(text("attempts must be at least 1, not ", spec.attempts));
  }
  if (spec.time_limit < Duration() || spec.time_limit > kTimeLimitMax) {
    return Error::invalid_argument(
        text("the time limit must be at most ", kTimeLimitMax.millis() / 3'600'000, " hours"));
  }
  if (spec.array && spec.time_limit != Duration()) {
    return Error::invalid_argument("an array takes its time limit from its elements");
  }
  return {};
}

Result<int64_t> parse_bytes(std::string_view what, std::string_view given) {
  constexpr int64_t kBytesMax = int64_t{1} << 50;
  const Result<ByteText> parts = split_byte_text(given);
  if (!parts) return Error(parts.error()).in(what);
  const Result<int64_t> number = parse_whole(what, parts->number, 0, kBytesMax >> parts->shift);
  if (number) return *number << parts->shift;
  return Error::invalid_argument(text(what, " ", quoted(given), " is not a number of bytes"))
      .with_hint("write 8MiB, 512K, 1G or 4096; at most 1024TiB");
}

std::string print_bytes(int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  int64_t divisor = 1;
  while (unit + 1 < kUnits.size() && bytes / divisor >= 1'024) {
    divisor *= 1'024;
    ++unit;
  }
  if (unit == 0) return text(bytes, " B");
  return text(bytes / divisor, ".", bytes % divisor * 10 / divisor, " ", kUnits[unit]);
}

std::string printable_tail(std::string_view given, size_t bytes_max) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (given.size() > bytes_max) {
    given.remove_prefix(given.size() - bytes_max);
    const size_t newline = given.find('\n');
    if (newline != std::string_view::npos && newline + 1 < given.size())
      given.remove_prefix(newline + 1);
  }
  std::string out;
  for (size_t i = 0; i < given.size();) {
    const auto lead = static_cast<unsigned char>(given[i]);
    size_t length = 1;
    bool plain = (lead >= 0x20 && lead < 0x7F) || lead == '\n' || lead == '\t';
    if (lead >= 0xC2 && lead < 0xF5) {  // possibly UTF-8 of two to four bytes
      length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      plain = i + length <= given.size();
      for (size_t k = 1; plain && k < length; ++k) {
        plain = (static_cast<unsigned char>(given[i + k]) & 0xC0) == 0x80;
      }
      const auto next = plain ? static_cast<unsigned char>(given[i + 1]) : 0;
      // Overlong forms, surrogates, codes beyond Unicode, and the control characters of C1.
      if ((lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) ||
          (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F) ||
          (lead == 0xC2 && next < 0xA0)) {
        plain = false;
      }
    }
    if (plain) {
      out += given.substr(i, length);
      i += length;
      continue;
    }
    if (lead != '\r') {
      out += "\\x";
      out += kDigits[lead >> 4];
      out += kDigits[lead & 15];
    }
    ++i;
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace proffer::batch
