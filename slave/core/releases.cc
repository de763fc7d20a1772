// A framework no longer needs the files of some tasks. Their sandboxes are removed together: at
// once, or when the last of these tasks has ended, its executor is gone and its end is
// acknowledged. Read on_release_files first.

#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

template <class Key, class Value>
bool has_beginning(const std::map<Key, Value>& all, const Key& first) {
  const auto at = all.lower_bound(first);
  return at != all.end() && at->first.first == first.first &&
         at->first.second.str().starts_with(first.second.str());
}

}  // namespace

void Agent::State::on_release_files(const proto::ReleaseFiles& message, Step& step) {
  RemoveSandboxes removal{.framework = message.framework, .begins = {}};
  for (const std::string& begin : message.begins) {
    if (!is_in_use(message.framework, begin)) {
      removal.begins.push_back(begin);
    } else if (releases_waiting_ < kReleasesWaitingMax) {
      if (releases_[message.framework].insert(begin).second) ++releases_waiting_;
    } else {
      step.trace(TooManyReleases{message.framework, begin});
    }
  }
  if (!removal.begins.empty()) step.out.actions.emplace_back(std::move(removal));
}

// `left`: the id of an executor that is gone, or of a task whose end was acknowledged.
void Agent::State::look_at_releases(const FrameworkId& framework, std::string_view left,
                                    Step& step) {
  const auto of = releases_.find(framework);
  if (of == releases_.end()) return;
  RemoveSandboxes removal{.framework = framework, .begins = {}};
  for (auto at = of->second.begin(); at != of->second.end();) {
    if (!left.starts_with(*at) || is_in_use(framework, *at)) {
      ++at;
      continue;
    }
    removal.begins.push_back(*at);
    at = of->second.erase(at);
    --releases_waiting_;
  }
  if (of->second.empty()) releases_.erase(of);
  if (!removal.begins.empty()) step.out.actions.emplace_back(std::move(removal));
}

bool Agent::State::is_in_use(const FrameworkId& framework, const std::string& begin) const {
  return has_beginning(ledger_.tasks(), TaskKey(framework, TaskId(begin))) ||
         has_beginning(ledger_.executors(), ExecutorKey(framework, ExecutorId(begin)));
}

}  // namespace proffer::agent
