// One function for each part of the page; read master_metrics() first.

#include "master/shell/metrics.h"

#include <string>
#include <string_view>
#include <vector>

#include "common/limits.h"
#include "common/load_limits.h"
#include "master/core/trace.h"
#include "master/shell/framework_metrics.h"
#include "master/shell/role_metrics.h"

namespace proffer::master {
namespace {

using Row = std::pair<std::string_view, int64_t>;

void write_by(std::string_view label, MetricType type, std::string_view name, std::string_view help,
              const std::vector<Row>& rows, MetricsText& text) {
  text.family(type, name, help);
  for (const auto& [value, count] : rows) text.sample(count, {{label, std::string(value)}});
}

void write_leads(bool leads, MetricsText& text) {
  text.gauge("proffer_master_leads", "1: this master leads; 0: it is a standby.", leads ? 1 : 0);
}

void write_cluster(const proto::MasterStatus& status, MetricsText& text) {
  const auto gauges = [&](std::string_view name, std::string_view help,
                          const std::vector<Row>& rows) {
    write_by("state", MetricType::kGauge, name, help, rows, text);
  };
  gauges("proffer_agents", "Agents by state.",
         {{"connected", status.agents_connected},
          {"disconnected", status.agents_disconnected},
          {"unreachable", status.agents_unreachable},
          {"gone", status.agents_gone},
          {"awaited", status.agents_awaited}});
  text.gauge("proffer_agents_held_back", "Agents that timed out and are held back by the brake.",
             status.agents_held_back);
  gauges("proffer_frameworks", "Frameworks by state.",
         {{"connected", status.frameworks_connected},
          {"disconnected", status.frameworks_disconnected}});
  gauges("proffer_tasks", "Tasks that have not ended, by state.",
         {{"staging", status.tasks_staging},
          {"running", status.tasks_running},
          {"killing", status.tasks_killing},
          {"unreachable", status.tasks_unreachable}});
  int64_t standbys = 0;
  int64_t away = 0;
  for (const proto::MasterRow& row : status.masters) {
    standbys += row.role == proto::MasterRole::kStandby;
    away += row.role == proto::MasterRole::kAway;
  }
  gauges("proffer_masters", "Masters by state.",
         {{"leads", 1}, {"stands_by", standbys}, {"away", away}});
  text.gauge("proffer_offers", "Outstanding offers.", status.offers);
  text.amounts("proffer_resources_capacity", "Resources of the cluster.", status.total);
  text.amounts("proffer_resources_allocated", "Resources that tasks use.", status.allocated);
  text.amounts("proffer_resources_offered", "Resources in outstanding offers.", status.offered);
}

void write_conditions(const ConditionWatch& conditions, MetricsText& text) {
  text.family(MetricType::kGauge, "proffer_conditions",
              "Objects in each kind of condition: agents, roles, frameworks.");
  for (const ConditionKind& kind : condition_kinds()) {
    text.sample(conditions.count(kind.condition),
                {{"condition", std::string(kind.name)},
                 {"severity", std::string(proto::to_text(kind.severity))}});
  }
}

void write_ends(const TaskCounts::Ends& ends, const EventLog* events, MetricsText& text) {
  text.family(MetricType::kCounter, "proffer_tasks_ended_total",
              "Tasks that ended since this master became leader, by state and reason.");
  for (const auto& [how, count] : ends) {
    const auto& [state, reason] = how;
    text.sample(static_cast<int64_t>(count),
                {{"state", std::string(to_text(state))}, {"reason", std::string(to_text(reason))}},
                events != nullptr ? events->newest().of_end(state, reason) : std::nullopt);
  }
}

void write_history(const History& history, MetricsText& text) {
  text.counter("proffer_history_entries_total", "Entries written to the history.",
               history.written());
  text.counter("proffer_history_lost_total",
               "Entries of the history that were lost because too many waited for the disk.",
               history.lost());
  text.gauge("proffer_history_bytes", "Size of the history on the disk.",
             static_cast<int64_t>(history.bytes()));
  text.gauge("proffer_history_kept", "1: the history is written; 0: writes fail.",
             history.trouble().empty() ? 1 : 0);
}

void write_event_log(uint64_t written, uint64_t bytes, const std::string& trouble,
                     MetricsText& text) {
  text.counter("proffer_event_log_events_total",
               "Events written to the event log; on a standby, those of its leader.", written);
  text.gauge("proffer_event_log_bytes", "Size of the event log on the disk.",
             static_cast<int64_t>(bytes));
  text.gauge("proffer_event_log_kept", "1: events are written; 0: writes fail.",
             trouble.empty() ? 1 : 0);
}

void write_events(const EventLog& events, const std::vector<proto::MasterRow>& masters,
                  MetricsText& text) {
  write_event_log(events.written(), events.bytes(), events.trouble(), text);
  text.counter(
      "proffer_event_log_lost_total",
      "Events that were lost because too many waited for the disk. Followers see each gap.",
      events.lost());
  text.family(MetricType::kGauge, "proffer_standby_events_behind",
              "Events of this leader that a standby has not fetched yet.");
  for (const proto::MasterRow& row : masters) {
    if (row.events_behind) text.sample(*row.events_behind, {{"master", row.name}});
  }
}

void write_forecasts(const Forecaster& forecaster, MetricsText& text) {
  const auto count = [](uint64_t value) { return static_cast<int64_t>(value); };
  const ForecasterFigures& figures = forecaster.figures();
  write_by("outcome", MetricType::kCounter, "proffer_forecasts_total",
           "Forecasts of starts, by outcome.",
           {{"made", count(figures.made)}, {"failed", count(figures.failed)}}, text);
  const proto::EtaFigures& told = forecaster.calibration();
  text.counter("proffer_forecast_starts_total", "Starts that were forecast.",
               static_cast<uint64_t>(told.starts));
  write_by("within", MetricType::kCounter, "proffer_forecast_starts_in_time_total",
           "Forecast starts that were not later than their p50 (should be half) or p90 (should be "
           "nine of ten).",
           {{"p50", told.below_p50}, {"p90", told.below_p90}}, text);
}

void write_registry(const MasterParts& master, MetricsText& text) {
  text.family(MetricType::kHistogram, "proffer_registry_write_seconds",
              "Time from handing a step's records to the registry until they are on disk, "
              "including steps without records that wait behind them.");
  text.sample(master.writes.took());
  text.gauge_seconds("proffer_registry_oldest_write_seconds",
                     "Age of the oldest write that waits for the registry; 0: none waits.",
                     master.writes.oldest(master.now));
}

void write_queues(const MasterParts& master, MetricsText& text) {
  struct Queue {
    std::string_view name;
    size_t now;
    size_t max;
  };
  const auto write = [&](std::string_view name, std::string_view help, std::string_view name_max,
                         std::string_view help_max, const std::vector<Queue>& queues) {
    text.family(MetricType::kGauge, name, help);
    for (const Queue& queue : queues) {
      text.sample(static_cast<int64_t>(queue.now), {{"queue", std::string(queue.name)}});
    }
    text.family(MetricType::kGauge, name_max, help_max);
    for (const Queue& queue : queues) {
      text.sample(static_cast<int64_t>(queue.max), {{"queue", std::string(queue.name)}});
    }
  };
  std::vector<Queue> items = {{"registry_writes", master.writes_waiting, kStoreServedMax}};
  if (const EventLog* events = master.events) {
    items.push_back({"event_log", events->waiting(), events->waiting_max()});
    items.push_back({"event_waits", events->waits(), events->waits_max()});
  }
  if (const History* history = master.history) {
    items.push_back({"history", history->waiting(), history->waiting_max()});
  }
  write("proffer_queue_items", "Items in a queue.", "proffer_queue_items_max",
        "Maximum items of the queue. At the maximum, registry_writes stops reading frames; the "
        "others refuse or lose items.",
        items);
  write("proffer_queue_bytes", "Bytes in a queue.", "proffer_queue_bytes_max",
        "Maximum bytes of the queue.", {{"frames", master.inbox.bytes(), kWaitingBytesMax}});
  text.gauge("proffer_frames_waiting", "Frames that wait for their user's turn.",
             static_cast<int64_t>(master.inbox.frames()));
}

void write_network(const MasterParts& master, MetricsText& text) {
  const Router::Counters& frames = master.router.counters();
  text.counter("proffer_frames_received_total", "Frames from peers.", frames.frames_received);
  text.counter("proffer_frames_sent_total", "Frames to peers.", frames.frames_sent);
  text.counter("proffer_frames_malformed_total",
               "Received messages that were not exactly one frame.", frames.malformed);
  text.counter("proffer_peers_overflowed_total", "Peers dropped because they read too slowly.",
               frames.overflows);
  const auto count = [](uint64_t value) { return static_cast<int64_t>(value); };
  write_by("reason", MetricType::kCounter, "proffer_connections_refused_total",
           "Connections that were refused or closed.",
           {{"silent", count(frames.connections_shut.silent)},
            {"unfinished", count(frames.connections_shut.unfinished)},
            {"over_user_max", count(frames.connections_shut.of_one_user)},
            {"too_often", count(frames.connections_refused.of_users)},
            {"strangers", count(frames.connections_refused.of_strangers)},
            {"over_peers_max", count(frames.peers_refused)}},
           text);
  text.counter("proffer_calls_shed_total",
               "Calls refused because too many of their user, or connection, waited.",
               master.shed.calls);
  text.counter("proffer_sessions_shed_total",
               "Sessions ended because too much of their user waited, or answers were not read.",
               master.shed.sessions);
  text.gauge("proffer_peers", "Connections with a session.",
             static_cast<int64_t>(master.router.peers()));
}

}  // namespace

void TaskCounts::count(const std::vector<TraceEvent>& events) {
  for (const TraceEvent& event : events) {
    const auto* updated = event.as<TaskUpdated>();
    if (updated != nullptr && updated->ended) ++ends_[{updated->state, updated->reason}];
    if ((updated != nullptr && updated->moved) || event.as<TaskLaunched>() != nullptr) ++moves_;
  }
}

MetricsText master_metrics(const MasterParts& master, MetricsFormat format) {
  MetricsText text(format);
  write_leads(true, text);
  text.gauge("proffer_leader_epoch", "Leader epoch of this master.",
             static_cast<int64_t>(master.leader.value()));
  write_conditions(master.conditions, text);
  write_cluster(master.core.status(), text);
  write_ends(master.tasks.ends(), master.events, text);
  text.family(MetricType::kSummary, "proffer_decision_seconds",
              "Time from the first event that required a decision, such as the end of a task, "
              "until its offers were sent.");
  text.sample(master.decisions);
  write_roles(master.core.roles(), master.core.role_waits(master.now), text);
  write_frameworks(master.core.framework_series(master.now), text);
  if (master.history != nullptr) write_history(*master.history, text);
  if (master.events != nullptr) write_events(*master.events, master.masters, text);
  write_forecasts(master.forecaster, text);
  write_registry(master, text);
  write_queues(master, text);
  write_network(master, text);
  text.events(master.trace, [&](std::string_view what) -> std::optional<Exemplar> {
    if (master.events == nullptr) return std::nullopt;
    return master.events->newest().of_kind(what);
  });
  return text;
}

MetricsText standby_metrics(const TraceLog& trace, const EventFollower* follower,
                            MetricsFormat format) {
  MetricsText text(format);
  write_leads(false, text);
  if (follower != nullptr) {
    write_event_log(follower->written(), follower->bytes(), follower->trouble(), text);
  }
  text.events(trace);
  return text;
}

}  // namespace proffer::master
