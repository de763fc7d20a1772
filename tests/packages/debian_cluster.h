#pragma once

// Several machines of one Debian on one network, as an operator has them: an account `op` on each
// that may use sudo and reaches all of them by ssh from the first, and an account `ada`. There is
// no systemd; a `systemctl` of the tests starts what units say, as their users, and again when it
// ends.

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/processes.h"
#include "tests/packages/debian_root.h"
#include "tests/support/shell_blocks.h"

namespace proffer::test {

// What `base` needs for such machines. Installs packages.
Exit prepare_for_cluster(const DebianRoot& base);

class DebianCluster {
 public:
  // Their names, with a domain: "m1.example".
  DebianCluster(const DebianRoot& base, const std::vector<std::string>& names);

  // By its name.
  DebianRoot& at(const std::string& name) const;
  // The machines on which a block of a guide is run. Fails the test if it names none.
  std::vector<std::string> places_of(const ShellBlock& block) const;
  // As the user that it names, op by default: "On each machine", "On m1.example", "ada, on
  // m1.example". What apt-get installs must be there already.
  void run(const ShellBlock& block) const;
  // What a unit has written, and when it was started or ended.
  std::string log(const std::string& machine, const std::string& unit) const;
  // A folder that all have as /srv/shared, as seen from outside.
  std::string shared() const { return home_ / "shared"; }
  // Its cable is out.
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
