#pragma once

// Answers to writes over HTTP that came with an Idempotency-Key: a second one with the same key, of
// the same user, gets the first one's answer, and nothing is done again. In memory: another life of
// the master knows no keys of this one (ADR 0126).

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "master/shell/http_routes.h"

namespace proffer::master {

inline constexpr Duration kAnswersKept = minutes(10);
// Further keys are refused until older ones are forgotten. Of one user a tenth.
inline constexpr size_t kAnswersKeptMax = 10'000;
inline constexpr size_t kAnswersKeptBytesMax = size_t{32} << 20;
inline constexpr size_t kUserPart = 10;
// A larger answer is not kept: its request is one to a scheduler, which knows it by its id.
inline constexpr size_t kAnswerKeptBytesMax = size_t{32} << 10;

class KeptAnswers {
 public:
  using Tell = std::function<void(const HttpReply&)>;
  struct Name {
    std::string user = {};
    std::string key = {};
    auto operator<=>(const Name&) const = default;
  };

  // True: it is new, and is to be done; finish() must follow. False: `tell` gets the answer, now or
  // when it is there. `what` is the path and the body. Errors: kInvalidArgument (no such key, or it
  // was used for something else), kResourceExhausted.
  Result<bool> begin(const Name& name, std::string_view what, Time now, Tell tell);
  // Those that asked again are told. Not kept: 429, 503 and 504, after which it may be tried again.
  void finish(const Name& name, const HttpReply& reply);

  size_t size() const { return answers_.size(); }

 private:
  struct Kept {
    size_t what = 0;  // hashed
    Time until = {};
    bool is_answered = false;
    HttpReply reply = {};
    std::vector<Tell> waiting = {};
  };
  struct Use {
    size_t keys = 0;
    size_t bytes = 0;
  };
  void forget(std::map<Name, Kept>::iterator at);
  void forget_old(Time now);

  std::map<Name, Kept> answers_;
  std::set<std::pair<Time, Name>> ends_;  // of each of them
  std::map<std::string, Use> users_;
  size_t bytes_ = 0;
};

}  // namespace proffer::master
