#include "master/core/frameworks.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::master {
namespace {

std::string candidates(const std::vector<const Framework*>& found) {
  std::vector<std::string> names;
  for (const Framework* framework : found) names.push_back(framework->id().str());
  return listed(names);
}

}  // namespace

Framework* Frameworks::find(const FrameworkId& framework) {
  const auto found = frameworks_.find(framework);
  return found == frameworks_.end() ? nullptr : &found->second;
}

const Framework* Frameworks::find(const FrameworkId& framework) const {
  const auto found = frameworks_.find(framework);
  return found == frameworks_.end() ? nullptr : &found->second;
}

Framework* Frameworks::find(const Secret& secret) {
  const auto found = by_secret_.find(secret);
  return found == by_secret_.end() ? nullptr : find(found->second);
}

Result<const Framework*> Frameworks::named(std::string_view word) const {
  if (word.empty()) {
    return Error::invalid_argument("a framework is named by its id, its name or a unique prefix");
  }
  const auto own = frameworks_.find(FrameworkId(std::string(word)));
  if (own != frameworks_.end() && !own->second.gone) return &own->second;
  std::vector<const Framework*> all;
  std::vector<const Framework*> of_name;
  std::vector<const Framework*> of_prefix;
  for (const auto& [id, framework] : frameworks_) {
    if (framework.gone) continue;
    all.push_back(&framework);
    if (framework.record.name == word) of_name.push_back(&framework);
    if (id.str().starts_with(word)) of_prefix.push_back(&framework);
  }
  // Only operators can start frameworks that serve users, so such a framework comes before others
  // of that name. A disconnected earlier framework is rarely meant.
  for (const auto& is_meant : {+[](const Framework* one) { return one->record.serves_users; },
                               +[](const Framework* one) { return one->connected(); }}) {
    if (of_name.size() > 1 && std::count_if(of_name.begin(), of_name.end(), is_meant) == 1) {
      return *std::find_if(of_name.begin(), of_name.end(), is_meant);
    }
  }
  const std::vector<const Framework*>& found = of_name.empty() ? of_prefix : of_name;
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return Error::not_found(text("there is no framework ", quoted(word)))
        .with_hint(all.empty() ? std::string("there are no frameworks yet: start a scheduler")
                               : text("known frameworks: ", candidates(all)));
  }
  return Error::invalid_argument(
             text(quoted(word), " matches several frameworks: ", candidates(found)))
      .with_hint("give more of the id");
}

Result<Framework*> Frameworks::exactly(std::string_view word) {
  if (Framework* framework = find(FrameworkId(std::string(word)));
      framework != nullptr && !framework->gone) {
    return framework;
  }
  std::vector<const Framework*> all;
  std::vector<const Framework*> of_name;
  for (const auto& [id, framework] : frameworks_) {
    if (framework.gone) continue;
    all.push_back(&framework);
    if (framework.record.name == word) of_name.push_back(&framework);
  }
  if (of_name.size() == 1) return find(of_name.front()->id());
  if (of_name.size() > 1) {
    return Error::invalid_argument(
               text(quoted(word), " is the name of several frameworks: ", candidates(of_name)))
        .with_hint("give the id");
  }
  return Error::not_found(text("no framework has the id or name ", quoted(word)))
      .with_hint(all.empty() ? std::string("there are no frameworks")
                             : text("use the whole id or name of: ", candidates(all)));
}

std::vector<Framework*> Frameworks::durable_of(const std::string& name, const std::string& user) {
  std::vector<Framework*> found;
  for (auto& [id, framework] : frameworks_.map()) {
    const proto::FrameworkRecord& record = framework.record;
    if (framework.durable() && record.name == name && record.user == user) {
      found.push_back(find(id));
    }
  }
  return found;
}

Framework& Frameworks::add(proto::FrameworkRecord record) {
  const FrameworkId id = record.framework;
  if (!record.secret.empty()) {
    CHECK(by_secret_.emplace(record.secret, id).second) << "a second framework of one secret";
  }
  const auto [added, is_new] = frameworks_.try_emplace(id);
  CHECK(is_new) << "framework " << id.str() << " is known already";
  added->second.record = std::move(record);
  count(added->second, 1);
  return added->second;
}

bool Frameworks::is_away(const Framework& framework) {
  return !framework.gone && !framework.connected();
}

// Called around each change of the user and of the state that is_away() reads.
void Frameworks::count(const Framework& framework, int change) {
  if (!is_away(framework)) return;
  size_t& away = away_[framework.record.user];
  away += static_cast<size_t>(change);
  if (away == 0) away_.erase(framework.record.user);
}

void Frameworks::connect(Framework& framework, PeerId peer) {
  count(framework, -1);
  framework.peer = peer;
}

void Frameworks::disconnect(Framework& framework) {
  count(framework, -1);
  framework.peer = PeerId();
  count(framework, 1);
}

void Frameworks::set_record(Framework& framework, proto::FrameworkRecord record) {
  count(framework, -1);
  if (!framework.gone && record.secret != framework.record.secret) {
    by_secret_.erase(framework.record.secret);
    CHECK(by_secret_.emplace(record.secret, framework.id()).second)
        << "a second framework of one secret";
  }
  framework.record = std::move(record);
  count(framework, 1);
}

size_t Frameworks::away_of(const std::string& user) const {
  const auto found = away_.find(user);
  return found == away_.end() ? 0 : found->second;
}

void Frameworks::mark_gone(Framework& framework) {
  by_secret_.erase(framework.record.secret);
  count(framework, -1);
  framework.gone = true;
}

void Frameworks::erase(const FrameworkId& framework) {
  const auto found = frameworks_.find(framework);
  CHECK(found != frameworks_.end()) << framework.str();
  if (!found->second.gone) by_secret_.erase(found->second.record.secret);
  count(found->second, -1);
  frameworks_.erase(found);
}

}  // namespace proffer::master
