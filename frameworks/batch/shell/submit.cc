// All checks before a job starts. `make_job` combines them.

#include "frameworks/batch/shell/submit.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <set>

#include <string.h>
#include <unistd.h>

#include "common/roles.h"
#include "common/text.h"
#include "frameworks/batch/planning/input.h"
#include "frameworks/batch/shell/large_files.h"
#include "net/exported_environment.h"
#include "proto/batch_status.h"
#include "proto/fetched_files.h"
#include "proto/limit_warning.h"
#include "proto/private_tmp.h"
#include "sdk/shell/given_file.h"

namespace proffer::batch {
namespace {

// Retries of elements if only exit codes are given.
constexpr int32_t kRetriesOfCodes = 3;

Result<std::string> working_directory() {
  std::string buffer(kPathBytesMax, '\0');
  // A removed directory has a path that does not begin with '/'.
  if (::getcwd(buffer.data(), buffer.size()) == nullptr || buffer.front() != '/') {
    return Error::failed_precondition("the current directory does not exist any more")
        .with_hint("change to another directory, then run the command again");
  }
  buffer.resize(::strlen(buffer.c_str()));
  return buffer;
}

// An absolute path without a slash at the end, "//" or "/./"; the file system resolves "..".
std::string absolute(const std::string& path, const std::string& base) {
  if (path.empty() || path.find("://") != std::string::npos) return path;
  std::string joined = path.front() == '/' ? path : text(base, "/", path);
  std::string clean;
  for (size_t i = 0; i < joined.size();) {
    size_t end = joined.find('/', i);
    if (end == std::string::npos) end = joined.size();
    const std::string part = joined.substr(i, end - i);
    if (!part.empty() && part != ".") clean += text("/", part);
    i = end + 1;
  }
  return clean.empty() ? "/" : clean;
}

void make_absolute(JobText& job, const std::string& base) {
  for (std::string& input : job.inputs) input = absolute(input, base);
  for (std::string& file : job.files) file = absolute(file, base);
  for (std::string& file : job.each_file) file = absolute(file, base);
  if (job.each_line) job.each_line = absolute(*job.each_line, base);
  if (job.output) job.output = absolute(*job.output, base);
  if (job.locality) job.locality = absolute(*job.locality, base);
  if (job.directory) job.directory = absolute(*job.directory, base);
}

// Parses "0,1,75" into rising codes.
Result<std::vector<int32_t>> parse_codes(std::string_view what, std::string_view given) {
  std::set<int32_t> codes;
  for (const std::string_view one : split(given, ',')) {
    const Result<int64_t> code = parse_whole("exit code", trimmed(one), 0, 255);
    if (!code) return Error(code.error()).in(what);
    codes.insert(static_cast<int32_t>(*code));
  }
  return std::vector<int32_t>(codes.begin(), codes.end());
}

// Parses "10", or "5%" of the elements, rounded down.
Result<int64_t> parse_failed_max(std::string_view given, uint32_t elements) {
  const bool is_part = given.ends_with('%');
  const Result<int64_t> number =
      parse_whole("max_failed", is_part ? given.substr(0, given.size() - 1) : given, 0,
                  is_part ? 100 : int64_t{kElementsMax});
  if (!number) return Error(number.error()).with_hint("write 10, or 5% of the elements");
  return is_part ? int64_t{elements} * *number / 100 : *number;
}

// The limit by either of its names; flags override the file. Zero: not given.
Result<Duration> read_time_limit(const JobText& flags, const JobText& file) {
  for (const JobText* given : {&flags, &file}) {
    if (given->time_limit && given->timeout) {
      return Error::invalid_argument("time_limit and timeout mean the same")
          .with_hint("give time_limit only");
    }
    if (!given->time_limit && !given->timeout) continue;
    const std::string_view what = given->time_limit ? "time_limit" : "timeout";
    const Result<Duration> limit =
        parse_duration(given->time_limit ? *given->time_limit : *given->timeout);
    if (!limit) return Error(limit.error()).in(what);
    if (*limit > Duration() && *limit <= kTimeLimitMax) return *limit;
    return Error::invalid_argument(text(what, " must be more than 0s and at most ",
                                        kTimeLimitMax.millis() / 3'600'000, "h, not ",
                                        to_text(*limit)))
        .with_hint("for no time limit, leave it out");
  }
  return Duration();
}

// The signal before the time limit of an array's elements, as a variable of their environment.
Result<void> read_signal(const JobText& given, const Duration& limit, JobSpec& job) {
  if (!given.signal) return {};
  const Result<proto::LimitWarning> warning = proto::parse_limit_warning(*given.signal);
  if (!warning) return Error(warning.error()).in("signal");
  Result<void> ok = proto::check_limit_warning(*warning, limit, "time_limit");
  if (!ok) return std::move(ok).error().in("signal");
  job.env[std::string(proto::kWarningVariable)] = proto::to_text(*warning);
  return {};
}

// The values of an array: flags override the file.
JobText array_text(const JobText& flags, const JobText& file) {
  JobText both = file;
  if (!flags.command.empty()) both.command = flags.command;
  if (flags.array || flags.arguments || flags.each_line || !flags.each_file.empty()) {
    both.array = flags.array;
    both.arguments = flags.arguments;
    both.each_line = flags.each_line;
    both.each_file = flags.each_file;
  }
  if (flags.run) both.run = flags.run;
  if (flags.gang) both.gang = flags.gang;
  for (std::optional<std::string> JobText::*one :
       {&JobText::at_once, &JobText::retries, &JobText::retry_on, &JobText::requeue_on,
        &JobText::ok, &JobText::max_failed, &JobText::signal, &JobText::directory}) {
    if (flags.*one) both.*one = flags.*one;
  }
  return both;
}

// True for a program that runs without a shell: a path, or a name that is found in $PATH.
bool is_program(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./,@%:{}#";
  if (word.empty() || word.find_first_not_of(kPlain) != std::string::npos) return false;
  if (word.find('/') != std::string::npos) return true;
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : split(path == nullptr ? "" : path, ':')) {
    if (::access(text(directory, "/", word).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// The words to run for each element. One word is a shell command line, as for `proffer run`;
// several are a program and its arguments. An element's argument is the last one if no word says
// where it belongs.
std::vector<std::string> command_words(const std::vector<std::string>& given, bool has_arguments) {
  const bool lacks_place = has_arguments && !has_replacement(given);
  if (given.size() == 1 && !given.front().empty() && !is_program(given.front())) {
    return words_of_line(lacks_place ? given.front() + " {}" : given.front());
  }
  std::vector<std::string> words = given;
  if (lacks_place) words.emplace_back("{}");
  return words;
}

// Reads the array's own keys. `here` is the default working directory of its command.
Result<void> read_array_text(const JobText& given, const std::string& here, JobSpec& job) {
  ArrayOrder array;
  array.command =
      command_words(given.command, given.arguments || given.each_line || !given.each_file.empty());
  array.directory = given.directory.value_or(here);
  const int sources = (given.array ? 1 : 0) + (given.arguments ? 1 : 0) +
                      (given.each_line ? 1 : 0) + (given.each_file.empty() ? 0 : 1) +
                      (given.gang ? 1 : 0);
  if (sources > 1 || (given.run && (sources > 0 || !given.command.empty()))) {
    return Error::invalid_argument(
               "an array has one of array, arguments, each_line, each_file and gang; run stands "
               "alone")
        .with_hint("leave out all but one");
  }
  if (given.run) {
    if (given.run->size() > kArgumentBytesMax) {
      return Error::invalid_argument(text("run has ", given.run->size(), " bytes; at most ",
                                          kArgumentBytesMax, " are allowed"))
          .with_hint("put it into a script and ship that with files");
    }
    // As an argument, so that nothing in it is replaced.
    array.command = {"/bin/sh", "-c", "{}"};
    array.has_arguments = true;
    array.indices = {{.first = 1, .step = 1, .count = 1}};
    job.arguments = {*given.run};
  } else if (given.gang) {
    const Result<int64_t> ranks = parse_whole("gang", *given.gang, 1, kGangMax);
    if (!ranks) return ranks.error();
    array.is_gang = true;
    array.indices = {{.first = 0, .step = 1, .count = static_cast<uint32_t>(*ranks)}};
  } else if (given.each_line || !given.each_file.empty()) {
    array.has_arguments = true;
    job.lines_of = given.each_line.value_or("");
    job.files_of = given.each_file;
  } else if (given.array) {
    Result<ArrayText> parsed = parse_array(*given.array);
    if (!parsed) return std::move(parsed).error();
    array.indices = std::move(parsed->indices);
    array.at_once = parsed->at_once;
  } else {
    if (!given.arguments || given.arguments->empty()) {
      if (!given.arguments) {
        return Error::invalid_argument(
                   "command has no array, arguments, each_line, each_file or "
                   "gang to run for")
            .with_hint("write array: 1-10 beside it; for one command, write run: LINE");
      }
      return Error::invalid_argument("no arguments to run the command for")
          .with_hint("give them after :::, or on standard input, one per line");
    }
    job.arguments = *given.arguments;
    if (job.arguments.size() > kElementsMax) {
      return Error::invalid_argument(text(job.arguments.size(), " arguments are given; at most ",
                                          kElementsMax, " are allowed"))
          .with_hint("submit them as several jobs");
    }
    array.has_arguments = true;
    array.indices = {{.first = 1, .step = 1, .count = static_cast<uint32_t>(job.arguments.size())}};
  }
  if (given.at_once) {
    const Result<int64_t> parsed = parse_whole("at_once", *given.at_once, 1, kElementsMax);
    if (!parsed) return parsed.error();
    array.at_once = *parsed;
  }
  if (given.retry_on) {
    Result<std::vector<int32_t>> parsed = parse_codes("retry_on", *given.retry_on);
    if (!parsed) return std::move(parsed).error();
    array.retry_on = *std::move(parsed);
    array.retries = kRetriesOfCodes;
  }
  if (given.retries) {
    const Result<int64_t> parsed = parse_whole("retries", *given.retries, 0, kRetriesMax);
    if (!parsed) return parsed.error();
    array.retries = static_cast<int32_t>(*parsed);
  }
  if (given.requeue_on) {
    Result<std::vector<int32_t>> parsed = parse_codes("requeue_on", *given.requeue_on);
    if (!parsed) return std::move(parsed).error();
    array.requeue_on = *std::move(parsed);
  }
  if (given.ok) {
    Result<std::vector<int32_t>> parsed = parse_codes("ok", *given.ok);
    if (!parsed) return std::move(parsed).error();
    array.ok = *std::move(parsed);
  }
  if (given.max_failed) {
    if (array.indices.empty() && given.max_failed->ends_with('%')) {
      return Error::invalid_argument(text("max_failed ", *given.max_failed,
                                          ": the number of elements is not known yet"))
          .with_hint("give it as a number");
    }
    const Result<int64_t> parsed =
        parse_failed_max(*given.max_failed, array.indices.empty() ? kElementsMax : array.size());
    if (!parsed) return parsed.error();
    array.failed_max = *parsed;
  }
  job.array = std::move(array);
  return {};
}

// The surroundings of the commands, which are those of this shell.
Result<void> read_export_text(const JobText& flags, JobSpec& job) {
  if (flags.login) {
    const std::string shell = login_shell();
    const std::string words[] = {shell, "-lc", "exec \"$@\"", shell};
    std::vector<std::string>& command = job.array->command;
    command.insert(command.begin(), std::begin(words), std::end(words));
  }
  if (!flags.exports) return {};
  Result<proto::Environment> exported = exported_environment(
      {.variables = *flags.exports, .has_sandbox_home = flags.has_sandbox_home});
  if (!exported) return std::move(exported).error();
  job.exported = *std::move(exported);
  return {};
}

// One byte, or "tab".
Result<char> parse_separator(const std::string& given) {
  if (given == "tab" || given == "\\t") return '\t';
  if (given.size() == 1) return given[0];
  return Error::invalid_argument(text("separator must be one byte, not ", quoted(given)))
      .with_hint("write tab, or the byte itself");
}

// Reads the keys of the shuffle.
Result<void> read_shuffle_text(const JobText& flags, const JobText& file, Shuffle& shuffle) {
  const auto given = [&](std::optional<std::string> JobText::*one) {
    return flags.*one ? flags.*one : file.*one;
  };
  shuffle.combine = given(&JobText::combine).value_or("");
  if (const auto memory = given(&JobText::sort_memory)) {
    const Result<int64_t> parsed = parse_bytes("sort_memory", *memory);
    if (!parsed) return parsed.error();
    shuffle.sort_bytes = *parsed;
  }
  struct Count {
    std::string_view what;
    std::optional<std::string> given;
    uint32_t* place;
  };
  const Count counts[] = {
      {"key_fields", given(&JobText::key_fields), &shuffle.keys.fields},
      {"partition_fields", given(&JobText::partition_fields), &shuffle.keys.partition_fields}};
  for (const Count& one : counts) {
    if (!one.given) continue;
    const Result<int64_t> parsed = parse_whole(one.what, *one.given, 1, kKeyFieldsMax);
    if (!parsed) return parsed.error();
    *one.place = static_cast<uint32_t>(*parsed);
  }
  if (const auto separator = given(&JobText::separator)) {
    const Result<char> parsed = parse_separator(*separator);
    if (!parsed) return parsed.error();
    shuffle.keys.separator = *parsed;
  }
  if (const auto sort = given(&JobText::sort)) {
    Result<std::vector<SortRule>> parsed = parse_sort(*sort);
    if (!parsed) return std::move(parsed).error();
    shuffle.keys.sort = *std::move(parsed);
  }
  return {};
}

Result<bool> parse_truth(std::string_view what, const std::string& given) {
  if (given == "true" || given == "false") return given == "true";
  return Error::invalid_argument(text(what, " must be true or false, not ", quoted(given)));
}

// In any order, each once.
Result<std::vector<int32_t>> parse_exit_codes(std::string_view what,
                                              const std::vector<std::string>& given) {
  std::vector<int32_t> codes;
  for (const std::string& one : given) {
    const Result<int64_t> code = parse_whole(what, one, 1, 125);
    if (!code) return code.error();
    codes.push_back(static_cast<int32_t>(*code));
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

// The files to ship: small ones are read, the largest ones are copied later.
Result<void> read_shipped(const std::vector<std::string>& paths, JobSpec& job) {
  const Result<DividedFiles> divided = divide_files(paths);
  if (!divided) return Error(divided.error()).in("file to ship");
  job.large_files = divided->large;
  for (const auto& [name, path] : divided->small) {
    Result<std::string> content = read_file(path, kShippedBytesMax);
    if (!content) return std::move(content).error().in("file to ship");
    job.files.emplace(name, *std::move(content));
  }
  return {};
}

// Reads the preferred hosts of the tasks.
Result<void> read_locality_text(const JobText& flags, const JobText& file, JobSpec& job) {
  job.prefer_hosts = flags.prefer_hosts.empty() ? file.prefer_hosts : flags.prefer_hosts;
  const std::optional<std::string>& path = flags.locality ? flags.locality : file.locality;
  if (path) {
    const Result<std::string> lines = read_file(*path, kLocalityFileBytesMax);
    if (!lines) return Error(lines.error()).in("locality");
    Result<HostsOfPaths> hosts = parse_hosts_of_paths(*lines);
    if (!hosts) return std::move(hosts).error().in(text("locality: ", *path));
    job.hosts_of_paths = *std::move(hosts);
  }
  const std::optional<std::string>& wait =
      flags.locality_wait ? flags.locality_wait : file.locality_wait;
  if (!wait) return {};
  const Result<Duration> parsed = parse_duration(*wait);
  if (!parsed) return Error(parsed.error()).in("locality_wait");
  job.locality_wait = *parsed;
  return {};
}

// Refuses URIs where a path of the agents belongs.
Result<void> check_paths(const JobText& job) {
  const auto check = [](std::string_view key, const std::string& path) -> Result<void> {
    const size_t scheme = path.find("://");
    if (scheme == std::string::npos) return {};
    if (path.starts_with("file://")) {
      return Error::invalid_argument(text(key, " ", quoted(path), " is a URI, not a path"))
          .with_hint(text("write ", path.substr(scheme + 3)));
    }
    return Error::invalid_argument(
               text(key, " ", quoted(path), " is a URI, not a path that exists on all agents"))
        .with_hint(
            "mount its file system on the agents and name the path there, or copy the files "
            "first; small files for each task come with fetch");
  };
  for (const std::string& input : job.inputs) {
    if (Result<void> ok = check("input", input); !ok) return ok;
  }
  for (const std::string& file : job.files) {
    if (Result<void> ok = check("files", file); !ok) return ok;
  }
  for (const std::string& file : job.each_file) {
    if (Result<void> ok = check("each_file", file); !ok) return ok;
  }
  if (job.each_line) {
    if (Result<void> ok = check("each_line", *job.each_line); !ok) return ok;
  }
  return job.output ? check("output", *job.output) : Result<void>();
}

// Keys of one kind of job beside those of another.
Result<void> check_kind(const JobText& array, const JobText& given, const JobText& file) {
  const std::string_view one = array.run                  ? "run"
                               : array.gang               ? "gang"
                               : array.array              ? "array"
                               : array.each_line          ? "each_line"
                               : !array.each_file.empty() ? "each_file"
                               : array.arguments          ? "arguments"
                                                          : "command";
  const std::pair<std::string_view, bool> others[] = {
      {"map", given.map || file.map},
      {"reduce", given.reduce || file.reduce},
      {"input", !given.inputs.empty() || !file.inputs.empty()}};
  for (const auto& [key, is_given] : others) {
    if (!is_given) continue;
    return Error::invalid_argument(text(one, " and ", key,
                                        " are of two kinds of jobs: a job is either an array, or "
                                        "has map, reduce and input"))
        .with_hint(text("leave out one of them, or write two stages: stages: {a: {", one,
                        ": …}, b: {", key, ": …}}"));
  }
  return {};
}

}  // namespace

Result<JobFile> read_job_file(const std::string& path, const Parameters& parameters) {
  const Result<std::string> yaml = sdk::read_given_file(path, "a job file", kJobFileBytesMax);
  if (!yaml) return yaml.error();
  const Result<std::string> here = working_directory();
  if (!here) return here.error();
  const std::string whole_path = absolute(path, *here);
  const size_t slash = whole_path.rfind('/');
  const std::string directory = slash == 0 ? "/" : whole_path.substr(0, slash);
  Result<JobFile> file = parse_job_file(*yaml, parameters, directory);
  if (!file) return std::move(file).error().in(path);
  make_absolute(file->job, directory);
  for (StageText& stage : file->stages) make_absolute(stage.job, directory);
  return file;
}

Result<JobSpec> make_job(const JobText& file, const JobText& flags) {
  const Result<std::string> here = working_directory();
  if (!here) return here.error();
  JobText given = flags;
  make_absolute(given, *here);
  const auto prefer = [](const std::optional<std::string>& over,
                         const std::optional<std::string>& under) { return over ? over : under; };
  for (const JobText* one : std::initializer_list<const JobText*>{&given, &file}) {
    if (Result<void> ok = check_paths(*one); !ok) return std::move(ok).error();
  }
  JobSpec job;
  job.name = prefer(given.name, file.name).value_or(job.name);
  job.map = prefer(given.map, file.map).value_or("");
  job.reduce = prefer(given.reduce, file.reduce).value_or("");
  job.output = prefer(given.output, file.output).value_or("");
  job.inputs = given.inputs.empty() ? file.inputs : given.inputs;
  if (const auto band = prefer(given.band, file.band)) {
    const std::optional<Band> parsed = parse_band(*band);
    if (!parsed) {
      return Error::invalid_argument(
          text("band must be free, batch, production or monitoring, not ", quoted(*band)));
    }
    job.band = *parsed;
  }
  if (const auto priority = prefer(given.priority, file.priority)) {
    const Result<int64_t> parsed =
        parse_whole("priority", *priority, -proto::kBatchPriorityMax, proto::kBatchPriorityMax);
    if (!parsed) return parsed.error();
    job.priority = static_cast<int32_t>(*parsed);
  }
  if (const auto role = prefer(given.role, file.role)) {
    Result<RoleName> parsed = parse_role(*role);
    if (!parsed) return std::move(parsed).error();
    job.role = *std::move(parsed);
  }
  if (const auto reducers = prefer(given.reducers, file.reducers)) {
    const Result<int64_t> parsed = parse_whole("reducers", *reducers, 0, kReducersMax);
    if (!parsed) return parsed.error();
    job.reducers = *parsed;
  }
  if (const auto split = prefer(given.split, file.split)) {
    const Result<int64_t> parsed = parse_bytes("split", *split);
    if (!parsed) return parsed.error();
    job.split_bytes = *parsed;
  }
  if (const auto speculation = prefer(given.speculation, file.speculation)) {
    if (*speculation != "on" && *speculation != "off") {
      return Error::invalid_argument(
          text("speculation must be on or off, not ", quoted(*speculation)));
    }
    job.speculates = *speculation == "on";
  }
  if (const auto format = prefer(given.input_format, file.input_format)) {
    const Result<InputFormat> parsed = parse_input_format(*format);
    if (!parsed) return parsed.error();
    job.input_format = *parsed;
  }
  if (Result<void> ok = read_shuffle_text(given, file, job.shuffle); !ok) {
    return std::move(ok).error();
  }
  struct Truth {
    std::string_view what;
    std::optional<std::string> given;
    bool* place;
  };
  bool has_private_tmp = false;
  const Truth truths[] = {
      {"private_tmp", prefer(given.private_tmp, file.private_tmp), &has_private_tmp},
      {"by_file", prefer(given.by_file, file.by_file), &job.by_file},
      {"decompress", prefer(given.decompress, file.decompress), &job.decompresses},
      {"allow_empty", prefer(given.allow_empty, file.allow_empty), &job.allow_empty},
      {"fail_if_impossible", prefer(given.fail_if_impossible, file.fail_if_impossible),
       &job.fail_if_impossible},
  };
  for (const Truth& one : truths) {
    if (!one.given) continue;
    const Result<bool> parsed = parse_truth(one.what, *one.given);
    if (!parsed) return parsed.error();
    *one.place = *parsed;
  }
  struct Codes {
    std::string_view what;
    const std::vector<std::string>& given;
    std::vector<int32_t>* place;
  };
  const Codes accepts[] = {
      {"map_accepts", given.map_accepts.empty() ? file.map_accepts : given.map_accepts,
       &job.map_accepts},
      {"reduce_accepts", given.reduce_accepts.empty() ? file.reduce_accepts : given.reduce_accepts,
       &job.reduce_accepts},
  };
  for (const Codes& one : accepts) {
    Result<std::vector<int32_t>> parsed = parse_exit_codes(one.what, one.given);
    if (!parsed) return std::move(parsed).error();
    *one.place = *std::move(parsed);
  }
  if (const auto resources = prefer(given.resources, file.resources)) {
    Result<ResourceVector> parsed = parse_shape(*resources);
    if (!parsed) return std::move(parsed).error().in("resources");
    job.resources = *parsed;
  }
  for (const std::string& one : given.fetch.empty() ? file.fetch : given.fetch) {
    Result<proto::FetchedFile> parsed = proto::parse_fetched_file(one);
    if (!parsed) return std::move(parsed).error().in("fetch");
    job.fetch.push_back(*std::move(parsed));
  }
  job.env = file.env;
  for (const auto& [name, value] : given.env) job.env[name] = value;
  if (has_private_tmp) job.env[std::string(proto::kPrivateTmpVariable)] = proto::kPrivateTmp;
  if (Result<void> ok = read_locality_text(given, file, job); !ok) return std::move(ok).error();
  if (Result<void> ok = read_shipped(given.files.empty() ? file.files : given.files, job); !ok) {
    return std::move(ok).error();
  }
  const Result<Duration> time_limit = read_time_limit(given, file);
  if (!time_limit) return time_limit.error();
  const JobText both = array_text(given, file);
  if (both.says_array()) {
    if (Result<void> ok = check_kind(both, given, file); !ok) return std::move(ok).error();
    const std::pair<std::string_view, bool> others[] = {
        {"reducers", given.reducers || file.reducers},
        {"split", given.split || file.split},
        {"input_format", given.input_format || file.input_format},
        {"decompress", given.decompress || file.decompress},
        {"by_file", given.by_file || file.by_file},
        {"speculation", given.speculation || file.speculation},
        {"allow_empty", given.allow_empty || file.allow_empty},
        {"locality", given.locality || file.locality}};
    for (const auto& [key, is_given] : others) {
      if (!is_given) continue;
      return Error::invalid_argument(text(key, " cannot be given for an array"))
          .with_hint("leave it out: an array has no input and no reducers");
    }
    if (Result<void> ok = read_array_text(both, *here, job); !ok) {
      return std::move(ok).error();
    }
    job.array->timeout = *time_limit;
    if (Result<void> ok = read_signal(both, *time_limit, job); !ok) return std::move(ok).error();
    if (Result<void> ok = read_export_text(given, job); !ok) return std::move(ok).error();
  } else if (both.signal) {
    return Error::invalid_argument("signal is only for arrays, whose commands can handle it")
        .with_hint("leave it out: a mapper or reducer keeps nothing when its attempt ends");
  } else {
    job.time_limit = *time_limit;
  }
  if (Result<void> ok = check_job(job); !ok) return std::move(ok).error();
  return job;
}

Result<std::vector<std::string>> read_arguments(std::FILE* from, char end) {
  std::vector<std::string> arguments;
  std::string argument;
  const auto too_long = [&] {
    return Error::invalid_argument(text("argument ", arguments.size() + 1, " has more than ",
                                        kArgumentBytesMax, " bytes"))
        .with_hint("put it into a file, and give the file's name");
  };
  for (int c = std::getc(from); c != EOF; c = std::getc(from)) {
    if (c != end) {
      if (argument.size() == kArgumentBytesMax) return too_long();
      argument += static_cast<char>(c);
      continue;
    }
    arguments.push_back(std::exchange(argument, {}));
    if (arguments.size() > kElementsMax) {
      return Error::invalid_argument(
                 text("more than ", kElementsMax, " arguments on standard input"))
          .with_hint("submit them as several jobs");
    }
  }
  if (std::ferror(from) != 0) return Error::unavailable("standard input cannot be read");
  if (!argument.empty()) arguments.push_back(std::move(argument));
  return arguments;
}

}  // namespace proffer::batch
