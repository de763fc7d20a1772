#include "proto/json/file_access_json.h"

#include "proto/json/json_text.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<FileAccessCall>& call) {
  for (const char* name : {"agent", "framework"}) f.require(name);
  f.about("the agent that has the files");
  f.text("agent", call.agent);
  f.about("the whole id of the framework");
  f.text("framework", call.framework);
  f.about("for operators and agents: the user for whom the files are read");
  f.text_if_any("user", call.user);
  f.about("for agents: the task that needs the files");
  f.text_if_any("task", call.task);
}

template <class F>
void fields(F& f, typename F::template Of<FileAccessReply>& reply) {
  if constexpr (F::kReads) {
    for (const char* name : {"address", "pin", "token", "valid_for_s"}) f.require(name);
  }
  f.text("address", reply.address);
  f.text("pin", reply.pin);
  f.text("token", reply.token);
  f.seconds("valid_for_s", reply.valid_for);
}

JsonShape file_access_call_shape() { return shape_of<FileAccessCall>(); }
JsonShape file_access_reply_shape() { return shape_of<FileAccessReply>(); }

std::string file_access_call_json(const FileAccessCall& call) { return print_value(call); }
Result<FileAccessCall> parse_file_access_call(std::string_view json) {
  return parse_arguments<FileAccessCall>(json);
}

std::string file_access_reply_json(const FileAccessReply& reply) { return print_value(reply); }
Result<FileAccessReply> parse_file_access_reply(std::string_view json) {
  return parse_value<FileAccessReply>(json);
}

}  // namespace proffer::proto
