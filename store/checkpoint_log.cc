// The agent's log. Read `scan` first: it interprets the bytes of a file, both for open() and for
// salvage(). Numbers are little-endian.
//
//   header   "proffckp"  version u32  mark u32  CRC-32C of the 16 bytes before u32
//   record   mark u32    length u32   CRC-32C of length and payload u32   payload
//
// The mark makes it possible to find a valid record after damage. So a crash during the last write
// (the bytes are cut) is distinguished from damage in the middle (the file is refused). Each file
// has a random mark, because payloads come from frameworks: a framework that knew the mark could
// put its own records into a payload, or so many beginnings of records that examining them takes
// minutes.

#include "store/checkpoint_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/text.h"
#include "store/crc32c.h"

namespace proffer {
namespace {

constexpr std::string_view kMagic = "proffckp";
constexpr uint32_t kVersion = 2;
constexpr size_t kMarkAt = 12;  // in the header
constexpr size_t kHeaderBytes = 20;
constexpr size_t kFrameBytes = 12;  // of a record, before its payload
constexpr size_t kFrameLengthAt = 4;
constexpr size_t kFrameChecksumAt = 8;
constexpr int kDamagedFilesMax = 1'000;  // kept side by side; then the operator must remove some

void put_u32(std::string& out, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

uint32_t get_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  }
  return value;
}

// `length`: the four bytes of a frame that contain the size of `payload`.
uint32_t checksum_of(std::string_view length, std::string_view payload) {
  return crc32c(payload, crc32c(length));
}

Result<std::string> in_frames(const std::vector<std::string>& records, uint32_t mark) {
  size_t size = 0;
  for (const std::string& record : records) {
    if (record.size() > kCheckpointRecordBytesMax) {
      return Error::invalid_argument(text("a checkpoint record has at most ",
                                          kCheckpointRecordBytesMax, " bytes, not ",
                                          record.size()));
    }
    size += kFrameBytes + record.size();
  }
  std::string out;
  out.reserve(size);
  for (const std::string& record : records) {
    put_u32(out, mark);
    put_u32(out, static_cast<uint32_t>(record.size()));
    const std::string_view length = std::string_view(out).substr(out.size() - 4);
    put_u32(out, checksum_of(length, record));
    out += record;
  }
  return out;
}

std::string header_bytes(uint32_t mark) {
  std::string out(kMagic);
  put_u32(out, kVersion);
  put_u32(out, mark);
  put_u32(out, crc32c(out));
  return out;
}

// The payload of the valid record that begins at `at`, if there is one.
std::optional<std::string_view> record_at(std::string_view file, uint32_t mark, size_t at) {
  if (file.size() - at < kFrameBytes || get_u32(file, at) != mark) return std::nullopt;
  const size_t length = get_u32(file, at + kFrameLengthAt);
  if (length > kCheckpointRecordBytesMax || length > file.size() - at - kFrameBytes) {
    return std::nullopt;
  }
  const std::string_view payload = file.substr(at + kFrameBytes, length);
  const uint32_t checksum = checksum_of(file.substr(at + kFrameLengthAt, 4), payload);
  if (checksum != get_u32(file, at + kFrameChecksumAt)) return std::nullopt;
  return payload;
}

// The place of the next valid record at or after `from`, or npos.
size_t next_record(std::string_view file, uint32_t mark, size_t from) {
  std::string bytes;
  put_u32(bytes, mark);
  for (size_t at = file.find(bytes, from); at != std::string_view::npos;
       at = file.find(bytes, at + 1)) {
    if (record_at(file, mark, at)) return at;
  }
  return std::string_view::npos;
}

enum class Outcome { kWhole, kTornTail, kDamaged, kOtherVersion };

struct Scan {
  Outcome outcome = Outcome::kWhole;
  uint32_t mark = 0;
  std::vector<std::string> records = {};  // up to the first invalid byte
  size_t valid_bytes = 0;                 // their size, with the header
};

Scan scan(std::string_view file) {
  Scan result;
  // Files of version 1 had no mark, and their checksum in its place.
  const auto sealed = [&](size_t bytes) {
    return file.size() >= bytes + 4 && crc32c(file.substr(0, bytes)) == get_u32(file, bytes);
  };
  const std::string expected = header_bytes(0).substr(0, kMarkAt);
  if (file.substr(0, kMarkAt) != expected || !sealed(kHeaderBytes - 4)) {
    if (file.substr(0, kMagic.size()) == kMagic && (sealed(kMarkAt) || sealed(kHeaderBytes - 4))) {
      result.outcome = Outcome::kOtherVersion;
    } else {
      // A crash during creation leaves a part of the header; any other content is not a log.
      const bool begun =
          file.size() < kHeaderBytes &&
          file.substr(0, kMarkAt) == std::string_view(expected).substr(0, file.size());
      result.outcome = begun ? Outcome::kTornTail : Outcome::kDamaged;
    }
    return result;
  }
  result.mark = get_u32(file, kMarkAt);
  size_t at = kHeaderBytes;
  while (at < file.size()) {
    const std::optional<std::string_view> payload = record_at(file, result.mark, at);
    if (!payload) break;
    result.records.emplace_back(*payload);
    at += kFrameBytes + payload->size();
  }
  result.valid_bytes = at;
  if (at < file.size()) {
    const bool more = next_record(file, result.mark, at) != std::string_view::npos;
    result.outcome = more ? Outcome::kDamaged : Outcome::kTornTail;
  }
  return result;
}

Error failure(std::string_view what, const std::string& path, int code) {
  const std::string message =
      text("cannot ", what, " checkpoint log ", quoted(path), ": ", std::strerror(code));
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) {
    return Error::resource_exhausted(message).with_hint("make room on the disk");
  }
  return Error::unavailable(message);
}

