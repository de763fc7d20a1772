#include "frameworks/batch/shell/parameters.h"

#include <vector>

#include "common/printable.h"
#include "common/text.h"
#include "yaml/read.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kOpen = "~{";
constexpr std::string_view kLiteral = "~~{";

Error unknown(const yaml::Node& node, const std::string& key, const std::string& name,
              const std::map<std::string, std::string>& values) {
  std::vector<std::string_view> names;
  std::string all;
  for (const auto& [known, value] : values) {
    names.push_back(known);
    all += text(all.empty() ? "" : ", ", printable(known));
  }
  const std::string_view near = nearest(name, names);
  return yaml::at(node, text(printable(key), ": there is no parameter ", quoted(name),
                             near.empty() ? "" : text("; did you mean ", quoted(near), "?")))
      .with_hint(all.empty()
                     ? "declare it with parameters: {NAME: VALUE}; write ~~{ for a literal ~{"
                     : text("the parameters are ", all, "; write ~~{ for a literal ~{"));
}

Result<std::string> filled(const yaml::Node& node, const std::string& key,
                           const std::map<std::string, std::string>& values, size_t& room) {
  const std::string_view given = node.text;
  std::string made;
  for (size_t at = 0; at < given.size();) {
    const std::string_view rest = given.substr(at);
    if (rest.starts_with(kLiteral)) {
      made += kOpen;
      at += kLiteral.size();
    } else if (rest.starts_with(kOpen)) {
      const size_t end = rest.find('}');
      if (end == std::string_view::npos) {
        return yaml::at(node, text(printable(key), ": } is missing after ~{"))
            .with_hint("write ~~{ for a literal ~{");
      }
      const std::string name(rest.substr(kOpen.size(), end - kOpen.size()));
      const auto value = values.find(name);
      if (value == values.end()) return unknown(node, key, name, values);
      if (made.size() + value->second.size() > room) made.resize(room + 1);  // reported below
      if (made.size() > room) break;
      made += value->second;
      at += end + 1;
    } else {
      made += given[at++];
    }
  }
  if (made.size() > room) {
    return yaml::at(
        node, text(printable(key), ": after its parameters are filled in, the file has more than ",
                   kFilledBytesMax, " bytes"));
  }
  room -= made.size();
  return made;
}

}  // namespace

Result<void> fill_in(yaml::Node& node, const std::string& key,
                     const std::map<std::string, std::string>& values, size_t& room) {
  if (node.kind == yaml::Node::Kind::kText) {
    return yaml::keep(filled(node, key, values, room), node.text);
  }
  for (yaml::Node& entry : node.entries) {
    if (Result<void> ok = fill_in(entry, key, values, room); !ok) return ok;
  }
  for (yaml::Row& row : node.rows) {
    if (Result<void> ok = fill_in(row.value, row.key, values, room); !ok) return ok;
  }
  return {};
}

}  // namespace proffer::batch
