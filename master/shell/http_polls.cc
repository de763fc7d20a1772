#include "master/shell/http_polls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/text.h"

namespace proffer::master {
namespace {

// After a check of polls, the loop does other work for nine times as long.
constexpr int64_t kRestFor = 9;

}  // namespace

std::string_view etag_of(const HttpReply& reply) {
  for (const auto& [name, value] : reply.headers) {
    if (name == "ETag") return value;
  }
  return {};
}

HttpPolls::HttpPolls(Loop& loop, std::function<HttpReply(const Poll&)> read)
    : loop_(loop), read_(std::move(read)), timer_(loop, [this] { look(); }) {}

Result<void> HttpPolls::add(Poll poll) {
  const std::string user = audit_name(poll.by.get());
  const auto of_user = std::count_if(polls_.begin(), polls_.end(), [&](const Waiting& one) {
    return audit_name(one.poll.by.get()) == user;
  });
  if (polls_.size() >= kPollsMax || static_cast<size_t>(of_user) >= kPollsPerUserMax) {
    return Error::resource_exhausted(text(polls_.size(), " requests wait for a change, ", of_user,
                                          " of user ", quoted(user), "; ", kPollsMax, " and ",
                                          kPollsPerUserMax, " of one user are allowed"))
        .with_hint("send the request without wait=");
  }
  polls_.push_back({.poll = std::move(poll), .looked = loop_.now()});
  if (polls_.size() == 1) timer_.arm(std::max(loop_.now() + kPollEvery, rests_until_));
  return {};
}

void HttpPolls::look() {
  const Time now = loop_.now();
  std::vector<std::pair<std::function<void(HttpReply)>, HttpReply>> told;
  if (!polls_.empty() && polls_.front().looked + kPollEvery <= now && rests_until_ <= now) {
    Waiting first = std::move(polls_.front());
    polls_.pop_front();
    HttpReply reply = read_(first.poll);
    if (reply.status != 200 || etag_of(reply) != first.poll.known) {
      told.emplace_back(std::move(first.poll.tell), std::move(reply));
    } else {
      first.looked = now;
      polls_.push_back(std::move(first));
    }
    rests_until_ = now + (loop_.now() - now) * kRestFor;
  }
  std::erase_if(polls_, [&](Waiting& one) {
    if (one.poll.until > now) return false;
    told.emplace_back(std::move(one.poll.tell),
                      HttpReply{.status = 304, .type = {}, .headers = {{"ETag", one.poll.known}}});
    return true;
  });
  if (!polls_.empty()) {
    Time next = std::max(polls_.front().looked + kPollEvery, rests_until_);
    for (const Waiting& one : polls_) next = std::min(next, one.poll.until);
    timer_.arm(std::max(next, now + milliseconds(1)));
  }
  for (auto& [tell, reply] : told) tell(std::move(reply));
}

}  // namespace proffer::master
