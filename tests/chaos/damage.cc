// Damage that a process finds at its next start, as after a power cut: a checkpoint without its
// last records, or empty files.

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "store/checkpoint_log.h"
#include "tests/chaos/faults.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

// A scheduler that still runs this long after its start has accepted its session file.
constexpr int64_t kRefusesWithin = 20'000'000'000;
// The most records that an agent's checkpoint loses.
constexpr uint64_t kCutRecordsMax = 12;

// Removes the last `records` records of the checkpoint in an agent's work directory, or all of
// them. The rest looks whole. Returns the number of removed records.
size_t cut_checkpoint(const std::string& work_dir, size_t records) {
  const std::string path = work_dir + "/checkpoint.log";
  if (!fs::exists(path)) return 0;
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(path);
  if (!opened) return 0;
  std::vector<std::string>& all = opened->records;
  const size_t cut = std::min(records, all.size());
  all.resize(all.size() - cut);
  const Result<void> written = opened->log->rewrite(all);
  return written ? cut : 0;
}

// Sorted relative paths of the files that a master or an agent writes and reads again: no sockets,
// locks, addresses or task files.
std::vector<std::string> persistent_files(const std::string& directory) {
  static const std::set<std::string> kNotRead = {"lock", "address.json", "filler"};
  std::vector<std::string> found;
  for (const fs::path folder : {"", "events", "history"}) {
    std::error_code is_missing;
    for (const auto& entry : fs::directory_iterator(directory / folder, is_missing)) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && kNotRead.count(name) == 0) found.push_back(folder / name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Empties the file, and can restore it as an operator with a backup would.
class EmptiedFile {
 public:
  explicit EmptiedFile(std::string path) : path_(std::move(path)), bytes_(read_file(path_)) {
    PCHECK(::truncate(path_.c_str(), 0) == 0) << path_;
  }
  void restore() const { write_file(path_, bytes_); }

 private:
  std::string path_;
  std::string bytes_;
};

}  // namespace

// Kills the agent; its next life finds a checkpoint that looks whole but lacks the last records.
std::optional<Fault> Chaos::cut_checkpoint_of_agent() {
  Member* const victim = choose("agent", "process");
  if (victim == nullptr) return std::nullopt;
  const std::string who = text("agent ", victim->name, " cut");
  cluster_.journal().write("fault", who);
  cluster_.kill(*victim, prng_.chance(1, 2) ? 0 : prng_.between(20, 1'500));
  const size_t cut = cut_checkpoint(cluster_.path(victim->name), 1 + prng_.below(kCutRecordsMax));
  cluster_.say(text("cut ", cut, " records off the checkpoint of ", victim->name));
  cluster_.journal().write("healed", who);
  return Fault{.what = "cut"};
}

// Kills the member and empties one of its files. The next life may refuse to start and name the
// file, which is then restored; unless `must_refuse`, it may also continue.
std::optional<Fault> Chaos::empty_file(Member* victim, const std::string& path, bool must_refuse) {
  const std::string who = text(victim->kind, " ", victim->name, " emptied");
  cluster_.journal().write("fault", who);
  cluster_.kill(*victim, 0);
  victim->is_left_alone = true;
  const auto emptied = std::make_shared<EmptiedFile>(path);
  cluster_.say(text("emptied ", path));
  const std::string log = cluster_.path(victim->name + ".log");
  const size_t said_before = fs::exists(log) ? fs::file_size(log) : 0;
  cluster_.start(*victim);
  const auto is_over = [=, this, began = now_nanos(), is_done = false]() mutable {
    if (is_done) return true;
    if (is_alive(victim->process->pid())) {
      const bool is_up = victim->kind == "scheduler"
                             ? now_nanos() > began + kRefusesWithin * slowdown()
                             : cluster_.has_address(*victim);
      if (!is_up) return false;
      if (must_refuse) cluster_.fail(text(victim->name, " goes on with an empty ", path));
    } else {
      const Exit ended = victim->process->wait();
      cluster_.journal().write("kill",
                               text(victim->kind, " ", victim->name, " ", victim->process->pid()));
      const std::string said = read_file(log).substr(said_before);
      const bool may_end = victim->may_end_with.count(ended.code) > 0;
      if (!may_end && (ended.code <= 0 || said.find(path) == std::string::npos)) {
        cluster_.fail(text(victim->name, " ended with exit code ", ended.code, ", signal ",
                           ended.signal, " and does not name the empty ", path, ":\n", said));
      }
      cluster_.say(text(victim->name, " refuses its empty file, which is put back"));
      emptied->restore();
      cluster_.start(*victim);
    }
    victim->is_left_alone = false;
    cluster_.journal().write("healed", who);
    return is_done = true;
  };
  const auto over = std::make_shared<std::function<bool()>>(is_over);
  return Fault{.what = "emptied",
               .touched = {victim->name + " process"},
               .heals_at = in(60'000, 60'000),
               .heal = [over] { eventually(*over); },
               .look = [over] { return (*over)(); }};
}

// A scheduler that treats an empty session file as a missing one would start apps twice.
std::optional<Fault> Chaos::empty_session() {
  Member* const victim = choose("scheduler", "process");
  if (victim == nullptr) return std::nullopt;
  std::string path;
  for (const std::string& word : victim->command) {
    constexpr std::string_view kFlag = "--session_file=";
    if (word.starts_with(kFlag)) path = word.substr(kFlag.size());
  }
  if (!fs::exists(path)) return std::nullopt;
  return empty_file(victim, path, true);
}

std::optional<Fault> Chaos::empty_file_of(const char* kind) {
  Member* const victim = choose(kind, "process");
  if (victim == nullptr) return std::nullopt;
  const std::string directory = cluster_.path(victim->name);
  const std::vector<std::string> files = persistent_files(directory);
  if (files.empty()) return std::nullopt;
  return empty_file(victim, directory + "/" + files.at(prng_.below(files.size())), false);
}

}  // namespace proffer::test
