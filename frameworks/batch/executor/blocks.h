#pragma once

// Blocks of lines (core/shuffle.h) in files: map outputs, and the runs that a sort leaves on disk.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"
#include "frameworks/batch/core/fnv.h"
#include "frameworks/batch/core/shuffle.h"
#include "frameworks/batch/core/work.h"
#include "frameworks/batch/executor/lines.h"
#include "frameworks/batch/executor/posix.h"

namespace proffer::batch {

// Makes the entries of map.index while map.out is written.
class MapIndex {
 public:
  MapIndex(uint32_t partitions, bool is_packed) : partitions_(partitions) {
    entry_.is_packed = is_packed;
  }
  // `bytes` bytes of a partition were written. Partitions must not fall. `summed` goes into the
  // checksum: the bytes, or the header of the block.
  void add(uint32_t partition, size_t bytes, uint32_t records, std::string_view summed);
  // The index of all partitions. Afterwards bytes() is the size of map.out.
  std::string take();
  int64_t bytes() const { return entry_.offset; }

 private:
  void close_until(uint32_t partition);

  uint32_t partitions_;
  uint32_t open_ = 0;  // the partition that is being written
  IndexEntry entry_;
  Fnv1a64 checksum_;
  std::string index_;
};

// Packs lines into blocks. Partitions must not fall.
class BlockWriter : public LineSink {
 public:
  // `index`, if any, must outlive it.
  explicit BlockWriter(int fd, MapIndex* index = nullptr);
  ~BlockWriter() override;
  Result<bool> put(uint32_t partition, std::string_view line) override;
  // Call it after the last line.
  Result<void> finish();

 private:
  Result<void> close_block();

  struct Packer;
  int fd_;
  MapIndex* index_;
  std::unique_ptr<Packer> packer_;
  BlockHeader open_;
  std::string raw_;
  std::string stored_;
};

// Unpacks blocks, one at a time, for all readers of a merge. One thread.
class Unpacker {
 public:
  Unpacker();
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  // `raw` receives the lines of a block. Errors: kCorruption.
  Result<void> unpack(const BlockHeader& header, std::string_view stored, std::string& raw);

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Reads the lines of a file of blocks. Holds one block. Errors: kCorruption names the file and the
// place of the damaged block.
class BlockReader : public LineSource {
 public:
  BlockReader(Fd file, std::string path, Unpacker& unpacker);
  Result<bool> next() override;
  uint32_t partition() const override { return header_.partition; }
  std::string_view line() const override { return line_; }

 private:
  Result<bool> read_block();
  Error damaged(std::string_view what) const;

  Fd file_;
  std::string path_;
  Unpacker& unpacker_;
  int64_t at_ = 0;      // place of the block
  int64_t behind_ = 0;  // place of the next block
  BlockHeader header_;
  std::string stored_;
  std::string raw_;
  size_t begin_ = 0;  // start of the lines that are not yet returned
  std::string_view line_;
};

// Reads the lines of a file of one partition without blocks.
class PlainReader : public LineSource {
 public:
  PlainReader(Fd file, uint32_t partition)
      : file_(std::move(file)), partition_(partition), lines_(file_.get(), kBlockBytes) {}
  Result<bool> next() override;
  uint32_t partition() const override { return partition_; }
  std::string_view line() const override { return line_; }

 private:
  Fd file_;
  uint32_t partition_;
  LineReader lines_;
  std::string_view line_;
};

// Writes lines with their newlines. It wants no more when its reader has gone.
class LineWriter : public LineSink {
 public:
  explicit LineWriter(int fd, MapIndex* index = nullptr) : out_(fd), index_(index) {}
  Result<bool> put(uint32_t partition, std::string_view line) override;
  Result<void> finish();

 private:
  BufferedWriter out_;
  MapIndex* index_;
};

}  // namespace proffer::batch
