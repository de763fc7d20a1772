#include "master/shell/kept_answers.h"

#include "common/ids.h"
#include "common/text.h"

namespace proffer::master {
namespace {

// The request was not carried out, or its result is unknown: it may be repeated.
bool is_for_now(int status) { return status == 429 || status == 503 || status == 504; }

}  // namespace

Result<bool> KeptAnswers::begin(const Name& name, std::string_view what, Time now, Tell tell) {
  if (Result<void> valid = check_name("Idempotency-Key", name.key); !valid) {
    return std::move(valid).error();
  }
  forget_old(now);
  const size_t hash = std::hash<std::string_view>()(what);
  if (const auto found = answers_.find(name); found != answers_.end()) {
    Kept& kept = found->second;
    if (kept.what != hash) {
      return Error::invalid_argument(
                 text("the Idempotency-Key ", quoted(name.key), " was used for another request"))
          .with_hint("use a new key for each operation");
    }
    if (kept.is_answered) {
      tell(kept.reply);
    } else {
      kept.waiting.push_back(std::move(tell));
    }
    return false;
  }
  const auto user = users_.find(name.user);
  const Use use = user == users_.end() ? Use() : user->second;
  if (answers_.size() >= kAnswersKeptMax || bytes_ >= kAnswersKeptBytesMax ||
      use.keys >= kAnswersKeptMax / kUserPart || use.bytes >= kAnswersKeptBytesMax / kUserPart) {
    return Error::resource_exhausted(text("the answers to ", use.keys, " keys of user ",
                                          quoted(name.user), " and ", answers_.size() - use.keys,
                                          " of others are kept, which is the maximum"))
        .with_hint(text("they are kept for ", to_text(kAnswersKept),
                        "; try again later, or without an Idempotency-Key"));
  }
  const Time until = now + kAnswersKept;
  answers_[name] = {.what = hash, .until = until};
  ends_.emplace(until, name);
  ++users_[name.user].keys;
  return true;
}

void KeptAnswers::finish(const Name& name, const HttpReply& reply) {
  const auto at = answers_.find(name);
  if (at == answers_.end() || at->second.is_answered) return;
  const std::vector<Tell> waiting = std::move(at->second.waiting);
  if (is_for_now(reply.status) || reply.body.size() > kAnswerKeptBytesMax) {
    forget(at);
  } else {
    at->second.is_answered = true;
    at->second.reply = reply;
    at->second.waiting.clear();
    users_[name.user].bytes += reply.body.size();
    bytes_ += reply.body.size();
  }
  for (const Tell& tell : waiting) tell(reply);
}

void KeptAnswers::forget(std::map<Name, Kept>::iterator at) {
  const auto user = users_.find(at->first.user);
  const size_t bytes = at->second.reply.body.size();
  user->second.bytes -= bytes;
  bytes_ -= bytes;
  if (--user->second.keys == 0) users_.erase(user);
  ends_.erase({at->second.until, at->first});
  answers_.erase(at);
}

// A request without an answer yet is kept until it has one.
void KeptAnswers::forget_old(Time now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const auto at = answers_.find(ends_.begin()->second);
    if (at->second.is_answered) {
      forget(at);
      continue;
    }
    ends_.erase(ends_.begin());
    at->second.until = now + kAnswersKept;
    ends_.emplace(at->second.until, at->first);
  }
}

}  // namespace proffer::master
