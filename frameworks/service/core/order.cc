// Apps that wait for others: `after` in an app file. Nothing of such an app is launched until all
// instances of each app that it names are ready. This is written (Begin), so that later changes of
// those apps stop nothing.

#include <algorithm>

#include "common/text.h"
#include "frameworks/service/core/state.h"

namespace proffer::service {
namespace {

// For each app during the search: whether all apps behind it have been visited.
enum class Seen : uint8_t { kOnThePath, kWhole };

}  // namespace

Error in_file(const Apply& apply, size_t place, Error error) {
  if (apply.specs.size() == 1) return error;
  const std::string app = text("app ", quoted(apply.specs[place].name));
  return std::move(error).in(
      place < apply.lines.size() ? text(app, " (line ", apply.lines[place], ")") : app);
}

// Each named app must exist, also those in `find`, and no app may wait for itself through others.
Result<void> Service::State::check_order(const Apply& apply) const {
  std::map<std::string_view, const AppSpec*> specs;
  for (const AppSpec& spec : apply.specs) specs[spec.name] = &spec;
  const auto after = [&](std::string_view name) -> const std::vector<std::string>& {
    static const std::vector<std::string> kNone;
    const auto in_file = specs.find(name);
    if (in_file != specs.end()) return in_file->second->after;
    const auto app = apps_.find(std::string(name));
    return app == apps_.end() ? kNone : app->second.app.spec.after;
  };
  std::map<std::string_view, Seen> seen;
  for (size_t i = 0; i < apply.specs.size(); ++i) {
    for (const std::string& name : apply.specs[i].find) {
      if (specs.count(name) > 0 || apps_.count(name) > 0) continue;
      return in_file(apply, i, unknown_app(name).in("find"));
    }
    for (const std::string& name : apply.specs[i].after) {
      const auto app = apps_.find(name);
      if (specs.count(name) > 0 || (app != apps_.end() && !app->second.app.stopping)) continue;
      if (app == apps_.end()) return in_file(apply, i, unknown_app(name).in("after"));
      return in_file(apply, i,
                     Error::failed_precondition(text("after: app ", quoted(name), " is stopping"))
                         .with_hint("apply its file to start it again"));
    }
    struct Open {
      std::string_view app;
      size_t next = 0;
    };
    std::vector<Open> path;
    if (seen.emplace(apply.specs[i].name, Seen::kOnThePath).second) {
      path.push_back({apply.specs[i].name});
    }
    while (!path.empty()) {
      const std::vector<std::string>& names = after(path.back().app);
      if (path.back().next == names.size()) {
        seen[path.back().app] = Seen::kWhole;
        path.pop_back();
        continue;
      }
      const std::string& name = names[path.back().next++];
      const auto [known, is_new] = seen.emplace(name, Seen::kOnThePath);
      if (is_new) {
        path.push_back({name});
      } else if (known->second == Seen::kOnThePath) {
        std::string cycle = name;
        const auto begin = std::find_if(path.begin(), path.end(),
                                        [&](const Open& open) { return open.app == name; });
        for (auto at = std::next(begin); at != path.end(); ++at) cycle += text(" after ", at->app);
        return in_file(apply, i,
                       Error::invalid_argument(
                           text("after: apps wait for each other: ", cycle, " after ", name))
                           .with_hint("remove one of these dependencies"));
      }
    }
  }
  return {};
}

// The apps that it waits for, and their states; empty if all are ready.
std::string Service::State::why_waits(const App& app) const {
  std::string why;
  for (const std::string& name : app.spec.after) {
    const auto found = apps_.find(name);
    std::string stands;
    if (found == apps_.end()) {
      stands = "there is no such app";
    } else if (const App& other = found->second.app; other.stopping) {
      stands = "stopping";
    } else if (other.wanted() == 0) {
      stands = "it has no instances";
    } else if (const int64_t ready = ready_slots(other); ready < other.wanted()) {
      stands = text(ready, " of ", other.wanted(), " ready");
    } else if (other.ready_version != other.version && !other.hold) {
      stands = "updating";
    } else {
      continue;
    }
    why += text(why.empty() ? "waits for " : ", ", name, " (", stands, ")");
  }
  return why;
}

void Service::State::begin(Step& step, RunningApp& running) {
  if (running.app.stopping || running.is_judged) return;
  if (step.now < running.judge_at) {
    running.look_again = std::min(running.look_again.value_or(running.judge_at), running.judge_at);
    return;
  }
  running.is_judged = true;
  requests_.push_back(Request{.relay = 0, .change = Begin{running.app.spec.name}, .by = {}});
  next_request(step);
}

// Other apps may wait for this app's state.
void Service::State::tell_followers(const std::string& name) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto app = apps_.find(*at);
    if (app == apps_.end() || !app->second.app.waits) {
      at = waiting_.erase(at);
      continue;
    }
    const std::vector<std::string>& after = app->second.app.spec.after;
    if (std::binary_search(after.begin(), after.end(), name)) mark(*at);
    ++at;
  }
}

}  // namespace proffer::service
