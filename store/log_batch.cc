#include "store/log_batch.h"

#include "common/limits.h"
#include "common/text.h"
#include "store/log_frame.h"

namespace proffer {

LogBatch::LogBatch(const std::vector<std::string>& records) {
  for (const std::string& record : records) add(record);
}

void LogBatch::reserve(size_t records, size_t bytes) {
  records_.reserve(records);
  bytes_.reserve(records * kFrameBytes + bytes);
}

std::string& LogBatch::begin() {
  bytes_.append(kFrameBytes, '\0');
  records_.push_back({.begin = bytes_.size()});
  return bytes_;
}

void LogBatch::end() {
  Span& record = records_.back();
  record.size = bytes_.size() - record.begin;
  const size_t frame = record.begin - kFrameBytes;
  set_u32(bytes_, frame + kFrameLengthAt, static_cast<uint32_t>(record.size));
  const std::string_view bytes = bytes_;
  set_u32(bytes_, frame + kFrameChecksumAt,
          checksum_of_record(bytes.substr(frame + kFrameLengthAt, 4), bytes.substr(record.begin)));
}

void LogBatch::add(std::string_view record) {
  begin() += record;
  end();
}

std::string_view LogBatch::record(size_t i) const {
  return std::string_view(bytes_).substr(records_[i].begin, records_[i].size);
}

Result<std::string_view> LogBatch::bytes_for(uint32_t mark) {
  for (const Span& record : records_) {
    if (record.size > kCheckpointRecordBytesMax) {
      return Error::invalid_argument(text("a checkpoint record has at most ",
                                          kCheckpointRecordBytesMax, " bytes, not ", record.size));
    }
    set_u32(bytes_, record.begin - kFrameBytes, mark);
  }
  return std::string_view(bytes_);
}

}  // namespace proffer
