// A framework reads and writes its store. Begin with on_store_request; framework_store.cc decides
// what is allowed. Like all messages of a step, the answer is sent when the step's records are on
// disk, so a restart cannot revert a confirmed write.

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

// In the step that removes the framework's record, so that each entry has a framework.
void Master::State::erase_store(const FrameworkId& framework, Step& step) {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : registry_.stores().of(framework).entries) keys.push_back(key);
  for (std::string& key : keys) {
    write(proto::StoreRecord{.framework = framework, .key = std::move(key)}, true, step);
  }
}

// Entries in a snapshot whose framework is not in it. They are left out when the snapshot is
// restored, and erased in the first step.
void Master::State::erase_orphans(Step& step) {
  if (orphans_.empty()) return;
  step.trace(StoreEntriesErased{orphans_.front().framework, orphans_.size()});
  for (proto::StoreRecord& orphan : orphans_) write(std::move(orphan), true, step);
  orphans_.clear();
}

}  // namespace proffer::master
