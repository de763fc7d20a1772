#pragma once

// Where the registry lies that a command is about: in the directory of a master that is alone, or
// in the ZooKeeper of several masters.

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
  // Once they are parsed. Errors are those of usage.
  Result<void> settle();

  // For people: the directory, or SERVERS/PATH.
  std::string name() const;

  // What it holds; a master may be using it. Errors: as RegistryFile::read_directory() and
  // ZooKeeperRegistry::read().
  Result<RegistrySnapshot> read() const;

  // Both need that no master uses it, and return what it holds then: the next master's epoch is one
  // above. Errors: as RegistryFile::open() and ZooKeeperRegistry::change(), and:

  // The next epoch is far above all that are known. `replaces`: sets aside what is in the
  // directory. kAlreadyExists: there is a registry.
  Result<RegistrySnapshot> restore(const RegistrySnapshot& dump, bool replaces) const;

  // `cluster`: makes the registry one of it. `accepts_older`: also if the directory's lacks
  // commits. kFailedPrecondition: the registry is beyond `epoch`.
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
