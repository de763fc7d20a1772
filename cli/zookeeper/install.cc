// The decisions of `proffer zookeeper install`: plan_install().

#include "cli/zookeeper/install.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::cli {
namespace {

// "--zk" from "--zk=127.0.0.1:2181/proffer"; empty if the line is not a flag.
std::string_view flag_of(std::string_view line) {
  line = trimmed(line);
  return line.starts_with("--") ? line.substr(0, line.find('=')) : std::string_view();
}

std::vector<std::string> lines_of(std::string_view all) {
  std::vector<std::string> lines;
  while (!all.empty()) {
    const size_t end = std::min(all.find('\n'), all.size());
    lines.emplace_back(all.substr(0, end));
    all.remove_prefix(std::min(end + 1, all.size()));
  }
  return lines;
}

Error other_key(const SetupFile& file) {
  return Error::already_exists(text(quoted(file.place), " differs from ", quoted(file.name),
                                    ", and an existing key is never replaced"))
      .with_hint(file.name == kSetupMasterKey.name
                     ? text("if machines have joined with this key, make the files again, with ",
                            "proffer zookeeper init --master-key FILE; else remove ", file.place)
                     : text("if no cluster uses it any more, remove ", file.place));
}

}  // namespace

std::string merged_flags(std::string_view given, std::string_view present, std::string& what) {
  std::vector<std::string> lines = lines_of(present);
  what.clear();
  for (const std::string& flag : lines_of(given)) {
    const auto sets_it = [&](const std::string& line) { return flag_of(line) == flag_of(flag); };
    // If a flag is on several lines, the master uses the last one.
    const auto last = std::find_if(lines.rbegin(), lines.rend(), sets_it);
    if (last == lines.rend()) {
      what += text(what.empty() ? "" : ", ", flag);
      lines.push_back(flag);
      continue;
    }
    if (*last != flag) what += text(what.empty() ? "" : ", ", flag, " instead of ", trimmed(*last));
    const auto first = std::find_if(lines.begin(), lines.end(), sets_it);
    *first = flag;
    lines.erase(std::remove_if(first + 1, lines.end(), sets_it), lines.end());
  }
  std::string merged;
  for (const std::string& line : lines) merged += text(line, "\n");
  return merged;
}

Result<std::vector<InstallStep>> plan_install(const Contents& given, const Contents& present) {
  std::vector<InstallStep> steps;
  for (const SetupFile& file : kSetupFiles) {
    const auto found = given.find(file.name);
    if (found == given.end()) {
      return Error::not_found(text("the directory has no file ", quoted(file.name)))
          .with_hint("copy the whole directory that proffer zookeeper init made for this machine");
    }
    InstallStep step{.file = file, .content = found->second, .what = "new"};
    if (const auto before = present.find(file.place); before != present.end()) {
      step.before = before->second;
      step.what = text("replaced; the former is ", file.place, ".old");
    }
    if (file.name == kMasterFlags.name) {
      step.content = merged_flags(found->second, step.before.value_or(""), step.what);
    }
    if (file.is_private && step.before && *step.before != step.content) return other_key(file);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace proffer::cli
