#include "net/trace_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr uint64_t kWarningsPerSecond = 10;

thread_local LoggedEvent logged;

class BeingLogged {
 public:
  explicit BeingLogged(const TraceEvent& event) { logged.event = &event; }
  ~BeingLogged() { logged = {}; }
  BeingLogged(const BeingLogged&) = delete;
  BeingLogged& operator=(const BeingLogged&) = delete;
};

Error file_error(std::string_view verb, const std::string& path) {
  return Error::unavailable(text("cannot ", verb, " ", quoted(path), ": ", std::strerror(errno)));
}

}  // namespace

LoggedEvent event_being_logged() { return logged; }

void TraceLog::write(const std::vector<TraceEvent>& events, int64_t now_s) {
  for (const TraceEvent& event : events) {
    ++counts_[event.what()];
    const BeingLogged being(event);
    switch (event.level()) {
      case TraceLevel::kLongLived:
        LOG(INFO) << to_text(event);
        break;
      case TraceLevel::kShortLived:
        VLOG(1) << to_text(event);
        break;
      case TraceLevel::kMessage:
        VLOG(2) << to_text(event);
        break;
      case TraceLevel::kMisbehaved:
        warn(event, now_s);
        break;
      case TraceLevel::kOperator:
        LOG(ERROR) << to_text(event);
        break;
    }
  }
}

void TraceLog::warn(const TraceEvent& event, int64_t now_s) {
  // The limit is per user, so that one user's events do not suppress those of another.
  std::string user;
  for (const auto& [key, value] : fields_of(event)) {
    if (key == "user") user = value;
  }
  Limit& limit = limits_[{event.what(), std::move(user)}];
  if (limit.second != now_s) {
    limit.second = now_s;
    limit.in_second = 0;
  }
  if (++limit.in_second > kWarningsPerSecond) {
    ++limit.left_out;
    return;
  }
  if (limit.left_out > 0) {
    logged.left_out = limit.left_out;
    LOG(WARNING) << to_text(event) << " left_out=" << limit.left_out;
    limit.left_out = 0;
  } else {
    LOG(WARNING) << to_text(event);
  }
}

Result<void> write_file_atomically(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string temporary = path + ".new";
  ::unlink(temporary.c_str());  // An earlier one may have another mode.
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return file_error("write", temporary);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      const Error error = file_error("write", temporary);
      ::close(fd);
      return error;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::close(fd) != 0) return file_error("write", temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return file_error("rename to", path);
  return {};
}

}  // namespace proffer
