#pragma once

// `proffer exec`: one more command in a running task, for its user and for operators.
//
// It listens on a Unix socket that preserves message boundaries (SOCK_SEQPACKET). A caller sends
// one request with the streams of the command, pipes or its own terminal, so no byte of them passes
// through the agent (ADR 0038). Each further byte from the caller is a signal for the command. The
// answer is {"exit_code"}, {"signal"} or {"code","message","hint"}. If the caller disconnects
// first, the command is killed; it ends with its task at the latest.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/ids.h"
#include "common/principal.h"
#include "common/result.h"
#include "net/fd.h"
#include "net/loop.h"

namespace proffer::agent {

inline constexpr size_t kExecCallersMax = 64;        // connections; further ones are closed
inline constexpr size_t kExecCallersOfUserMax = 16;  // root and the agent's user may use all
inline constexpr size_t kExecBytesMax = 128 * 1024;  // of a request
// A caller without a request is disconnected.
inline constexpr Duration kExecCallWithin = seconds(10);

struct ExecRequest {
  FrameworkId framework = {};
  TaskId task = {};
  std::string command = {};  // a shell command line
  bool is_terminal = false;
};
// {"framework","task","command","terminal"}. Errors: kInvalidArgument.
Result<ExecRequest> parse_exec_request(std::string_view json);

class ExecServer {
 public:
  struct Handlers {
    // Starts the command with these streams, which stay the caller's: one terminal, or three
    // streams. Returns its process; call ended() when that has ended.
    std::function<Result<pid_t>(const ExecRequest&, const PrincipalPtr& by,
                                std::span<const int> streams)>
        start = {};
    std::function<void(pid_t, int signal)> signal = {};
    std::function<void(pid_t)> kill = {};  // the caller has disconnected
  };
  // Replaces an existing file at the path; all users may connect. Errors: kInvalidArgument (the
  // path is too long), kUnavailable.
  static Result<std::unique_ptr<ExecServer>> bind(Loop& loop, const std::string& path,
                                                  Handlers handlers);
  // Removes the path; commands continue until their callers or tasks end.
  ~ExecServer();
  ExecServer(const ExecServer&) = delete;
  ExecServer& operator=(const ExecServer&) = delete;

  void ended(pid_t pid, int status);

 private:
  struct Caller {
    Fd socket = {};
    PrincipalPtr by = {};
    std::unique_ptr<FdWatcher> watcher = {};
    Time since = {};
    pid_t pid = 0;  // of its command; 0: no request yet
  };
  using Callers = std::map<uint64_t, Caller>;
  ExecServer(Loop& loop, std::string path, Handlers handlers);
  Result<void> listen();
  void accept_some();
  bool admits(uint32_t uid) const;
  void on_readable(uint64_t id);
  void on_request(uint64_t id, std::string_view json, const std::vector<Fd>& streams);
  void answer(uint64_t id, const std::string& json);
  void shut(Callers::iterator at);
  void shut_the_silent();

  Loop& loop_;
  const std::string path_;
  Handlers handlers_;
  Fd listening_;
  std::unique_ptr<FdWatcher> watcher_;
  Timer accept_timer_;
  Timer silence_timer_;
  uint64_t last_id_ = 0;
  Callers callers_;
};

}  // namespace proffer::agent