// A file descriptor that the destructor closes.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Returns 0 or the errno. One write() unless the system writes less.
int write_at(int fd, std::string_view bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(written));
    at += static_cast<uint64_t>(written);
  }
  return 0;
}

Result<std::string> read_all(int fd, const std::string& path) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return failure("read", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error::unavailable(text("checkpoint log ", quoted(path), " is not a regular file"));
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t read = 0;
  while (read < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + read, bytes.size() - read, static_cast<off_t>(read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure("read", path, errno);
    if (got == 0) break;
    read += static_cast<size_t>(got);
  }
  bytes.resize(read);
  return bytes;
}

std::string damaged_path(const std::string& path, int n) { return text(path, ".damaged-", n); }

// The number of the newest damaged file, 0 if there is none.
int newest_damaged(const std::string& path) {
  int n = 0;
  while (n < kDamagedFilesMax && ::access(damaged_path(path, n + 1).c_str(), F_OK) == 0) ++n;
  return n;
}

// Renames a refused file, and reports this.
Error set_aside(const std::string& path) {
  const int n = newest_damaged(path) + 1;
  if (n > kDamagedFilesMax) {
    return Error::corruption(text("checkpoint log ", quoted(path), " is damaged"))
        .with_hint(text("remove some of the ", kDamagedFilesMax, " older damaged ones beside it"));
  }
  const std::string aside = damaged_path(path, n);
  if (::rename(path.c_str(), aside.c_str()) != 0) return failure("set aside", path, errno);
  return Error::corruption(text("checkpoint log ", quoted(path), " is damaged; it was renamed to ",
                                quoted(aside)))
      .with_hint(
          "tasks that only it names are lost; the agent creates a new log at its next start");
}

// Returns false with errno. After a power loss a file is found only if its directory names it.
bool sync_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.get() >= 0 && ::fsync(folder.get()) == 0;
}

// A random mark for a new file, which no framework can know in advance.
Result<uint32_t> random_mark(const std::string& path) {
  uint32_t mark = 0;
  if (::getrandom(&mark, sizeof mark, 0) != sizeof mark) return failure("begin", path, errno);
  return mark;
}

}  // namespace

Result<CheckpointLog::Opened> CheckpointLog::open(const std::string& path) {
  // The rest of a crashed rewrite(): it was never renamed, so it never became valid.
  ::unlink((path + ".tmp").c_str());

  File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return failure("open", path, errno);
  Result<std::string> bytes = read_all(file.get(), path);
  if (!bytes) return std::move(bytes).error();

  Scan found = scan(*bytes);
  if (found.outcome == Outcome::kDamaged) return set_aside(path);
  if (found.outcome == Outcome::kOtherVersion) {
    return Error::unsupported(text("checkpoint log ", quoted(path), " has version ",
                                   get_u32(*bytes, 8), ", this program knows version ", kVersion))
        .with_hint("start an agent of the version that wrote it");
  }
  if (::ftruncate(file.get(), static_cast<off_t>(found.valid_bytes)) != 0) {
    return failure("cut", path, errno);
  }
  Opened opened;
  opened.cut_bytes = bytes->size() - found.valid_bytes;
  opened.records = std::move(found.records);
  uint64_t size = found.valid_bytes;
  if (size == 0) {
    const Result<uint32_t> mark = random_mark(path);
    if (!mark) return mark.error();
    found.mark = *mark;
    const std::string header = header_bytes(found.mark);
    if (int code = write_at(file.get(), header, 0); code != 0) return failure("begin", path, code);
    size = header.size();
  }
  opened.log.reset(new CheckpointLog(path, file.release(), size, found.mark));
  return opened;
}

