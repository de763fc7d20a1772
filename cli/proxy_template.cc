#include "cli/proxy_template.h"

#include <utility>

#include "common/text.h"

namespace proffer::cli {
namespace {

constexpr std::string_view kEach = "#! each ";

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (!text.empty()) {
    const size_t begin = text.find("~{");
    const size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
    if (end == std::string_view::npos) break;
    const auto value = values.find(text.substr(begin + 2, end - begin - 2));
    out += text.substr(0, begin);
    // Of another program, if not ours.
    out += value == values.end() ? text.substr(begin, end + 1 - begin) : value->second;
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

}  // namespace

Result<ProxyTemplate> ProxyTemplate::parse(std::string_view text) {
  ProxyTemplate made;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    Line line{.text = std::string(text.substr(0, end))};
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view words = without_blanks(line.text);
    if (words.starts_with("#!")) {
      const size_t colon = words.find(':');
      const std::string_view head =
          without_blanks(words.substr(0, colon).substr(std::min(kEach.size(), words.size())));
      const size_t blank = head.find(' ');
      if (!words.starts_with(kEach) || colon == std::string_view::npos ||
          blank == std::string_view::npos) {
        return Error::invalid_argument(
                   proffer::text("line ", number, ": ", quoted(words), " is no line for servers"))
            .with_hint("as in: #! each web http: server ~{instance} ~{host}:~{port} check");
      }
      const size_t indent = line.text.find('#');
      line.app = head.substr(0, blank);
      line.port = without_blanks(head.substr(blank));
      line.each = line.text.substr(0, indent);
      line.each += without_blanks(words.substr(colon + 1));
      made.apps_.insert(line.app);
    }
    made.lines_.push_back(std::move(line));
  }
  if (made.apps_.empty()) {
    return Error::invalid_argument("the template has no line for servers")
        .with_hint("as in: #! each web http: server ~{instance} ~{host}:~{port} check");
  }
  return made;
}

std::string ProxyTemplate::fill(const Servers& servers) const {
  std::string out;
  for (const Line& line : lines_) {
    out += line.text;
    out += '\n';
    const auto of_app = servers.find(line.app);
    if (line.app.empty() || of_app == servers.end()) continue;
    for (const Server& server : of_app->second) {
      const auto port = server.ports.find(line.port);
      if (port == server.ports.end()) continue;
      out += filled(line.each, {{"host", server.host},
                                {"port", std::to_string(port->second)},
                                {"instance", server.instance},
                                {"slot", std::to_string(server.slot)}});
      out += '\n';
    }
  }
  return out;
}

}  // namespace proffer::cli
