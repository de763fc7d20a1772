// A job file of batch. There is no printer of job files, so here is one: JSON, of which YAML is a
// superset.

#include <optional>
#include <string>
#include <vector>

#include "common/check.h"
#include "frameworks/batch/shell/job_file.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace job_file_fuzz {
namespace {

std::string print(const batch::JobText& job) {
  std::string out = "{";
  const auto member = [&](std::string_view key, const std::string& value) {
    if (out.size() > 1) out += ", ";
    out += in_quotes(key) + ": " + value;
  };
  const auto one = [&](std::string_view key, const std::optional<std::string>& value) {
    if (value) member(key, in_quotes(*value));
  };
  const auto list = [&](std::string_view key, const std::vector<std::string>& values) {
    std::string inside;
    for (const std::string& value : values)
      inside += (inside.empty() ? "" : ", ") + in_quotes(value);
    if (!values.empty()) member(key, "[" + inside + "]");
  };
  one("name", job.name);
  one("role", job.role);
  one("map", job.map);
  one("reduce", job.reduce);
  list("input", job.inputs);
  one("output", job.output);
  one("reducers", job.reducers);
  one("split", job.split);
  one("resources", job.resources);
  one("band", job.band);
  one("priority", job.priority);
  list("files", job.files);
  list("fetch", job.fetch);
  std::string env;
  for (const auto& [name, value] : job.env) {
    env += (env.empty() ? "" : ", ") + in_quotes(name) + ": " + in_quotes(value);
  }
  if (!job.env.empty()) member("env", "{" + env + "}");
  return out + "}";
}

// yaml-cpp takes a key that is longer than 1,024 characters in a table of one line for none.
bool has_long_name(const batch::JobText& job) {
  for (const auto& [name, value] : job.env) {
    if (in_quotes(name).size() > 1'000) return true;
  }
  return false;
}

}  // namespace
}  // namespace job_file_fuzz

void fuzz_job_file(Input input) {
  const Result<batch::JobText> job = batch::parse_job_file(text_of(input));
  if (!job) return check_told(job.error());
  if (job_file_fuzz::has_long_name(*job)) return;
  const std::string printed = job_file_fuzz::print(*job);
  const Result<batch::JobText> again = batch::parse_job_file(printed);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == *job) << printed;
}

}  // namespace proffer::fuzz