Result<std::vector<std::string>> CheckpointLog::salvage(const std::string& path) {
  const int n = newest_damaged(path);
  if (n == 0) return Error::not_found(text("no damaged checkpoint log beside ", quoted(path)));
  const std::string aside = damaged_path(path, n);
  File file(::open(aside.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return failure("open", aside, errno);
  Result<std::string> bytes = read_all(file.get(), aside);
  if (!bytes) return std::move(bytes).error();
  // The mark is in the header and, if that is damaged too, before the first record.
  for (const size_t place : {kMarkAt, kHeaderBytes}) {
    if (bytes->size() < place + 4) break;
    const uint32_t mark = get_u32(*bytes, place);
    std::vector<std::string> records;
    size_t at = next_record(*bytes, mark, 0);
    while (at != std::string::npos) {
      const std::string_view payload = *record_at(*bytes, mark, at);
      records.emplace_back(payload);
      at = next_record(*bytes, mark, at + kFrameBytes + payload.size());
    }
    if (!records.empty()) return records;
  }
  return std::vector<std::string>();
}

Result<CheckpointLog::Readable> CheckpointLog::read(const std::string& path, uint64_t bytes_max) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0 && errno == ENOENT)
    return Error::not_found(text("there is no log file ", quoted(path)));
  if (file.get() < 0) return failure("open", path, errno);
  Result<std::string> bytes = read_all(file.get(), path);
  if (!bytes) return std::move(bytes).error();
  if (bytes->size() > bytes_max) bytes->resize(bytes_max);

  Scan found = scan(*bytes);
  Readable readable{std::move(found.records), bytes->size() - found.valid_bytes};
  if (found.outcome != Outcome::kDamaged || bytes->size() < kHeaderBytes) return readable;
  // A header that is damaged elsewhere may still have the mark.
  const uint32_t mark = get_u32(*bytes, kMarkAt);
  size_t at = next_record(*bytes, mark, found.valid_bytes);
  while (at != std::string::npos) {
    const std::string_view payload = *record_at(*bytes, mark, at);
    readable.records.emplace_back(payload);
    readable.damaged_bytes -= kFrameBytes + payload.size();
    at = next_record(*bytes, mark, at + kFrameBytes + payload.size());
  }
  return readable;
}

CheckpointLog::CheckpointLog(std::string path, int fd, uint64_t size, uint32_t mark)
    : path_(std::move(path)), fd_(fd), size_(size), mark_(mark) {}

CheckpointLog::~CheckpointLog() { ::close(fd_); }

// Whether the file ends with the last whole record, after one more attempt to cut it there.
Result<void> CheckpointLog::ready() {
  if (failed_) return *failed_;
  if (!ragged_) return {};
  if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) return failure("cut", path_, errno);
  ragged_ = false;
  return {};
}

Result<void> CheckpointLog::append(const std::vector<std::string>& records) {
  if (Result<void> good = ready(); !good) return good;
  const Result<std::string> bytes = in_frames(records, mark_);
  if (!bytes) return bytes.error();
  if (int code = write_at(fd_, *bytes, size_); code != 0) {
    ragged_ = true;
    (void)ready();  // If it cannot be cut now, the next append tries again first.
    return failure("write", path_, code);
  }
  size_ += bytes->size();
  return {};
}

Result<void> CheckpointLog::sync() {
  if (Result<void> good = ready(); !good) return good;
  if (::fdatasync(fd_) != 0 || (renamed_ && !sync_directory_of(path_))) {
    failed_ = Error::unavailable(
        text("cannot flush checkpoint log ", quoted(path_), ": ", std::strerror(errno)));
    return *failed_;
  }
  renamed_ = false;
  return {};
}

Result<void> CheckpointLog::rewrite(const std::vector<std::string>& records) {
  return replace(records, mark_);
}

Result<void> CheckpointLog::renew(const std::vector<std::string>& records) {
  const Result<uint32_t> mark = random_mark(path_);
  if (!mark) return mark.error();
  return replace(records, *mark);
}

Result<void> CheckpointLog::replace(const std::vector<std::string>& records, uint32_t mark) {
  if (failed_) return *failed_;
  const Result<std::string> bytes = in_frames(records, mark);
  if (!bytes) return bytes.error();
  const std::string whole = text(header_bytes(mark), *bytes);
  const std::string temporary = path_ + ".tmp";

  File file(::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return failure("rewrite", temporary, errno);
  int code = write_at(file.get(), whole, 0);
  // Flushed before it replaces the other file: a rename may reach the disk before the bytes do.
  if (code == 0 && ::fdatasync(file.get()) != 0) code = errno;
  if (code == 0 && ::rename(temporary.c_str(), path_.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return failure("rewrite", path_, code);
  }
  ::close(fd_);
  fd_ = file.release();
  size_ = whole.size();
  mark_ = mark;
  ragged_ = false;
  renamed_ = true;
  return {};
}

bool CheckpointLog::wants_rewrite(uint64_t live_bytes) const {
  return size_ > kCheckpointRewriteBytes && size_ / 2 > live_bytes;
}

}  // namespace proffer
