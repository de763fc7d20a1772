#include "master/replay/lives.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "common/text.h"
#include "master/recording/recording.h"
#include "store/checkpoint_log.h"

namespace proffer::master {
namespace {

namespace fs = std::filesystem;

// Contains the first record with the master's options.
constexpr uint64_t kHeadBytes = uint64_t{1} << 20;

LeaderEpoch leader_of(const std::string& file) {
  const Result<CheckpointLog::Readable> head = CheckpointLog::read(file, kHeadBytes);
  if (!head || head->records.empty()) return {};
  RecordingReader reader;
  if (!reader.read(head->records.front())) return {};
  return reader.leader().value_or(LeaderEpoch());
}

}  // namespace

Result<std::vector<RecordedLife>> find_lives(const std::vector<std::string>& paths) {
  std::vector<RecordedLife> lives;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      lives.push_back({path, leader_of(path)});
      continue;
    }
    const size_t before = lives.size();
    for (const auto& entry : fs::directory_iterator(path, error)) {
      const std::string file = entry.path();
      if (entry.path().extension() == ".rec") lives.push_back({file, leader_of(file)});
    }
    if (error) {
      return Error::unavailable(text("cannot read ", quoted(path), ": ", error.message()));
    }
    if (lives.size() == before) {
      return Error::not_found(text("there is no recording in ", quoted(path)))
          .with_hint("recordings are the files LEADER.rec in the directory of --record");
    }
  }
  std::sort(lives.begin(), lives.end(), [](const RecordedLife& a, const RecordedLife& b) {
    return std::tie(a.leader, a.file) < std::tie(b.leader, b.file);
  });
  const auto twice = std::adjacent_find(lives.begin(), lives.end(),
                                        [](const RecordedLife& a, const RecordedLife& b) {
                                          return a.leader == b.leader && a.leader != LeaderEpoch();
                                        });
  if (twice != lives.end()) {
    return Error::invalid_argument(text("there are two recordings of leader ",
                                        twice->leader.value(), ": ", twice->file, " and ",
                                        std::next(twice)->file))
        .with_hint("name each life once, and only masters of one cluster");
  }
  return lives;
}

std::string to_text(const LivesGap& gap) {
  std::string out = text("between leaders ", gap.after.value(), " and ", gap.before.value(), ": ",
                         to_text(milliseconds(gap.duration.millis())));
  const uint64_t first = gap.after.value() + 1;
  const uint64_t last = gap.before.value() - 1;
  if (first == last) out += text("; missing: leader ", first);
  if (first < last) out += text("; missing: leaders ", first, " to ", last);
  return out;
}

}  // namespace proffer::master
