// The instances in service of apps, for clients and proxies: on_watch. A change is noticed when its
// app is planned; watches that wait for a change are answered at once, others later.

#include <algorithm>
#include <string>
#include <utility>

#include "common/text.h"
#include "frameworks/service/core/state.h"

namespace proffer::service {

void Service::State::look_at_servers(RunningApp& running) {
  std::vector<proto::ServerRow> servers;
  for (const auto& [task, instance] : running.app.instances) {
    if (!instance.is_in_service()) continue;
    servers.push_back({.app = instance.id.app,
                       .task = task,
                       .agent = instance.agent,
                       .slot = instance.id.slot,
                       .host = instance.host,
                       .ports = instance.ports});
  }
  if (servers == running.servers) return;
  running.servers = std::move(servers);
  running.servers_changed = ++changes_;
  watchers_stale_ = true;
}

// Another life of the scheduler has counted other changes.
std::string Service::State::servers_version(const std::vector<std::string>& apps) const {
  uint64_t latest = apps.empty() ? changes_ : forgotten_;
  for (const std::string& name : apps) {
    const auto app = apps_.find(name);
    if (app != apps_.end()) latest = std::max(latest, app->second.servers_changed);
  }
  return text(options_.life, '.', latest);
}

proto::ServersPage Service::State::servers(const std::vector<std::string>& asked,
                                           const std::string& after) const {
  std::set<std::string> names(asked.begin(), asked.end());
  proto::ServersPage page{.version = servers_version(asked)};
  for (const std::string& name : names) {
    if (apps_.count(name) == 0 && after.empty()) page.unknown.push_back(name);
  }
  const std::optional<InstanceId> last = parse_task_id(TaskId(after));
  PageRoom room;
  for (auto app = last ? apps_.lower_bound(last->app) : apps_.begin(); app != apps_.end(); ++app) {
    if (!names.empty() && names.count(app->first) == 0) continue;
    for (const proto::ServerRow& row : app->second.servers) {
      if (last && app->first == last->app && row.task.str() <= after) continue;
      size_t bytes = row.app.size() + row.task.str().size() + row.host.size();
      for (const auto& [name, port] : row.ports) bytes += name.size() + 16;
      if (!room.takes(bytes)) {
        page.next = page.servers.back().task.str();
        return page;
      }
      page.servers.push_back(row);
    }
  }
  return page;
}

void Service::State::on_watch(Step& step, const Watch& watch) {
  // Requests of people need room besides the waiting watches.
  const bool is_full = watchers_.size() >= kWatchersMax;
  watchers_.push_back({.watch = watch, .until = is_full ? step.now : step.now + watch.wait});
  answer_watchers(step);
}

void Service::State::answer_watchers(Step& step) {
  watchers_stale_ = false;
  std::erase_if(watchers_, [&](const Watcher& watcher) {
    const Watch& watch = watcher.watch;
    const bool is_over = watcher.until <= step.now;
    if (loaded_ && (is_over || servers_version(watch.apps) != watch.seen)) {
      step.out.servers.push_back({.relay = watch.relay, .page = servers(watch.apps, watch.after)});
      return true;
    }
    if (is_over) {
      step.out.servers.push_back(
          {.relay = watch.relay,
           .error =
               Error::unavailable("the service scheduler is still reading its apps from the store")
                   .with_hint("try again in a moment")});
    }
    return is_over;
  });
}

}  // namespace proffer::service
