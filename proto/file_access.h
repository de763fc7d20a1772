#pragma once

// The call of a client that wants to read an agent's files from another machine, and the reply: the
// agent's address, the pin of its certificate, and a token.

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::proto {

struct FileAccessCall {
  AgentId agent = {};
  FrameworkId framework = {};  // the framework whose tasks' files are read
  // The user of the token; empty: the caller. An agent names the users whose tasks of this
  // framework it runs; an operator may name any user.
  std::string user = {};
  // From an agent: its task that needs the files.
  TaskId task = {};
  bool operator==(const FileAccessCall&) const = default;
};

// Tasks of one user may read each other's files if their ids have the same family: all up to the
// first '.', which ends the name of a job. An id without '.' is its own family.
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
