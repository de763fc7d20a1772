#include "master/core/remembered.h"

#include <charconv>

#include "common/text.h"

namespace proffer::master {
namespace {

using proto::TaskState;

constexpr std::string_view kLaunched = "launched";

// Cuts the first word off.
std::string_view take_word(std::string_view& words) {
  const size_t space = words.find(' ');
  const std::string_view word = words.substr(0, space);
  words.remove_prefix(space == words.npos ? words.size() : space + 1);
  return word;
}

template <class Number>
bool parse_number(std::string_view word, Number& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc() && end == word.data() + word.size();
}

RememberedTask parse(std::string_view value) {
  const std::string_view word = take_word(value);
  const std::string_view agent = take_word(value);
  RememberedTask task{.end = TaskState::kLost};
  if (!is_valid_name(agent)) return task;
  task.agent = AgentId(std::string(agent));
  if (word == kLaunched && parse_number(take_word(value), task.admission) &&
      parse_number(take_word(value), task.memory)) {
    task.end.reset();
  }
  for (size_t i = 0; i < proto::kTaskStateCount; ++i) {
    const auto state = static_cast<TaskState>(i);
    if (proto::is_terminal(state) && word == proto::to_text(state)) task.end = state;
  }
  return task;
}

}  // namespace

std::string remembered_key(const TaskId& task) { return text(kRememberedPrefix, task.str()); }

std::string remembered_value(const RememberedTask& task) {
  if (task.end) return text(proto::to_text(*task.end), ' ', task.agent.str());
  return text(kLaunched, ' ', task.agent.str(), ' ', task.admission, ' ', task.memory);
}

std::optional<RememberedTask> find_remembered(const FrameworkStore& store, const TaskId& task) {
  const auto entry = store.entries.find(remembered_key(task));
  if (entry == store.entries.end()) return std::nullopt;
  return parse(entry->second.value);
}

}  // namespace proffer::master
