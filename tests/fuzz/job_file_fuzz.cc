// A job file of batch. Job files have no printer, so the target prints JSON: YAML is a superset of
// it.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "frameworks/batch/shell/job_file.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace job_file_fuzz {
namespace {

// ~{ would begin a parameter.
std::string literal(const std::string& value) {
  std::string out;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value.compare(i, 2, "~{") == 0) out += '~';
    out += value[i];
  }
  return in_quotes(out);
}

// The members of a table, without its braces.
std::string members(const batch::JobText& job) {
  std::string out;
  const auto member = [&](std::string_view key, const std::string& value) {
    if (!out.empty()) out += ", ";
    out += in_quotes(key) + ": " + value;
  };
  const auto one = [&](std::string_view key, const std::optional<std::string>& value) {
    if (value) member(key, literal(*value));
  };
  const auto list = [&](std::string_view key, const std::vector<std::string>& values) {
    std::string inside;
    for (const std::string& value : values) inside += (inside.empty() ? "" : ", ") + literal(value);
    if (!values.empty()) member(key, "[" + inside + "]");
  };
  one("name", job.name);
  one("role", job.role);
  one("map", job.map);
  one("reduce", job.reduce);
  list("map_accepts", job.map_accepts);
  list("reduce_accepts", job.reduce_accepts);
  list("input", job.inputs);
  one("output", job.output);
  one("reducers", job.reducers);
  one("input_format", job.input_format);
  one("decompress", job.decompress);
  one("combine", job.combine);
  one("sort_memory", job.sort_memory);
  one("key_fields", job.key_fields);
  one("partition_fields", job.partition_fields);
  one("separator", job.separator);
  one("sort", job.sort);
  one("split", job.split);
  one("speculation", job.speculation);
  one("by_file", job.by_file);
  one("allow_empty", job.allow_empty);
  one("fail_if_impossible", job.fail_if_impossible);
  one("resources", job.resources);
  list("prefer_hosts", job.prefer_hosts);
  one("locality", job.locality);
  one("locality_wait", job.locality_wait);
  one("band", job.band);
  one("priority", job.priority);
  list("files", job.files);
  list("fetch", job.fetch);
  list("command", job.command);
  one("array", job.array);
  if (job.arguments && !job.arguments->empty()) list("arguments", *job.arguments);
  if (job.arguments && job.arguments->empty()) member("arguments", "[]");
  one("each_line", job.each_line);
  list("each_file", job.each_file);
  one("gang", job.gang);
  one("run", job.run);
  one("at_once", job.at_once);
  one("retries", job.retries);
  one("retry_on", job.retry_on);
  one("ok", job.ok);
  one("max_failed", job.max_failed);
  one("timeout", job.timeout);
  one("directory", job.directory);
  list("after", job.after);
  list("after_failure", job.after_failure);
  list("after_any", job.after_any);
  one("after_each", job.after_each);
  one("when", job.when);
  std::string env;
  for (const auto& [name, value] : job.env) {
    env += (env.empty() ? "" : ", ") + in_quotes(name) + ": " + literal(value);
  }
  if (!job.env.empty()) member("env", "{" + env + "}");
  return out;
}

std::string print(const batch::JobFile& file) {
  std::string out = members(file.job);
  if (!file.stages.empty()) out += out.empty() ? "\"stages\": {" : ", \"stages\": {";
  bool is_first = true;
  for (const batch::StageText& stage : file.stages) {
    if (!std::exchange(is_first, false)) out += ", ";
    out += in_quotes(stage.name) + ": {" + members(stage.job) + "}";
  }
  return "{" + out + (file.stages.empty() ? "}" : "}}");
}

// yaml-cpp does not accept a key of more than 1,024 characters in a table on one line.
bool has_long_name(const batch::JobFile& file) {
  const auto is_long = [](const std::string& name) { return in_quotes(name).size() > 1'000; };
  const auto has = [&](const batch::JobText& job) {
    return std::any_of(job.env.begin(), job.env.end(),
                       [&](const auto& row) { return is_long(row.first); });
  };
  return has(file.job) || std::any_of(file.stages.begin(), file.stages.end(), [&](const auto& one) {
           return is_long(one.name) || has(one.job);
         });
}

// The printed form has all stages on one line.
batch::JobFile without_lines(batch::JobFile file) {
  for (batch::StageText& stage : file.stages) stage.line = 1;
  return file;
}

}  // namespace
}  // namespace job_file_fuzz

void fuzz_job_file(Input input) {
  const Result<batch::JobFile> job = batch::parse_job_file(text_of(input));
  if (!job) return check_refused_document(job.error());
  if (job_file_fuzz::has_long_name(*job)) return;
  const std::string printed = job_file_fuzz::print(*job);
  const Result<batch::JobFile> again = batch::parse_job_file(printed);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == job_file_fuzz::without_lines(*job)) << printed;
}

}  // namespace proffer::fuzz
