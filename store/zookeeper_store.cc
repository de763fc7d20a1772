// Read Impl::commit first: one transaction. Impl::pump makes it of the batches that wait,
// Impl::journal makes several of one large batch. The first part of the file is the start of a
// leader: Impl::raise_epoch, then Impl::read_all.

#include "store/zookeeper_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer {
namespace {

using Status = ZooKeeperSession::Status;
using Write = ZooKeeperSession::Write;
using Writes = std::vector<Write>;

// Reads under way while everything is read. Each may bring kZooKeeperNodeBytesMax.
constexpr size_t kReadsMax = 64;
// How often raising the epoch is tried again because another master wrote in between.
constexpr int kRaisesMax = 10;

constexpr const char* kDamagedHint =
    "restore the data of the ensemble from its newest snapshot, or name a new path with --zk";

size_t cost_of(const Write& write) {
  return write.data.size() + write.path.size() + kZooKeeperWriteBytes;
}

}  // namespace

struct ZooKeeperStore::Impl : std::enable_shared_from_this<ZooKeeperStore::Impl> {
  struct Waiting {
    std::vector<StoreRecord> batch = {};
    Done done = {};
  };
  using Then = std::function<void(Result<void>)>;
  using TakeOverDone = std::function<void(Result<TakenOver>)>;

  // What has been read so far.
  struct Reading {
    std::map<std::pair<std::string, std::string>, std::string> rows = {};
    // Rows whose parts are not all there: right only while the journal is going to replace them.
    std::map<std::pair<std::string, std::string>, std::string> incomplete = {};
    std::optional<std::vector<StoreRecord>> journal = {};
    std::vector<std::string> journal_nodes = {};  // its children
    std::deque<std::function<void()>> waiting = {};
    size_t under_way = 0;
    std::optional<Error> failed = {};
    TakeOverDone done = {};
  };

  Loop& loop;
  ZooKeeperSession& session;
  std::string root;
  ZooKeeperEpoch state;  // what ROOT/epoch says, once the epoch has begun
  int32_t version = 0;   // of ROOT/epoch
  std::unordered_map<std::string, size_t> parts_of;  // by the path of each row
  std::unordered_set<std::string> folders;           // that are there, below ROOT/rows
  std::unique_ptr<Reading> reading;
  std::deque<Waiting> waiting;
  std::deque<Done> in_flight;  // owed by the transaction under way, or being called
  bool is_busy = false;
  bool is_abandoned = false;  // the store is gone
  bool has_begun = false;
  std::optional<Error> failed;

  Impl(Loop& on, ZooKeeperSession& s, std::string where, std::string writer)
      : loop(on), session(s), root(std::move(where)), state{.writer = std::move(writer)} {}

  // Nothing is called back once the store is gone.
  template <class Fn>
  auto if_alive(Fn fn) {
    return [weak = weak_from_this(), fn = std::move(fn)](auto&&... answer) mutable {
      const auto self = weak.lock();
      if (self != nullptr && !self->is_abandoned) fn(std::forward<decltype(answer)>(answer)...);
    };
  }

  // --- the start of a leader
  // ----------------------------------------------------------------------

  void raise_epoch(int attempts_left, TakeOverDone done) {
    session.get(
        root + "/epoch", if_alive([=, this](const ZooKeeperSession::Node& node) {
          const std::optional<ZooKeeperEpoch> found = parse_zookeeper_epoch(node.data);
          if (node.status != Status::kOk || !found) return done(not_ours("epoch"));
          // An attempt whose answer was lost.
          if (found->writer == state.writer) return begun(*found, node.version, done);
          if (attempts_left == 0) {
            return done(Error::failed_precondition("other masters begin epochs all the time"));
          }
          const ZooKeeperEpoch next{
              .epoch = found->epoch + 1, .commits = found->commits + 1, .writer = state.writer};
          session.write({{.kind = Write::Kind::kSet,
                          .path = root + "/epoch",
                          .data = to_text(next),
                          .version = node.version}},
                        if_alive([=, this](const ZooKeeperSession::Written& written) {
                          if (written.status == Status::kOk) {
                            return begun(next, node.version + 1, done);
                          }
                          if (written.status == Status::kBadVersion) {
                            return raise_epoch(attempts_left - 1, done);
                          }
                          done(failure(written));
                        }));
        }));
  }

