#include "store/zookeeper_registry.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "common/limits.h"
#include "common/text.h"
#include "net/loop.h"
#include "net/randomness.h"
#include "store/zookeeper_leadership.h"
#include "store/zookeeper_options.h"
#include "store/zookeeper_reader.h"
#include "store/zookeeper_rows.h"

namespace proffer {
namespace {

using Status = ZooKeeperSession::Status;

// The maximum number of reads, which are repeated if a master wrote meanwhile.
constexpr int kSnapshotReadsMax = 50;

// Runs one command: the loop runs until there is a result.
template <class T>
class Command {
 public:
  explicit Command(Loop& loop) : loop_(loop) {}
  void answer(Result<T> answer) {
    if (answer_) return;
    answer_.emplace(std::move(answer));
    loop_.stop();
  }
  Result<T> wait() {
    if (!answer_) loop_.run();
    return *std::move(answer_);
  }

 private:
  Loop& loop_;
  std::optional<Result<T>> answer_;
};

Error out_of_reach(const ZooKeeperOptions& options, Duration patience) {
  return Error::unavailable(text("ZooKeeper at ", quoted(options.servers), " did not answer for ",
                                 to_text(patience)))
      .with_hint("check that most of its servers run: `echo ruok | nc HOST PORT` asks one");
}

// Only `proffer registry` leads without an address.
Error held_by_command(const ZooKeeperOptions& options, Duration patience) {
  return Error::failed_precondition(text("another `proffer registry` command changes ",
                                         quoted(options.servers + options.root),
                                         ", and did not end in ", to_text(patience)))
      .with_hint(
          "wait until it has ended, or end it, then try again; if it was killed, ZooKeeper notices "
          "this after its session timeout");
}

// Reads the rows, with the same ROOT/epoch before and after.
class Reading {
 public:
  Reading(Loop& loop, const ZooKeeperOptions& options, Duration patience)
      : options_(options),
        command_(loop),
        deadline_(loop, [=, this] { command_.answer(out_of_reach(options_, patience)); }),
        session_(loop, options,
                 {.on_connected = [this] { deadline_.arm(std::nullopt); },
                  .on_disconnected = [=, this, &loop] { deadline_.arm(loop.now() + patience); },
                  .on_ended = [=, this] { command_.answer(out_of_reach(options_, patience)); }}) {
    deadline_.arm(loop.now() + patience);
    // Ensures that the read includes everything that other servers have acknowledged.
    session_.sync(options_.root, [this] { begin(); });
  }
  Result<RegistrySnapshot> wait() { return command_.wait(); }

 private:
  void begin() {
    look([this](const ZooKeeperEpoch& before) {
      reader_ = std::make_unique<ZooKeeperReader>(session_, options_.root);
      reader_->read([this, before](Result<ZooKeeperRows> rows) {
        look([this, before, rows = std::move(rows)](const ZooKeeperEpoch& after) mutable {
          read(before, after, std::move(rows));
        });
      });
    });
  }

  void look(std::function<void(const ZooKeeperEpoch&)> then) {
    session_.get(options_.root + "/epoch",
                 [this, then = std::move(then)](const ZooKeeperSession::Node& node) {
                   if (node.status == Status::kNoNode) {
                     return command_.answer(Error::not_found(
                         text("ZooKeeper has no registry at ", quoted(options_.root))));
                   }
                   if (node.status == Status::kNoAuth) {
                     return command_.answer(wrong_zookeeper_secret(options_.root));
                   }
                   const std::optional<ZooKeeperEpoch> epoch = parse_zookeeper_epoch(node.data);
                   if (node.status != Status::kOk || !epoch) {
                     return command_.answer(not_written_by_masters(options_.root, "epoch"));
                   }
                   then(*epoch);
                 });
  }

  void read(const ZooKeeperEpoch& before, const ZooKeeperEpoch& after, Result<ZooKeeperRows> rows) {
    if (before == after) {
      if (!rows) return command_.answer(std::move(rows).error());
      return command_.answer(
          RegistrySnapshot{.progress = {.epoch = after.epoch, .commits = after.commits},
                           .records = std::move(rows->rows)});
    }
    if (++reads_ < kSnapshotReadsMax) return begin();
    command_.answer(
        Error::unavailable(text("the registry at ", quoted(options_.root), " changed in each of ",
                                kSnapshotReadsMax, " attempts to read it"))
            .with_hint("try again when fewer frameworks subscribe and end"));
  }

  const ZooKeeperOptions& options_;
  int reads_ = 0;
  Command<RegistrySnapshot> command_;
  Timer deadline_;
  ZooKeeperSession session_;
  std::unique_ptr<ZooKeeperReader> reader_;  // destroyed before its session
};

// Whether a master could have written this batch.
Result<void> check(const std::vector<StoreRecord>& batch) {
  for (const StoreRecord& record : batch) {
    if (Result<void> checked = check_name("a table of the registry", record.table); !checked) {
      return checked;
    }
    if (record.value && record.value->size() > kStoreValueBytesMax) {
      return Error::invalid_argument(text(record.table, " ", quoted(record.key), " has ",
                                          record.value->size(), " bytes; a row has at most ",
                                          kStoreValueBytesMax));
    }
  }
  return {};
}

std::vector<StoreRecord> with(std::vector<StoreRecord> rows,
                              const std::vector<StoreRecord>& batch) {
  std::map<std::pair<std::string, std::string>, StoreRecord> by_key;
  for (StoreRecord& row : rows) by_key[{row.table, row.key}] = std::move(row);
  for (const StoreRecord& record : batch) {
    if (record.value) {
      by_key[{record.table, record.key}] = record;
    } else {
      by_key.erase({record.table, record.key});
    }
  }
  rows.clear();
  for (auto& [key, row] : by_key) rows.push_back(std::move(row));
  return rows;
}

}  // namespace

Result<RegistrySnapshot> ZooKeeperRegistry::read() const {
  Loop loop;
  Reading reading(loop, options_, patience_);
  return reading.wait();
}

Result<RegistrySnapshot> ZooKeeperRegistry::change(int64_t epoch, const Edit& edit) const {
  Loop loop;
  Command<RegistrySnapshot> command(loop);
  ZooKeeperLeadership leadership(loop, options_, random_secret().str(), epoch);
  Timer deadline(loop, [&] {
    command.answer(leadership.is_led_by_other() ? held_by_command(options_, patience_)
                                                : out_of_reach(options_, patience_));
  });
  deadline.arm(loop.now() + patience_);
  const auto gained = [&](LeaderEpoch begun, std::vector<StoreRecord> rows) {
    deadline.arm(std::nullopt);
    Result<std::vector<StoreRecord>> batch = edit(rows);
    const Result<void> checked = batch ? check(*batch) : batch.error();
    if (!checked) return command.answer(checked.error());
    RegistrySnapshot changed{.progress = {.epoch = static_cast<int64_t>(begun.value())},
                             .records = with(std::move(rows), *batch)};
    leadership.store().append(
        *std::move(batch), [&command, changed = std::move(changed)](const Result<void>& done) {
          command.answer(done ? Result<RegistrySnapshot>(changed) : done.error());
        });
  };
  leadership.campaign(
      {}, {.gained = gained,
           .follows =
               [&](const std::optional<MasterPlace>& leader) {
                 if (!leader) return;
                 command.answer(
                     Error::failed_precondition(text("the master at ", quoted(leader->address),
                                                     " leads with this registry"))
                         .with_hint(
                             "stop all masters of the cluster first, and start them afterwards"));
               },
           .lost = [&](Error why) { command.answer(std::move(why)); }});
  return command.wait();
}

}  // namespace proffer
