#include "cli/http_questions.h"

#include <algorithm>
#include <iterator>

#include <poll.h>

namespace proffer::cli {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration clock_time(Duration duration) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(duration.nanos()));
}

class Questions {
 public:
  Questions(const std::vector<HttpQuestion>& questions, const HttpBounds& bounds)
      : questions_(questions),
        bounds_(bounds),
        none_begins_at_(Clock::now() + clock_time(bounds.all)),
        bodies_(questions.size()),
        replies_(questions.size()) {}

  std::vector<HttpReply> ask() {
    while (begin_further() || !open_.empty()) {
      if (open_.empty()) continue;
      wait();
      std::erase_if(open_, [&](Open& one) { return has_ended(one); });
    }
    return std::move(replies_);
  }

 private:
  struct Open {
    size_t question = 0;
    HttpGet get;
    Clock::time_point until = {};
    bool is_ready = true;  // it can make another step
  };

  // Starts connections; true if more questions remain.
  bool begin_further() {
    while (next_ < questions_.size() && open_.size() < bounds_.at_once) {
      const Clock::time_point now = Clock::now();
      if (now >= none_begins_at_) return false;
      const size_t index = next_++;
      replies_[index].is_asked = true;
      const HttpQuestion& question = questions_[index];
      Result<HttpGet> get = HttpGet::start(
          question.place, question.target,
          [&body = bodies_[index], most = question.bytes_max](std::string_view bytes) {
            body += bytes.substr(0, most - std::min(most, body.size()));
          });
      if (get) open_.push_back({index, *std::move(get), now + clock_time(bounds_.each)});
    }
    return next_ < questions_.size();
  }

  // Waits until a connection can make progress, or its timeout ends.
  void wait() {
    std::vector<pollfd> polled;
    Clock::time_point until = open_.front().until;
    for (const Open& one : open_) {
      if (one.is_ready) return;
      polled.push_back({.fd = one.get.fd(), .events = one.get.events(), .revents = 0});
      until = std::min(until, one.until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(left, 0)));
    for (size_t i = 0; i < open_.size(); ++i) open_[i].is_ready = polled[i].revents != 0;
  }

  bool has_ended(Open& one) {
    if (std::exchange(one.is_ready, false)) {
      const Result<bool> whole = one.get.go_on();
      if (!whole) return true;
      if (*whole) {
        HttpReply& reply = replies_[one.question];
        reply.at = Clock::now();
        if (one.get.answer().status() == 200) reply.body = std::move(bodies_[one.question]);
        return true;
      }
    }
    return Clock::now() >= one.until;
  }

  const std::vector<HttpQuestion>& questions_;
  const HttpBounds bounds_;
  const Clock::time_point none_begins_at_;
  std::vector<std::string> bodies_;
  std::vector<HttpReply> replies_;
  std::vector<Open> open_;
  size_t next_ = 0;
};

}  // namespace

std::vector<HttpReply> ask_all(const std::vector<HttpQuestion>& questions,
                               const HttpBounds& bounds) {
  return Questions(questions, bounds).ask();
}

}  // namespace proffer::cli
