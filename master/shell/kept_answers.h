#pragma once

// Answers to HTTP writes with an Idempotency-Key. A repeated request with the same key from the
// same user gets the first answer and is not carried out again. The answers are in memory only:
// after a failover or a restart, keys are unknown (ADR 0126).

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
// Further keys are refused until older ones expire. A user may have a tenth of them.
inline constexpr size_t kAnswersKeptMax = 10'000;
inline constexpr size_t kAnswersKeptBytesMax = size_t{32} << 20;
inline constexpr size_t kUserPart = 10;
// A larger answer is not kept. Only schedulers give such answers, and a scheduler recognizes a
// repeated request by its id.
inline constexpr size_t kAnswerKeptBytesMax = size_t{32} << 10;

class KeptAnswers {
 public:
  using Tell = std::function<void(const HttpReply&)>;
  struct Name {
    std::string user = {};
    std::string key = {};
    auto operator<=>(const Name&) const = default;
  };

  // True: the key is new; carry the request out, then call finish(). False: `tell` gets the answer,
  // now or when it exists. `what` is the path and the body. Errors: kInvalidArgument (a malformed
  // key, or one used for another request), kResourceExhausted.
  Result<bool> begin(const Name& name, std::string_view what, Time now, Tell tell);
  // Sends the answer to repeated requests too. Answers with 429, 503 and 504 are not kept, because
  // the request may be repeated.
  void finish(const Name& name, const HttpReply& reply);

  size_t size() const { return answers_.size(); }

 private:
  struct Kept {
    size_t what = 0;  // a hash
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
  std::set<std::pair<Time, Name>> ends_;  // the time at which each is dropped
  std::map<std::string, Use> users_;
  size_t bytes_ = 0;
};

}  // namespace proffer::master
