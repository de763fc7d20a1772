#pragma once

// What a client asks the master for, to read files of an agent from another machine: the address,
// the pin of its certificate, and a token.

#include <string>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::proto {

struct FileAccessCall {
  AgentId agent = {};
  FrameworkId framework = {};  // whose tasks' files
  // Whose token: empty for one's own. An agent asks so for the users whose tasks of this framework
  // it runs, an operator for anybody.
  std::string user = {};
  bool operator==(const FileAccessCall&) const = default;
};

struct FileAccessReply {
  std::string address = {};  // host:port
  std::string pin = {};      // of the certificate's key, as in FileService
  std::string token = {};
  Duration valid_for = {};
  bool operator==(const FileAccessReply&) const = default;
};

}  // namespace proffer::proto
