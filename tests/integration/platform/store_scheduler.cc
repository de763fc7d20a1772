// store_scheduler: a framework that test requests control. Each request is a line of words:
//
//   put KEY VALUE [EXPECTED] · get KEY · erase KEY · list PREFIX     its store
//   count        the number of count requests; a repeated request must not count again
//   wait         never answered
//   bytes        answered with bytes that are no text
//   ask CPUS     asks for one task with this many CPUs; holds its offers, without using them,
//                until the next ask
//   suppress     wants no offers
//   {"verb":"status" …, {"verb":"list" …    from `proffer batch`: no such job; ends at once
//
// Prints "subscribed ID" for each session.

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "common/text.h"
#include "sdk/scheduler.h"

namespace {

using namespace proffer;

std::string told(const proto::StoreResult::Outcome& outcome) {
  std::string out = text(outcome.value, outcome.value.empty() ? "" : " ", outcome.version);
  for (const proto::StoreResult::Entry& entry : outcome.entries) {
    out += text(" ", entry.key, "=", entry.version);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  sdk::Scheduler self(sdk::options_from(argc, argv, "store"));
  int counted = 0;
  self.on_subscribed([&](const proto::Subscribed& subscribed) {
    std::cout << "subscribed " << subscribed.framework.str() << std::endl;
  });
  std::vector<Offer> held;
  self.on_offer([&](const Offer& offer) { held.push_back(offer); });
  self.on_request([&](const proto::FrameworkRequest& request) {
    std::istringstream words(request.data);
    std::string verb, key, value;
    uint64_t expected = 0;
    words >> verb >> key >> value;
    const bool has_expected = static_cast<bool>(words >> expected);
    const auto do_and_tell = [&](proto::StoreOperation operation) {
      self.store({std::move(operation)},
                 [&self, relay = request.relay](
                     const Result<std::vector<proto::StoreResult::Outcome>>& outcomes) {
                   if (outcomes) return self.respond(relay, told(outcomes->front()));
                   self.respond(relay, outcomes.error());
                 });
    };
    if (verb.starts_with(R"({"verb":"status")")) {
      return self.respond(request.relay, Error::not_found("there is no job of this name"));
    }
    if (verb.starts_with(R"({"verb":"list")")) std::_Exit(0);
    if (verb == "put") {
      do_and_tell(sdk::put(key, value, has_expected ? std::optional(expected) : std::nullopt));
    } else if (verb == "get") {
      do_and_tell(sdk::get(key));
    } else if (verb == "erase") {
      do_and_tell(sdk::erase(key));
    } else if (verb == "list") {
      do_and_tell(sdk::list(key));
    } else if (verb == "count") {
      self.respond(request.relay, std::to_string(++counted));
    } else if (verb == "bytes") {
      self.respond(request.relay, std::string("\xff\xfe"));
    } else if (verb == "ask") {
      self.ask("one", "cpus:" + key, 1);
      for (const Offer& offer : held) self.decline(offer, Duration());
      held.clear();
      self.respond(request.relay, std::string());
    } else if (verb == "suppress") {
      self.suppress();
      self.respond(request.relay, std::string());
    } else if (verb != "wait") {
      self.respond(request.relay, Error::invalid_argument("what is " + verb + "?"));
    }
  });
  return self.run();
}