  void begun(const ZooKeeperEpoch& epoch, int32_t at, TakeOverDone done) {
    state = epoch;
    version = at;
    reading = std::make_unique<Reading>();
    reading->done = std::move(done);
    read([this] { read_journal(); });
    read([this] { read_tables(); });
    read_more();
  }

  // Runs `start` when fewer than kReadsMax are under way. Each start leads to one read_done().
  void read(std::function<void()> start) { reading->waiting.push_back(std::move(start)); }

  void read_more() {
    while (reading->under_way < kReadsMax && !reading->waiting.empty()) {
      const std::function<void()> start = std::move(reading->waiting.front());
      reading->waiting.pop_front();
      ++reading->under_way;
      start();
    }
    if (reading->under_way == 0) all_read();
  }

  void read_done() {
    --reading->under_way;
    if (reading->failed) reading->waiting.clear();
    read_more();
  }

  void list(const std::string& path, std::function<void(const std::string& name)> each) {
    session.list(path, if_alive([=, this](const ZooKeeperSession::Children& found) {
                   if (found.status != Status::kOk) reading->failed = not_ours(path);
                   for (const std::string& name : found.names) each(name);
                   read_done();
                 }));
  }

  void read_tables() {
    list(root + "/rows", [this](const std::string& table) {
      folders.insert(table);
      read([this, table] { read_table(table); });
    });
  }

  void read_table(const std::string& table) {
    list(text(root, "/rows/", table), [this, table](const std::string& shard) {
      const std::string folder = text(table, "/", shard);
      folders.insert(folder);
      read([this, table, folder] {
        list(text(root, "/rows/", folder), [this, table, folder](const std::string& name) {
          read([this, table, folder, name] { read_row(table, folder, name); });
        });
      });
    });
  }

  void read_row(const std::string& table, const std::string& folder, const std::string& name) {
    const std::string path = text(root, "/rows/", folder, "/", name);
    session.get(path, if_alive([=, this](const ZooKeeperSession::Node& node) {
                  const std::optional<std::string> key = key_of_zookeeper_name(name);
                  if (node.status != Status::kOk || !key || !zookeeper_parts(node.data)) {
                    reading->failed = not_ours(path);
                    return read_done();
                  }
                  const auto parts = static_cast<size_t>(node.children);
                  parts_of[path] = parts;
                  if (parts == 0) {
                    took_row({table, *key}, path, node.data, {});
                    return read_done();
                  }
                  auto collected = std::make_shared<std::pair<size_t, std::vector<std::string>>>();
                  collected->second.resize(parts);
                  for (size_t i = 0; i < parts; ++i) {
                    read([=, this] {
                      session.get(text(path, "/", i),
                                  if_alive([=, this](const ZooKeeperSession::Node& part) {
                                    if (part.status != Status::kOk)
                                      reading->failed = not_ours(text(path, "/", i));
                                    collected->second[i] = part.data;
                                    if (++collected->first == parts) {
                                      took_row({table, *key}, path, node.data, collected->second);
                                    }
                                    read_done();
                                  }));
                    });
                  }
                  read_done();
                }));
  }

  void took_row(std::pair<std::string, std::string> key, const std::string& path,
                const std::string& node, const std::vector<std::string>& parts) {
    std::optional<std::string> value = zookeeper_value(node, parts);
    if (value) {
      reading->rows[std::move(key)] = *std::move(value);
    } else {
      reading->incomplete[std::move(key)] = path;
    }
  }

