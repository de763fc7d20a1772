#pragma once

// Relays requests of the page to the leader, and to agents for the output of tasks, as the user
// that runs this process; the kernel identifies that user to them.

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

// The most bytes of an answer that is not a stream.
inline constexpr size_t kRelayedAnswerBytesMax = size_t{8} << 20;
// From the connection to the head of the answer, in addition to the wait of the request itself.
// Then the next master is asked, if the request changes nothing.
inline constexpr Duration kRelayedHeadWait = seconds(15);

// The most calls without an answer, and streams, of one session. So no session takes all
// connections (kUiConnectionsMax). A browser has six connections to a server.
inline constexpr size_t kRelayedCallsPerSessionMax = 24;

// Bytes of a task's output at the beginning.
inline constexpr int64_t kOutputTailBytes = 200'000;

class UiRelay {
 public:
  // The addresses at which the masters serve HTTP; at least one.
  UiRelay(Loop& loop, std::vector<std::string> masters, Duration head_wait = kRelayedHeadWait);
  UiRelay(const UiRelay&) = delete;
  UiRelay& operator=(const UiRelay&) = delete;

  // Sends the same request to the leader. `session` names the caller; with more than
  // kRelayedCallsPerSessionMax calls it is answered 429.
  void to_master(const HttpRequest& request, HttpResponder responder, std::string_view session);
  // The output of "task" (FRAMEWORK/TASK) of the query in its "file" (stdout, stderr), as it grows:
  // the last kOutputTailBytes, with a line before them if that is not all.
  void to_output(const HttpRequest& request, HttpResponder responder, std::string_view session);

 private:
  // Each call of a session has one; it counts while the Turn exists.
  using Turn = std::shared_ptr<const void>;
  using Finish = std::function<void(int status, const UpstreamHead& head, std::string body)>;
  // One request, from its arrival to the end of its answer.
  struct Call {
    std::string request = {};
    Turn turn = {};
    std::shared_ptr<HttpResponder> responder = {};  // none: `finish` takes the answer
    Finish finish = {};
    std::vector<std::string> places = {};  // still to try; the first is being asked
    bool is_of_masters = false;
    Duration waits = {};  // the master's own wait, before it answers
    // The head of a growing file comes with its first byte.
    bool has_limit = true;
    std::unique_ptr<Upstream> upstream = {};
    std::unique_ptr<Timer> late = {};  // until the head has come
    UpstreamHead head = {};
    std::string body = {};
    std::string note = {};  // before the stream
    std::unique_ptr<HttpStream> stream = {};
    std::string unwritten = {};  // of a stream: bytes for which there was no room
    bool is_whole = false;
  };

  Turn take_turn(std::string_view session, HttpResponder& responder);
  void begin(Call call);
  void follow_output(const Turn& turn, const std::string& place, const std::string& task,
                     const std::string& target, std::shared_ptr<HttpResponder> responder);
  void try_place(uint64_t id);
  void try_next(uint64_t id);
  void on_late(uint64_t id);
  void on_head(uint64_t id, const UpstreamHead& head);
  void on_body(uint64_t id, std::string_view bytes);
  void on_end(uint64_t id, Result<void> result);
  void write_more(uint64_t id);
  void answer(uint64_t id, int status, std::string type, std::string body,
              HttpHeaders headers = {});
  void refuse(uint64_t id, const Error& error);
  void forget(uint64_t id);

  Loop& loop_;
  const Duration head_wait_;
  std::vector<std::string> masters_;  // the master that last answered comes first
  std::map<std::string, std::shared_ptr<const bool>, std::less<>> sessions_;  // each has its turns
  uint64_t last_id_ = 0;
  std::map<uint64_t, Call> calls_;  // as many as the server has connections
};

// "GET /v1/agents?after=a%201 HTTP/1.0" with the headers that are for the master. Pure.
std::string relayed_request(const HttpRequest& request);
// From the answer to a range request: "bytes 0-0/1234", or "bytes */0". None: it has no size. Pure.
std::optional<int64_t> size_of_range(std::string_view content_range);
// How long a request asks the master to wait before it answers. Pure.
Duration wait_of(const HttpRequest& request);

}  // namespace proffer::cli
