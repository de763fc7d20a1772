// Read Fetching::one first: a file is obtained in the work folder, from the cache, this machine or
// the network, and then placed. This process has only the rights of the task's user, so the kernel
// refuses a file:// that the user cannot read.

#include "slave/fetcher/fetch.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fetch_uri.h"
#include "common/text.h"
#include "net/fd.h"
#include "slave/fetcher/room.h"
#include "slave/fetcher/sha256.h"
#include "slave/fetcher/unpack.h"

namespace proffer::fetcher {
namespace {

constexpr size_t kCopyBytes = 256 * 1024;
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0644;
constexpr mode_t kProgramMode = 0755;
constexpr int kEnter = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error failed(std::string_view what, int error) {
  const std::string message = text(what, ": ", std::strerror(error));
  return error == ENOSPC || error == EDQUOT ? Error::resource_exhausted(message)
                                            : Error::unavailable(message);
}

// The file and its checksum.
struct Obtained {
  Fd fd = {};
  std::string sum = {};
};

class Fetching {
 public:
  Fetching(const Plan& plan, int sandbox, const TransferOptions& options)
      : plan_(plan),
        sandbox_(sandbox),
        options_(options),
        room_(sandbox, plan.bytes_max, plan.disk_reserve) {}

  Result<void> all() {
    if (mkdirat(sandbox_, kWorkFolder, kFolderMode) != 0 && errno != EEXIST) {
      return failed("the sandbox cannot be written", errno);
    }
    work_ = Fd(openat(sandbox_, kWorkFolder, kEnter));
    if (work_.get() < 0) return failed("the folder of fetched files cannot be entered", errno);
    unlinkat(work_.get(), kErrorFile, 0);  // From an earlier attempt.
    bool is_any_kept = false;
    for (size_t i = 0; i < plan_.items.size(); ++i) {
      const Item& item = plan_.items[i];
      if (Result<void> done = one(item, std::to_string(i)); !done) {
        return std::move(done).error().in(text("cannot fetch ", quoted(shown_uri(item.uri))));
      }
      is_any_kept |= !item.key.empty();
    }
    if (!is_any_kept) unlinkat(sandbox_, kWorkFolder, AT_REMOVEDIR);
    return {};
  }

 private:
  Result<void> one(const Item& item, const std::string& number) {
    const Result<FetchUri> uri = parse_fetch_uri(item.uri);
    if (!uri) return uri.error();
    const std::string& name = item.key.empty() ? number : item.key;
    Result<Obtained> file = obtain(item, *uri, name);
    if (!file) return std::move(file).error();
    if (!item.sha256.empty() && file->sum != item.sha256) {
      return Error::failed_precondition(text("its sha256 is ", file->sum, ", not ", item.sha256));
    }
    if (Result<void> placed = place(item, name, file->fd); !placed) return placed;
    return {};
  }

  Result<Obtained> obtain(const Item& item, const FetchUri& uri, const std::string& name) {
    if (!item.key.empty() && !plan_.cache.empty()) {
      Result<Obtained> cached = copy(text(plan_.cache, "/", item.key), name);
      // A cached file that was altered or just removed is fetched.
      if (cached && cached->sum == item.sha256) return cached;
      if (!cached && cached.error().code() == ErrorCode::kResourceExhausted) return cached;
    }
    if (uri.scheme == FetchUri::Scheme::kFile) return copy(uri.path, name);
    Result<Fd> to = make(name);
    if (!to) return std::move(to).error();
    Sha256 sum;
    if (Result<void> done = transfer(item.uri, to->get(), room_, sum, options_); !done) {
      return std::move(done).error();
    }
    return Obtained{*std::move(to), sum.take()};
  }

  // Never an existing file, which may have a second name.
  Result<Fd> make(const std::string& name) const {
    unlinkat(work_.get(), name.c_str(), 0);
    Fd fd(openat(work_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 kFileMode));
    if (fd.get() < 0) return failed("its file cannot be created", errno);
    return fd;
  }

  Result<Obtained> copy(const std::string& path, const std::string& name) {
    // It may be a pipe, and open would block.
    const Fd from(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status {};
    if (from.get() < 0 || fstat(from.get(), &status) != 0) {
      return failed(text("user ", static_cast<int64_t>(geteuid()), " cannot read it"), errno);
    }
    if (!S_ISREG(status.st_mode)) return Error::invalid_argument("it is not a regular file");
    Result<Fd> to = make(name);
    if (!to) return std::move(to).error();
    const auto buffer = std::make_unique<char[]>(kCopyBytes);
    Sha256 sum;
    int64_t offset = 0;
    while (true) {
      const ssize_t got = read(from.get(), buffer.get(), kCopyBytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed("it cannot be read", errno);
      if (got == 0) break;
      const auto size = static_cast<size_t>(got);
      Result<void> done = room_.take(size);
      if (done) done = write_at(to->get(), buffer.get(), size, offset);
      if (!done) return std::move(done).error();
      sum.add(buffer.get(), size);
      offset += got;
    }
    return Obtained{*std::move(to), sum.take()};
  }

  // Moves the file to its name in the sandbox, replacing an existing file. Files with a key stay in
  // the work folder too.
  Result<void> place(const Item& item, const std::string& name, const Fd& file) {
    if (item.extract) {
      if (Result<void> done = extract(item, file); !done) return done;
      if (item.key.empty()) unlinkat(work_.get(), name.c_str(), 0);
      return {};
    }
    if (fchmod(file.get(), item.executable ? kProgramMode : kFileMode) != 0) {
      return failed("its mode cannot be set", errno);
    }
    std::string from = name;
    if (!item.key.empty()) {
      from = "~" + name;
      unlinkat(work_.get(), from.c_str(), 0);
      if (linkat(work_.get(), name.c_str(), work_.get(), from.c_str(), 0) != 0) {
        return failed("it cannot be linked", errno);
      }
    }
    if (renameat(work_.get(), from.c_str(), sandbox_, item.name.c_str()) != 0) {
      return failed(text("it cannot be named ", quoted(item.name)), errno);
    }
    // Two names of the same file cannot be exchanged.
    unlinkat(work_.get(), from.c_str(), 0);
    return {};
  }

  Result<void> extract(const Item& item, const Fd& file) {
    if (lseek(file.get(), 0, SEEK_SET) != 0) return failed("it cannot be read", errno);
    if (item.name.empty()) return unpack(file.get(), sandbox_, room_);
    if (mkdirat(sandbox_, item.name.c_str(), kProgramMode) != 0 && errno != EEXIST) {
      return failed(text("the folder ", quoted(item.name), " cannot be created"), errno);
    }
    const Fd into(openat(sandbox_, item.name.c_str(), kEnter));
    if (into.get() < 0) return failed(text("the folder ", quoted(item.name)), errno);
    return unpack(file.get(), into.get(), room_);
  }

  const Plan& plan_;
  const int sandbox_;
  const TransferOptions& options_;
  Room room_;
  Fd work_;
};

}  // namespace

Result<void> fetch_all(const Plan& plan, int sandbox, const TransferOptions& options) {
  return Fetching(plan, sandbox, options).all();
}

}  // namespace proffer::fetcher
