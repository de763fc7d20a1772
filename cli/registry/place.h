#pragma once

// The place of the registry on which a command works: the directory of a single master, or the
// ZooKeeper of several masters.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/arguments.h"
#include "common/ids.h"
#include "common/result.h"
#include "store/registry_snapshot.h"
#include "store/zookeeper_registry.h"

namespace proffer::cli {

class RegistryPlace {
 public:
  // --data-dir, --zk, --zk-secret-file
  void declare(Arguments& arguments);
  // Call it after parsing. Errors are those of usage.
  Result<void> settle();

  // For people: the directory, or SERVERS/PATH.
  std::string name() const;

  // The registry's content; a master may be using it. Errors: as RegistryFile::read_directory() and
  // ZooKeeperRegistry::read().
  Result<RegistrySnapshot> read() const;

  // Both require that no master uses the registry. They return its new content; the next master's
  // epoch is one higher. Errors: as RegistryFile::open() and ZooKeeperRegistry::change(), and:

  // The next epoch is far above all known ones. `replaces`: sets aside the files in the directory.
  // kAlreadyExists: there is a registry.
  Result<RegistrySnapshot> restore(const RegistrySnapshot& dump, bool replaces) const;

  // `cluster`: makes the registry one of this cluster. `accepts_older`: also if the directory's
  // registry lacks commits. kFailedPrecondition: the registry is beyond `epoch`.
  Result<RegistrySnapshot> set_epoch(int64_t epoch, const std::optional<ClusterId>& cluster,
                                     bool accepts_older) const;

 private:
  Result<RegistrySnapshot> restore_in_directory(const RegistrySnapshot& dump, bool replaces) const;
  Result<RegistrySnapshot> restore_in_zookeeper(const RegistrySnapshot& dump) const;
  Result<RegistrySnapshot> read_or_empty() const;

  std::string directory_;
  std::string zk_;
  std::string zk_secret_file_;
  std::optional<ZooKeeperRegistry> zookeeper_;
};

}  // namespace proffer::cli
