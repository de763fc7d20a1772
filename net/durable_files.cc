#include "net/durable_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer {
namespace {

constexpr std::string_view kSum = "sum ";

Error cannot(std::string_view what, const std::string& path) {
  return Error::unavailable(text("cannot ", what, " ", quoted(path), ": ", std::strerror(errno)));
}

// FNV-1a: a single changed bit always changes the sum.
std::string sum_of(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  std::array<char, 17> digits = {};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

// Writes and flushes only the file with this name.
Result<void> write_beside(const std::string& beside, std::string_view bytes, mode_t mode) {
  ::unlink(beside.c_str());  // An earlier one may have another mode.
  const Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) return cannot("write", beside);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      Error error = cannot("write", beside);
      ::unlink(beside.c_str());
      return error;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(file.get()) == 0) return {};
  Error error = cannot("flush", beside);
  ::unlink(beside.c_str());
  return error;
}

}  // namespace

Result<void> write_file_durably(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string beside = path + ".new";
  if (Result<void> written = write_beside(beside, bytes, mode); !written) return written;
  if (::rename(beside.c_str(), path.c_str()) != 0) return cannot("rename to", path);
  if (!sync_folder_of(path)) return cannot("flush the directory of", path);
  return {};
}

Result<void> make_file_durably(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string beside = path + ".new";
  if (Result<void> written = write_beside(beside, bytes, mode); !written) return written;
  // link() does not replace an existing file.
  const bool is_made = ::link(beside.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(beside.c_str());
  errno = error;
  if (!is_made && error == EEXIST) {
    return Error::already_exists(text(quoted(path), " is there already"));
  }
  if (!is_made) return cannot("make", path);
  if (!sync_folder_of(path)) return cannot("flush the directory of", path);
  return {};
}

bool sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory.get() >= 0 && ::fsync(directory.get()) == 0;
}

std::string with_sum(std::string_view lines, SumPlace place) {
  const size_t at = place == SumPlace::kLast ? lines.size() : lines.find('\n') + 1;
  return text(lines.substr(0, at), kSum, sum_of(lines), "\n", lines.substr(at));
}

bool is_sum_right(std::string_view bytes) {
  const size_t found = bytes.find(text("\n", kSum));
  if (found == std::string_view::npos) return true;
  const size_t begin = found + 1;
  const size_t end = std::min(bytes.find('\n', begin), bytes.size());
  const std::string_view sum = bytes.substr(begin + kSum.size(), end - begin - kSum.size());
  const std::string rest =
      text(bytes.substr(0, begin), bytes.substr(std::min(end + 1, bytes.size())));
  return sum == sum_of(rest);
}

}  // namespace proffer
