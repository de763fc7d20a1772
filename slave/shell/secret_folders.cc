#include "slave/shell/secret_folders.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::agent {
namespace {

constexpr mode_t kRootMode = 0711;  // its users may enter their own directories
constexpr mode_t kOwn = 0700;

// FNV-1a: agents on one machine have different work directories.
uint64_t digest(std::string_view bytes) {
  uint64_t value = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) {
    value ^= static_cast<unsigned char>(byte);
    value *= 0x100000001b3ULL;
  }
  return value;
}

std::string digits(uint64_t value) {
  char out[16];
  const auto [end, error] = std::to_chars(out, out + sizeof out, value, 16);
  return std::string(out, end);
}

Error cannot(std::string_view what, const std::string& path) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT || errno == ENOMEM;
  return Error(is_full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
               text("cannot ", what, " ", quoted(path), ": ", std::strerror(errno)));
}

}  // namespace

SecretFolders::SecretFolders(std::string shm, std::string_view work_dir)
    : shm_(std::move(shm)),
      root_(text(shm_, "/proffer-", geteuid(), "-", digits(digest(work_dir)))) {}

Result<void> SecretFolders::make_root() const {
  struct statfs system = {};
  if (statfs(shm_.c_str(), &system) != 0) return cannot("check", shm_);
  if (system.f_type != TMPFS_MAGIC) {
    return Error::failed_precondition(
        text(quoted(shm_),
             " of this machine is not a tmpfs, and files of secrets must be in memory: mount a "
             "tmpfs there, or use variables for secrets"));
  }
  if (mkdir(root_.c_str(), kRootMode) != 0 && errno != EEXIST) return cannot("make", root_);
  struct stat found = {};
  if (lstat(root_.c_str(), &found) != 0) return cannot("check", root_);
  const bool is_ours = S_ISDIR(found.st_mode) && found.st_uid == geteuid();
  if (!is_ours) {
    return Error::failed_precondition(text(
        quoted(root_), " exists already and belongs to another user than the agent's: remove it"));
  }
  // Independent of the umask.
  if (chmod(root_.c_str(), kRootMode) != 0) return cannot("change the mode of", root_);
  return {};
}

Result<std::string> SecretFolders::make(uint64_t run,
                                        const std::optional<Sandboxes::Owner>& owner) const {
  if (Result<void> made = make_root(); !made) return std::move(made).error();
  std::string path = text(root_, "/", run);
  remove(run);
  if (mkdir(path.c_str(), kOwn) != 0) return cannot("make", path);
  if (owner && lchown(path.c_str(), owner->uid, owner->gid) != 0) {
    return cannot("give away", path);
  }
  return path;
}

void SecretFolders::remove(uint64_t run) const {
  const std::string path = text(root_, "/", run);
  if (rmdir(path.c_str()) != 0) {
    if (errno == ENOENT) return;  // Most runs have no such directory.
    std::error_code stays;
    std::filesystem::remove_all(path, stays);
  }
  rmdir(root_.c_str());  // Succeeds if that was the last one.
}

void SecretFolders::keep_only(const std::set<uint64_t>& runs) const {
  std::error_code failed;
  std::vector<std::filesystem::path> left;
  for (const auto& entry : std::filesystem::directory_iterator(root_, failed)) {
    const std::string name = entry.path().filename().string();
    uint64_t run = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), run);
    const bool is_run = error == std::errc() && end == name.data() + name.size();
    if (!is_run || !runs.contains(run)) left.push_back(entry.path());
  }
  for (const std::filesystem::path& path : left) {
    std::error_code stays;
    std::filesystem::remove_all(path, stays);
  }
}

}  // namespace proffer::agent
