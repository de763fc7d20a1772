// Read Impl::commit first: one transaction. Impl::pump makes it from the waiting batches, and
// Impl::journal makes several from one large batch. The first part of the file is the start of a
// leader: Impl::raise_epoch, then Impl::finish_journal with the result of ZooKeeperReader.

#include "store/zookeeper_store.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "store/zookeeper_options.h"
#include "store/zookeeper_reader.h"

namespace proffer {
namespace {

using Status = ZooKeeperSession::Status;
using Write = ZooKeeperSession::Write;
using Writes = std::vector<Write>;

// The maximum number of attempts to raise the epoch, which are repeated if another master wrote in
// between.
constexpr int kRaisesMax = 10;

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

  Loop& loop;
  ZooKeeperSession& session;
  std::string root;
  ZooKeeperEpoch state;  // content of ROOT/epoch, once the epoch has begun
  int32_t version = 0;   // of ROOT/epoch
  std::unordered_map<std::string, size_t> parts_of;  // by the path of each row
  std::unordered_set<std::string> folders;           // existing ones, below ROOT/rows
  std::unique_ptr<ZooKeeperReader> reader;
  std::deque<Waiting> waiting;
  std::deque<Done> in_flight;  // for the present transaction, or being called
  bool is_busy = false;
  bool is_abandoned = false;  // the store is destroyed
  bool has_begun = false;
  std::optional<Error> failed;

  Impl(Loop& on, ZooKeeperSession& s, std::string where, std::string writer)
      : loop(on), session(s), root(std::move(where)), state{.writer = std::move(writer)} {}

  // No callback runs after the destruction of the store.
  template <class Fn>
  auto if_alive(Fn fn) {
    return [weak = weak_from_this(), fn = std::move(fn)](auto&&... answer) mutable {
      const auto self = weak.lock();
      if (self != nullptr && !self->is_abandoned) fn(std::forward<decltype(answer)>(answer)...);
    };
  }

  // --- the start of a leader --------------------------------------------------------------------

  void raise_epoch(int64_t at_least, int attempts_left, TakeOverDone done) {
    session.get(root + "/epoch", if_alive([=, this](const ZooKeeperSession::Node& node) {
                  const std::optional<ZooKeeperEpoch> found = parse_zookeeper_epoch(node.data);
                  if (node.status != Status::kOk || !found)
                    return done(not_written_by_masters(root, "epoch"));
                  // An earlier attempt succeeded, but its answer was lost.
                  if (found->writer == state.writer) return begun(*found, node.version, done);
                  if (attempts_left == 0) {
                    return done(Error::failed_precondition("other masters keep starting epochs"));
                  }
                  const ZooKeeperEpoch next{.epoch = std::max(found->epoch + 1, at_least),
                                            .commits = found->commits + 1,
                                            .writer = state.writer};
                  session.write({{.kind = Write::Kind::kSet,
                                  .path = root + "/epoch",
                                  .data = to_text(next),
                                  .version = node.version}},
                                if_alive([=, this](const ZooKeeperSession::Written& written) {
                                  if (written.status == Status::kOk) {
                                    return begun(next, node.version + 1, done);
                                  }
                                  if (written.status == Status::kBadVersion) {
                                    return raise_epoch(at_least, attempts_left - 1, done);
                                  }
                                  done(failure(written));
                                }));
                }));
  }

  void begun(const ZooKeeperEpoch& epoch, int32_t at, TakeOverDone done) {
    state = epoch;
    version = at;
    reader = std::make_unique<ZooKeeperReader>(session, root);
    reader->read(if_alive([this, done = std::move(done)](Result<ZooKeeperRows> rows) {
      if (!rows) return done(std::move(rows).error());
      finish_journal(*std::move(rows), done);
    }));
  }

  // Completes a batch that an earlier leader did not finish.
  void finish_journal(ZooKeeperRows found, TakeOverDone done) {
    parts_of = std::move(found.parts_of);
    folders = std::move(found.folders);
    std::vector<Writes> steps;
    if (found.journal) steps = packed(writes_of(*found.journal));
    Writes clears;
    for (const std::string& name : found.journal_nodes) {
      clears.push_back({.kind = Write::Kind::kErase, .path = text(root, "/journal/", name)});
    }
    if (!clears.empty()) steps.push_back(std::move(clears));
    run(std::move(steps), 0,
        [this, rows = std::move(found.rows),
         done = std::move(done)](Result<void> finished) mutable {
          if (!finished) return done(std::move(finished).error());
          has_begun = true;
          done(TakenOver{.epoch = LeaderEpoch(static_cast<uint64_t>(state.epoch)),
                         .rows = std::move(rows)});
        });
  }

  // --- transactions -----------------------------------------------------------------------------

  // One transaction: `writes`, and the epoch's node with one more commit.
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

  // The epoch's node has changed: an earlier attempt of this transaction, or another leader, wrote
  // it.
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

  // The writes that set these rows. From here on the rows count as set, since a failure is final.
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

  // An upper bound for the cost of the writes of `batch`.
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

  // --- the queue --------------------------------------------------------------------------------

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

  // Writes a batch that exceeds a transaction. It takes effect with the node `commit`.
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

  // --- errors -----------------------------------------------------------------------------------

  Error failure(const ZooKeeperSession::Written& written) const {
    switch (written.status) {
      case Status::kUnreachable:
        return Error::unavailable(
                   text("ZooKeeper closed the connection on a write ", written.attempts, " times"))
            .with_hint("its servers must allow at least 1 MiB (jute.maxbuffer)");
      case Status::kNoAuth:
        return wrong_zookeeper_secret(root);
      case Status::kNoNode:
      case Status::kNodeExists:
        return Error::corruption(text("another program has created or erased nodes below ",
                                      quoted(root), " in ZooKeeper, which only masters may change"))
            .with_hint(kZooKeeperDamagedHint);
      default:
        return Error::internal(text("ZooKeeper refused a write: ", written.error));
    }
  }
};

ZooKeeperStore::ZooKeeperStore(Loop& loop, ZooKeeperSession& session, std::string root,
                               std::string writer)
    : impl_(std::make_shared<Impl>(loop, session, std::move(root), std::move(writer))) {}

ZooKeeperStore::~ZooKeeperStore() { impl_->is_abandoned = true; }

void ZooKeeperStore::take_over(std::function<void(Result<TakenOver>)> done, int64_t at_least) {
  CHECK(!impl_->has_begun && impl_->reader == nullptr) << "an epoch has begun already";
  impl_->raise_epoch(at_least, kRaisesMax, std::move(done));
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
