// Read `prepare` first: a job, or the stages of a pipeline; then `add_stage`.

#include "frameworks/batch/shell/prepare.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "common/foreign_variables.h"
#include "common/roles.h"
#include "common/text.h"
#include "frameworks/batch/planning/input.h"
#include "frameworks/batch/shell/submit.h"
#include "frameworks/batch/shell/zones.h"
#include "yaml/read.h"

namespace proffer::batch {
namespace {

constexpr size_t kPlanInOutputBytes = 8;

std::string plan_name() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string name;
  for (int i = 0; i < 24; ++i) name += kDigits[random() & 15];
  return name;
}

// An array has no splits.
Result<std::vector<Split>> find_splits(const JobSpec& job) {
  if (job.array) return std::vector<Split>();
  const Result<std::vector<InputFile>> input =
      find_input(job.inputs, job.allow_empty, job.decompresses);
  if (!input) return input.error();
  Result<std::vector<Split>> splits =
      make_splits(*input, job.split_bytes, job.by_file, job.input_format);
  // Empty input is allowed, and there is none.
  if (splits && splits->empty()) splits->emplace_back();
  return splits;
}

// For an array whose arguments are the lines of a file, or files.
Result<void> find_elements(JobSpec& job) {
  if (!job.array || (job.lines_of.empty() && job.files_of.empty())) return {};
  Result<std::vector<std::string>> found = find_arguments(job.lines_of, job.files_of);
  if (!found) return std::move(found).error();
  job.arguments = *std::move(found);
  job.array->indices = {
      {.first = 1, .step = 1, .count = static_cast<uint32_t>(job.arguments.size())}};
  return {};
}

PlanRequest request_of(const JobSpec& job, const ShippedFiles& files) {
  std::optional<Duration> locality_wait;
  if (!job.hosts_of_paths.empty()) locality_wait = job.locality_wait;
  return {.inputs = job.array ? job.files_of : job.inputs,
          .split_bytes = job.split_bytes,
          .by_file = job.by_file,
          .allow_empty = job.allow_empty,
          .format = job.input_format,
          .decompresses = job.decompresses,
          .files = files,
          .lines_of = job.lines_of,
          .locality_wait = locality_wait};
}

Result<void> write_directory(const JobSpec& job, const JobOrder& order,
                             const std::vector<Split>& splits, OutputDirectory& output) {
  ShippedFiles files{.contents = job.files};
  if (!job.large_files.empty()) {
    Result<std::map<std::string, LargeFile>> copied =
        output.copy_files(order.plan, job.large_files);
    if (!copied) return std::move(copied).error().in("file to ship");
    files.large = *std::move(copied);
  }
  Result<void> written =
      order.awaits_plan()
          ? output.write_request(order.plan, request_of(job, files), job.hosts_of_paths)
          : output.write_plan(order.plan, splits, job.arguments, files);
  if (written && order.array) written = output.write_order(order);
  if (written && !job.exported.empty()) written = output.write_exported(order.plan, job.exported);
  return written;
}

std::vector<StageDependency> dependencies(const JobText& text) {
  std::vector<StageDependency> all;
  for (const std::string& one : text.after) all.push_back({.job = one});
  for (const std::string& one : text.after_failure) {
    all.push_back({.job = one, .on = Condition::kFailed});
  }
  for (const std::string& one : text.after_any) {
    all.push_back({.job = one, .on = Condition::kEnded});
  }
  if (text.after_each) all.push_back({.job = *text.after_each, .on = Condition::kEach});
  return all;
}

Result<bool> takes_any(const JobText& text) {
  const std::string when = text.when.value_or("all");
  if (when == "all" || when == "any") return when == "any";
  return Error::invalid_argument(proffer::text("when must be all or any, not ", quoted(when)));
}

// A stage, or the only job, as described by the file and the flags.
struct StageSpec {
  JobSpec job = {};
  std::vector<Split> splits = {};
  std::string plan = {};
};

Result<StageSpec> read_stage(const JobText& file, JobText over, const std::string& name,
                             bool names_output, bool is_scheduled, StageOrder& stage) {
  StageSpec spec{.plan = plan_name()};
  if (names_output && !over.output && !file.output) {
    over.output = text(name, "-", spec.plan.substr(0, kPlanInOutputBytes));
  }
  Result<JobSpec> job = make_job(file, over);
  if (!job) return std::move(job).error();
  spec.job = *std::move(job);
  const bool is_over = !dependencies(over).empty();
  const JobText& waits = is_over ? over : file;
  stage.after = dependencies(waits);
  const Result<bool> any = takes_any(waits);
  if (!any) return any.error();
  stage.takes_any = *any;
  // The output of others does not exist yet, and the input at the fire times is unknown.
  if (stage.after.empty() && !is_scheduled) {
    Result<std::vector<Split>> splits = find_splits(spec.job);
    if (!splits) return std::move(splits).error();
    spec.splits = *std::move(splits);
    if (Result<void> ok = find_elements(spec.job); !ok) return std::move(ok).error();
  }
  stage.order = make_order(spec.job, spec.splits, spec.plan);
  Result<Locality> locality =
      locate(spec.splits, spec.job.hosts_of_paths, spec.job.prefer_hosts, spec.job.locality_wait);
  if (!locality) return std::move(locality).error();
  stage.order.locality = *std::move(locality);
  if (Result<void> ok = check_order(stage.order); !ok) return std::move(ok).error();
  return spec;
}

bool is_waiting(const StageOrder& stage) {
  return !stage.after.empty() || stage.order.awaits_plan();
}

Result<OutputDirectory> make_directory(const StageSpec& spec, const StageOrder& stage) {
  const std::string& place = stage.order.output;
  const bool waits = is_waiting(stage);
  if (waits && ::access(place.c_str(), F_OK) == 0) {
    return Error::already_exists(text("output ", quoted(place), " already exists"))
        .with_hint("remove it, or choose another");
  }
  Result<OutputDirectory> output =
      OutputDirectory::prepare(waits ? waiting_directory(place, stage.order.plan) : place);
  if (!output) return std::move(output).error();
  if (Result<void> ok = write_directory(spec.job, stage.order, spec.splits, *output); !ok) {
    output->abandon();
    return std::move(ok).error();
  }
  return output;
}

// The output of a schedule's stage is a model: each firing gets its own directory in it.
Result<OutputDirectory> make_model(const StageSpec& spec, const StageOrder& stage) {
  const std::string& place = stage.order.output;
  if (::mkdir(place.c_str(), 0777) != 0 && errno != EEXIST) {
    return Error::unavailable(text("making ", quoted(place), ": ", std::strerror(errno)))
        .with_hint(
            "the parent directory of the output must exist, and you must have write access to it");
  }
  Result<OutputDirectory> model =
      OutputDirectory::prepare(model_directory(place, stage.order.plan));
  if (!model) return std::move(model).error();
  if (Result<void> ok = write_directory(spec.job, stage.order, spec.splits, *model); !ok) {
    model->abandon();
    return std::move(ok).error();
  }
  return model;
}

Result<ScheduleOrder> make_schedule(const ScheduleText& given, const Submission& stages) {
  ScheduleOrder order{.stages = stages, .cron = given.cron.value_or("")};
  order.zone = given.zone.value_or(order.zone);
  if (given.overlap) order.overlap = *parse_overlap(*given.overlap);  // the schema has checked them
  if (given.catch_up) order.catch_up = *parse_catch_up(*given.catch_up);
  if (!given.cron) {
    return Error::invalid_argument("schedule has no cron expression")
        .with_hint("write schedule: {cron: 30 3 * * *, zone: Europe/Berlin}");
  }
  if (Result<void> ok = check_schedule(order); !ok) return std::move(ok).error().in("schedule");
  if (Result<Zone> zone = read_zone(order.zone, std::time(nullptr)); !zone) {
    return Error::invalid_argument(text("schedule: ", zone.error().message()))
        .with_hint(zone.error().hint());
  }
  return order;
}

// Variables of other systems in the commands of a stage, which are empty here.
void note_variables(const JobSpec& job, std::vector<std::string>& notes) {
  std::string commands = text(job.map, "\n", job.reduce, "\n", job.shuffle.combine, "\n");
  if (job.array) {
    for (const std::string& word : job.array->command) commands += word + "\n";
    // The command line is the only argument of `run`.
    if (job.arguments.size() == 1) commands += job.arguments.front();
  }
  for (const std::string_view pattern : {"%a", "%A", "%j", "%J", "%x"}) {
    if (job.output.find(pattern) == std::string::npos) continue;
    notes.push_back(
        text(quoted(pattern), " in output ", quoted(job.output),
             " is a pattern of Slurm, and no pattern here: all elements write to this "
             "one directory; proffer batch results JOB INDEX prints the output of one"));
    break;
  }
  const auto is_set = [&](const std::string& name) {
    return job.env.count(name) > 0 || std::getenv(name.c_str()) != nullptr;
  };
  for (std::string& one : foreign_variables(commands, is_set)) {
    if (std::find(notes.begin(), notes.end(), one) == notes.end()) notes.push_back(std::move(one));
  }
}

// In a pipeline, a stage waits for another stage, or for a job by its id, as words-7.
Result<void> check_names(const JobFile& file) {
  std::vector<std::string_view> names;
  for (const StageText& stage : file.stages) names.push_back(stage.name);
  for (const StageText& stage : file.stages) {
    for (const StageDependency& one : dependencies(stage.job)) {
      const bool is_stage = std::find(names.begin(), names.end(), one.job) != names.end();
      const size_t dash = one.job.rfind('-');
      const bool is_id = dash != std::string::npos &&
                         one.job.find_first_of("0123456789", dash) != std::string::npos;
      if (is_stage || is_id) continue;
      const std::string_view near = nearest(one.job, names);
      std::string all;
      for (const std::string_view name : names) all += text(all.empty() ? "" : ", ", name);
      std::string key = "after";
      for (const std::string_view other : {"after_failure", "after_any", "after_each"}) {
        if (stage.lines.count("after") == 0 && stage.lines.count(std::string(other)) > 0) {
          key = other;
        }
      }
      return with_line(
          Error::invalid_argument(
              text(key, " of stage ", quoted(stage.name), ": there is no stage ", quoted(one.job),
                   near.empty() ? "" : text("; did you mean ", quoted(near), "?")))
              .with_hint(text("the stages are ", all, "; a job is named by its id, as in words-7")),
          stage.lines);
    }
  }
  return {};
}

// The common values of all stages in a file, in the form of one stage.
JobText shared_text(const JobFile& file) {
  JobText shared = file.job;
  shared.name.reset();
  shared.role.reset();
  return shared;
}

// Flags that are also for pipelines.
Result<void> check_flags(const JobText& flags) {
  JobText others = flags;
  others.name.reset();
  others.role.reset();
  if (others == JobText()) return {};
  return Error::invalid_argument("a pipeline takes the options --name, --role and --parameter only")
      .with_hint("write everything else into the file, in its stage");
}

Result<void> add_stages(const SubmitOptions& given, const JobFile& file, Prepared& prepared,
                        std::vector<StageSpec>& specs) {
  if (file.stages.empty()) {
    JobText flags = given.flags;
    const std::string name = flags.name.value_or("job");
    Result<StageSpec> spec =
        read_stage(file.job, flags, name, given.names_output, file.schedule.has_value(),
                   prepared.stages.stages.emplace_back());
    if (!spec) {
      // An error of a value that a flag gives has no line.
      const bool is_of_file = !given.job_file.empty() && flags == JobText();
      if (!is_of_file) return std::move(spec).error();
      return with_line(std::move(spec).error(), file.lines).in(given.job_file);
    }
    prepared.role = spec->job.role;
    note_variables(spec->job, prepared.notes);
    specs.push_back(*std::move(spec));
    return check_submission(prepared.stages);
  }
  if (Result<void> ok = check_flags(given.flags); !ok) return ok;
  if (Result<void> ok = check_names(file); !ok) return std::move(ok).error().in(given.job_file);
  const JobText& over = given.flags;
  Submission& pipeline = prepared.stages;
  pipeline.pipeline = over.name ? *over.name : file.job.name.value_or("pipeline");
  if (const std::optional<std::string>& role = over.role ? over.role : file.job.role) {
    Result<RoleName> parsed = parse_role(*role);
    if (!parsed) return std::move(parsed).error();
    prepared.role = *std::move(parsed);
  }
  const JobText shared = shared_text(file);
  for (const StageText& one : file.stages) {
    StageOrder& stage = pipeline.stages.emplace_back();
    stage.stage = one.name;
    JobText said = one.job;
    said.name = one.name;
    const bool is_array = said.says_array();
    Result<StageSpec> spec = read_stage(shared, said, text(pipeline.pipeline, "-", one.name),
                                        is_array, file.schedule.has_value(), stage);
    if (!spec) {
      Error error = with_line(std::move(spec).error(), one.lines);
      const bool has_line = error.message().starts_with("line ");
      return std::move(error)
          .in(text(has_line ? "" : text("line ", one.line, ": "), "stage ", quoted(one.name)))
          .in(given.job_file);
    }
    note_variables(spec->job, prepared.notes);
    specs.push_back(*std::move(spec));
  }
  return check_submission(pipeline);
}

}  // namespace

