// Requests to the framework's store, from the author's call to the answer. Read next() and lose()
// first.

#include "sdk/core/store_requests.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::sdk {
namespace {

size_t bytes_of(const proto::StoreRequest& request) {
  size_t bytes = 0;
  for (const proto::StoreOperation& operation : request.operations) {
    bytes += operation.key.size() + operation.value.size() + operation.after.size();
  }
  return bytes;
}

// The codec would refuse other texts, or they would match no key.
bool is_part_of_a_key(const std::string& part) {
  return std::all_of(part.begin(), part.end(), [](char c) {
    return c == '/' || is_valid_name(std::string_view(&c, 1)) || c == '.';
  });
}

Result<void> check(const proto::StoreRequest& request) {
  if (request.operations.empty() || request.operations.size() > kStoreOperationsMax) {
    return Error::invalid_argument(text("a store request has 1 to ", kStoreOperationsMax,
                                        " operations, not ", request.operations.size()));
  }
  for (const proto::StoreOperation& operation : request.operations) {
    if (Result<void> checked = check_store_operation(operation); !checked) return checked;
    for (const std::string* part : {&operation.key, &operation.after}) {
      if (is_part_of_a_key(*part)) continue;
      return Error::invalid_argument(
          text("store keys consist of A-Z a-z 0-9 . _ - and '/', not ", quoted(*part)));
    }
  }
  if (const size_t bytes = bytes_of(request); bytes > kStoreRequestBytesMax) {
    return Error::resource_exhausted(text("a store request has at most ", kStoreRequestBytesMax,
                                          " bytes of keys and values, not ", bytes))
        .with_hint("split it into several requests");
  }
  return {};
}

bool is_conditional(const proto::StoreRequest& request) {
  return std::any_of(request.operations.begin(), request.operations.end(),
                     [](const proto::StoreOperation& operation) {
                       const bool writes = operation.kind == proto::StoreOperation::Kind::kPut ||
                                           operation.kind == proto::StoreOperation::Kind::kDelete;
                       return writes && operation.expected.has_value();
                     });
}

}  // namespace

Result<void> StoreRequests::add(proto::StoreRequest request) {
  if (Result<void> checked = check(request); !checked) return checked;
  const size_t bytes = bytes_of(request);
  if (size() >= kKeptMax || bytes_ + bytes > kKeptBytesMax) {
    return Error::resource_exhausted(text("at most ", kKeptMax, " store requests and ",
                                          kKeptBytesMax >> 20, " MiB of them may wait for their ",
                                          "answers; ", size(), " are waiting"))
        .with_hint("wait for answers before sending more");
  }
  bytes_ += bytes;
  waiting_.push_back({std::move(request), 0, bytes});
  return {};
}

std::optional<proto::StoreRequest> StoreRequests::next() {
  if (waiting_.empty() || sent_.size() >= kSentMax) return std::nullopt;
  sent_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  sent_.back().number = ++numbers_;
  proto::StoreRequest request = sent_.back().request;
  request.id = sent_.back().number;
  return request;
}

std::optional<proto::StoreResult> StoreRequests::answer(proto::StoreResult result) {
  const auto sent = std::find_if(sent_.begin(), sent_.end(),
                                 [&](const Kept& kept) { return kept.number == result.id; });
  if (sent == sent_.end()) return std::nullopt;
  result.id = sent->request.id;
  if (!result.error && result.outcomes.size() != sent->request.operations.size()) {
    result.outcomes.clear();
    result.error = proto::ErrorMessage{.code = ErrorCode::kInternal,
                                       .message = "the master's answer is about other operations"};
  }
  bytes_ -= sent->bytes;
  sent_.erase(sent);
  return result;
}

std::vector<proto::StoreResult> StoreRequests::lose() {
  std::vector<proto::StoreResult> told;
  // From the last to the first, so that they come before all others, in their order.
  while (!sent_.empty()) {
    Kept kept = std::move(sent_.back());
    sent_.pop_back();
    if (!is_conditional(kept.request)) {
      waiting_.push_front(std::move(kept));
      continue;
    }
    bytes_ -= kept.bytes;
    told.push_back({.id = kept.request.id,
                    .error = proto::ErrorMessage{
                        .code = ErrorCode::kUnavailable,
                        .message = text("the connection was lost before the answer about ",
                                        quoted(kept.request.operations.front().key)),
                        .hint = "read the entry to check whether it was written"}});
  }
  std::reverse(told.begin(), told.end());
  return told;
}

std::vector<proto::StoreResult> StoreRequests::give_up(const proto::ErrorMessage& error) {
  std::vector<proto::StoreResult> told;
  for (const std::deque<Kept>* all : {&sent_, &waiting_}) {
    for (const Kept& kept : *all) told.push_back({.id = kept.request.id, .error = error});
  }
  clear();
  return told;
}

void StoreRequests::clear() {
  sent_.clear();
  waiting_.clear();
  bytes_ = 0;
}

std::vector<Violation> StoreRequests::violations() const {
  std::vector<Violation> found;
  size_t bytes = 0;
  for (const std::deque<Kept>* all : {&sent_, &waiting_}) {
    for (const Kept& kept : *all) bytes += kept.bytes;
  }
  if (bytes != bytes_) found.push_back({"the bytes of store requests are counted wrong"});
  if (size() > kKeptMax || bytes > kKeptBytesMax || sent_.size() > kSentMax) {
    found.push_back({text(size(), " store requests are kept, ", sent_.size(), " of them sent")});
  }
  return found;
}

}  // namespace proffer::sdk
