#pragma once

// Tokens by which the tasks of this agent read files at agents on other machines. The agent asks
// the master for them, on a connection of its own that is there only while there is something to
// ask.

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

  // The answer comes at once if one of the last minutes is still good, else later, within 5 s. The
  // same question is asked once, however many wait for its answer; of these there are at most
  // kWaitingMax. Errors: the master's, kUnavailable, kResourceExhausted.
  void ask(const proto::FileAccessCall& call, Answer answer);
  // Forgets what is known: a token was refused, for that agent began another life.
  void forget(const proto::FileAccessCall& call) { known_.erase(key_of(call)); }

  static constexpr size_t kWaitingMax = 1'000;
  static constexpr size_t kKnownMax = 10'000;

 private:
  using Key = std::tuple<AgentId, FrameworkId, std::string, std::string>;
  struct Question {
    proto::FileAccessCall call = {};
    uint64_t id = 0;
    Time until = {};  // then it is given up
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
  std::unique_ptr<Dealer> dealer_;       // none while there is nothing to ask
  std::optional<Time> idle_until_ = {};  // when it ends, if nothing is asked
  uint64_t ids_ = 0;
  size_t waiting_ = 0;  // answers that are owed
  std::map<Key, Question> questions_;
  std::map<Key, Known> known_;
  Timer timer_;
};

inline constexpr std::string_view kAccessPath = "/v1/access/";
// Answers "/v1/access/<framework>/<agent>?task=<task>": where another agent serves the files of the
// job of a task, with a token for the user that asks. As lines, for programs without JSON. Without
// the task: of the one job of this framework and user that has tasks here.
void answer_access(FileAccess& access, const HttpRequest& request, HttpResponder responder);

}  // namespace proffer::agent
