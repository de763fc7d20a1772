#pragma once

// Several Debian machines on one network, as an operator has them. Each has an account `op`, which
// may use sudo and can reach all machines by ssh from the first one, and an account `ada`. There is
// no systemd: a `systemctl` of the tests starts the commands of units as their users, and restarts
// them when they end.

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/processes.h"
#include "tests/packages/debian_root.h"
#include "tests/support/shell_blocks.h"

namespace proffer::test {

// Prepares `base` for such machines, and installs packages.
Exit prepare_for_cluster(const DebianRoot& base);

class DebianCluster {
 public:
  // Their names with a domain, such as "m1.example".
  DebianCluster(const DebianRoot& base, const std::vector<std::string>& names);

  // The machine with this name.
  DebianRoot& at(const std::string& name) const;
  // The machines on which to run a block of a guide. Fails the test if the block names none.
  std::vector<std::string> places_of(const ShellBlock& block) const;
  // Runs the block as the user that it names, by default op: "On each machine", "On m1.example",
  // "ada, on m1.example". Packages for apt-get must be there already.
  void run(const ShellBlock& block) const;
  // The output of a unit, with the times of its starts and ends.
  std::string log(const std::string& machine, const std::string& unit) const;
  // The directory that all machines mount as /srv/shared, as a path of the host.
  std::string shared() const { return home_ / "shared"; }
  // Disconnects the machine from the network.
  void cut(const std::string& name) const;

 private:
  struct Host {
    std::string name;
    std::unique_ptr<DebianRoot> root;
  };
  void connect(const Host& host, size_t number) const;

  TemporaryDirectory home_;
  std::unique_ptr<Process> network_;  // holds the network namespace of the switch
  std::vector<Host> hosts_;
};

}  // namespace proffer::test
