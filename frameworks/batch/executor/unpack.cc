// Reads input files, plain, gzip or Zstandard. A packed file may have several members (frames) one
// after the other, as `cat a.gz b.gz` makes them.

#include "frameworks/batch/executor/unpack.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/executor/posix.h"

namespace proffer::batch {
namespace {

constexpr size_t kBufferBytes = 256 * 1024;

class PlainInput : public InputReader {
 public:
  PlainInput(Fd file, std::string path, int64_t offset)
      : file_(std::move(file)), path_(std::move(path)), at_(offset), buffer_(kBufferBytes, '\0') {}

  Result<std::string_view> next() override {
    for (;;) {
      const ssize_t got =
          ::pread(file_.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(at_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error(text("reading ", quoted(path_)), errno);
      at_ += got;
      read_ += got;
      return std::string_view(buffer_.data(), static_cast<size_t>(got));
    }
  }
  int64_t bytes_read() const override { return read_; }

 private:
  Fd file_;
  std::string path_;
  int64_t at_;
  int64_t read_ = 0;
  std::string buffer_;
};

// The common part: packed bytes come from the file, unpacked bytes go into a buffer.
class PackedInput : public InputReader {
 public:
  PackedInput(Fd file, std::string path)
      : file_(std::move(file), path, 0), path_(std::move(path)), out_(kBufferBytes, '\0') {}

  Result<std::string_view> next() override {
    for (;;) {
      if (packed_.empty() && !at_end_) {
        Result<std::string_view> more = file_.next();
        if (!more) return std::move(more).error();
        packed_ = *more;
        at_end_ = packed_.empty();
      }
      if (packed_.empty() && is_between_) return std::string_view();
      const size_t before = packed_.size();
      const Result<size_t> size = unpack(packed_, out_, is_between_);
      if (!size) return damaged(size.error().message());
      if (*size > 0) return std::string_view(out_).substr(0, *size);
      if (at_end_ && packed_.size() == before && !is_between_) {
        return damaged("the file ends too early");
      }
    }
  }
  int64_t bytes_read() const override {
    return file_.bytes_read() - static_cast<int64_t>(packed_.size());
  }

 protected:
  // Takes bytes from the front of `packed` and appends their unpacked form to `out`. `is_between`:
  // no member is begun.
  virtual Result<size_t> unpack(std::string_view& packed, std::string& out, bool& is_between) = 0;

 private:
  Error damaged(std::string_view why) const {
    return Error::corruption(
               text("input ", quoted(path_), " is damaged at byte ", bytes_read(), ": ", why))
        .with_hint("repair or remove it, or read it as it is with decompress: false");
  }

  PlainInput file_;
  std::string path_;
  std::string out_;
  std::string_view packed_;  // of the file, not yet taken
  bool at_end_ = false;
  bool is_between_ = true;
};

class GzipInput : public PackedInput {
 public:
  GzipInput(Fd file, std::string path) : PackedInput(std::move(file), std::move(path)) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    CHECK(::inflateInit2(&stream_, kGzipOnly) == Z_OK) << "out of memory";
  }
  ~GzipInput() override { ::inflateEnd(&stream_); }

 private:
  Result<size_t> unpack(std::string_view& packed, std::string& out, bool& is_between) override {
    if (is_between) {
      // Zeros after the last member are padding of block devices.
      if (has_member_) {
        packed.remove_prefix(std::min(packed.find_first_not_of('\0'), packed.size()));
      }
      if (packed.empty()) return size_t{0};
      if (::inflateReset(&stream_) != Z_OK) return Error::corruption("it cannot be read");
      is_between = false;
      has_member_ = true;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    packed.remove_prefix(packed.size() - stream_.avail_in);
    if (result == Z_STREAM_END) {
      is_between = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Error::corruption(stream_.msg != nullptr ? stream_.msg : "not a gzip file");
    }
    return out.size() - stream_.avail_out;
  }

  z_stream stream_ = {};
  bool has_member_ = false;
};

class ZstdInput : public PackedInput {
 public:
  ZstdInput(Fd file, std::string path) : PackedInput(std::move(file), std::move(path)) {
    CHECK(stream_ != nullptr) << "out of memory";
  }

 private:
  Result<size_t> unpack(std::string_view& packed, std::string& out, bool& is_between) override {
    ZSTD_inBuffer from = {packed.data(), packed.size(), 0};
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    const size_t result = ::ZSTD_decompressStream(stream_.get(), &to, &from);
    packed.remove_prefix(from.pos);
    if (::ZSTD_isError(result) != 0) return Error::corruption(::ZSTD_getErrorName(result));
    is_between = result == 0;
    return to.pos;
  }

  struct Free {
    void operator()(ZSTD_DStream* stream) const { ::ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_{::ZSTD_createDStream()};
};

}  // namespace

Result<std::unique_ptr<InputReader>> InputReader::open(const Chunk& chunk, int64_t offset) {
  Result<Fd> file = open_to_read(chunk.path);
  if (!file) return std::move(file).error();
  using Reader = std::unique_ptr<InputReader>;
  switch (chunk.codec) {
    case Codec::kNone:
      break;
    case Codec::kGzip:
      return Reader(std::make_unique<GzipInput>(*std::move(file), chunk.path));
    case Codec::kZstd:
      return Reader(std::make_unique<ZstdInput>(*std::move(file), chunk.path));
  }
  return Reader(std::make_unique<PlainInput>(*std::move(file), chunk.path, offset));
}

}  // namespace proffer::batch
