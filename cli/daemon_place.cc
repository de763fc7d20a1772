#include "cli/daemon_place.h"

#include <array>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "proto/json/json.h"

namespace proffer::cli {

std::optional<DaemonPlace> read_daemon_place(const std::string& dir) {
  const std::string path = dir + "/address.json";
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      (status.st_uid != 0 && status.st_uid != geteuid())) {
    return std::nullopt;
  }
  std::array<char, 4'096> bytes{};
  const ssize_t got = read(file.get(), bytes.data(), bytes.size());
  if (got <= 0) return std::nullopt;
  const auto members =
      proto::parse_json_line(trimmed(std::string_view(bytes.data(), static_cast<size_t>(got))));
  if (!members) return std::nullopt;
  const auto word = [&](const std::string& name) {
    const auto at = members->find(name);
    const auto* value = at == members->end() ? nullptr : std::get_if<std::string>(&at->second);
    return value == nullptr ? std::string() : *value;
  };
  return DaemonPlace{.agent = word("agent"), .http = word("http")};
}

}  // namespace proffer::cli
