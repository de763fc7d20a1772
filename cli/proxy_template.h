#pragma once

// The configuration of a proxy, made from a template: a text in which a line
//
//   #! each APP PORT: TEXT
//
// stays, and is followed by TEXT once for each ready instance of the app, with ~{host}, ~{port}
// (the number of the port that the app names PORT), ~{instance} (its task id) and ~{slot} replaced.
// For the proxy such a line is a comment.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::cli {

struct Server {
  std::string instance = {};  // its task id
  int64_t slot = 0;
  std::string host = {};
  std::map<std::string, uint16_t> ports = {};  // by name
  bool operator==(const Server&) const = default;
};
using Servers = std::map<std::string, std::vector<Server>>;  // by app

class ProxyTemplate {
 public:
  // Errors: kInvalidArgument says which line is wrong and how it is right.
  static Result<ProxyTemplate> parse(std::string_view text);

  const std::set<std::string>& apps() const { return apps_; }
  // Instances without the port that a line names are left out.
  std::string fill(const Servers& servers) const;

 private:
  struct Line {
    std::string text = {};  // as it is
    std::string app = {};   // empty: an ordinary line
    std::string port = {};
    std::string each = {};
  };
  std::vector<Line> lines_;
  std::set<std::string> apps_;
};

}  // namespace proffer::cli
