#include "slave/shell/file_access.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "proto/json/file_access_json.h"

namespace proffer::agent {
namespace {

constexpr Duration kAnswerMax = seconds(5);
constexpr Duration kIdleMax = seconds(10);  // after which the connection ends

}  // namespace

FileAccess::FileAccess(Loop& loop, MasterReach reach)
    : loop_(loop), reach_(std::move(reach)), timer_(loop, [this] { on_time(); }) {}

void FileAccess::ask(const proto::FileAccessCall& call, Answer answer) {
  const Time now = loop_.now();
  const Key key = key_of(call);
  if (const auto known = known_.find(key); known != known_.end()) {
    if (now < known->second.until) {
      // The reply states the remaining validity.
      proto::FileAccessReply reply = known->second.reply;
      return answer(reply);
    }
    known_.erase(known);
  }
  if (waiting_ >= kWaitingMax) {
    return answer(Error::resource_exhausted("too many tasks request files of other machines"));
  }
  ++waiting_;
  const auto [at, is_new] = questions_.try_emplace(key);
  at->second.answers.push_back(std::move(answer));
  if (!is_new) return;
  at->second.call = call;
  at->second.id = ++ids_;
  at->second.until = now + kAnswerMax;
  if (dealer_ == nullptr) {
    connect();
  } else if (dealer_->is_connected()) {
    send(at->second);
  }
  arm();
}

void FileAccess::connect() {
  dealer_ = std::make_unique<Dealer>(
      loop_, dealer_options(reach_),
      Dealer::Handlers{.on_connected =
                           [this] {
                             for (const auto& [key, question] : questions_) send(question);
                           },
                       .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); }});
  dealer_->connect();
}

void FileAccess::send(const Question& question) {
  const auto frame = encoder_.encode(
      {.version = proto::kProtocolVersionMin,
       .message = proto::Call{.id = question.id,
                              .method = "file_access",
                              .json = proto::file_access_call_json(question.call)}});
  if (frame) dealer_->send(*frame);
}

void FileAccess::on_frame(std::span<const std::byte> frame) {
  const Result<proto::Envelope> envelope = proto::decode(frame);
  if (!envelope) return dealer_->reset("a malformed answer");
  if (const auto* other = std::get_if<proto::NotLeader>(&*envelope->message)) {
    return dealer_->redirect(leader_endpoint(other->leader), standby_words(other->leader));
  }
  const auto* reply = std::get_if<proto::Reply>(&*envelope->message);
  if (reply == nullptr) return;
  const auto at = std::find_if(questions_.begin(), questions_.end(),
                               [&](const auto& one) { return one.second.id == reply->id; });
  if (at == questions_.end()) return;
  if (reply->error) {
    return answer(at,
                  Error(reply->error->code, reply->error->message).with_hint(reply->error->hint));
  }
  const Result<proto::FileAccessReply> access = proto::parse_file_access_reply(reply->json);
  if (access) {
    if (known_.size() >= kKnownMax) known_.clear();
    // A returned token has at least half of its validity left.
    known_[at->first] = {*access, loop_.now() + Duration::nanos(access->valid_for.nanos() / 2)};
  }
  answer(at, access);
}

void FileAccess::answer(std::map<Key, Question>::iterator at,
                        const Result<proto::FileAccessReply>& result) {
  const std::vector<Answer> answers = std::move(at->second.answers);
  questions_.erase(at);
  waiting_ -= answers.size();
  for (const Answer& one : answers) one(result);
  arm();
}

void FileAccess::on_time() {
  const Time now = loop_.now();
  while (true) {
    const auto late = std::find_if(questions_.begin(), questions_.end(),
                                   [now](const auto& one) { return one.second.until <= now; });
    if (late == questions_.end()) break;
    answer(late, Error::unavailable("the master did not answer"));
  }
  if (questions_.empty() && idle_until_ && now >= *idle_until_) dealer_.reset();
  arm();
}

void FileAccess::arm() {
  if (dealer_ == nullptr) {
    idle_until_.reset();
    return timer_.arm(std::nullopt);
  }
  if (questions_.empty()) {
    if (!idle_until_) idle_until_ = loop_.now() + kIdleMax;
    return timer_.arm(idle_until_);
  }
  idle_until_.reset();
  Time first = questions_.begin()->second.until;
  for (const auto& [key, question] : questions_) first = std::min(first, question.until);
  timer_.arm(first);
}

void answer_access(FileAccess& access, const HttpRequest& request, HttpResponder responder) {
  const std::string_view rest = std::string_view(request.path).substr(kAccessPath.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  const proto::FileAccessCall wanted{
      .agent = AgentId(std::string(rest.substr(std::min(slash + 1, rest.size())))),
      .framework = FrameworkId(std::string(rest.substr(0, slash))),
      .user = request.principal == nullptr ? std::string() : request.principal->user,
      .task = TaskId(std::string(request.param("task").value_or(std::string_view())))};
  if (!wanted.task.empty()) {
    const Result<void> valid = check_name("task id", wanted.task.str());
    if (!valid) return responder.respond_text(400, valid.error().message() + "\n");
  }
  for (const Result<void>& valid : {check_name("agent name", wanted.agent.str()),
                                    check_name("framework id", wanted.framework.str())}) {
    if (!valid) return responder.respond_text(400, valid.error().message() + "\n");
  }
  if (wanted.user.empty()) {
    return responder.respond_text(403, "an unknown user may not read files of tasks\n");
  }
  if (request.param("fresh")) access.forget(wanted);
  access.ask(wanted, [answer = std::make_shared<HttpResponder>(std::move(responder))](
                         const Result<proto::FileAccessReply>& reply) {
    if (reply) {
      return answer->respond_text(200,
                                  text(reply->address, "\n", reply->pin, "\n", reply->token, "\n"));
    }
    const ErrorCode code = reply.error().code();
    const int status = code == ErrorCode::kPermissionDenied ? 403
                       : code == ErrorCode::kNotFound       ? 404
                                                            : 503;
    answer->respond_text(status, reply.error().message() + "\n");
  });
}

}  // namespace proffer::agent
