// A range of an array: its elements one after the other, each a separate command. Read `run_range`
// first.

#include <algorithm>
#include <chrono>

#include "common/text.h"
#include "frameworks/batch/executor/element.h"
#include "frameworks/batch/executor/lane.h"
#include "frameworks/batch/executor/memory_kills.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/planning/lanes.h"
#include "net/process_settings.h"

namespace proffer::batch {
namespace {

using Clock = std::chrono::steady_clock;

int64_t micros_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
}

// The arguments of the range; empty texts for an array without arguments.
Result<std::vector<std::string>> read_arguments(const RangeWork& work) {
  std::vector<std::string> arguments(work.count());
  if (work.common.maps == 0) return arguments;
  for (uint32_t place = 0; place < arguments.size();) {
    const uint32_t position = work.first + place;
    const Result<std::string> entry = read_plan(work.common, position / kArgumentsPerEntry);
    if (!entry) return entry.error();
    Result<std::vector<std::string>> list = decode_arguments(*entry);
    if (!list) return std::move(list).error();
    uint32_t i = position % kArgumentsPerEntry;
    if (i >= list->size()) return Error::corruption("the job's plan lacks an argument");
    for (; i < list->size() && place < arguments.size(); ++i) {
      arguments[place++] = std::move((*list)[i]);
    }
  }
  return arguments;
}

// "NAME=value" for each.
std::vector<std::string> words_of(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words;
  words.reserve(environment.size());
  for (const auto& [name, value] : environment) words.push_back(text(name, "=", value));
  return words;
}

// A line for the standard error of an element; its exit code alone does not say it.
std::string words_of_kills(int64_t count, const std::map<std::string, std::string>& environment) {
  const auto limit = environment.find("PROFFER_MEM_MIB");
  return text("out of memory: ", count == 1 ? std::string("a process") : text(count, " processes"),
              " of the command ", count == 1 ? "was" : "were", " killed; its task may use ",
              limit == environment.end() ? "?" : limit->second, " MiB (--resources)\n");
}

bool accepts(const RangeWork& work, int32_t code) {
  return std::binary_search(work.ok.begin(), work.ok.end(), code);
}

// The ends of the range's elements in tasks that could not report them; by place.
Result<std::map<uint32_t, ElementEnd>> look_back(const RangeWork& work) {
  std::map<uint32_t, ElementEnd> ends;
  if (!work.looks_back) return ends;
  const uint32_t count = work.count();
  const auto is_ok = [&](const ElementEnd& end) { return accepts(work, end.code); };
  const Result<void> read = read_ends(work.common.output, [&](const KeptEnd& kept) {
    const ElementEnd& end = kept.end;
    if (end.position < work.first || end.position - work.first >= count) return;
    const uint32_t place = end.position - work.first;
    const auto known = work.failures.find(place);
    const int64_t failures = known == work.failures.end() ? 0 : known->second;
    if (!is_ok(end) && end.attempt <= failures) return;  // that end was reported
    const auto [other, is_first] = ends.emplace(place, end);
    if (!is_first && !is_ok(other->second) && is_ok(end)) other->second = end;
  });
  if (!read) return read.error();
  return ends;
}

}  // namespace

std::optional<TaskTrouble> run_range(const RangeWork& work, const TaskSetting& setting,
                                     RangeResult& result) {
  const Result<std::vector<std::string>> arguments = read_arguments(work);
  if (!arguments) return trouble(arguments.error());
  const Result<std::map<uint32_t, ElementEnd>> earlier = look_back(work);
  if (!earlier) return trouble(earlier.error());
  const Result<proto::Environment> exported = read_exported(work.common);
  if (!exported) return trouble(exported.error());
  std::map<std::string, std::string> environment =
      element_environment(work.common, setting, *exported);
  // Before the lane is opened: its files have the user's mask, too.
  const std::string settings = apply_settings(words_of(environment));
  Result<Lane> lane = Lane::open(work.common.output, work.lane);
  if (!lane) return trouble(lane.error());
  ElementStart start{.command = {},
                     .environment = {},
                     .path = environment["PATH"],
                     .directory = work.directory,
                     .out = lane->out(),
                     .err = lane->err()};
  const auto warning = proto::warning_in(work.common.env);
  if (!warning) return trouble(warning.error());
  start.warning = *warning;
  Element element(*setting.group, setting.grace);
  MemoryKills kills;
  const Clock::time_point began = Clock::now();
  const auto note_failure = [&](uint32_t place, const ElementEnd& end) {
    result.failures.push_back(
        {.place = place, .attempt = static_cast<int32_t>(end.attempt), .code = end.code});
  };
  const auto killed = [] { return TaskTrouble{.message = "the task was killed"}; };
  for (uint32_t place = 0; place < work.count(); ++place) {
    if (setting.stopped->load()) return killed();
    if (const auto found = earlier->find(place); found != earlier->end()) {
      const ElementEnd& end = found->second;
      if (!accepts(work, end.code)) note_failure(place, end);
      ++result.ended;
      continue;
    }
    if (result.ran > 0 && micros_since(began) >= work.time.micros()) break;
    const uint32_t index = index_at(work.indices, place);
    const auto known = work.failures.find(place);
    ElementEnd end{
        .position = work.first + place,
        .attempt = known == work.failures.end() ? 1 : static_cast<uint32_t>(known->second) + 1};
    start.command = command_for(
        work.command, work.common.maps == 0 ? std::to_string(index) : (*arguments)[place], index);
    if (!settings.empty()) {
      const std::string shell[] = {"/bin/sh", "-c", text(settings, "exec \"$@\""), "sh"};
      start.command.insert(start.command.begin(), std::begin(shell), std::end(shell));
    }
    environment["PROFFER_ARRAY_INDEX"] = std::to_string(index);
    environment["PROFFER_ARRAY_ATTEMPT"] = std::to_string(end.attempt);
    start.environment = words_of(environment);
    // Ended elements are reported, even if the next one cannot begin.
    if (Result<void> ok = lane->begin(); !ok) {
      result.trouble = ok.error().message();
      break;
    }
    const Clock::time_point element_began = Clock::now();
    const Result<int> code = element.run(start, work.timeout);
    if (const int64_t killed_for_memory = kills.take_new(); killed_for_memory > 0) {
      (void)write_all(start.err, words_of_kills(killed_for_memory, environment));
    }
    if (!code) {
      result.trouble = code.error().message();
      break;
    }
    // The work of an element that succeeded before it was interrupted counts.
    if (setting.stopped->load() && (element.was_interrupted() || !accepts(work, *code))) {
      return killed();
    }
    end.code = *code;
    end.micros = micros_since(element_began);
    const Result<void> kept = lane->keep(end);
    ++result.ended;
    ++result.ran;
    result.micros += end.micros;
    if (accepts(work, end.code) && kept) continue;
    if (result.stderr_tail.empty() && result.failures.empty()) {
      result.stderr_tail = lane->stderr_tail(end, kElementStderrBytesMax);
    }
    note_failure(place, end);
    if (kept) continue;
    result.lost_last = true;
    result.trouble = kept.error().message();
    break;
  }
  // Ends that may be lost are not reported: the next task checks which exist.
  if (Result<void> ok = lane->close(); !ok && !result.lost_last) return trouble(ok.error());
  if (result.ended == 0) return TaskTrouble{.message = result.trouble};
  return std::nullopt;
}

}  // namespace proffer::batch
