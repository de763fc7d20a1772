// Apps that run beside others, or apart from them: `with` and `apart_from` in an app file. They are
// rules for launches, as constraints of the app's asks (constrain), and are checked again when an
// offer comes. Running instances stay, even if their neighbours end. An app may name apps of other
// owners, but restricts only those of its own.

#include <algorithm>
#include <set>
#include <string>

#include "common/text.h"
#include "frameworks/service/core/state.h"

namespace proffer::service {
namespace {

bool names(const std::vector<std::string>& sorted, const std::string& app) {
  return std::binary_search(sorted.begin(), sorted.end(), app);
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += text(all.empty() ? "" : ", ", name);
  return all;
}

std::string agents(size_t count) { return text(count, count == 1 ? " agent" : " agents"); }

}  // namespace

// Named apps must exist. An app that others of its owner run beside has no `with` itself, so no
// apps of an owner wait for each other in a cycle. Rules of another owner's app are no obstacle,
// since the owner of this app could not change them.
Result<void> Service::State::check_neighbours(const Apply& apply, const Caller& by) const {
  std::map<std::string_view, const AppSpec*> specs;  // as they would be after the change
  for (const auto& [name, running] : apps_) specs[name] = &running.app.spec;
  for (const AppSpec& spec : apply.specs) specs[spec.name] = &spec;
  const auto owner_of = [&](std::string_view name) -> const std::string& {
    const auto running = apps_.find(std::string(name));
    return running != apps_.end() ? running->second.app.owner : by.user;
  };
  const auto of_one_owner = [&](std::string_view one, std::string_view other) {
    return !options_.serves_users || owner_of(one) == owner_of(other);
  };
  for (size_t i = 0; i < apply.specs.size(); ++i) {
    const AppSpec& spec = apply.specs[i];
    for (const auto& [key, list] :
         {std::pair("with", &spec.with), {"apart_from", &spec.apart_from}}) {
      for (const std::string& name : *list) {
        const auto other = specs.find(name);
        if (other == specs.end()) return in_file(apply, i, unknown_app(name).in(key));
      }
    }
    if (spec.with.empty()) continue;
    const auto chained = [&](const std::string& inner, const std::string& outer) {
      return in_file(apply, i,
                     Error::invalid_argument(text("with: app ", quoted(inner), " runs beside ",
                                                  "other apps itself, so app ", quoted(outer),
                                                  " cannot run beside it"))
                         .with_hint(text("name instead the apps that ", inner, " runs beside")));
    };
    for (const std::string& name : spec.with) {
      if (!specs.at(name)->with.empty() && of_one_owner(name, spec.name)) {
        return chained(name, spec.name);
      }
    }
    for (const auto& [name, other] : specs) {
      if (names(other->with, spec.name) && of_one_owner(name, spec.name)) {
        return chained(spec.name, std::string(name));
      }
    }
  }
  return {};
}

// Agents where an instance of the app runs, or will soon.
std::set<std::string> Service::State::agents_of(const std::string& app) const {
  std::set<std::string> agents;
  const auto found = apps_.find(app);
  if (found == apps_.end()) return agents;
  for (const auto& [task, instance] : found->second.app.instances) {
    if (!instance.is_ending()) agents.insert(instance.agent.str());
  }
  return agents;
}

Service::State::Neighbours Service::State::neighbours_of(const AppSpec& spec,
                                                         const std::string& owner) const {
  Neighbours neighbours{.has_with = !spec.with.empty()};
  for (size_t i = 0; i < spec.with.size(); ++i) {
    std::set<std::string> agents = agents_of(spec.with[i]);
    if (i > 0) std::erase_if(agents, [&](auto& one) { return !neighbours.with.contains(one); });
    neighbours.with = std::move(agents);
  }
  const auto apart = [&](const std::string& name) {
    for (const std::string& agent : agents_of(name)) neighbours.apart.insert(agent);
  };
  for (const std::string& name : spec.apart_from) apart(name);
  for (const auto& [name, running] : apps_) {
    const bool is_of_owner = !options_.serves_users || running.app.owner == owner;
    if (is_of_owner && names(running.app.spec.apart_from, spec.name)) apart(name);
  }
  return neighbours;
}

std::optional<std::vector<Constraint>> Service::State::constrain(const AppSpec& spec,
                                                                 const std::string& owner) const {
  std::vector<Constraint> constraints;
  const Neighbours neighbours = neighbours_of(spec, owner);
  const auto add = [&](Constraint::Operator op, std::vector<std::string> values) {
    constraints.push_back({"host", op, std::move(values)});
  };
  if (neighbours.has_with) {
    std::vector<std::string> agents;
    for (const std::string& agent : neighbours.with) {
      if (neighbours.allow(agent) && agents.size() < kConstraintValuesMax) agents.push_back(agent);
    }
    if (agents.empty()) return std::nullopt;
    add(Constraint::Operator::kIn, std::move(agents));
    return constraints;
  }
  // If there is no room for more constraints, the other agents are declined when they are offered.
  const size_t most = kConstraintsMax - spec.constraints.size() - (spec.daemon ? 1 : 0);
  std::vector<std::string> agents;
  for (const std::string& agent : neighbours.apart) {
    if (constraints.size() >= most) break;
    agents.push_back(agent);
    if (agents.size() < kConstraintValuesMax) continue;
    add(Constraint::Operator::kNotIn, std::exchange(agents, {}));
  }
  if (!agents.empty() && constraints.size() < most) {
    add(Constraint::Operator::kNotIn, std::move(agents));
  }
  return constraints;
}

// Why it asks for nothing; empty if it asks, or wants nothing.
std::string Service::State::why_alone(const RunningApp& running) const {
  const AppSpec& spec = running.app.spec;
  if (spec.with.empty() || (running.launches.empty() && !spec.daemon)) return "";
  if (running.app.stopping || constrain(spec, running.app.owner)) return "";
  return text("no agent has an instance of ", joined(spec.with),
              spec.with.size() > 1 ? " together" : "",
              ", beside which it must run, and none that it must run apart from");
}

std::vector<std::string> Service::State::rules_of(const AppSpec& spec,
                                                  const std::string& owner) const {
  std::vector<std::string> rules;
  const Neighbours neighbours = neighbours_of(spec, owner);
  if (neighbours.has_with) {
    const std::string beside = text(joined(spec.with), spec.with.size() > 1 ? " together" : "");
    rules.push_back(neighbours.with.empty()
                        ? text("wait until an agent has an instance of ", beside)
                        : text("launch on agents with an instance of ", beside,
                               " only: ", agents(neighbours.with.size()), " now"));
  }
  if (!neighbours.apart.empty()) {
    rules.push_back(
        text("launch only on agents without an instance of an app that it runs apart from: ",
             agents(neighbours.apart.size()), " now"));
  }
  return rules;
}

void Service::State::tell_neighbours(const std::string& name) {
  for (const std::string& other : alone_) {
    const auto app = apps_.find(other);
    if (app != apps_.end() && names(app->second.app.spec.with, name)) mark(other);
  }
}

}  // namespace proffer::service
