#include "cli/proxy_template.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/text.h"

namespace proffer::cli {
namespace {

constexpr std::string_view kMark = "#!";
constexpr std::string_view kAsIn =
    "for example: #! each web http: server ~{instance} ~{host}:~{port} check";

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Removes the first word from `text` and returns it.
std::string_view next_word(std::string_view& text) {
  text = without_blanks(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r"));
  text.remove_prefix(word.size());
  return word;
}

std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (!text.empty()) {
    const size_t begin = text.find("~{");
    const size_t end = begin == std::string_view::npos ? begin : text.find('}', begin);
    if (end == std::string_view::npos) break;
    const auto value = values.find(text.substr(begin + 2, end - begin - 2));
    out += text.substr(0, begin);
    // An unknown name may belong to another program's templates, and is kept.
    out += value == values.end() ? text.substr(begin, end + 1 - begin) : value->second;
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

}  // namespace

bool ProxyTemplate::parse_line(Line& line) {
  const size_t indent = line.text.find(kMark);
  std::string_view rest = std::string_view(line.text).substr(indent + kMark.size());
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return false;
  std::string_view head = rest.substr(0, colon);
  const std::string_view verb = next_word(head);
  line.app = next_word(head);
  line.port = next_word(head);
  line.each = line.text.substr(0, indent);
  line.each += without_blanks(rest.substr(colon + 1));
  return verb == "each" && !line.port.empty() && next_word(head).empty();
}

Result<ProxyTemplate> ProxyTemplate::parse(std::string_view text) {
  ProxyTemplate made;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    Line line{.text = std::string(text.substr(0, end))};
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view words = without_blanks(line.text);
    if (words.starts_with(kMark)) {
      if (!parse_line(line)) {
        return Error::invalid_argument(proffer::text("line ", number, ": ", quoted(words),
                                                     " is not a valid #! each line"))
            .with_hint(std::string(kAsIn));
      }
      made.apps_.insert(line.app);
    }
    made.lines_.push_back(std::move(line));
  }
  if (made.apps_.empty()) {
    return Error::invalid_argument("the template has no line for servers")
        .with_hint(std::string(kAsIn));
  }
  return made;
}

std::string ProxyTemplate::fill(const std::vector<proto::ServerRow>& servers) const {
  std::string out;
  for (const Line& line : lines_) {
    out += line.text;
    out += '\n';
    if (line.app.empty()) continue;
    for (const proto::ServerRow& server : servers) {
      const auto port = server.ports.find(line.port);
      if (server.app != line.app || port == server.ports.end() || server.host.empty()) continue;
      out += filled(line.each, {{"host", server.host},
                                {"port", std::to_string(port->second)},
                                {"instance", server.task.str()},
                                {"slot", std::to_string(server.slot)}});
      out += '\n';
    }
  }
  return out;
}

}  // namespace proffer::cli
