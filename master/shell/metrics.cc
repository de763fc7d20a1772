#include "master/shell/metrics.h"

#include <string_view>
#include <utility>
#include <vector>

namespace proffer::master {
namespace {

// Those of sdk::SchedulerFigures have their names.
void write_frameworks(const std::vector<FrameworkSeriesRow>& rows, MetricsText& text) {
  const auto label = [](const FrameworkSeriesRow& row) {
    return MetricsText::Labels{{"framework", row.framework}};
  };
  const auto counters = [&](std::string_view name, std::string_view help,
                            uint64_t FrameworkFigures::*figure) {
    for (const FrameworkSeriesRow& row : rows) {
      text.counter(name, help, row.figures.*figure, label(row));
    }
  };
  counters("proffer_framework_offers_total", "Offers made.", &FrameworkFigures::offers);
  counters("proffer_framework_accepted_total", "Offers accepted.", &FrameworkFigures::accepted);
  counters("proffer_framework_declined_total", "Offers declined.", &FrameworkFigures::declined);
  counters("proffer_framework_rescinded_total", "Offers taken back, expired ones among them.",
           &FrameworkFigures::rescinded);
  counters("proffer_framework_expired_total", "Offers whose lease ended without an answer.",
           &FrameworkFigures::expired);
  counters("proffer_framework_launches_total", "Tasks in accepts, refused ones among them.",
           &FrameworkFigures::launches);
  for (const FrameworkSeriesRow& row : rows) {
    for (const auto& [reason, count] : row.figures.refused) {
      text.counter("proffer_framework_refused_total",
                   "Launches that the master or an agent refused.", count,
                   {{"framework", row.framework}, {"reason", std::string(to_text(reason))}});
    }
  }
  for (const FrameworkSeriesRow& row : rows) {
    text.latency("proffer_framework_wait_seconds",
                 "From when an ask wanted tasks that were not offered, or an open offer was "
                 "answered, until the next offer.",
                 row.figures.waits, label(row));
  }
  const auto gauges = [&](std::string_view name, std::string_view help,
                          Duration FrameworkSeriesRow::*age) {
    for (const FrameworkSeriesRow& row : rows) {
      text.gauge_milli(name, help, (row.*age).millis(), label(row));
    }
  };
  gauges("proffer_framework_longest_wait_seconds", "The oldest wait that has not ended.",
         &FrameworkSeriesRow::longest_wait);
  gauges("proffer_framework_oldest_offer_seconds", "Age of the oldest offer without an answer.",
         &FrameworkSeriesRow::oldest_offer);
  for (const FrameworkSeriesRow& row : rows) {
    text.gauge("proffer_framework_backing_off",
               "Asks, or the framework as a whole, that get no offers after failures of their own.",
               row.backing_off, label(row));
  }
}

}  // namespace

std::string master_metrics(const MasterParts& master) {
  const proto::MasterStatus status = master.core.status();
  MetricsText text;
  const auto agents = [&](std::string state, int64_t count) {
    text.gauge("proffer_agents", "Agents by state.", count, {{"state", std::move(state)}});
  };
  agents("connected", status.agents_connected);
  agents("disconnected", status.agents_disconnected);
  agents("unreachable", status.agents_unreachable);
  agents("gone", status.agents_gone);
  text.gauge("proffer_agents_held_back",
             "Agents past their timeout that the brake keeps from being given up.",
             status.agents_held_back);
  const auto frameworks = [&](std::string state, int64_t count) {
    text.gauge("proffer_frameworks", "Frameworks by state.", count, {{"state", std::move(state)}});
  };
  frameworks("connected", status.frameworks_connected);
  frameworks("disconnected", status.frameworks_disconnected);
  const auto tasks = [&](std::string state, int64_t count) {
    text.gauge("proffer_tasks", "Tasks that have not ended, by state.", count,
               {{"state", std::move(state)}});
  };
  tasks("staging", status.tasks_staging);
  tasks("running", status.tasks_running);
  tasks("killing", status.tasks_killing);
  tasks("unreachable", status.tasks_unreachable);
  text.counter("proffer_tasks_ended_total", "Tasks that ended since this master started.",
               static_cast<uint64_t>(status.tasks_ended));
  text.gauge("proffer_offers", "Outstanding offers.", status.offers);
  const auto amounts = [&](std::string_view name, std::string_view help,
                           const ResourceVector& vector) {
    for (const ResourceKind kind : kResourceKinds) {
      text.gauge_milli(name, help, vector[kind], {{"kind", std::string(to_text(kind))}});
    }
  };
  amounts("proffer_resources_total", "Resources of the cluster, in CPUs, MiB and GPUs.",
          status.total);
  amounts("proffer_resources_allocated", "Resources that tasks use.", status.allocated);
  amounts("proffer_resources_offered", "Resources in outstanding offers.", status.offered);
  text.latency("proffer_decision_seconds",
               "From the first event that called for a decision, a task's end for one, until an "
               "offer of that decision was handed to the transport.",
               master.decisions);
  write_frameworks(master.core.framework_series(master.now), text);
  if (const History* history = master.history) {
    text.counter("proffer_history_entries_total", "Entries of the history that were written.",
                 history->written());
    text.counter("proffer_history_lost_total",
                 "Entries of the history that were lost: too many waited for the disk.",
                 history->lost());
    text.gauge("proffer_history_bytes", "What the history takes on the disk.",
               static_cast<int64_t>(history->bytes()));
    text.gauge("proffer_history_kept", "1: the history is written; 0: its disk refuses.",
               history->trouble().empty() ? 1 : 0);
  }
  if (const EventLog* events = master.events) {
    text.counter("proffer_event_log_events_total", "Events of the log that were written.",
                 events->written());
    text.counter("proffer_event_log_lost_total",
                 "Events of the log that were lost: too many waited for the disk.", events->lost());
    text.gauge("proffer_event_log_bytes", "What the event log takes on the disk.",
               static_cast<int64_t>(events->bytes()));
    text.gauge("proffer_event_log_kept", "1: events are written; 0: their disk refuses.",
               events->trouble().empty() ? 1 : 0);
    text.gauge("proffer_event_log_waits", "Calls that wait for events.",
               static_cast<int64_t>(events->waits()));
  }
  const Router::Counters& frames = master.router.counters();
  text.counter("proffer_frames_received_total", "Frames from peers.", frames.frames_received);
  text.counter("proffer_frames_sent_total", "Frames to peers.", frames.frames_sent);
  text.counter("proffer_frames_malformed_total", "What was not one frame.", frames.malformed);
  text.counter("proffer_peers_overflowed_total", "Peers dropped because they read too slowly.",
               frames.overflows);
  text.counter("proffer_connections_silent_total",
               "Connections that were shut because no message came.",
               frames.connections_shut.silent);
  text.counter("proffer_connections_unfinished_total",
               "Connections that were shut because they sent parts of a message without end.",
               frames.connections_shut.unfinished);
  text.counter("proffer_connections_over_user_max_total",
               "Connections that were shut because their user had too many.",
               frames.connections_shut.of_one_user);
  text.counter("proffer_connections_of_strangers_total",
               "Connections that were shut because too many unknown keys came from their address.",
               frames.connections_refused.of_strangers);
  text.counter("proffer_connections_too_often_total",
               "Connections that were shut because their user had begun too many lately.",
               frames.connections_refused.of_users);
  text.gauge("proffer_frames_waiting", "Frames that wait for their user's turn.",
             static_cast<int64_t>(master.inbox.frames()));
  text.gauge("proffer_frames_waiting_bytes", "Their bytes.",
             static_cast<int64_t>(master.inbox.bytes()));
  text.gauge("proffer_registry_writes_waiting", "Steps whose messages wait for the registry.",
             static_cast<int64_t>(master.writes_waiting));
  text.counter("proffer_calls_shed_total",
               "Calls that were refused because too much of their user, or connection, waited.",
               master.shed.calls);
  text.counter("proffer_sessions_shed_total",
               "Sessions that ended because too much of their user waited, or answers were not "
               "read.",
               master.shed.sessions);
  text.gauge("proffer_peers", "Connections with a session.",
             static_cast<int64_t>(master.router.peers()));
  text.events(master.trace);
  return text.take();
}

}  // namespace proffer::master
