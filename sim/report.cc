// The result of a scenario. Allocated amounts come from the master; running, waiting and finished
// tasks from the book. Read picture_of first.

#include "sim/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/share.h"
#include "common/text.h"

namespace proffer::sim {
namespace {

using Report = proto::SimulateReport;

// In tables, since a cluster has many similar agents.
constexpr size_t kAgentsShown = 20;
// Waiting frameworks with an explanation, which examines each agent.
constexpr size_t kWaitingExplained = 50;

int64_t thousandths(int64_t part, int64_t whole) {
  if (whole <= 0) return 0;
  __extension__ using Wide = __int128;
  return static_cast<int64_t>((Wide{part} * 2'000 + whole) / (Wide{whole} * 2));
}

int64_t dominant_thousandths(const ResourceVector& used, const ResourceVector& total) {
  int64_t most = 0;
  for (const ResourceKind kind : kResourceKinds) {
    most = std::max(most, thousandths(used[kind], total[kind]));
  }
  return most;
}

template <class Key>
Duration found_in(const std::map<Key, Duration>& lags, const Key& key) {
  const auto at = lags.find(key);
  return at == lags.end() ? Duration() : at->second;
}

void add_frameworks(const ScenarioCluster& cluster, Report::Picture& picture) {
  std::map<std::string, proto::FrameworkRow> rows;
  for (proto::FrameworkRow& row : cluster.master.core().frameworks()) {
    const std::string name = row.name;
    rows[name] = std::move(row);
  }
  for (uint32_t i = 0; i < cluster.tenants.size(); ++i) {
    const ScenarioFramework& described = cluster.scenario.frameworks[i];
    const TaskBook::Counts& counts = cluster.book.counts(i);
    const std::vector<Duration>& waits = cluster.book.waits(i);
    Report::Framework& framework = picture.frameworks[described.name];
    framework = {.role = described.role,
                 .pending = counts.wanted - counts.running,
                 .running = counts.running,
                 .finished = counts.finished,
                 .failed = counts.failed,
                 .lost = counts.lost,
                 .preempted = counts.preempted,
                 .allocated = rows[described.name].allocated,
                 .lag = rows[described.name].lag,
                 .lag_most = std::max(rows[described.name].lag_most,
                                      found_in(cluster.lags.frameworks, described.name)),
                 .wait_p50 = percentile(waits, 50),
                 .wait_p99 = percentile(waits, 99),
                 .wait_max = percentile(waits, 100)};
    framework.dominant_share = dominant_thousandths(framework.allocated, picture.cluster.total);
    picture.cluster.offers += cluster.tenants[i]->offers();
    picture.cluster.declined += cluster.tenants[i]->declined();
  }
}

// Roles that are listed or have a framework or tasks, and all roles above them.
void add_roles(const ScenarioCluster& cluster, Report::Picture& picture) {
  std::set<RoleName> roles;
  for (const auto& [role, settings] : cluster.scenario.roles) roles.insert(role);
  for (const ScenarioFramework& framework : cluster.scenario.frameworks) {
    roles.insert(framework.role);
    for (const ScenarioTasks& tasks : framework.tasks) roles.insert(tasks.role_in(framework.role));
  }
  for (const RoleName& role : std::set<RoleName>(roles)) {
    for (RoleName at = parent_of(role); !at.empty(); at = parent_of(at)) roles.insert(at);
  }
  std::map<RoleName, proto::RoleRow> rows;
  for (proto::RoleRow& row : cluster.master.core().roles()) rows[row.role] = std::move(row);
  for (const RoleName& name : roles) {
    const proto::RoleRow& row = rows[name];
    Report::Role& role = picture.roles[name.str()];
    role.weight = row.weight;
    role.allocated = row.allocated;
    role.dominant_share = dominant_thousandths(row.allocated, picture.cluster.total);
    role.guarantee_met = row.guarantee_met;
    role.lag = row.lag;
    role.lag_most = std::max(row.lag_most, found_in(cluster.lags.roles, name));
  }
}

void add_agents(const ScenarioCluster& cluster, Report::Picture& picture) {
  std::map<std::string, const proto::AgentRow*> known;
  const std::vector<proto::AgentRow> rows = cluster.master.core().agents();
  for (const proto::AgentRow& row : rows) known[row.agent.str()] = &row;
  for (const auto& machine : cluster.machines) {
    Report::Agent& agent = picture.agents[machine->name()];
    agent.state = "absent";
    if (const auto row = known.find(machine->name()); row != known.end()) {
      const bool drains =
          row->second->drained_by && row->second->state == proto::AgentState::kConnected;
      agent.state = drains ? "draining" : proto::to_text(row->second->state);
      agent.allocated = row->second->allocated;
    }
    for (const TaskRef& ref : machine->running()) {
      agent.tasks.push_back(cluster.book.name_of(ref));
    }
  }
}

void add_revoked(const ScenarioCluster& cluster, Report::Picture& picture) {
  for (const auto& [cause, count] : cluster.book.revoked()) {
    picture.revoked.push_back({.framework = cluster.scenario.frameworks[cause.framework].name,
                               .role = cause.role,
                               .reason = cause.reason,
                               .beneficiary = cause.beneficiary,
                               .told = count.told,
                               .ended = count.ended});
  }
}

// The reason is the master's own answer.
void add_waiting(const ScenarioCluster& cluster, Report::Picture& picture) {
  for (uint32_t i = 0; i < cluster.tenants.size(); ++i) {
    const ScenarioFramework& described = cluster.scenario.frameworks[i];
    Report::Waiting waiting{.framework = described.name};
    for (uint32_t group = 0; group < described.tasks.size(); ++group) {
      const TaskBook::Pending pending = cluster.book.pending(i, group);
      const int64_t count = pending.whole + pending.members;
      if (count > 0) waiting.tasks[described.tasks[group].name] = count;
    }
    if (waiting.tasks.empty()) continue;
    if (picture.waiting.size() < kWaitingExplained) {
      const Result<proto::Explanation> explained =
          cluster.master.core().explain(described.name, nullptr);
      waiting.why = explained ? explained->answer : explained.error().message();
    }
    picture.waiting.push_back(std::move(waiting));
  }
}

}  // namespace

void LagsOfGone::note(const master::Master& master) {
  for (const proto::FrameworkRow& row : master.frameworks()) {
    frameworks[row.name] = std::max(frameworks[row.name], row.lag_most);
  }
  for (const proto::RoleRow& row : master.roles()) {
    roles[row.role] = std::max(roles[row.role], row.lag_most);
  }
}

Duration percentile(std::vector<Duration> values, int percent) {
  if (values.empty()) return {};
  const size_t rank = (values.size() * static_cast<size_t>(percent) + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Report::Picture picture_of(const ScenarioCluster& cluster, Time now) {
  Report::Picture picture{.at = now - cluster.book.zero()};
  const proto::MasterStatus status = cluster.master.core().status();
  picture.cluster.total = status.total;
  picture.cluster.allocated = status.allocated;
  for (const ResourceKind kind : kResourceKinds) {
    const auto at = static_cast<size_t>(kind);
    picture.cluster.utilisation[at] = thousandths(status.allocated[kind], status.total[kind]);
    picture.cluster.mean_utilisation[at] = cluster.book.mean_utilisation(kind, now);
  }
  picture.cluster.makespan = cluster.book.makespan();
  picture.cluster.preempted = cluster.book.preempted();
  add_frameworks(cluster, picture);
  add_roles(cluster, picture);
  add_agents(cluster, picture);
  add_revoked(cluster, picture);
  add_waiting(cluster, picture);
  return picture;
}

// --- for people ----------------------------------------------------------------------------------

namespace {

// Columns as wide as their widest cell; numbers and words are treated alike.
class Columns {
 public:
  explicit Columns(std::vector<std::string> heads) { row(std::move(heads)); }
  void row(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }
  std::string str() const {
    std::string out;
    for (const std::vector<std::string>& cells : rows_) {
      for (size_t i = 0; i < cells.size(); ++i) {
        out += i + 1 == cells.size() ? cells[i] : fmt::format("{:<{}}  ", cells[i], widths_[i]);
      }
      out += '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> widths_;
};

// 667: "66.7%".
std::string percent(int64_t thousandths) {
  return text(thousandths / 10, ".", thousandths % 10, "%");
}

std::string seconds_text(Duration duration) {
  return fmt::format("{:.3f}", static_cast<double>(duration.millis()) / 1e3);
}

std::string amounts_text(const ResourceVector& amounts) {
  return amounts.is_zero() ? "-" : to_text(amounts);
}

std::string by_kind(const std::array<int64_t, kResourceKindCount>& parts,
                    const ResourceVector& total) {
  std::string out;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] == 0) continue;
    out += text(out.empty() ? "" : ", ", to_text(kind), " ",
                percent(parts[static_cast<size_t>(kind)]));
  }
  return out.empty() ? "-" : out;
}

// The two usual questions: does it fit, and which tasks are preempted for it.
std::string answers_text(const Report::Picture& picture) {
  int64_t waiting = 0;
  for (const Report::Waiting& row : picture.waiting) {
    for (const auto& [name, count] : row.tasks) waiting += count;
  }
  std::string out = waiting == 0 ? std::string("fits         yes: nothing waits\n")
                                 : text("fits         no: ", waiting,
                                        waiting == 1 ? " task waits\n" : " tasks wait\n");
  for (const Report::Waiting& row : picture.waiting) {
    std::string names;
    for (const auto& [name, count] : row.tasks) {
      names += text(names.empty() ? "" : ", ", count, " ", row.framework, "/", name);
    }
    out += text("waits        ", names, row.why.empty() ? "" : ": ", row.why, "\n");
  }
  if (picture.revoked.empty()) out += "revoked      none\n";
  for (const Report::Revoked& row : picture.revoked) {
    out += text("revoked      ", row.told, row.told == 1 ? " task of " : " tasks of ",
                row.framework, " (role ", row.role.str(), ")",
                row.beneficiary.empty() ? "" : text(" for role ", row.beneficiary.str()), ": ",
                to_text(row.reason));
    out += row.ended == row.told ? "\n" : text("; ", row.ended, " of them ended because of it\n");
  }
  return out;
}

std::string picture_text(const Report::Picture& picture) {
  const Report::Cluster& cluster = picture.cluster;
  std::string out = text("total        ", amounts_text(cluster.total), "\nallocated    ",
                         amounts_text(cluster.allocated), "\nutilisation  ",
                         by_kind(cluster.utilisation, cluster.total), "; on average ",
                         by_kind(cluster.mean_utilisation, cluster.total), "\n");
  out += text("makespan     ", seconds_text(cluster.makespan), " s\n");
  out += text("offers       ", cluster.offers, ", declined ", cluster.declined, "; preempted ",
              cluster.preempted, "\n");
  out += answers_text(picture) + '\n';
  Columns roles({"ROLE", "WEIGHT", "SHARE", "ALLOCATED", "GUARANTEE"});
  for (const auto& [name, role] : picture.roles) {
    roles.row({name, print_milli(role.weight), percent(role.dominant_share),
               amounts_text(role.allocated), role.guarantee_met ? "met" : "not met"});
  }
  Columns frameworks({"FRAMEWORK", "ROLE", "PENDING", "RUNNING", "FINISHED", "FAILED", "LOST",
                      "PREEMPTED", "SHARE", "WAIT p50/p99/max s", "ALLOCATED"});
  for (const auto& [name, one] : picture.frameworks) {
    frameworks.row({name, one.role.str(), std::to_string(one.pending), std::to_string(one.running),
                    std::to_string(one.finished), std::to_string(one.failed),
                    std::to_string(one.lost), std::to_string(one.preempted),
                    percent(one.dominant_share),
                    text(seconds_text(one.wait_p50), "/", seconds_text(one.wait_p99), "/",
                         seconds_text(one.wait_max)),
                    amounts_text(one.allocated)});
  }
  Columns agents({"AGENT", "STATE", "TASKS", "ALLOCATED"});
  size_t shown = 0;
  for (const auto& [name, agent] : picture.agents) {
    if (++shown > kAgentsShown) break;
    agents.row(
        {name, agent.state, std::to_string(agent.tasks.size()), amounts_text(agent.allocated)});
  }
  out += roles.str() + '\n' + frameworks.str() + '\n' + agents.str();
  if (picture.agents.size() > kAgentsShown) {
    out += text("and ", picture.agents.size() - kAgentsShown, " more, which --json lists\n");
  }
  return out;
}

}  // namespace

std::string report_tables(const Report& report) {
  std::string out;
  for (const Report::Picture& picture : report.snapshots) {
    out += text("at ", seconds_text(picture.at), " s\n", picture_text(picture), "\n");
  }
  out += text("ended at ", seconds_text(report.end.at), " s, seed ", report.seed, ", trace ",
              fmt::format("{:016x}", report.trace_hash), "\n", picture_text(report.end));
  if (report.compact) {
    const Report::Compact& compact = *report.compact;
    out =
        text("compact      ", compact.agents, " of ", compact.of, " agents suffice for the work (",
             percent(thousandths(compact.agents, compact.of)), "); at least ", compact.at_least,
             compact.at_least == 1 ? " is" : " are", " needed by its total resources; ",
             compact.replays, " replays. With these agents:\n", out);
  }
  for (const std::string& violation : report.violations) {
    out += text("violated: ", violation, "\n");
  }
  return out;
}

}  // namespace proffer::sim
