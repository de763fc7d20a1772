#pragma once

// HTTP reads that wait until their answer changes (?wait=30s with If-None-Match). They are checked
// in turn, at a rate that takes at most a tenth of the loop's time.

#include <deque>
#include <functional>
#include <string>

#include "common/principal.h"
#include "common/result.h"
#include "common/time.h"
#include "master/shell/http_routes.h"
#include "net/loop.h"

namespace proffer::master {

// Further polls are refused; a user may have a quarter of them.
inline constexpr size_t kPollsMax = 64;
inline constexpr size_t kPollsPerUserMax = kPollsMax / 4;
// The delay until a change is noticed if there are few polls.
inline constexpr Duration kPollEvery = milliseconds(200);

class HttpPolls {
 public:
  struct Poll {
    HttpCall call = {};
    PrincipalPtr by = {};
    std::string known = {};  // the ETag of the answer that the client has
    Time until = {};         // then the answer is 304
    std::function<void(HttpReply)> tell = {};
  };
  // `read` returns the present answer with its ETag.
  HttpPolls(Loop& loop, std::function<HttpReply(const Poll&)> read);

  // Errors: kResourceExhausted; then the poll is not kept.
  Result<void> add(Poll poll);
  size_t size() const { return polls_.size(); }

 private:
  struct Waiting {
    Poll poll = {};
    Time looked = {};
  };
  void look();

  Loop& loop_;
  const std::function<HttpReply(const Poll&)> read_;
  std::deque<Waiting> polls_;  // the poll that was checked longest ago is first
  Time rests_until_ = {};
  Timer timer_;
};

// The value of the ETag header of a reply; empty: it has none.
std::string_view etag_of(const HttpReply& reply);

}  // namespace proffer::master
