#pragma once

// What a client asks the master for, to read files of an agent from another machine: the address,
// the pin of its certificate, and a token.

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::proto {

struct FileAccessCall {
  AgentId agent = {};
  FrameworkId framework = {};  // whose tasks' files
  // Whose token: empty for one's own. An agent asks so for the users whose tasks of this framework
  // it runs, an operator for anybody.
  std::string user = {};
  // From an agent: which of its tasks needs them.
  TaskId task = {};
  bool operator==(const FileAccessCall&) const = default;
};

// What the ids of tasks have in common that may read each other's files, if they are of one user:
// all up to the first '.', which ends the name of a job; of an id without one the whole id.
inline std::string_view file_family(const TaskId& task) {
  const std::string_view id = task.str();
  return id.substr(0, id.find('.'));
}

struct FileAccessReply {
  std::string address = {};  // host:port
  std::string pin = {};      // of the certificate's key, as in FileService
  std::string token = {};
  Duration valid_for = {};
  bool operator==(const FileAccessReply&) const = default;
};

}  // namespace proffer::proto
