// Makes a scenario from tables. Read add_csv_tasks first: each line describes tasks that arrive.
// Groups joins tasks of one shape, because a framework has few entries of tasks and a trace has
// many lines.

#include "sim/trace_reader.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/text.h"
#include "sim/csv.h"

namespace proffer::sim {
namespace {

Error in_column(std::string_view column, Error error) { return std::move(error).in(column); }

// "1.5" seconds.
Result<Duration> parse_seconds(std::string_view column, std::string_view value) {
  const Result<int64_t> millis = parse_milli(value);
  if (!millis) return in_column(column, millis.error());
  const int64_t most = kScenarioUntilMax.millis();
  if (*millis <= most) return milliseconds(*millis);
  return in_column(column, Error::invalid_argument(
                               text("must be at most ", most / 1'000, " seconds, not ", value)));
}

// The properties that the tasks of one entry share.
struct TableKind {
  ResourceVector shape = {};
  std::string constraint = {};
  Band band = Band::kBatch;

  bool operator<(const TableKind& o) const {
    for (const ResourceKind kind : kResourceKinds) {
      if (shape[kind] != o.shape[kind]) return shape[kind] < o.shape[kind];
    }
    return std::tie(constraint, band) < std::tie(o.constraint, o.band);
  }
};

// The frameworks of a table: each has one entry of tasks per kind, with a wave per line.
class Groups {
 public:
  explicit Groups(Scenario& scenario) : scenario_(scenario), before_(scenario.frameworks.size()) {}

  Result<void> add(const std::string& framework, const RoleName& role, const TableKind& kind,
                   const ScenarioWave& wave) {
    auto at = frameworks_.find(framework);
    if (at == frameworks_.end()) {
      if (Result<void> ok = check_name("framework", framework); !ok) return ok;
      at = frameworks_.emplace(framework, Of{.place = scenario_.frameworks.size()}).first;
      scenario_.frameworks.push_back({.name = framework, .role = role});
    }
    ScenarioFramework& of = scenario_.frameworks[at->second.place];
    if (of.role != role) {
      return Error::invalid_argument(text("framework ", quoted(framework), " is in role ",
                                          quoted(of.role.str()), " above, but here in ",
                                          quoted(role.str()), "; a framework has one role"));
    }
    if (kind.shape.is_zero()) return Error::invalid_argument("a task must take some resources");
    const auto [group, is_new] = at->second.groups.emplace(kind, of.tasks.size());
    if (is_new) {
      if (Result<void> ok = begin_group(kind, of); !ok) return ok;
    }
    if (wave.count > kScenarioTasksMax - tasks_) {
      return Error::invalid_argument(text("with these there are more than the ", kScenarioTasksMax,
                                          " tasks that can be simulated"));
    }
    tasks_ += wave.count;
    of.tasks[group->second].waves.push_back(wave);
    return {};
  }

  // Sorts the waves by arrival; the lines may be in any order.
  void finish() {
    for (size_t f = before_; f < scenario_.frameworks.size(); ++f) {
      for (ScenarioTasks& tasks : scenario_.frameworks[f].tasks) tasks.set_waves(tasks.waves);
    }
  }

 private:
  struct Of {
    size_t place = 0;  // in the scenario
    std::map<TableKind, size_t> groups = {};
  };

  Result<void> begin_group(const TableKind& kind, ScenarioFramework& of) {
    if (of.tasks.size() == kScenarioTaskGroupsMax) {
      return Error::invalid_argument(text("framework ", quoted(of.name), " has more than ",
                                          kScenarioTaskGroupsMax, " different shapes of tasks"))
          .with_hint("round the resources of tasks, or spread the lines over several frameworks");
    }
    ScenarioTasks& tasks = of.tasks.emplace_back();
    tasks.name = text("t", of.tasks.size() - 1);
    tasks.resources = kind.shape;
    tasks.ask.band = kind.band;
    if (kind.constraint.empty()) return {};
    Result<Constraint> constraint = parse_constraint(kind.constraint);
    if (!constraint) return std::move(constraint).error();
    tasks.ask.constraints.push_back(*std::move(constraint));
    return {};
  }

  Scenario& scenario_;
  size_t before_;
  std::map<std::string, Of> frameworks_;
  int64_t tasks_ = 0;
};

}  // namespace

Result<void> add_csv_tasks(std::string_view table, Scenario& scenario) {
  enum { kArrive, kFramework, kRole, kCpus, kMem, kDuration, kCount };
  const std::vector<CsvColumn> columns = {{"arrive_s"}, {"framework"},  {"role", false}, {"cpus"},
                                          {"mem_mib"},  {"duration_s"}, {"count", false}};
  Groups groups(scenario);
  Result<void> read = read_csv(table, columns, false, [&](const CsvValues& values) -> Result<void> {
    ScenarioWave wave;
    const Result<Duration> arrives = parse_seconds("arrive_s", values[kArrive]);
    if (!arrives) return arrives.error();
    wave.arrives = *arrives;
    RoleName role = ScenarioFramework().role;
    if (!values[kRole].empty()) {
      Result<RoleName> parsed = parse_role(values[kRole]);
      if (!parsed) return in_column("role", std::move(parsed).error());
      role = *std::move(parsed);
    }
    TableKind kind;
    const Result<int64_t> cpus = parse_milli(values[kCpus]);
    if (!cpus) return in_column("cpus", cpus.error());
    const Result<int64_t> mem = parse_milli(values[kMem]);
    if (!mem) return in_column("mem_mib", mem.error());
    kind.shape = ResourceVector::of(*cpus, *mem);
    if (values[kDuration] != "forever") {
      const Result<Duration> duration = parse_seconds("duration_s", values[kDuration]);
      if (!duration) return duration.error();
      if (*duration == Duration()) {
        return in_column("duration_s",
                         Error::invalid_argument("must be above zero, or forever, not 0"));
      }
      wave.duration = *duration;
    }
    if (!values[kCount].empty()) {
      const Result<int64_t> count = parse_whole("count", values[kCount], 1, kScenarioTasksMax);
      if (!count) return count.error();
      wave.count = *count;
    }
    return groups.add(std::string(values[kFramework]), role, kind, wave);
  });
  if (read) groups.finish();
  return read;
}

Result<void> add_openb_nodes(std::string_view table, Scenario& scenario) {
  enum { kName, kCpu, kMem, kGpu, kModel };
  const std::vector<CsvColumn> columns = {
      {"sn"}, {"cpu_milli"}, {"memory_mib"}, {"gpu"}, {"model", false}};
  return read_csv(table, columns, true, [&](const CsvValues& values) -> Result<void> {
    const Result<int64_t> cpu = parse_whole("cpu_milli", values[kCpu], 0, kAmountMax);
    if (!cpu) return cpu.error();
    const Result<int64_t> mem = parse_whole("memory_mib", values[kMem], 0, kAmountMax / 1'000);
    if (!mem) return mem.error();
    const Result<int64_t> gpus =
        parse_whole("gpu", values[kGpu], 0, static_cast<int64_t>(kGpuDevicesMax));
    if (!gpus) return gpus.error();
    if (Result<void> ok = check_name("sn", values[kName]); !ok) return ok;
    ScenarioAgent agent{.name = std::string(values[kName])};
    agent.resources.amounts = ResourceVector::of(*cpu, *mem * 1'000, 0, *gpus * kWholeDevice);
    for (int32_t i = 0; i < *gpus; ++i) agent.resources.gpus.push_back({i, kWholeDevice});
    if (agent.resources.amounts.is_zero()) {
      return Error::invalid_argument(text("node ", quoted(agent.name), " has no resources"));
    }
    if (!values[kModel].empty()) {
      agent.attributes["model"] = values[kModel];
      if (Result<void> ok = check_attribute("model", values[kModel]); !ok) return ok;
    }
    scenario.agents.push_back(std::move(agent));
    return {};
  });
}

namespace {

// The framework and band for each class of service.
struct Service {
  std::string_view qos;
  std::string_view framework;
  Band band;
};
constexpr Service kServices[] = {{"Guaranteed", "guaranteed", Band::kProduction},
                                 {"LS", "latency-sensitive", Band::kProduction},
                                 {"Burstable", "burstable", Band::kBatch},
                                 {"BE", "best-effort", Band::kFree}};

Result<Service> parse_service(std::string_view qos) {
  for (const Service& service : kServices) {
    if (service.qos == qos) return service;
  }
  return Error::invalid_argument(
      text("qos must be LS, BE, Burstable or Guaranteed, not ", quoted(qos)));
}

// A part of one GPU, or whole GPUs.
Result<int64_t> parse_gpus(std::string_view num, std::string_view milli) {
  const Result<int64_t> count =
      parse_whole("num_gpu", num, 0, static_cast<int64_t>(kGpuDevicesMax));
  if (!count) return count.error();
  if (*count == 0) return 0;
  const Result<int64_t> share = parse_whole("gpu_milli", milli, 1, kWholeDevice);
  if (!share) return share.error();
  if (*count == 1 || *share == kWholeDevice) return *count * *share;
  return Error::invalid_argument(
      text("gpu_milli must be ", kWholeDevice, " where num_gpu is ", *count, ", not ", *share));
}

// "V100M16|V100M32": the agent's model is one of these.
std::string constraint_of(std::string_view gpu_spec) {
  std::string models;
  for (const std::string_view model : split(gpu_spec, '|')) {
    if (!model.empty()) models += text(models.empty() ? "" : ", ", model);
  }
  return models.empty() ? models : text("model in [", models, "]");
}

// When a pod was wanted, and how long it ran, or would have run until it was deleted.
Result<ScenarioWave> parse_life(std::string_view created, std::string_view scheduled,
                                std::string_view deleted) {
  ScenarioWave wave;
  const Result<Duration> wanted = parse_seconds("creation_time", created);
  if (!wanted) return wanted.error();
  wave.arrives = *wanted;
  if (deleted.empty()) return wave;
  Duration began = *wanted;
  if (!scheduled.empty()) {
    const Result<Duration> at = parse_seconds("scheduled_time", scheduled);
    if (!at) return at.error();
    began = *at;
  }
  const Result<Duration> ended = parse_seconds("deletion_time", deleted);
  if (!ended) return ended.error();
  wave.duration = std::max(*ended - began, seconds(1));
  return wave;
}

}  // namespace

Result<void> add_openb_pods(std::string_view table, Scenario& scenario) {
  enum { kCpu, kMem, kGpus, kGpuMilli, kSpec, kQos, kCreated, kDeleted, kScheduled };
  const std::vector<CsvColumn> columns = {
      {"cpu_milli"},     {"memory_mib"},      {"num_gpu"},
      {"gpu_milli"},     {"gpu_spec", false}, {"qos"},
      {"creation_time"}, {"deletion_time"},   {"scheduled_time", false}};
  Groups groups(scenario);
  Result<void> read = read_csv(table, columns, true, [&](const CsvValues& values) -> Result<void> {
    const Result<int64_t> cpu = parse_whole("cpu_milli", values[kCpu], 0, kAmountMax);
    if (!cpu) return cpu.error();
    const Result<int64_t> mem = parse_whole("memory_mib", values[kMem], 0, kAmountMax / 1'000);
    if (!mem) return mem.error();
    const Result<int64_t> gpus = parse_gpus(values[kGpus], values[kGpuMilli]);
    if (!gpus) return gpus.error();
    const Result<Service> service = parse_service(values[kQos]);
    if (!service) return service.error();
    const Result<ScenarioWave> wave =
        parse_life(values[kCreated], values[kScheduled], values[kDeleted]);
    if (!wave) return wave.error();
    const TableKind kind{.shape = ResourceVector::of(*cpu, *mem * 1'000, 0, *gpus),
                         .constraint = constraint_of(values[kSpec]),
                         .band = service->band};
    const std::string name(service->framework);
    return groups.add(name, RoleName(name), kind, *wave);
  });
  if (read) groups.finish();
  return read;
}

}  // namespace proffer::sim
