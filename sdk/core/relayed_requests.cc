// A request is passed on once for each user and id. Read hear() first.

#include "sdk/core/relayed_requests.h"

#include "common/text.h"

namespace proffer::sdk {
namespace {

size_t bytes_of(const proto::FrameworkResponse& response) {
  size_t bytes = response.data.size();
  if (response.error) bytes += response.error->message.size() + response.error->hint.size();
  return bytes;
}

// Nothing was done, so the same request may be retried.
bool is_for_now(const proto::FrameworkResponse& response) {
  if (!response.error) return false;
  const ErrorCode code = response.error->code;
  return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout;
}

}  // namespace

RelayedRequests::Heard RelayedRequests::hear(proto::FrameworkRequest request) {
  const std::string key = text(request.principal, ' ', request.id);
  const auto known = kept_.find(key);
  if (known != kept_.end()) {
    Kept& kept = known->second;
    if (kept.response) {
      proto::FrameworkResponse again = *kept.response;
      again.relay = request.relay;
      return {.again = std::move(again)};
    }
    if (kept.waiting.size() == kTriesMax) kept.waiting.erase(kept.waiting.begin());
    kept.waiting.push_back(request.relay);
    return {};
  }
  make_room();
  Kept& kept = kept_[key];
  kept.number = ++numbers_;
  kept.waiting = {request.relay};
  in_progress_.emplace(kept.number, key);
  request.relay = kept.number;
  return {.fresh = std::move(request)};
}

std::vector<proto::FrameworkResponse> RelayedRequests::answer(proto::FrameworkResponse response) {
  const auto begun = in_progress_.find(response.relay);
  if (begun == in_progress_.end()) return {};
  const std::string key = begun->second;
  in_progress_.erase(begun);
  Kept& kept = kept_.at(key);
  std::vector<proto::FrameworkResponse> responses;
  for (const uint64_t relay : kept.waiting) {
    responses.push_back(response);
    responses.back().relay = relay;
  }
  kept.waiting.clear();
  if (is_for_now(response)) {
    kept_.erase(key);
    return responses;
  }
  bytes_ += bytes_of(response);
  kept.response = std::move(response);
  answered_.push_back(key);
  while (bytes_ > kKeptBytesMax) forget(std::string(answered_.front()));
  return responses;
}

void RelayedRequests::lose() {
  for (const auto& [number, key] : in_progress_) kept_.at(key).waiting.clear();
}

void RelayedRequests::make_room() {
  if (kept_.size() < kKeptMax) return;
  forget(std::string(answered_.empty() ? in_progress_.begin()->second : answered_.front()));
}

void RelayedRequests::forget(const std::string& key) {
  const auto known = kept_.find(key);
  if (known->second.response) {
    bytes_ -= bytes_of(*known->second.response);
    answered_.pop_front();  // always the oldest
  } else {
    in_progress_.erase(known->second.number);
  }
  kept_.erase(known);
}

std::vector<Violation> RelayedRequests::violations() const {
  std::vector<Violation> found;
  size_t bytes = 0;
  for (const auto& [key, kept] : kept_) {
    if (kept.response) bytes += bytes_of(*kept.response);
    if (!kept.response && in_progress_.count(kept.number) == 0) {
      found.push_back({text("the request ", quoted(key), " can never be answered")});
    }
  }
  if (bytes != bytes_ || bytes > kKeptBytesMax) {
    found.push_back({"the bytes of answers to requests are counted wrong"});
  }
  if (kept_.size() > kKeptMax || kept_.size() != in_progress_.size() + answered_.size()) {
    found.push_back({text(kept_.size(), " requests are remembered")});
  }
  return found;
}

}  // namespace proffer::sdk
