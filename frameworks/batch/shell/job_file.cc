#include "frameworks/batch/shell/job_file.h"

#include "yaml/read.h"

namespace proffer::batch {
namespace {

Result<void> read_row(const std::string& key, const yaml::Node& node, JobText& job) {
  const auto one = [&](std::optional<std::string>& place) -> Result<void> {
    Result<std::string> value = yaml::text_of(key, node);
    if (!value) return std::move(value).error();
    place = *std::move(value);
    return {};
  };
  if (key == "name") return one(job.name);
  if (key == "role") return one(job.role);
  if (key == "band") return one(job.band);
  if (key == "priority") return one(job.priority);
  if (key == "map") return one(job.map);
  if (key == "reduce") return one(job.reduce);
  if (key == "output") return one(job.output);
  if (key == "reducers") return one(job.reducers);
  if (key == "split") return one(job.split);
  if (key == "combine") return one(job.combine);
  if (key == "sort_memory") return one(job.sort_memory);
  if (key == "key_fields") return one(job.key_fields);
  if (key == "partition_fields") return one(job.partition_fields);
  if (key == "separator") return one(job.separator);
  if (key == "sort") return one(job.sort);
  if (key == "by_file") return one(job.by_file);
  if (key == "allow_empty") return one(job.allow_empty);
  if (key == "fail_if_impossible") return one(job.fail_if_impossible);
  if (key == "resources") return one(job.resources);
  if (key == "map_accepts") return yaml::keep(yaml::texts_of(key, node), job.map_accepts);
  if (key == "reduce_accepts") return yaml::keep(yaml::texts_of(key, node), job.reduce_accepts);
  if (key == "array") return one(job.array);
  if (key == "at_once") return one(job.at_once);
  if (key == "retries") return one(job.retries);
  if (key == "retry_on") return one(job.retry_on);
  if (key == "ok") return one(job.ok);
  if (key == "max_failed") return one(job.max_failed);
  if (key == "timeout") return one(job.timeout);
  if (key == "directory") return one(job.directory);
  if (key == "command") return yaml::keep(yaml::texts_of(key, node), job.command);
  if (key == "arguments") return yaml::keep(yaml::texts_of(key, node), job.arguments.emplace());
  if (key == "input") return yaml::keep(yaml::texts_of(key, node), job.inputs);
  if (key == "files") return yaml::keep(yaml::texts_of(key, node), job.files);
  if (key == "fetch") return yaml::keep(yaml::texts_of(key, node), job.fetch);
  return yaml::read_table(key, node, {}, [&](const std::string& name, const yaml::Node& value) {
    return yaml::read_text(name, value, job.env[name]);
  });
}

}  // namespace

Result<JobText> parse_job_file(std::string_view whole) {
  const Result<yaml::Node> document = yaml::parse_document(whole, "a job file", kJobFileBytesMax);
  if (!document) return document.error();
  JobText job;
  Result<void> read = yaml::read_table(
      "a job file", *document,
      {"name",
       "role",
       "band",
       "priority",
       "map",
       "map_accepts",
       "reduce",
       "reduce_accepts",
       "input",
       "output",
       "reducers",
       "split",
       "by_file",
       "allow_empty",
       "resources",
       "fail_if_impossible",
       "files",
       "fetch",
       "env",
       "command",
       "array",
       "arguments",
       "at_once",
       "retries",
       "retry_on",
       "ok",
       "max_failed",
       "timeout",
       "directory",
       "combine",
       "sort_memory",
       "key_fields",
       "partition_fields",
       "separator",
       "sort"},
      [&](const std::string& key, const yaml::Node& node) { return read_row(key, node, job); });
  if (!read) return std::move(read).error();
  return job;
}

}  // namespace proffer::batch
