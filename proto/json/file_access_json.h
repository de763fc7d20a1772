#pragma once

// The call "file_access" and its reply in JSON. The rules of json.h apply.

#include <string>
#include <string_view>

#include "common/result.h"
#include "proto/file_access.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// {"agent","framework","user","task"}
std::string file_access_call_json(const FileAccessCall& call);
Result<FileAccessCall> parse_file_access_call(std::string_view json);

// {"address","pin","token","valid_for_s"}
std::string file_access_reply_json(const FileAccessReply& reply);
Result<FileAccessReply> parse_file_access_reply(std::string_view json);

JsonShape file_access_call_shape();
JsonShape file_access_reply_shape();

}  // namespace proffer::proto
