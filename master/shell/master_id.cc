#include "master/shell/master_id.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

#include "common/text.h"
#include "net/durable_files.h"
#include "net/randomness.h"

namespace proffer::master {

Result<OwnMasterId> own_master_id(const std::string& data_dir) {
  const std::string path = data_dir + "/master_id";
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) {
      return Error::unavailable(text("cannot read ", quoted(path), ": ", std::strerror(errno)));
    }
    proto::MasterId made(random_secret().str());
    constexpr mode_t kForAll = 0644;
    if (Result<void> written = write_file_durably(path, with_sum(made.str() + "\n"), kForAll);
        !written) {
      return std::move(written).error();
    }
    return OwnMasterId{.id = std::move(made), .is_new = true};
  }
  std::ifstream file(path);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::string line = bytes.substr(0, bytes.find('\n'));
  if (!is_valid_secret(line) || !is_sum_right(bytes)) {
    return Error::corruption(text(quoted(path), bytes.empty() ? " is empty" : " is damaged"))
        .with_hint("restore it from a copy, or remove it: then this master counts as a new one");
  }
  return OwnMasterId{.id = proto::MasterId(std::move(line))};
}

}  // namespace proffer::master
