#include "frameworks/batch/executor/blocks.h"

#include <algorithm>

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::batch {
namespace {

// Fast, since packed data is unpacked soon, usually on the same machine.
constexpr int kLevel = 1;

}  // namespace

// --- the index ---------------------------------------------------------------------------------

void MapIndex::add(uint32_t partition, size_t bytes, uint32_t records, std::string_view summed) {
  close_until(partition);
  entry_.length += static_cast<int64_t>(bytes);
  entry_.records += records;
  checksum_.add(summed);
}

std::string MapIndex::take() {
  close_until(partitions_);
  return std::move(index_);
}

void MapIndex::close_until(uint32_t partition) {
  for (; open_ < partition; ++open_) {
    entry_.checksum = checksum_.value();
    index_ += encode_index_entry(entry_);
    entry_ = IndexEntry{.offset = entry_.offset + entry_.length, .is_packed = entry_.is_packed};
    checksum_ = Fnv1a64();
  }
}

// --- writing -----------------------------------------------------------------------------------

struct BlockWriter::Packer {
  struct Free {
    void operator()(ZSTD_CCtx* made) const { ::ZSTD_freeCCtx(made); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context{::ZSTD_createCCtx()};
};

BlockWriter::BlockWriter(int fd, MapIndex* index)
    : fd_(fd), index_(index), packer_(std::make_unique<Packer>()) {
  CHECK(packer_->context != nullptr) << "out of memory";
  raw_.reserve(kBlockBytes + 1);
}
BlockWriter::~BlockWriter() = default;

Result<bool> BlockWriter::put(uint32_t partition, std::string_view line) {
  const bool is_full = raw_.size() + line.size() + 1 > kBlockBytes;
  if (!raw_.empty() && (is_full || partition != open_.partition)) {
    if (Result<void> ok = close_block(); !ok) return std::move(ok).error();
  }
  open_.partition = partition;
  ++open_.records;
  raw_ += line;
  raw_ += '\n';
  return true;
}

Result<void> BlockWriter::finish() {
  if (raw_.empty()) return {};
  return close_block();
}

Result<void> BlockWriter::close_block() {
  stored_.resize(::ZSTD_compressBound(raw_.size()));
  const size_t size = ::ZSTD_compressCCtx(packer_->context.get(), stored_.data(), stored_.size(),
                                          raw_.data(), raw_.size(), kLevel);
  CHECK(::ZSTD_isError(size) == 0) << ::ZSTD_getErrorName(size);
  const std::string_view stored = std::string_view(stored_).substr(0, size);
  open_.raw_bytes = static_cast<uint32_t>(raw_.size());
  open_.stored_bytes = static_cast<uint32_t>(size);
  open_.checksum = block_checksum(open_, stored);
  const std::string header = encode_block_header(open_);
  for (const std::string_view part : {std::string_view(header), stored}) {
    if (WriteOutcome written = write_all(fd_, part); written.error) return *written.error;
  }
  if (index_ != nullptr) {
    index_->add(open_.partition, header.size() + size, open_.records, header);
  }
  open_ = {};
  raw_.clear();
  // One long line does not keep its memory for the rest of the file.
  if (raw_.capacity() > 4 * kBlockBytes) raw_ = std::string();
  if (stored_.capacity() > 4 * kBlockBytes) stored_ = std::string();
  return {};
}

Result<bool> LineWriter::put(uint32_t partition, std::string_view line) {
  for (const std::string_view part : {line, std::string_view("\n")}) {
    const WriteOutcome written = out_.write(part);
    if (written.error) return *written.error;
    if (written.closed) return false;
    if (index_ != nullptr) index_->add(partition, part.size(), 0, part);
  }
  if (index_ != nullptr) index_->add(partition, 0, 1, {});
  return true;
}

Result<void> LineWriter::finish() {
  if (const WriteOutcome flushed = out_.flush(); flushed.error) return *flushed.error;
  return {};
}

// --- reading -----------------------------------------------------------------------------------

struct Unpacker::Context {
  struct Free {
    void operator()(ZSTD_DCtx* made) const { ::ZSTD_freeDCtx(made); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context{::ZSTD_createDCtx()};
};

Unpacker::Unpacker() : context_(std::make_unique<Context>()) {
  CHECK(context_->context != nullptr) << "out of memory";
}
Unpacker::~Unpacker() = default;

Result<void> Unpacker::unpack(const BlockHeader& header, std::string_view stored,
                              std::string& raw) {
  if (block_checksum(header, stored) != header.checksum) {
    return Error::corruption("its checksum is wrong");
  }
  raw.resize(header.raw_bytes);
  const size_t size = ::ZSTD_decompressDCtx(context_->context.get(), raw.data(), raw.size(),
                                            stored.data(), stored.size());
  if (::ZSTD_isError(size) != 0 || size != raw.size() || raw.back() != '\n') {
    return Error::corruption("it cannot be decompressed");
  }
  return {};
}

BlockReader::BlockReader(Fd file, std::string path, Unpacker& unpacker)
    : file_(std::move(file)), path_(std::move(path)), unpacker_(unpacker) {}

Error BlockReader::damaged(std::string_view what) const {
  return Error::corruption(text("the block at byte ", at_, " of ", quoted(path_), ": ", what));
}

Result<bool> BlockReader::next() {
  if (begin_ == raw_.size()) {
    const Result<bool> more = read_block();
    if (!more || !*more) return more;
  }
  const size_t newline = raw_.find('\n', begin_);
  line_ = std::string_view(raw_).substr(begin_, newline - begin_);
  begin_ = newline + 1;
  return true;
}

Result<bool> BlockReader::read_block() {
  at_ = behind_;
  const auto read_all = [&](size_t size) -> Result<size_t> {
    stored_.resize(size);
    size_t got = 0;
    while (got < size) {
      const Result<size_t> some = read_some(file_.get(), stored_.data() + got, size - got);
      if (!some) return some.error();
      if (*some == 0) break;
      got += *some;
    }
    return got;
  };
  Result<size_t> got = read_all(kBlockHeaderBytes);
  if (!got) return std::move(got).error();
  if (*got == 0) return false;
  const Result<BlockHeader> header = decode_block_header(std::string_view(stored_).substr(0, *got));
  if (!header) return damaged("its header is damaged");
  header_ = *header;
  got = read_all(header_.stored_bytes);
  if (!got) return std::move(got).error();
  if (*got < header_.stored_bytes) return damaged("the file ends inside it");
  if (raw_.capacity() > 4 * kBlockBytes) raw_ = std::string();
  if (Result<void> ok = unpacker_.unpack(header_, stored_, raw_); !ok) {
    return damaged(ok.error().message());
  }
  if (stored_.capacity() > 4 * kBlockBytes) stored_ = std::string();
  begin_ = 0;
  behind_ += static_cast<int64_t>(kBlockHeaderBytes + header_.stored_bytes);
  return true;
}

Result<bool> PlainReader::next() {
  const Result<std::optional<std::string_view>> line = lines_.next();
  if (!line) return line.error();
  if (!*line) return false;
  line_ = **line;
  return true;
}

}  // namespace proffer::batch