  void read_journal() {
    session.list(root + "/journal", if_alive([this](const ZooKeeperSession::Children& found) {
                   if (found.status != Status::kOk) reading->failed = not_ours("journal");
                   reading->journal_nodes = found.names;
                   const bool is_whole = std::find(found.names.begin(), found.names.end(),
                                                   "commit") != found.names.end();
                   if (is_whole) {
                     auto chunks = std::make_shared<std::map<std::string, std::string>>();
                     const size_t count = found.names.size() - 1;
                     for (const std::string& name : found.names) {
                       if (name == "commit") continue;
                       read([=, this] {
                         session.get(text(root, "/journal/", name),
                                     if_alive([=, this](const ZooKeeperSession::Node& node) {
                                       if (node.status != Status::kOk)
                                         reading->failed = not_ours("journal");
                                       (*chunks)[name] = node.data;
                                       if (chunks->size() == count) took_journal(*chunks);
                                       read_done();
                                     }));
                       });
                     }
                   }
                   read_done();
                 }));
  }

  void took_journal(const std::map<std::string, std::string>& chunks) {
    std::string bytes;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const auto at = chunks.find(text(i));
      if (at != chunks.end()) bytes += at->second;
    }
    reading->journal = parse_journal(bytes);
    if (!reading->journal) reading->failed = not_ours("journal");
  }

  // What a leader before this one did not bring to its end is done now.
  void all_read() {
    if (reading->failed) return taken_over(*reading->failed);
    if (reading->journal_nodes.empty()) return taken_over({});
    std::vector<Writes> steps;
    if (reading->journal) {
      for (const StoreRecord& record : *reading->journal) {
        const std::pair<std::string, std::string> key{record.table, record.key};
        reading->incomplete.erase(key);
        if (record.value) {
          reading->rows[key] = *record.value;
        } else {
          reading->rows.erase(key);
        }
      }
      steps = packed(writes_of(*reading->journal));
    }
    Writes clears;
    for (const std::string& name : reading->journal_nodes) {
      clears.push_back({.kind = Write::Kind::kErase, .path = text(root, "/journal/", name)});
    }
    steps.push_back(std::move(clears));
    run(std::move(steps), 0, [this](Result<void> done) { taken_over(std::move(done)); });
  }

  void taken_over(Result<void> result) {
    const std::unique_ptr<Reading> read = std::move(reading);
    if (result && !read->incomplete.empty()) {
      const auto& [key, path] = *read->incomplete.begin();
      result = Error::corruption(text("of ", key.first, " ", quoted(key.second), ", ", quoted(path),
                                      ", some parts are missing"))
                   .with_hint(kDamagedHint);
    }
    if (!result) return read->done(std::move(result).error());
    has_begun = true;
    TakenOver out{.epoch = LeaderEpoch(static_cast<uint64_t>(state.epoch))};
    out.rows.reserve(read->rows.size());
    for (auto& [key, value] : read->rows) {
      out.rows.push_back({.table = key.first, .key = key.second, .value = std::move(value)});
    }
    read->done(std::move(out));
  }

  // --- transactions
  // -------------------------------------------------------------------------------

  // One transaction: `writes`, and the epoch's node one commit further.
  void commit(Writes writes, Then then) {
    ZooKeeperEpoch next = state;
    ++next.commits;
    writes.insert(writes.begin(), {.kind = Write::Kind::kSet,
                                   .path = root + "/epoch",
                                   .data = to_text(next),
                                   .version = version});
    session.write(
        std::move(writes),
        if_alive([this, next, then = std::move(then)](const ZooKeeperSession::Written& written) {
          if (written.status == Status::kOk) return committed(next, then);
          if (written.status == Status::kBadVersion && written.failed == 0) {
            return find_out(next, then);
          }
          then(failure(written));
        }));
  }

  void committed(const ZooKeeperEpoch& next, const Then& then) {
    state = next;
    ++version;
    then({});
  }

  // The epoch's node is not as it was left: by an earlier attempt of this transaction, or by
  // another leader.
  void find_out(const ZooKeeperEpoch& next, const Then& then) {
    session.get(root + "/epoch", if_alive([this, next, then](const ZooKeeperSession::Node& node) {
                  const std::optional<ZooKeeperEpoch> found = parse_zookeeper_epoch(node.data);
                  if (found == next) return committed(next, then);
                  then(Error::failed_precondition(text("this master led in epoch ", state.epoch,
                                                       ", but epoch ", found ? found->epoch : 0,
                                                       " has begun")));
                }));
  }

  void run(std::vector<Writes> steps, size_t at, Then then) {
    if (at == steps.size()) return then({});
    Writes writes = std::move(steps[at]);
    commit(std::move(writes),
           [this, steps = std::move(steps), at, then = std::move(then)](Result<void> done) mutable {
             if (!done) return then(std::move(done));
             run(std::move(steps), at + 1, std::move(then));
           });
  }

  // What makes the rows so. From here on they count as being so: a failure is final.
  Writes writes_of(const std::vector<StoreRecord>& batch) {
    Writes writes;
    for (const StoreRecord& record : batch) add_writes(record, writes);
    return writes;
  }

  void add_folder(const std::string& folder, Writes& writes) {
    if (!folders.insert(folder).second) return;
    writes.push_back({.path = text(root, "/rows/", folder)});
  }

  void add_writes(const StoreRecord& record, Writes& writes) {
    const std::string path = text(root, "/rows/", zookeeper_path(record.table, record.key));
    const auto known = parts_of.find(path);
    const bool is_there = known != parts_of.end();
    const size_t old_parts = is_there ? known->second : 0;
    if (!record.value) {
      if (!is_there) return;
      for (size_t i = old_parts; i > 0; --i) {
        writes.push_back({.kind = Write::Kind::kErase, .path = text(path, "/", i - 1)});
      }
      writes.push_back({.kind = Write::Kind::kErase, .path = path});
      parts_of.erase(known);
      return;
    }
    ZooKeeperValue value = to_zookeeper_value(*record.value);
    if (!is_there) {
      add_folder(record.table, writes);
      add_folder(zookeeper_shard(record.table, record.key), writes);
    }
    writes.push_back({.kind = is_there ? Write::Kind::kSet : Write::Kind::kCreate,
                      .path = path,
                      .data = std::move(value.node)});
    for (size_t i = 0; i < value.parts.size(); ++i) {
      writes.push_back({.kind = i < old_parts ? Write::Kind::kSet : Write::Kind::kCreate,
                        .path = text(path, "/", i),
                        .data = std::move(value.parts[i])});
    }
    for (size_t i = old_parts; i > value.parts.size(); --i) {
      writes.push_back({.kind = Write::Kind::kErase, .path = text(path, "/", i - 1)});
    }
    parts_of[path] = value.parts.size();
  }

  static std::vector<Writes> packed(Writes writes) {
    std::vector<Writes> steps;
    size_t bytes = 0;
    for (Write& write : writes) {
      const size_t cost = cost_of(write);
      if (steps.empty() || bytes + cost > kZooKeeperTransactionBytesMax) {
        steps.emplace_back();
        bytes = 0;
      }
      bytes += cost;
      steps.back().push_back(std::move(write));
    }
    return steps;
  }

  // At least what the writes of `batch` cost.
  size_t cost_at_most(const std::vector<StoreRecord>& batch) const {
    size_t cost = 0;
    for (const StoreRecord& record : batch) {
      const std::string path = text(root, "/rows/", zookeeper_path(record.table, record.key));
      const auto known = parts_of.find(path);
      const size_t bytes = record.value ? record.value->size() : 0;
      const size_t nodes =
          3 + bytes / kZooKeeperNodeBytesMax + 1 + (known == parts_of.end() ? 0 : known->second);
      cost += bytes + nodes * (path.size() + 8 + kZooKeeperWriteBytes);
    }
    return cost;
  }

  // --- the queue
  // ----------------------------------------------------------------------------------

  void pump() {
    if (is_busy || waiting.empty()) return;
    is_busy = true;
    std::vector<StoreRecord> group;
    size_t bytes = 0;
    while (!waiting.empty() && in_flight.size() < kStoreGroupMax) {
      const size_t more = cost_at_most(waiting.front().batch);
      if (!in_flight.empty() && bytes + more > kZooKeeperTransactionBytesMax) break;
      bytes += more;
      std::move(waiting.front().batch.begin(), waiting.front().batch.end(),
                std::back_inserter(group));
      in_flight.push_back(std::move(waiting.front().done));
      waiting.pop_front();
    }
    const auto then = [this](Result<void> result) { finish(result); };
    if (failed || group.empty()) {
      return loop.defer(
          if_alive([this] { finish(failed ? Result<void>(*failed) : Result<void>()); }));
    }
    if (bytes > kZooKeeperTransactionBytesMax) return journal(group, then);
    commit(writes_of(group), then);
  }

  // A batch that is larger than a transaction may be. The node `commit` is its moment.
  void journal(const std::vector<StoreRecord>& batch, Then then) {
    const std::string bytes = to_journal(batch);
    std::vector<Writes> steps;
    Writes clears = {{.kind = Write::Kind::kErase, .path = root + "/journal/commit"}};
    for (size_t at = 0; at < bytes.size(); at += kZooKeeperNodeBytesMax) {
      const std::string path = text(root, "/journal/", at / kZooKeeperNodeBytesMax);
      steps.push_back({{.path = path, .data = bytes.substr(at, kZooKeeperNodeBytesMax)}});
      clears.push_back({.kind = Write::Kind::kErase, .path = path});
    }
    steps.push_back({{.path = root + "/journal/commit", .data = ""}});
    for (Writes& step : packed(writes_of(batch))) steps.push_back(std::move(step));
    steps.push_back(std::move(clears));
    run(std::move(steps), 0, std::move(then));
  }

  void finish(const Result<void>& result) {
    if (!result && !failed) failed = result.error();
    while (!in_flight.empty()) {
      const Done done = std::move(in_flight.front());
      in_flight.pop_front();
      done(result);
      if (is_abandoned) return;
    }
    is_busy = false;
    pump();
  }

  // --- errors
  // -------------------------------------------------------------------------------------

  Error not_ours(const std::string& path) const {
    return Error::corruption(text("what ZooKeeper has at ", quoted(path), " below ", quoted(root),
                                  " is not what a master writes, or cannot be read"))
        .with_hint(kDamagedHint);
  }

  Error failure(const ZooKeeperSession::Written& written) const {
    switch (written.status) {
      case Status::kUnreachable:
        return Error::unavailable(
                   text("ZooKeeper closed the connection on a write ", written.attempts, " times"))
            .with_hint("its servers must allow at least 1 MiB (jute.maxbuffer)");
      case Status::kNoAuth:
        return Error::failed_precondition(
                   text("nodes below ", quoted(root), " were made with another secret"))
            .with_hint("all masters need the same --zk_secret_file");
      case Status::kNoNode:
      case Status::kNodeExists:
        return Error::corruption(text("ZooKeeper lacks nodes below ", quoted(root),
                                      ", or has some, that this master did not erase or make"))
            .with_hint(kDamagedHint);
      default:
        return Error::internal(text("ZooKeeper refused a write: ", written.error));
    }
  }
};

