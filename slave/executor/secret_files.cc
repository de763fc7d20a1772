#include "slave/executor/secret_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer::executor {
namespace {

Error cannot(std::string_view what, const std::string& path) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT || errno == ENOMEM;
  return Error(is_full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
               text("cannot ", what, " ", quoted(path), ": ", std::strerror(errno)));
}

Result<void> write_file(const std::string& path, std::string_view value) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
  if (file.get() < 0) return cannot("make", path);
  while (!value.empty()) {
    const ssize_t written = write(file.get(), value.data(), value.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path);
    value.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

Result<void> give_secrets(const proto::RunTask& run, const Surroundings& around) {
  bool is_linked = false;
  for (const proto::SecretUse& use : run.spec.secrets) {
    const auto value = std::find_if(run.secrets.begin(), run.secrets.end(),
                                    [&](const auto& one) { return one.name == use.name; });
    if (value == run.secrets.end()) {
      return Error::failed_precondition(
          text("the agent restarted before it handed over the task, and does not keep the value of "
               "secret ",
               quoted(use.name), " on disk: launch the task again"));
    }
    if (use.file.empty()) continue;
    if (around.secrets.empty()) {
      return Error::failed_precondition(
          text("the agent gave no in-memory directory for secret ", quoted(use.name)));
    }
    if (Result<void> written = write_file(text(around.secrets, "/", use.file), value->value);
        !written) {
      return written;
    }
    const std::string link = text(around.sandbox, "/", kSecretsLink);
    if (!is_linked && symlink(around.secrets.c_str(), link.c_str()) != 0) {
      return cannot("make", link);
    }
    is_linked = true;
  }
  return {};
}

void remove_secret_files(const Surroundings& around) {
  if (around.secrets.empty()) return;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(around.secrets, failed)) {
    std::error_code stays;
    std::filesystem::remove_all(entry.path(), stays);
  }
}

}  // namespace proffer::executor
