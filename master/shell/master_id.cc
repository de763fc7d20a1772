#include "master/shell/master_id.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <sys/stat.h>

#include "common/text.h"
#include "net/randomness.h"
#include "net/trace_log.h"

namespace proffer::master {

Result<proto::MasterId> own_master_id(const std::string& data_dir) {
  const std::string path = data_dir + "/master_id";
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) {
      return Error::unavailable(text("cannot read ", quoted(path), ": ", std::strerror(errno)));
    }
    proto::MasterId made(random_secret().str());
    if (Result<void> written = write_file_atomically(path, made.str() + "\n"); !written) {
      return std::move(written).error();
    }
    return made;
  }
  std::string line;
  std::ifstream file(path);
  if (!std::getline(file, line) || !is_valid_secret(line)) {
    return Error::corruption(text(quoted(path), " does not have the id of a master"))
        .with_hint("remove it: this master counts as a new one from then on");
  }
  return proto::MasterId(std::move(line));
}

}  // namespace proffer::master
