// Fetches over HTTP with Range: first the index entry of our partition, then its bytes.
// `Fetcher::fetch_one` fetches one map's share; `fetch_share` runs four of them in parallel.
// Download knows how much of one map's share is here and valid.

#include "frameworks/batch/executor/fetch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/fnv.h"
#include "frameworks/batch/executor/posix.h"
#include "net/http_get.h"

namespace proffer::batch {
namespace {

constexpr size_t kThreads = 4;
constexpr std::array<int, 3> kRetryAfterMillis = {200, 500, 1'000};
constexpr auto kConnectsIn = std::chrono::seconds(3);
constexpr int kSilentTriesMax = 2;
constexpr int kPollMillis = 200;  // between two checks whether it is stopped

using Clock = std::chrono::steady_clock;

enum class Trial { kDone, kAgain, kSilent, kNever, kNoAgent };

// The bytes that all threads have received from each agent.
using BytesOfAgents = std::vector<std::atomic<int64_t>>;

std::string id_of(const FetchPlan& plan, uint32_t map, uint32_t attempt) {
  return to_task_id({.job = plan.job, .number = map, .attempt = attempt}).str();
}

// One map's share on its way to disk. Each block is checked as it comes, and a further try
// continues after the last valid block; plain lines are checked when all are here.
class Download {
 public:
  Download(const IndexEntry& entry, uint32_t partition, Fd file)
      : entry_(entry), partition_(partition), file_(std::move(file)) {}

  // Cuts the file after the valid bytes; returns the place in map.out at which to continue.
  Result<int64_t> begin() {
    header_.clear();
    in_block_ = 0;
    if (!entry_.is_packed) right_ = records_ = 0;
    here_ = right_;
    whole_ = right_ == 0 ? Fnv1a64() : right_whole_;
    if (::ftruncate(file_.get(), static_cast<off_t>(right_)) != 0 ||
        ::lseek(file_.get(), 0, SEEK_END) < 0) {
      return system_error("preparing the file of a map's output", errno);
    }
    return entry_.offset + right_;
  }
  int64_t missing() const { return entry_.length - here_; }
  int64_t right() const { return right_; }

  // Errors: kCorruption, and those of the system.
  Result<void> take(std::string_view piece) {
    if (static_cast<int64_t>(piece.size()) > missing()) {
      return Error::corruption("the answer was too long");
    }
    if (const WriteOutcome written = write_all(file_.get(), piece); written.error) {
      return *written.error;
    }
    here_ += static_cast<int64_t>(piece.size());
    if (!entry_.is_packed) {
      whole_.add(piece);
      records_ += std::count(piece.begin(), piece.end(), '\n');
      return {};
    }
    while (!piece.empty()) {
      if (Result<void> ok = take_of_block(piece); !ok) return ok;
    }
    return {};
  }
  // Call it after the last piece. Errors: kCorruption.
  Result<void> end() const {
    if (missing() != 0 || in_block_ != 0 || !header_.empty()) {
      return Error::corruption("the answer was too short");
    }
    if (whole_.value() != entry_.checksum || records_ != entry_.records) {
      return Error::corruption("its checksum is wrong");
    }
    return {};
  }

 private:
  // Removes the part of the present block from `piece`.
  Result<void> take_of_block(std::string_view& piece) {
    if (header_.size() < kBlockHeaderBytes) {
      const size_t size = std::min(kBlockHeaderBytes - header_.size(), piece.size());
      header_ += piece.substr(0, size);
      piece.remove_prefix(size);
      if (header_.size() < kBlockHeaderBytes) return {};
      const Result<BlockHeader> header = decode_block_header(header_);
      if (!header || header->partition != partition_) {
        return Error::corruption("the header of a block is damaged");
      }
      block_ = *header;
      sum_ = begin_block_checksum(block_);
      return {};
    }
    const size_t size = std::min(block_.stored_bytes - in_block_, piece.size());
    sum_.add(piece.substr(0, size));
    in_block_ += size;
    piece.remove_prefix(size);
    if (in_block_ < block_.stored_bytes) return {};
    if (sum_.value() != block_.checksum) return Error::corruption("its checksum is wrong");
    right_ += static_cast<int64_t>(kBlockHeaderBytes + in_block_);
    records_ += block_.records;
    whole_.add(header_);
    right_whole_ = whole_;
    header_.clear();
    in_block_ = 0;
    return {};
  }

  const IndexEntry entry_;
  const uint32_t partition_;
  Fd file_;
  int64_t right_ = 0;    // of the bytes here, those of whole blocks
  int64_t here_ = 0;     // bytes in the file
  int64_t records_ = 0;  // of the valid blocks
  Fnv1a64 whole_;        // as in the index
  Fnv1a64 right_whole_;  // of the valid blocks
  std::string header_;   // of the present block, as far as it is here
  BlockHeader block_;    // the same, when all of it is here
  size_t in_block_ = 0;  // of its stored bytes
  Fnv1a64 sum_;
};

class Fetcher {
 public:
  Fetcher(const FetchPlan& plan, Sources& sources, BytesOfAgents& received,
          const std::atomic<bool>& stopped)
      : plan_(plan), sources_(sources), received_(received), stopped_(stopped) {}

  struct One {
    Trial trial = Trial::kAgain;
    std::string why = {};
    std::optional<Error> error = {};
    IndexEntry entry = {};
  };

  One fetch_one(uint32_t map, const std::string& path) {
    One one;
    std::optional<Download> download;
    const std::atomic<int64_t>& received = received_[plan_.maps[map].agent];
    int64_t received_before = received.load();
    int silent_tries = 0;
    for (size_t round = 0, tries = 0;; ++round, ++tries) {
      const int64_t right = download ? download->right() : 0;
      one = try_once(map, path, tries > 0, download);
      if (one.error || one.trial == Trial::kDone || one.trial == Trial::kNever || stopped_.load()) {
        return one;
      }
      // The agent may be busy with others, or with us.
      if (const int64_t now = received.load(); now != received_before) {
        received_before = now;
        silent_tries = 0;
      }
      if (one.trial == Trial::kSilent && ++silent_tries == kSilentTriesMax) {
        one.trial = Trial::kNoAgent;
        return one;
      }
      // A connection that brings data may break any number of times.
      if (download && download->right() > right) round = 0;
      if (round == kRetryAfterMillis.size()) return one;
      std::this_thread::sleep_for(std::chrono::milliseconds(kRetryAfterMillis[round]));
    }
  }

 private:
  // The address of the files of one map task.
  struct Place {
    HttpPlace agent = {};
    std::string folder = {};
  };

  // The target of a response's bytes, a string or a download; never more than was asked for.
  struct Sink {
    int64_t room = 0;
    std::atomic<int64_t>* received = nullptr;
    std::string* text = nullptr;
    Download* download = nullptr;
    std::optional<Error> error = {};
  };

  One try_once(uint32_t map, const std::string& path, bool is_refused,
               std::optional<Download>& download) {
    const MapOutput& source = plan_.maps[map];
    const Result<HttpPlace> agent = sources_.place(source.agent, is_refused);
    if (!agent) return {.trial = Trial::kNoAgent, .why = agent.error().message()};
    const Place base{
        .agent = *agent,
        .folder = text("/v1/files/", plan_.framework, "/", id_of(plan_, map, source.attempt), "/")};
    One one;
    if (!download) {
      std::string entry_bytes;
      Sink to_text{.room = static_cast<int64_t>(kIndexEntryBytes),
                   .received = &received_[source.agent],
                   .text = &entry_bytes};
      one = get(base, "map.index",
                int64_t{plan_.partition} * static_cast<int64_t>(kIndexEntryBytes), to_text);
      if (one.trial != Trial::kDone) return one;
      const Result<IndexEntry> entry = decode_index_entry(entry_bytes);
      if (!entry) return {.trial = Trial::kAgain, .why = "its map.index is damaged"};
      entry_ = *entry;
      if (entry->length == 0) return {.trial = Trial::kDone};
      Result<Fd> file = open_to_write(path);
      if (!file) return {.error = std::move(file).error()};
      download.emplace(*entry, plan_.partition, *std::move(file));
    }
    const Result<int64_t> offset = download->begin();
    if (!offset) return {.error = offset.error()};
    Sink to_file{
        .room = download->missing(), .received = &received_[source.agent], .download = &*download};
    one = get(base, "map.out", *offset, to_file);
    if (one.error || one.trial != Trial::kDone) return one;
    if (const Result<void> whole = download->end(); !whole) {
      return {.trial = Trial::kAgain, .why = whole.error().message()};
    }
    one.entry = entry_;
    return one;
  }

  // Gets sink.room bytes from `offset` on.
  One get(const Place& base, std::string_view file, int64_t offset, Sink& sink) {
    Clock::time_point last = Clock::now();  // time of the last data
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
      if (sink.error && sink.error->code() == ErrorCode::kCorruption) {
        return {.trial = Trial::kAgain, .why = sink.error->message()};
      }
      if (sink.error) return {.error = std::move(sink.error)};
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
      if (silent > plan_.silence_max)
        return {.trial = Trial::kSilent, .why = "its agent is silent"};
      pollfd ready{.fd = get->fd(), .events = get->events(), .revents = 0};
      poll(&ready, 1, kPollMillis);
    }
    const int status = get->answer().status();
    if (status >= 300) {
      // The agent answers and does not have the file, so a retry does not help, unless its token
      // has expired.
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
    *sink.received += static_cast<int64_t>(piece.size());
    if (sink.error) return;
    if (static_cast<int64_t>(piece.size()) > sink.room) {
      sink.error = Error::corruption("the answer was too long");
      return;
    }
    sink.room -= static_cast<int64_t>(piece.size());
    if (sink.text != nullptr) *sink.text += piece;
    if (sink.download == nullptr) return;
    if (Result<void> ok = sink.download->take(piece); !ok) sink.error = std::move(ok).error();
  }

  const FetchPlan& plan_;
  Sources& sources_;
  BytesOfAgents& received_;
  const std::atomic<bool>& stopped_;
  IndexEntry entry_ = {};  // of the map that is being fetched
};

// The shared state of the threads.
class Share {
 public:
  Share(const FetchPlan& plan, const std::atomic<bool>& stopped)
      : plan_(plan),
        stopped_(stopped),
        sources_(plan.framework, plan.addresses, plan.own),
        received_(plan.addresses.size()),
        no_agent_(plan.addresses.size()),
        runs_(plan.maps.size()) {}

  void work() {
    Fetcher fetcher(plan_, sources_, received_, stopped_);
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
      } else {
        if (one.entry.length > 0) {
          runs_[map] = {
              .path = path, .is_packed = one.entry.is_packed, .partition = plan_.partition};
          fetched_.records += one.entry.records;
          fetched_.bytes += one.entry.length;
        }
        if (plan_.on_fetched) plan_.on_fetched(++maps_here_);
      }
    }
  }

  Fetched take() && {
    for (Run& run : runs_) {
      if (!run.path.empty()) fetched_.runs.push_back(std::move(run));
    }
    std::sort(fetched_.missing.begin(), fetched_.missing.end());
    return std::move(fetched_);
  }

 private:
  const FetchPlan& plan_;
  const std::atomic<bool>& stopped_;
  Sources sources_;
  BytesOfAgents received_;
  std::vector<std::atomic<bool>> no_agent_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::vector<Run> runs_;
  Fetched fetched_;
  int64_t maps_here_ = 0;
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
