#include "sdk/store_journal.h"

#include <iterator>
#include <utility>

#include "common/check.h"

namespace proffer::sdk {
namespace {

// Between attempts while the store is away.
constexpr Duration kRetry = seconds(1);
// The weight of an operation in addition to its key and value.
constexpr size_t kOperationBytes = 64;

size_t bytes_of(const std::vector<proto::StoreOperation>& operations) {
  size_t bytes = 0;
  for (const proto::StoreOperation& operation : operations) {
    bytes += kOperationBytes + operation.key.size() + operation.value.size();
  }
  return bytes;
}

}  // namespace

StoreJournal::Ticket StoreJournal::add(std::vector<proto::StoreOperation> operations) {
  CHECK(!operations.empty());
  CHECK_LE(operations.size(), kStoreOperationsMax);
  const Ticket ticket = ++tickets_;
  if (!has_store_) {
    settled_.push_back(Settled{ticket, {}, {}});
    return ticket;
  }
  const size_t bytes = bytes_of(operations);
  units_.push_back(Unit{ticket, std::move(operations), bytes, false});
  return ticket;
}

std::optional<proto::StoreRequest> StoreJournal::next(Time now) {
  if (units_.empty() || !under_way_.empty()) return std::nullopt;
  if (not_before_ && now < *not_before_) return std::nullopt;
  not_before_.reset();
  proto::StoreRequest request{.id = ++requests_, .operations = {}};
  size_t bytes = 0;
  // Always takes the first unit, however large; the store decides whether it is too large.
  do {
    Unit unit = std::move(units_.front());
    units_.pop_front();
    bytes += unit.bytes;
    request.operations.insert(request.operations.end(), unit.operations.begin(),
                              unit.operations.end());
    under_way_.push_back(std::move(unit));
  } while (!units_.empty() && !under_way_.back().alone && !units_.front().alone &&
           request.operations.size() + units_.front().operations.size() <= kStoreOperationsMax &&
           bytes + units_.front().bytes <= kStoreRequestBytesMax);
  return request;
}

void StoreJournal::on_result(const proto::StoreResult& result, Time now) {
  if (under_way_.empty() || result.id != requests_) return;
  if (result.error) {
    const Error error(result.error->code, result.error->message);
    if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kTimeout) {
      give_back();
      not_before_ = now + kRetry;
    } else if (under_way_.size() > 1) {
      for (Unit& unit : under_way_) unit.alone = true;
      give_back();
    } else {
      settled_.push_back(Settled{under_way_.front().ticket, error, {}});
      under_way_.clear();
      not_before_ = now + kRetry;  // a retry does not follow at once
    }
    return;
  }
  auto outcome = result.outcomes.begin();
  for (const Unit& unit : std::exchange(under_way_, {})) {
    Settled settled{.ticket = unit.ticket, .error = {}, .outcomes = {}};
    for (size_t i = 0; i < unit.operations.size() && outcome != result.outcomes.end(); ++i) {
      settled.outcomes.push_back(*outcome++);
    }
    settled_.push_back(std::move(settled));
  }
}

void StoreJournal::give_back() {
  units_.insert(units_.begin(), std::make_move_iterator(under_way_.begin()),
                std::make_move_iterator(under_way_.end()));
  under_way_.clear();
}

std::optional<Time> StoreJournal::next_deadline() const {
  if (units_.empty() || !under_way_.empty()) return std::nullopt;
  return not_before_;
}

}  // namespace proffer::sdk
