#pragma once

// The configuration of a proxy, made from a template: a text in which a line
//
//   #! each APP PORT: TEXT
//
// is kept, and is followed by TEXT once for each server of the app, with ~{host}, ~{port} (the
// number of the port that the app names PORT), ~{instance} (its task id) and ~{slot} replaced. For
// the proxy such a line is a comment.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/service_status.h"

namespace proffer::cli {

class ProxyTemplate {
 public:
  // Errors: kInvalidArgument names the line and its correct form.
  static Result<ProxyTemplate> parse(std::string_view text);

  const std::set<std::string>& apps() const { return apps_; }
  // Servers with an unknown host, or without the port that a line names, are left out.
  std::string fill(const std::vector<proto::ServerRow>& servers) const;

 private:
  struct Line {
    std::string text = {};  // the line unchanged
    std::string app = {};   // empty: an ordinary line
    std::string port = {};
    std::string each = {};
  };
  // Parses the text of a line for servers; false if it is malformed.
  static bool parse_line(Line& line);

  std::vector<Line> lines_;
  std::set<std::string> apps_;
};

}  // namespace proffer::cli
