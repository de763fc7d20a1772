#pragma once

// The master's HTTP API below /v1/: the methods of the route table, with ETags, reads that wait for
// a change, streams of events, and Idempotency-Keys.

#include <functional>
#include <memory>
#include <optional>

#include "master/core/master.h"
#include "master/shell/api.h"
#include "master/shell/event_streams.h"
#include "master/shell/http_polls.h"
#include "master/shell/http_routes.h"
#include "master/shell/kept_answers.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace proffer::master {

class HttpApi {
 public:
  // The parts of the master's process. The referenced values must outlive this.
  struct Process {
    Loop& loop;
    Api& api;
    const std::unique_ptr<Master>& core;
    const std::unique_ptr<EventLog>& events;  // nullptr: no events are kept
    const PolicyOptions& policy;
    std::function<LeaderEpoch()> leader = {};
    std::function<bool()> may_serve = {};
    std::function<bool()> waits_for_disk = {};  // writes are refused while it returns true
  };
  explicit HttpApi(Process process);
  HttpApi(const HttpApi&) = delete;
  HttpApi& operator=(const HttpApi&) = delete;

  // Only while the master leads. The answer may come later.
  void on_request(const HttpRequest& request, HttpResponder responder);

 private:
  using Tell = std::function<void(const HttpReply&)>;

  void read(HttpCall call, const HttpRequest& request, Tell tell);
  void change(const HttpCall& call, const HttpRequest& request, Tell tell);
  void carry_out(const HttpCall& call, const HttpRequest& request, const Tell& tell);
  void relay(const HttpCall& call, const HttpRequest& request, const Tell& tell);
  void stream_events(const HttpCall& call, const HttpRequest& request, HttpResponder responder);
  void find_servers(const HttpCall& call, const HttpRequest& request, const Tell& tell);
  HttpReply page_now(const HttpCall& call, const PrincipalPtr& by);

  Process process_;
  KeptAnswers answers_;
  HttpPolls polls_;
  std::optional<EventStreams> streams_;  // from the first stream on
};

}  // namespace proffer::master
