#pragma once

// Several machines on one: network namespaces that are connected by veth pairs. A process of the
// test holds each, so they always end with the test. Needs root.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tests/integration/processes.h"

namespace proffer::test {

class Machine {
 public:
  // Creates `directory` for the machine's own configuration and temporary files.
  Machine(std::string name, const std::string& directory);

  // Links the two: `network`.1 is this machine, `network`.2 the other, for example "10.231.1".
  void link(const Machine& other, const std::string& network);
  // The link of this network passes no packets, like an unplugged cable, until mend().
  void cut(const std::string& network) const { set(network, "down"); }
  void mend(const std::string& network) const { set(network, "up"); }

  // The command, to run there with the machine's configuration and without $PROFFER_MASTER.
  Words command(Words words) const;
  std::map<std::string, std::string> environment() const;
  Exit runs(const Words& words, Seconds deadline = kDeadline) const;
  std::unique_ptr<Process> starts(const Words& words) const;
  // Runs it as another user of the machine.
  Exit runs_as(unsigned uid, const Words& words) const;
  // Calls `fn` on a thread in this machine's network: its new sockets belong there.
  void within(const std::function<void()>& fn) const;

  // Routes packets for `network`.0/24 through `gateway`.
  void route(const std::string& network, const std::string& gateway) const;
  // Makes this machine forward packets.
  void forward() const;

  const std::string& directory() const { return directory_; }
  std::string operator/(const std::string& name) const { return directory_ + "/" + name; }

 private:
  void set(const std::string& network, const std::string& state) const;

  std::string name_;
  std::string directory_;
  std::unique_ptr<Process> holder_;
};

}  // namespace proffer::test
