// Fetching over HTTP with Range: first the index entry of our partition, then the bytes that it
// names. `Fetcher::fetch_one` is one map's; `fetch_share` runs four of them side by side.

#include "frameworks/batch/executor/fetch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include <poll.h>

#include "common/text.h"
#include "frameworks/batch/core/partition.h"
#include "frameworks/batch/executor/posix.h"
#include "net/http_get.h"

namespace proffer::batch {
namespace {

constexpr size_t kThreads = 4;
constexpr std::array<int, 3> kRetryAfterMillis = {200, 500, 1'000};
constexpr auto kConnectsIn = std::chrono::seconds(3);
constexpr auto kStalledAfter = std::chrono::seconds(15);
constexpr int kPollMillis = 200;  // between two looks at whether it is stopped

using Clock = std::chrono::steady_clock;

enum class Trial { kDone, kAgain, kNever, kNoAgent };

std::string id_of(const FetchPlan& plan, uint32_t map, uint32_t attempt) {
  return to_task_id({.job = plan.job, .number = map, .attempt = attempt}).str();
}

class Fetcher {
 public:
  Fetcher(const FetchPlan& plan, Sources& sources, const std::atomic<bool>& stopped)
      : plan_(plan), sources_(sources), stopped_(stopped) {}

  struct One {
    Trial trial = Trial::kAgain;
    std::string why = {};
    std::optional<Error> error = {};
    IndexEntry entry = {};
  };

  One fetch_one(uint32_t map, const std::string& path) {
    One one;
    for (size_t round = 0;; ++round) {
      one = try_once(map, path, round > 0);
      if (one.error || one.trial == Trial::kDone || one.trial == Trial::kNever ||
          round == kRetryAfterMillis.size() || stopped_.load()) {
        return one;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(kRetryAfterMillis[round]));
    }
  }

 private:
  // Where an agent serves the files of one map task.
  struct Place {
    HttpPlace agent = {};
    std::string folder = {};
  };

  // Where a response's bytes go: a string or a file, never more than was asked for.
  struct Sink {
    int64_t room = 0;
    std::string* text = nullptr;
    BufferedWriter* file = nullptr;
    Fnv1a64 checksum = {};
    int64_t records = 0;
    bool is_over = false;  // more came than was asked for
    std::optional<Error> error = {};
  };

  One try_once(uint32_t map, const std::string& path, bool is_refused) {
    const MapOutput& source = plan_.maps[map];
    const Result<HttpPlace> agent = sources_.place(source.agent, is_refused);
    if (!agent) return {.trial = Trial::kNoAgent, .why = agent.error().message()};
    const Place base{
        .agent = *agent,
        .folder = text("/v1/files/", plan_.framework, "/", id_of(plan_, map, source.attempt), "/")};
    std::string entry_bytes;
    Sink to_text{.room = static_cast<int64_t>(kIndexEntryBytes), .text = &entry_bytes};
    One one = get(base, "map.index",
                  int64_t{plan_.partition} * static_cast<int64_t>(kIndexEntryBytes), to_text);
    if (one.trial != Trial::kDone) return one;
    const Result<IndexEntry> entry = decode_index_entry(entry_bytes);
    if (!entry) return {.trial = Trial::kAgain, .why = "its map.index is damaged"};
    if (entry->length == 0) return {.trial = Trial::kDone};

    Result<Fd> file = open_to_write(path);
    if (!file) return {.error = std::move(file).error()};
    BufferedWriter writer(file->get());
    Sink to_file{.room = entry->length, .file = &writer};
    one = get(base, "map.out", entry->offset, to_file);
    if (one.error || one.trial != Trial::kDone) return one;
    if (const WriteOutcome flushed = writer.flush(); flushed.error)
      return {.error = *flushed.error};
    if (to_file.checksum.value() != entry->checksum || to_file.records != entry->records) {
      return {.trial = Trial::kAgain, .why = "its checksum is wrong"};
    }
    one.entry = *entry;
    return one;
  }

  // sink.room bytes from `offset` on.
  One get(const Place& base, std::string_view file, int64_t offset, Sink& sink) {
    Clock::time_point last = Clock::now();  // that something was heard
    Result<HttpGet> get = HttpGet::start(
        base.agent, percent_encoded(base.folder + std::string(file)),
        [&sink, &last](std::string_view piece) {
          last = Clock::now();
          write(sink, piece);
        },
        text("Range: bytes=", offset, "-", offset + sink.room - 1, "\r\n"));
    if (!get) return {.trial = Trial::kNoAgent, .why = get.error().message()};
    while (true) {
      const Result<bool> whole = get->go_on();
      if (sink.error) return {.error = std::move(sink.error)};
      if (sink.is_over) return {.trial = Trial::kAgain, .why = "the answer was too long"};
      if (!whole) {
        return {.trial = get->is_sent() ? Trial::kAgain : Trial::kNoAgent,
                .why = whole.error().message()};
      }
      if (*whole) break;
      const Clock::duration silent = Clock::now() - last;
      if (stopped_.load()) return {.trial = Trial::kNever, .why = "it was stopped"};
      if (!get->is_sent() && silent > kConnectsIn) {
        return {.trial = Trial::kNoAgent, .why = "its agent cannot be reached"};
      }
      if (silent > kStalledAfter) return {.trial = Trial::kAgain, .why = "its agent is silent"};
      pollfd ready{.fd = get->fd(), .events = get->events(), .revents = 0};
      poll(&ready, 1, kPollMillis);
    }
    const int status = get->answer().status();
    if (status >= 300) {
      // The agent answers and does not have it: asking again does not help.
      // Unless its token is over.
      constexpr int kUnauthorized = 401;
      const bool is_final = status >= 400 && status < 500 && status != kUnauthorized;
      return {.trial = is_final ? Trial::kNever : Trial::kAgain,
              .why = text("its agent answered ", status)};
    }
    if (status != 206) {
      return {.trial = Trial::kAgain, .why = text("its agent answered ", status, " to a range")};
    }
    if (sink.room != 0) return {.trial = Trial::kAgain, .why = "the answer was too short"};
    return {.trial = Trial::kDone};
  }

  static void write(Sink& sink, std::string_view piece) {
    if (sink.error || sink.is_over) return;
    sink.is_over = static_cast<int64_t>(piece.size()) > sink.room;
    if (sink.is_over) return;
    sink.room -= static_cast<int64_t>(piece.size());
    if (sink.text != nullptr) *sink.text += piece;
    if (sink.file == nullptr) return;
    sink.checksum.add(piece);
    sink.records += std::count(piece.begin(), piece.end(), '\n');
    if (const WriteOutcome written = sink.file->write(piece); written.error) {
      sink.error = written.error;
    }
  }

  const FetchPlan& plan_;
  Sources& sources_;
  const std::atomic<bool>& stopped_;
};

// What the threads share.
class Share {
 public:
  Share(const FetchPlan& plan, const std::atomic<bool>& stopped)
      : plan_(plan),
        stopped_(stopped),
        sources_(plan.framework, plan.addresses, plan.own),
        no_agent_(plan.addresses.size()),
        paths_(plan.maps.size()) {}

  void work() {
    Fetcher fetcher(plan_, sources_, stopped_);
    for (;;) {
      const size_t map = next_.fetch_add(1);
      if (map >= plan_.maps.size() || stopped_.load() || ended_.load()) return;
      const auto number = static_cast<uint32_t>(map);
      const MapOutput& source = plan_.maps[map];
      const MapAttempt attempt{.number = number, .attempt = source.attempt};
      if (no_agent_[source.agent].load()) {
        const std::lock_guard<std::mutex> lock(mutex_);
        fetched_.missing.push_back(attempt);
        continue;
      }
      const std::string path = text(plan_.directory, "/", number);
      Fetcher::One one = fetcher.fetch_one(number, path);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (one.error) {
        fetched_.error = std::move(one.error);
        ended_ = true;
      } else if (one.trial != Trial::kDone) {
        if (one.trial == Trial::kNoAgent) no_agent_[source.agent] = true;
        if (fetched_.why.empty()) {
          fetched_.why = text("output of ", id_of(plan_, number, source.attempt), " from ",
                              plan_.addresses[source.agent], ": ", one.why);
        }
        fetched_.missing.push_back(attempt);
      } else if (one.entry.length > 0) {
        paths_[map] = path;
        fetched_.records += one.entry.records;
        fetched_.bytes += one.entry.length;
      }
    }
  }

  Fetched take() && {
    for (std::string& path : paths_) {
      if (!path.empty()) fetched_.files.push_back(std::move(path));
    }
    std::sort(fetched_.missing.begin(), fetched_.missing.end());
    return std::move(fetched_);
  }

 private:
  const FetchPlan& plan_;
  const std::atomic<bool>& stopped_;
  Sources sources_;
  std::vector<std::atomic<bool>> no_agent_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::vector<std::string> paths_;
  Fetched fetched_;
};

}  // namespace

Fetched fetch_share(const FetchPlan& plan, const std::atomic<bool>& stopped) {
  Share share(plan, stopped);
  std::vector<std::thread> threads;
  const size_t count = std::min(kThreads, plan.maps.size());
  for (size_t i = 0; i < count; ++i) threads.emplace_back([&share] { share.work(); });
  for (std::thread& thread : threads) thread.join();
  return std::move(share).take();
}

}  // namespace proffer::batch
