#include "frameworks/batch/shell/job_file.h"

#include "common/ids.h"
#include "common/text.h"
#include "frameworks/batch/shell/job_schema.h"
#include "frameworks/batch/shell/parameters.h"
#include "yaml/foreign.h"
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
  if (key == "input_format") return one(job.input_format);
  if (key == "decompress") return one(job.decompress);
  if (key == "combine") return one(job.combine);
  if (key == "sort_memory") return one(job.sort_memory);
  if (key == "key_fields") return one(job.key_fields);
  if (key == "partition_fields") return one(job.partition_fields);
  if (key == "separator") return one(job.separator);
  if (key == "sort") return one(job.sort);
  if (key == "by_file") return one(job.by_file);
  if (key == "allow_empty") return one(job.allow_empty);
  if (key == "private_tmp") return one(job.private_tmp);
  if (key == "speculation") return one(job.speculation);
  if (key == "fail_if_impossible") return one(job.fail_if_impossible);
  if (key == "resources") return one(job.resources);
  if (key == "prefer_hosts") return yaml::keep(yaml::texts_of(key, node), job.prefer_hosts);
  if (key == "locality") return one(job.locality);
  if (key == "locality_wait") return one(job.locality_wait);
  if (key == "time_limit") return one(job.time_limit);
  if (key == "map_accepts") return yaml::keep(yaml::texts_of(key, node), job.map_accepts);
  if (key == "reduce_accepts") return yaml::keep(yaml::texts_of(key, node), job.reduce_accepts);
  if (key == "array") return one(job.array);
  if (key == "at_once") return one(job.at_once);
  if (key == "retries") return one(job.retries);
  if (key == "retry_on") return one(job.retry_on);
  if (key == "requeue_on") return one(job.requeue_on);
  if (key == "ok") return one(job.ok);
  if (key == "max_failed") return one(job.max_failed);
  if (key == "timeout") return one(job.timeout);
  if (key == "signal") return one(job.signal);
  if (key == "directory") return one(job.directory);
  if (key == "each_line") return one(job.each_line);
  if (key == "each_file") return yaml::keep(yaml::texts_of(key, node), job.each_file);
  if (key == "gang") return one(job.gang);
  if (key == "run") return one(job.run);
  if (key == "after") return yaml::keep(yaml::texts_of(key, node), job.after);
  if (key == "after_failure") return yaml::keep(yaml::texts_of(key, node), job.after_failure);
  if (key == "after_any") return yaml::keep(yaml::texts_of(key, node), job.after_any);
  if (key == "after_each") return one(job.after_each);
  if (key == "when") return one(job.when);
  if (key == "command") return yaml::keep(yaml::texts_of(key, node), job.command);
  if (key == "arguments") return yaml::keep(yaml::texts_of(key, node), job.arguments.emplace());
  if (key == "input") return yaml::keep(yaml::texts_of(key, node), job.inputs);
  if (key == "files") return yaml::keep(yaml::texts_of(key, node), job.files);
  if (key == "fetch") return yaml::keep(yaml::texts_of(key, node), job.fetch);
  return yaml::read_table(key, node, {}, [&](const std::string& name, const yaml::Node& value) {
    return yaml::read_text(name, value, job.env[name]);
  });
}

const yaml::Node* row_of(const yaml::Node& table, std::string_view key) {
  for (const yaml::Row& row : table.rows) {
    if (row.key == key) return &row.value;
  }
  return nullptr;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) all += text(all.empty() ? "" : ", ", name);
  return all;
}

// The parameters that the file declares, overridden by the given ones.
Result<Parameters> read_parameters(const yaml::Node& file, const Parameters& given) {
  Parameters values;
  if (const yaml::Node* table = row_of(file, "parameters")) {
    Result<void> read = yaml::read_table(
        "parameters", *table, {}, [&](const std::string& name, const yaml::Node& value) {
          if (Result<void> ok = check_name("parameter", name);
              !ok || name.find('.') != std::string::npos) {
            return Result<void>(
                yaml::at(value, text("parameter ", quoted(name), " must be of A-Z a-z 0-9 _ -")));
          }
          return yaml::read_text(name, value, values[name]);
        });
    if (!read) return std::move(read).error();
  }
  std::vector<std::string_view> names;
  for (const auto& [name, value] : values) names.push_back(name);
  for (const auto& [name, value] : given) {
    const auto declared = values.find(name);
    if (declared == values.end()) {
      const std::string_view near = nearest(name, names);
      return Error::invalid_argument(
                 text("the job file does not declare the parameter ", quoted(name),
                      near.empty() ? "" : text("; did you mean ", quoted(near), "?")))
          .with_hint(names.empty()
                         ? std::string("declare it in the file: parameters: {NAME: VALUE}")
                         : text("the file declares ", joined(names),
                                "; declare others there: parameters: {NAME: VALUE}"));
    }
    declared->second = value;
  }
  return values;
}