ZooKeeperStore::ZooKeeperStore(Loop& loop, ZooKeeperSession& session, std::string root,
                               std::string writer)
    : impl_(std::make_shared<Impl>(loop, session, std::move(root), std::move(writer))) {}

ZooKeeperStore::~ZooKeeperStore() { impl_->is_abandoned = true; }

void ZooKeeperStore::take_over(std::function<void(Result<TakenOver>)> done) {
  CHECK(!impl_->has_begun && impl_->reading == nullptr) << "an epoch has begun already";
  impl_->raise_epoch(kRaisesMax, std::move(done));
}

void ZooKeeperStore::append(std::vector<StoreRecord> batch, Done done) {
  CHECK(impl_->has_begun) << "append() comes after take_over()";
  for (const StoreRecord& record : batch) {
    CHECK(!record.table.empty()) << "record '" << record.key << "' without a table";
    CHECK(!record.value || record.value->size() <= kStoreValueBytesMax)
        << record.table << " '" << record.key << "' has " << record.value->size() << " bytes";
  }
  if (impl_->waiting.size() >= kStoreQueuedMax && !impl_->failed) {
    impl_->failed = Error::resource_exhausted(
        text("more than ", kStoreQueuedMax, " writes wait for ZooKeeper"));
  }
  impl_->waiting.push_back({.batch = std::move(batch), .done = std::move(done)});
  impl_->pump();
}

size_t ZooKeeperStore::pending() const { return impl_->waiting.size() + impl_->in_flight.size(); }

}  // namespace proffer
