#include "cli/registry/place.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/text.h"
#include "proto/codec/records.h"
#include "store/registry_file.h"
#include "store/zookeeper_options.h"

namespace proffer::cli {
namespace {

constexpr const char* kDirectory = "/var/lib/proffer/master";

// A restored registry begins this far above all known epochs: masters may have led in epochs that
// are neither in the dump nor in the directory, and agents refuse an epoch below the last one they
// saw.
constexpr int64_t kEpochMargin = 1'000'000;

Error has_registry(const std::string& where, const RegistryProgress& progress) {
  return Error::already_exists(text(where, " already has a registry, epoch ", progress.epoch,
                                    ", commit ", progress.commits));
}

Error goes_back(int64_t now, int64_t epoch) {
  return Error::failed_precondition(text("the registry is already at epoch ", now,
                                         ", and an epoch cannot go back to ", epoch))
      .with_hint("if agents know a later epoch, their logs name it");
}

// The row with the cluster's id; empty if there is none.
std::vector<StoreRecord> row_of(const std::optional<ClusterId>& cluster) {
  if (!cluster) return {};
  const proto::RegistryRow row = proto::ClusterRecord{*cluster};
  return {
      {.table = proto::table_of(row), .key = proto::key_of(row), .value = proto::encode_row(row)}};
}

Result<RegistrySnapshot> held_by(RegistryFile& registry) {
  Result<std::vector<StoreRecord>> records = registry.load();
  if (!records) return std::move(records).error();
  return RegistrySnapshot{.progress = registry.progress(), .records = *std::move(records)};
}

}  // namespace

void RegistryPlace::declare(Arguments& arguments) {
  arguments.option("--data-dir,--data_dir", &directory_,
                   text("directory of the registry (default ", kDirectory, ")"));
  arguments.option(
      "--zk", &zk_,
      "servers and path of the registry, as in the masters' --zk, instead of a directory");
  arguments.option("--zk-secret-file,--zk_secret_file", &zk_secret_file_,
                   "file with the masters' shared ZooKeeper password");
}

Result<void> RegistryPlace::settle() {
  if (zk_.empty()) {
    if (!zk_secret_file_.empty()) {
      return Error::invalid_argument("--zk-secret-file needs --zk");
    }
    if (directory_.empty()) directory_ = kDirectory;
    return {};
  }
  if (!directory_.empty()) {
    return Error::invalid_argument(
        "--data-dir and --zk exclude each other: a registry is in a directory or in ZooKeeper");
  }
  if (zk_secret_file_.empty()) {
    return Error::invalid_argument("--zk needs --zk-secret-file")
        .with_hint("name the file of the masters' --zk_secret_file");
  }
  Result<ZooKeeperOptions> options = parse_zookeeper("--zk", zk_);
  if (!options) return std::move(options).error();
  Result<std::string> secret = read_zookeeper_secret(zk_secret_file_);
  if (!secret) return std::move(secret).error();
  options->secret = *std::move(secret);
  zookeeper_.emplace(*std::move(options));
  return {};
}

std::string RegistryPlace::name() const { return zookeeper_ ? zookeeper_->name() : directory_; }

Result<RegistrySnapshot> RegistryPlace::read() const {
  if (zookeeper_) return zookeeper_->read();
  Result<RegistrySnapshot> found = RegistryFile::read_directory(directory_);
  if (found || found.error().code() != ErrorCode::kNotFound || !found.error().hint().empty()) {
    return found;
  }
  return std::move(found).error().with_hint("name the master's directory with --data-dir");
}

Result<RegistrySnapshot> RegistryPlace::read_or_empty() const {
  Result<RegistrySnapshot> found = read();
  if (!found && found.error().code() == ErrorCode::kNotFound) return RegistrySnapshot();
  return found;
}

Result<RegistrySnapshot> RegistryPlace::restore(const RegistrySnapshot& dump, bool replaces) const {
  if (!zookeeper_) return restore_in_directory(dump, replaces);
  if (replaces) {
    return Error::unsupported("a registry in ZooKeeper cannot be replaced")
        .with_hint("restore to a path without a registry, and start all masters with that --zk");
  }
  return restore_in_zookeeper(dump);
}

Result<RegistrySnapshot> RegistryPlace::restore_in_directory(const RegistrySnapshot& dump,
                                                             bool replaces) const {
  const Result<std::shared_ptr<RegistryFile>> registry =
      RegistryFile::open(directory_, {.sets_aside = replaces});
  if (!registry) return registry.error();
  const RegistryProgress& before = (*registry)->progress();
  if (!replaces && before != RegistryProgress()) {
    return has_registry(directory_, before)
        .with_hint("add --replace to set the registry aside, or choose another --data-dir");
  }
  const int64_t epoch = std::max(before.epoch, dump.progress.epoch) + kEpochMargin;
  if (Result<void> done = (*registry)->replace(dump.records, epoch); !done) {
    return std::move(done).error();
  }
  return held_by(**registry);
}

Result<RegistrySnapshot> RegistryPlace::restore_in_zookeeper(const RegistrySnapshot& dump) const {
  const Result<RegistrySnapshot> before = read_or_empty();
  if (!before) return before;
  const auto refused = [&] {
    return has_registry(name(), before->progress)
        .with_hint("restore to a path without a registry, and start all masters with that --zk");
  };
  if (!before->records.empty()) return refused();
  const int64_t epoch = std::max(before->progress.epoch, dump.progress.epoch) + kEpochMargin;
  return zookeeper_->change(
      epoch, [&](const std::vector<StoreRecord>& rows) -> Result<std::vector<StoreRecord>> {
        if (!rows.empty()) return refused();
        return dump.records;
      });
}

Result<RegistrySnapshot> RegistryPlace::set_epoch(int64_t epoch,
                                                  const std::optional<ClusterId>& cluster,
                                                  bool accepts_older) const {
  if (zookeeper_) {
    const Result<RegistrySnapshot> before = read_or_empty();
    if (!before) return before;
    if (epoch < before->progress.epoch) return goes_back(before->progress.epoch, epoch);
    return zookeeper_->change(
        epoch, [&](const std::vector<StoreRecord>&) -> Result<std::vector<StoreRecord>> {
          return row_of(cluster);
        });
  }
  const Result<std::shared_ptr<RegistryFile>> registry =
      RegistryFile::open(directory_, {.accepts_older = accepts_older});
  if (!registry) return registry.error();
  const int64_t before = (*registry)->progress().epoch;
  if (epoch < before) return goes_back(before, epoch);
  if (Result<void> set = (*registry)->set_epoch(epoch, row_of(cluster)); !set) {
    return std::move(set).error();
  }
  return held_by(**registry);
}

}  // namespace proffer::cli
