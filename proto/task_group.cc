#include "proto/task_group.h"

#include <charconv>

#include "common/ids.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer::proto {
namespace {

constexpr std::string_view kTag = "proffer-group-1 ";

Error no_group() {
  return Error::invalid_argument(
      "the data of the task has the header of a command group, but is not a valid group");
}

// Numbers end with a ';', texts have their length before them.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}
  bool number(size_t max, size_t& out) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (error != std::errc() || out > max || end == rest_.data() + rest_.size() || *end != ';') {
      return false;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()) + 1);
    return true;
  }
  bool bytes(std::string& out) {
    size_t size = 0;
    if (!number(rest_.size(), size) || size > rest_.size()) return false;
    out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool commands(size_t max, std::vector<GroupCommand>& out) {
    size_t count = 0;
    if (!number(max, count)) return false;
    for (; count > 0; --count) {
      GroupCommand& one = out.emplace_back();
      if (!bytes(one.name) || !bytes(one.command)) return false;
    }
    return true;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

Result<void> check_command(std::string_view what, const GroupCommand& one) {
  if (!is_valid_name(one.name)) {
    return Error::invalid_argument(text(
        "the name of ", what, " must be 1 to 128 of A-Z a-z 0-9 . _ -, not ", quoted(one.name)));
  }
  if (!one.command.empty() && one.command.find('\0') == std::string::npos) return {};
  return Error::invalid_argument(
             text(what, ' ', quoted(one.name), " must have a command line without a NUL"))
      .with_hint("it is a shell command line, as in \"./migrate --to $VERSION\"");
}

}  // namespace

Result<void> check_task_group(const TaskGroup& group) {
  if (group.init.size() > kInitStepsMax) {
    return Error::invalid_argument(text("there are ", group.init.size(), " init steps; at most ",
                                        kInitStepsMax, " are allowed"));
  }
  if (group.sidecars.size() > kSidecarsMax) {
    return Error::invalid_argument(text("there are ", group.sidecars.size(), " sidecars; at most ",
                                        kSidecarsMax, " are allowed"));
  }
  size_t bytes = 0;
  for (const GroupCommand& one : group.init) {
    if (Result<void> ok = check_command("init step", one); !ok) return ok;
    bytes += one.name.size() + one.command.size();
  }
  for (size_t i = 0; i < group.sidecars.size(); ++i) {
    const GroupCommand& one = group.sidecars[i];
    if (Result<void> ok = check_command("sidecar", one); !ok) return ok;
    if (i > 0 && one.name <= group.sidecars[i - 1].name) {
      return Error::invalid_argument("sidecars must be sorted by name, without duplicates");
    }
    bytes += one.name.size() + one.command.size();
  }
  if (bytes <= kGroupBytesMax) return {};
  return Error::invalid_argument(text("init steps and sidecars have ", bytes,
                                      " bytes together; at most ", kGroupBytesMax, " are allowed"))
      .with_hint("put long scripts into files");
}

std::string encode_task_group(const TaskGroup& group) {
  std::string out(kTag);
  for (const auto* commands : {&group.init, &group.sidecars}) {
    out += text(commands->size(), ';');
    for (const GroupCommand& one : *commands) {
      out += text(one.name.size(), ';', one.name, one.command.size(), ';', one.command);
    }
  }
  return out;
}

Result<std::optional<TaskGroup>> decode_task_group(std::string_view data) {
  if (!data.starts_with(kTag)) return std::optional<TaskGroup>();
  Reader in(data.substr(kTag.size()));
  TaskGroup group;
  if (!in.commands(kInitStepsMax, group.init) || !in.commands(kSidecarsMax, group.sidecars) ||
      !in.at_end()) {
    return no_group();
  }
  if (Result<void> ok = check_task_group(group); !ok) return std::move(ok).error();
  return std::optional(std::move(group));
}

}  // namespace proffer::proto
