#pragma once

// Reads over HTTP that wait until their answer is another one (?wait=30s with If-None-Match). They
// are looked at in turn, so seldom that all of them together take a tenth of the loop's time.

#include <deque>
#include <functional>
#include <string>

#include "common/principal.h"
#include "common/result.h"
#include "common/time.h"
#include "master/shell/http_routes.h"
#include "net/loop.h"

namespace proffer::master {

// Further ones are refused; of one user a quarter.
inline constexpr size_t kPollsMax = 64;
inline constexpr size_t kPollsPerUserMax = kPollsMax / 4;
// How soon a change is seen if there are few.
inline constexpr Duration kPollEvery = milliseconds(200);

class HttpPolls {
 public:
  struct Poll {
    HttpCall call = {};
    PrincipalPtr by = {};
    std::string known = {};  // the ETag of the answer that the client has
    Time until = {};         // then it is answered all the same, by 304
    std::function<void(HttpReply)> tell = {};
  };
  // `read` gives the answer as it is now, with its ETag.
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
  std::deque<Waiting> polls_;  // the one that was looked at longest ago first
  Time rests_until_ = {};
  Timer timer_;
};

// The value of the header ETag of a reply; empty: it has none.
std::string_view etag_of(const HttpReply& reply);

}  // namespace proffer::master
