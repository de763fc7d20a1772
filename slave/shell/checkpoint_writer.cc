#include "slave/shell/checkpoint_writer.h"

#include <utility>
#include <variant>

#include <glog/logging.h>

#include "common/check.h"
#include "proto/codec/records.h"
#include "slave/shell/checkpoint.h"

namespace proffer::agent {
namespace {

bool is_disk_full(const Result<void>& done) {
  return !done && done.error().code() == ErrorCode::kResourceExhausted;
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::unique_ptr<CheckpointLog> log,
                                   std::unique_ptr<CheckpointLog> identity, DiskReserve& reserve)
    : log_(std::move(log)), identity_(std::move(identity)), reserve_(reserve) {}

Result<bool> CheckpointWriter::write(const std::vector<proto::CheckpointRecord>& records,
                                     bool sync) {
  CHECK(!is_waiting_) << "retry() was not called";
  records_.clear();
  identity_records_.clear();
  sync_ = sync;
  for (const proto::CheckpointRecord& record : records) {
    records_.push_back(proto::encode_record(record));
    if (std::holds_alternative<proto::AgentIdentity>(record)) identity_records_ = {records_.back()};
  }
  return retry();
}

Result<bool> CheckpointWriter::retry() {
  Result<void> written = log_->append(records_);
  if (is_disk_full(written) && reserve_.give_up()) {
    LOG(WARNING) << "the disk is full; the checkpoint uses its reserved space bytes="
                 << reserve_.held_bytes();
    written = log_->append(records_);
  }
  is_waiting_ = is_disk_full(written);
  if (is_waiting_) {
    LOG_EVERY_N(ERROR, 60)
        << "the disk is full, and the agent waits; make room on the disk of the work directory: "
        << written.error().message();
    return false;
  }
  if (written && sync_) written = log_->sync();
  if (written && !identity_records_.empty()) {
    written = keep_identity(*identity_, identity_records_);
  }
  if (!written) return std::move(written).error();
  return true;
}

Result<void> CheckpointWriter::compact(const std::function<AgentSnapshot()>& snapshot, Time now) {
  if (!log_->wants_rewrite(live_bytes_) || now < compact_after_) return {};
  std::vector<std::string> records;
  live_bytes_ = 0;
  for (const proto::CheckpointRecord& record : snapshot().records) {
    records.push_back(proto::encode_record(record));
    live_bytes_ += records.back().size();
  }
  if (!log_->wants_rewrite(live_bytes_)) return {};
  Result<void> done = log_->rewrite(records);
  if (!is_disk_full(done)) return done;
  // The old log is unchanged, just longer than necessary.
  LOG(WARNING) << "the checkpoint cannot be rewritten now, it is tried later: "
               << done.error().message();
  compact_after_ = now + kCompactAgain;
  return {};
}

}  // namespace proffer::agent