std::string Prepared::encoded() const {
  if (schedule) return encode_schedule_order(*schedule);
  const StageOrder& first = stages.stages.front();
  const bool is_order = stages.pipeline.empty() && first.after.empty();
  return is_order ? encode_order(first.order) : encode_submission(stages);
}

Result<Prepared> prepare(const SubmitOptions& given) {
  JobFile file;
  if (!given.job_file.empty()) {
    Result<JobFile> read = read_job_file(given.job_file, given.parameters);
    if (!read) return std::move(read).error();
    file = *std::move(read);
  } else if (!given.parameters.empty()) {
    return Error::invalid_argument("--parameter needs a job file that declares the parameter");
  }
  if (file.schedule && !given.takes_schedule) {
    return Error::invalid_argument("the job file has a schedule, but run starts one job at once")
        .with_hint(
            "start the schedule with proffer batch submit FILE; to run the job once, remove "
            "`schedule` from the file");
  }
  Prepared prepared;
  std::vector<StageSpec> specs;
  if (Result<void> ok = add_stages(given, file, prepared, specs); !ok) {
    // The schedule is another part of the file: its error is reported, too.
    yaml::Errors errors;
    errors.add(ok);
    if (file.schedule && file.schedule->cron) {
      const Result<Cron> cron = parse_cron(*file.schedule->cron);
      if (!cron) {
        errors.add(with_line(Error(cron.error()).in("schedule"), file.lines).in(given.job_file));
      }
    }
    return std::move(errors.result()).error();
  }
  if (file.schedule) {
    Result<ScheduleOrder> schedule = make_schedule(*file.schedule, prepared.stages);
    if (!schedule) {
      return with_line(std::move(schedule).error(), file.lines).in(given.job_file);
    }
    prepared.schedule = *std::move(schedule);
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    const StageOrder& stage = prepared.stages.stages[i];
    Result<OutputDirectory> output =
        prepared.schedule ? make_model(specs[i], stage) : make_directory(specs[i], stage);
    if (output) {
      prepared.outputs.push_back(*std::move(output));
      continue;
    }
    for (OutputDirectory& made : prepared.outputs) made.abandon();
    Error error = std::move(output).error();
    return stage.stage.empty() ? error : std::move(error).in(text("stage ", quoted(stage.stage)));
  }
  return prepared;
}

}  // namespace proffer::batch
