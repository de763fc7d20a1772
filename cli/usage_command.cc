// proffer usage: compares the use of a task, a framework or a role with its request. Agents report
// running tasks; the master's history has ended tasks.

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "cli/agent_status.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/history.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/roles.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "proto/shape_usage.h"

namespace proffer::cli {
namespace {

using proto::by_shape;
using proto::ShapeUsage;
using proto::TaskSample;

constexpr Duration kAgentAnswersIn = seconds(5);
constexpr Duration kAllAnswerIn = seconds(30);
constexpr size_t kEndedMax = 100'000;  // tasks to examine, newest first

struct Named {
  std::string framework = {};  // its id, or a name of one or more frameworks
  RoleName role = {};
  std::string task = {};  // FRAMEWORK/TASK
  bool is_of(const proto::TaskRow& row, const std::string& name) const {
    if (!task.empty()) return row.framework.str() + "/" + row.task.str() == task;
    if (!framework.empty()) return row.framework.str() == framework || name == framework;
    return is_within(row.role, role);
  }
};

using ExecutorName = std::pair<FrameworkId, std::string>;

// The use of the tasks' executors so far; leaves out executors with several tasks.
std::map<ExecutorName, proto::TaskUsage> ask_agents(const Masters& master,
                                                    const std::vector<proto::TaskRow>& rows) {
  FilePlaces places(master);
  std::set<std::pair<FrameworkId, AgentId>> asked;
  std::set<std::string> addresses;  // agents that report all frameworks in one answer
  std::vector<HttpQuestion> questions;
  for (const proto::TaskRow& row : rows) {
    if (proto::is_terminal(row.state) || !asked.emplace(row.framework, row.agent).second) continue;
    Result<HttpQuestion> question =
        usage_question(places, row.framework, row.agent, row.http_address);
    if (!question) continue;
    if (question->place.pin.empty() && !addresses.insert(question->place.address).second) continue;
    questions.push_back(*std::move(question));
  }
  std::map<ExecutorName, proto::TaskUsage> usages;
  for (const HttpReply& reply :
       ask_all(questions, {.each = kAgentAnswersIn, .all = kAllAnswerIn})) {
    if (!reply.body) continue;
    const Result<proto::AgentStatus> status = proto::parse_agent_status(*reply.body);
    if (!status) continue;
    for (const proto::AgentExecutorRow& row : status->executors) {
      if (row.tasks != 1 || !row.usage.cpu_nanos) continue;
      usages[{row.framework, row.executor.str()}] = {
          .cpu_nanos = row.usage.cpu_nanos,
          .throttled_nanos = row.usage.throttled_nanos,
          .memory_peak_bytes = row.usage.memory_peak_bytes,
          .out_of_memory = row.usage.out_of_memory,
          .read_bytes = row.usage.read_bytes,
          .written_bytes = row.usage.written_bytes};
    }
  }
  return usages;
}

Time now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return Time::from_nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// Finds a framework by its id or name, a role, or a task: first a current one, then one from the
// history.
Result<Named> find_named(const Masters& master, const std::vector<proto::FrameworkRow>& frameworks,
                         const std::string& word) {
  for (const proto::FrameworkRow& row : frameworks) {
    if (row.framework.str() == word || row.name == word) return Named{.framework = word};
  }
  const Result<RoleName> role = parse_role(word);
  if (role) {
    const auto roles = call_list<proto::RoleRow>(master, "roles", {}, proto::parse_roles);
    if (!roles) return roles.error();
    for (const proto::RoleRow& row : *roles) {
      if (is_within(row.role, *role)) return Named{.role = *role};
    }
  }
  Result<proto::TaskRow> task = find_task(master, word);
  if (task) return Named{.task = task->framework.str() + "/" + task->task.str()};
  if (task.error().code() != ErrorCode::kNotFound) return std::move(task).error();

  const auto is_in_history = [&](proto::HistoryQuery query) -> Result<std::optional<Named>> {
    const Result<HistoryRows> rows = fetch_history(master, std::move(query), 1);
    if (!rows) return rows.error();
    if (rows->page.tasks.empty()) return std::optional<Named>();
    const proto::EndedTask& ended = rows->page.tasks.front();
    return std::optional(Named{.framework = ended.framework.str(),
                               .role = {},
                               .task = ended.framework.str() + "/" + ended.status.task.str()});
  };
  Result<std::optional<Named>> found = is_in_history({.framework = word});
  if (found && *found) return Named{.framework = word};
  if (found && !*found && role) {
    found = is_in_history({.role = *role});
    if (found && *found) return Named{.role = *role};
  }
  if (found && !*found) {
    found = is_in_history({.task = word});
    if (found && *found) return Named{.task = (*found)->task};
  }
  if (!found) return std::move(found).error();
  return Error::not_found(text("unknown framework, role or task: ", quoted(word)))
      .with_hint("list names with: proffer frameworks, proffer role list or proffer history");
}

std::string cpus_text(const std::optional<int64_t>& milli) {
  return milli ? print_milli(*milli) : "-";
}

void print_shapes(const std::vector<ShapeUsage>& shapes) {
  Table table({"FRAMEWORK", "ASK", "TASKS", "ASKED", "CPUS MEAN", "CPUS MOST", "MEM PEAK", "ADVICE",
               "WHY"});
  for (const ShapeUsage& shape : shapes) {
    table.row({shape.framework, shape.ask.empty() ? "-" : shape.ask.str(),
               std::to_string(shape.running + shape.ended), to_text(shape.asked),
               cpus_text(shape.cpus_mean), cpus_text(shape.cpus_most),
               bytes_text(shape.memory_peak_bytes), shape.advised ? to_text(*shape.advised) : "-",
               shape.advised ? shape.why : "no use was recorded"});
  }
  table.print();
}

std::string json_of(const std::vector<ShapeUsage>& shapes, const ResourceVector* role_seconds) {
  // Written by hand, one object per line of a list: json_line supports only flat objects.
  std::string out = "{\"usage\":[";
  for (const ShapeUsage& shape : shapes) {
    if (out.back() != '[') out += ',';
    std::vector<std::pair<std::string_view, proto::JsonValue>> members = {
        {"framework", shape.framework}, {"ask", shape.ask.str()}, {"asked", to_text(shape.asked)},
        {"running", shape.running},     {"ended", shape.ended},   {"counted", shape.counted}};
    if (shape.cpus_mean) members.emplace_back("cpus_mean", proto::MilliNumber{*shape.cpus_mean});
    if (shape.cpus_most) members.emplace_back("cpus_most", proto::MilliNumber{*shape.cpus_most});
    if (shape.memory_peak_bytes)
      members.emplace_back("memory_peak_bytes", *shape.memory_peak_bytes);
    members.emplace_back("cpu_nanos", shape.cpu_nanos);
    members.emplace_back("throttled_nanos", shape.throttled_nanos);
    members.emplace_back("out_of_memory", shape.out_of_memory);
    if (shape.advised) members.emplace_back("advised", to_text(*shape.advised));
    if (shape.advised) members.emplace_back("why", shape.why);
    out += proto::json_line(members);
  }
  out += "]";
  if (role_seconds != nullptr) {
    out += text(",\"role_cpu_seconds\":", print_milli((*role_seconds)[ResourceKind::kCpus]),
                ",\"role_mem_mib_seconds\":", print_milli((*role_seconds)[ResourceKind::kMem]),
                ",\"role_gpu_seconds\":", print_milli((*role_seconds)[ResourceKind::kGpus]));
  }
  return out + "}";
}

}  // namespace

int run_usage(const Words& words) {
  std::string master_flag;
  std::string name;
  std::string since = "24h";
  bool json = false;
  Arguments arguments("proffer usage TASK|FRAMEWORK|ROLE [--since D] [--json]",
                      "compare the use of tasks with their asks, and suggest a sufficient shape");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.option("--since", &since, "also tasks that ended within this time (default 24h)");
  arguments.required("NAME", &name,
                     "FRAMEWORK/TASK or a unique prefix, a framework's id or name, or a role");
  arguments.examples({"proffer usage web --since 7d"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<Time> from = time_ago(since);
  if (!from) return usage_error(Error(from.error()).in("--since"), json);

  const auto frameworks =
      call_list<proto::FrameworkRow>(*master, "frameworks", {}, proto::parse_frameworks);
  if (!frameworks) return print_error(frameworks.error(), json);
  const Result<Named> named = find_named(*master, *frameworks, name);
  if (!named) return print_error(named.error(), json);
  Result<std::vector<proto::TaskRow>> rows =
      call_list<proto::TaskRow>(*master, "tasks", {.prefix = named->task}, proto::parse_tasks);
  if (!rows) return print_error(rows.error(), json);
  std::map<FrameworkId, std::string> names;
  for (const proto::FrameworkRow& row : *frameworks) names[row.framework] = row.name;
  std::erase_if(*rows, [&](const proto::TaskRow& row) {
    return row.state == proto::TaskState::kStaging || !named->is_of(row, names[row.framework]);
  });
  const std::map<ExecutorName, proto::TaskUsage> usages = ask_agents(*master, *rows);
  const Result<HistoryRows> ended = fetch_history(
      *master,
      {.framework = named->framework, .role = named->role, .task = named->task, .since = *from},
      kEndedMax);
  if (!ended) return print_error(ended.error(), json);

  std::vector<TaskSample> samples;
  for (const proto::EndedTask& task : ended->page.tasks) {
    const bool is_other =
        !named->task.empty() && task.framework.str() + "/" + task.status.task.str() != named->task;
    if (is_other || task.status.state == proto::TaskState::kRefused) continue;
    samples.push_back(
        {.framework = task.framework_name.empty() ? task.framework.str() : task.framework_name,
         .ask = task.ask,
         .asked = task.amounts,
         .ran = std::max(Duration(), task.status.at - task.launched_at),
         .ended = true,
         .usage = task.status.usage});
  }
  const Time at = now();
  for (const proto::TaskRow& row : *rows) {
    const auto found =
        usages.find({row.framework, row.executor.empty() ? row.task.str() : row.executor.str()});
    const auto known = names.find(row.framework);
    samples.push_back(
        {.framework =
             known == names.end() || known->second.empty() ? row.framework.str() : known->second,
         .ask = row.ask,
         .asked = row.resources.amounts,
         .ran = std::max(Duration(), at - row.launched_at),
         .usage = found == usages.end() ? std::nullopt : std::optional(found->second)});
  }
  const std::vector<ShapeUsage> shapes = by_shape(samples);
  // `proffer history --json` prints the same as JSON.

  ResourceVector seconds;
  if (!named->role.empty()) {
    const Result<HistoryRows> used =
        fetch_history(*master, {.role = named->role, .since = *from, .roles = true}, 1'000'000);
    if (!used) return print_error(used.error(), json);
    for (const proto::RoleUse& use : used->page.roles) seconds += use.seconds;
  }
  if (json) {
    print_json(json_of(shapes, named->role.empty() ? nullptr : &seconds));
    return 0;
  }
  print_shapes(shapes);
  for (const proto::MasterRow& one : ended->page.missing) print_line(missing_words(one));
  if (!named->role.empty()) {
    print_line(text("role ", named->role.str(), " took ",
                    print_milli(seconds[ResourceKind::kCpus] / 3600), " CPU hours and ",
                    print_milli(seconds[ResourceKind::kMem] / 3600 / 1024),
                    " GiB hours of memory since ", local_time(*from)));
  }
  return 0;
}

}  // namespace proffer::cli
