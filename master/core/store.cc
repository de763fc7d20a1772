// A framework reads and writes its store. on_store_request is the whole story; what is allowed is
// decided in framework_store.cc. The answer leaves when its records are on disk, as every message
// of a step does, so nobody is told of what a restart could forget.

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

void Master::State::on_store_request(Framework& framework, const proto::StoreRequest& request,
                                     Step& step) {
  // Decide.
  Result<StorePlan> plan =
      framework.durable()
          ? plan_store(request, framework.id(), registry_.stores(), store_version_)
          : Result<StorePlan>(
                Error::failed_precondition(
                    text("framework ", framework.id().str(),
                         " has a failover timeout of 0, so it has no durable state"))
                    .with_hint("subscribe with a failover timeout above zero to keep a store"));
  if (!plan) {
    const Error& error = plan.error();
    step.trace(StoreRequestRefused{framework.id(), error.message()});
    return send(framework.peer,
                proto::StoreResult{.id = request.id,
                                   .error = proto::ErrorMessage{.code = error.code(),
                                                                .message = error.message(),
                                                                .hint = error.hint()}},
                step);
  }

  // Apply.
  store_version_ = plan->version;
  for (proto::RegistryWrite& change : plan->writes) {
    write(std::move(change.row), change.erase, step);
  }

  // Tell.
  send(framework.peer, proto::StoreResult{.id = request.id, .outcomes = std::move(plan->outcomes)},
       step);
}

// With the framework's record, in the same step: no entry is ever without its framework.
void Master::State::erase_store(const FrameworkId& framework, Step& step) {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : registry_.stores().of(framework).entries) keys.push_back(key);
  for (std::string& key : keys) {
    write(proto::StoreRecord{.framework = framework, .key = std::move(key)}, true, step);
  }
}

// What a snapshot had of frameworks that it does not have: left out when it was restored, and
// erased in the first step of this life.
void Master::State::erase_orphans(Step& step) {
  if (orphans_.empty()) return;
  step.trace(StoreEntriesErased{orphans_.front().framework, orphans_.size()});
  for (proto::StoreRecord& orphan : orphans_) write(std::move(orphan), true, step);
  orphans_.clear();
}

}  // namespace proffer::master
