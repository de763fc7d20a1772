#pragma once

// Tokens with which tasks of this agent read files at agents on other machines. The agent requests
// them from the master, on a separate connection that exists only while there are requests.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "net/dealer.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "proto/codec/codec.h"
#include "proto/file_access.h"
#include "slave/shell/master_link.h"

namespace proffer::agent {

class FileAccess {
 public:
  using Answer = std::function<void(const Result<proto::FileAccessReply>&)>;

  FileAccess(Loop& loop, MasterReach reach);

  // The answer comes at once if one of the last minutes is still valid, otherwise within 5 s. Equal
  // requests are sent once, for any number of waiting callers; at most kWaitingMax callers wait.
  // Errors: those of the master, kUnavailable, kResourceExhausted.
  void ask(const proto::FileAccessCall& call, Answer answer);
  // Forgets the answer, because the token was refused: the other agent was restarted.
  void forget(const proto::FileAccessCall& call) { known_.erase(key_of(call)); }

  static constexpr size_t kWaitingMax = 1'000;
  static constexpr size_t kKnownMax = 10'000;

 private:
  using Key = std::tuple<AgentId, FrameworkId, std::string, std::string>;
  struct Question {
    proto::FileAccessCall call = {};
    uint64_t id = 0;
    Time until = {};  // the timeout
    std::vector<Answer> answers = {};
  };
  struct Known {
    proto::FileAccessReply reply = {};
    Time until = {};
  };
  static Key key_of(const proto::FileAccessCall& call) {
    return {call.agent, call.framework, call.user, std::string(proto::file_family(call.task))};
  }

  void connect();
  void send(const Question& question);
  void on_frame(std::span<const std::byte> frame);
  void answer(std::map<Key, Question>::iterator at, const Result<proto::FileAccessReply>& result);
  void on_time();
  void arm();

  Loop& loop_;
  MasterReach reach_;
  proto::Encoder encoder_;
  std::unique_ptr<Dealer> dealer_;       // none while there are no requests
  std::optional<Time> idle_until_ = {};  // the connection ends then, if there is no request
  uint64_t ids_ = 0;
  size_t waiting_ = 0;  // callers without an answer
  std::map<Key, Question> questions_;
  std::map<Key, Known> known_;
  Timer timer_;
};

inline constexpr std::string_view kAccessPath = "/v1/access/";
// Answers "/v1/access/<framework>/<agent>?task=<task>": the address at which another agent serves
// the files of the task's job, with a token for the calling user. The answer consists of lines, for
// programs without JSON. Without the task: for the only job of this framework and user with tasks
// here.
void answer_access(FileAccess& access, const HttpRequest& request, HttpResponder responder);

}  // namespace proffer::agent
