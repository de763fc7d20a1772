#pragma once

// Relays requests of the page to the master that leads, and to agents for the output of tasks, as
// the user that runs this process: the kernel tells them so.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/ui/upstream.h"
#include "common/result.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace proffer::cli {

// Of an answer that is no stream.
inline constexpr size_t kRelayedAnswerBytesMax = size_t{8} << 20;

class UiRelay {
 public:
  // Where the masters serve HTTP; at least one.
  UiRelay(Loop& loop, std::vector<std::string> masters);
  UiRelay(const UiRelay&) = delete;
  UiRelay& operator=(const UiRelay&) = delete;

  // The same request, to the master that leads.
  void to_master(const HttpRequest& request, HttpResponder responder);
  // What "task" (FRAMEWORK/TASK) of the query has written to its "file" (stdout, stderr), as it
  // grows.
  void to_output(const HttpRequest& request, HttpResponder responder);

 private:
  using Finish = std::function<void(int status, std::string body)>;
  // One request, from its arrival to the end of its answer.
  struct Call {
    std::string request = {};
    std::shared_ptr<HttpResponder> responder = {};  // none: `finish` takes the answer
    Finish finish = {};
    std::vector<std::string> places = {};  // to be tried; the first is being asked
    bool is_of_masters = false;
    std::unique_ptr<Upstream> upstream = {};
    UpstreamHead head = {};
    std::string body = {};
    std::unique_ptr<HttpStream> stream = {};
    std::string unwritten = {};  // of a stream: for which there was no room
    bool is_whole = false;
  };

  void begin(Call call);
  void try_place(uint64_t id);
  void on_head(uint64_t id, const UpstreamHead& head);
  void on_body(uint64_t id, std::string_view bytes);
  void on_end(uint64_t id, Result<void> result);
  void write_more(uint64_t id);
  void answer(uint64_t id, int status, std::string type, std::string body,
              HttpHeaders headers = {});
  void refuse(uint64_t id, const Error& error);
  void forget(uint64_t id);

  Loop& loop_;
  std::vector<std::string> masters_;  // the one that answered last comes first
  uint64_t last_id_ = 0;
  std::map<uint64_t, Call> calls_;  // as many as the server has connections
};

// "GET /v1/agents?after=a%201 HTTP/1.0" with what of the headers is for the master. Pure.
std::string relayed_request(const HttpRequest& request);

}  // namespace proffer::cli