// Adds ~{STAGE.output} for stages that name their output, which may contain parameters.
Result<void> add_outputs(const yaml::Node& stages, std::string_view directory, Parameters& values,
                         size_t& room) {
  Parameters outputs;
  for (const yaml::Row& stage : stages.rows) {
    const yaml::Node* output = row_of(stage.value, "output");
    if (output == nullptr || output->kind != yaml::Node::Kind::kText) continue;
    yaml::Node made = *output;
    if (Result<void> ok = fill_in(made, "output", values, room); !ok) return ok;
    outputs[stage.key + ".output"] =
        made.text.starts_with('/') ? made.text : text(directory, "/", made.text);
  }
  values.merge(outputs);
  return {};
}

KeyLines lines_of(const yaml::Node& table) {
  KeyLines lines;
  for (const yaml::Row& row : table.rows) lines[row.key] = row.line;
  return lines;
}

Result<void> read_stages(const yaml::Node& node, JobFile& file) {
  return yaml::read_table(
      "stages", node, {}, [&](const std::string& name, const yaml::Node& value) {
        StageText& stage = file.stages.emplace_back();
        stage.name = name;
        stage.line = value.line;
        stage.lines = lines_of(value);
        return yaml::read_table(text("stage ", quoted(name)), value, {},
                                [&](const std::string& key, const yaml::Node& row) {
                                  return read_row(key, row, stage.job);
                                });
      });
}

// "0 3 * * *", or a table.
Result<void> read_schedule(const yaml::Node& node, ScheduleText& schedule) {
  const auto one = [](const std::string& key, const yaml::Node& value,
                      std::optional<std::string>& place) {
    return yaml::read_text(key, value, place.emplace());
  };
  if (node.kind == yaml::Node::Kind::kText) return one("schedule", node, schedule.cron);
  return yaml::read_table("schedule", node, {}, [&](const std::string& key, const yaml::Node& row) {
    if (key == "cron") return one(key, row, schedule.cron);
    if (key == "zone") return one(key, row, schedule.zone);
    if (key == "overlap") return one(key, row, schedule.overlap);
    return one(key, row, schedule.catch_up);
  });
}

}  // namespace

Error with_line(Error error, const KeyLines& lines) {
  const std::string& message = error.message();
  const std::string key = message.substr(0, message.find_first_of(" :,"));
  const auto line = lines.find(key);
  if (line == lines.end()) return error;
  return std::move(error).in(text("line ", line->second));
}

const yaml::Schema& job_file_schema() {
  static const yaml::Schema schema(kJobSchema);
  return schema;
}

Result<JobFile> parse_job_file(std::string_view whole, const Parameters& given,
                               std::string_view directory) {
  if (Result<void> ok = yaml::check_is_yaml(whole, yaml::FileFor::kJob); !ok) {
    return std::move(ok).error();
  }
  Result<yaml::Node> document = yaml::parse_document(whole, "a job file", kJobFileBytesMax);
  if (!document) return document.error();
  if (Result<void> ok = yaml::check_is_ours(*document, yaml::FileFor::kJob); !ok) {
    return std::move(ok).error();
  }
  Result<Parameters> values = read_parameters(*document, given);
  if (!values) return std::move(values).error();
  size_t room = kFilledBytesMax;
  const yaml::Node* stages = row_of(*document, "stages");
  if (stages != nullptr) {
    if (Result<void> ok = add_outputs(*stages, directory, *values, room); !ok) {
      return std::move(ok).error();
    }
  }
  for (yaml::Row& row : document->rows) {
    if (row.key == "parameters") continue;
    if (Result<void> ok = fill_in(row.value, row.key, *values, room); !ok) {
      return std::move(ok).error();
    }
  }
  if (Result<void> ok = job_file_schema().check(*document); !ok) return std::move(ok).error();
  JobFile file;
  file.lines = lines_of(*document);
  Result<void> read = yaml::read_table(
      "a job file", *document, {}, [&](const std::string& key, const yaml::Node& node) {
        if (key == "parameters") return Result<void>();
        if (key == "schedule") return read_schedule(node, file.schedule.emplace());
        return key == "stages" ? read_stages(node, file) : read_row(key, node, file.job);
      });
  if (!read) return std::move(read).error();
  if (stages != nullptr && file.stages.empty()) {
    return yaml::at(*stages, "a pipeline needs at least one stage");
  }
  return file;
}

}  // namespace proffer::batch
