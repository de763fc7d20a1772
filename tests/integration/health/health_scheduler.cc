// health_scheduler: runs one task with a health check and one port named http, and prints a line
// for each update that it receives. If it is restarted with its session file, it only prints
// updates.
//
//   --command=LINE --check=tcp | --check=http:PATH | --check=command:LINE
//   --timeout=MS --grace=MS
//
//   running none {"ports":{"http":31000}}        state, health, data, message
//   running false {…} 3 health checks in a row failed: connection refused

#include <iostream>
#include <string>
#include <string_view>

#include "common/text.h"
#include "sdk/scheduler.h"

namespace {

using namespace proffer;

// The value of --NAME=VALUE, or an empty text.
std::string flag(int argc, char** argv, const std::string& name) {
  const std::string prefix = "--" + name + "=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(prefix)) return std::string(word.substr(prefix.size()));
  }
  return {};
}

Duration milliseconds_of(const std::string& text, Duration otherwise) {
  return text.empty() ? otherwise : milliseconds(std::stoi(text));
}

proto::HealthCheck check_of(int argc, char** argv) {
  using Kind = proto::HealthCheck::Kind;
  const std::string check = flag(argc, argv, "check");
  proto::HealthCheck out{.kind = Kind::kTcp,
                         .port = "http",
                         .interval = milliseconds(50),
                         .timeout = milliseconds_of(flag(argc, argv, "timeout"), minutes(1)),
                         .grace = milliseconds_of(flag(argc, argv, "grace"), Duration())};
  if (check.starts_with("http:")) {
    out.kind = Kind::kHttp;
    out.path = check.substr(5);
  } else if (check.starts_with("command:")) {
    out.kind = Kind::kCommand;
    out.command = check.substr(8);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  sdk::Scheduler self(
      sdk::options_from(argc, argv, "health", {"check", "command", "grace", "timeout"}));
  self.on_subscribed([&](const proto::Subscribed& subscribed) {
    if (subscribed.failed_over) return;
    Ask ask;
    ask.name = AskName("one");
    ask.shape = *parse_shape("cpus:0.1;mem:32");
    ask.count = 1;
    ask.ports = 1;
    self.ask(ask);
  });
  self.on_offer([&](const Offer& offer) {
    self.accept(offer, {{.id = TaskId("t1"),
                         .ask = AskName("one"),
                         .shape = *parse_shape("cpus:0.1;mem:32"),
                         .command = flag(argc, argv, "command"),
                         .port_names = {"http"},
                         .health = check_of(argc, argv)}});
  });
  self.on_update([&](const proto::TaskStatus& status) {
    const char* health = !status.healthy ? " none " : *status.healthy ? " true " : " false ";
    std::cout << to_text(status.state) << health << status.data << ' ' << status.message
              << std::endl;
  });
  return self.run();
}
