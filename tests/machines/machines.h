#pragma once

// Several machines on one: network namespaces that veth pairs join. They go with their objects,
// whatever happens, since a process of the test's own holds each. Needs root.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tests/integration/processes.h"

namespace proffer::test {

class Machine {
 public:
  // `directory`: what is the machine's own: configuration, temporary files. It is made.
  Machine(std::string name, const std::string& directory);

  // A link between the two: `network`.1 is this machine, `network`.2 the other. As in "10.231.1".
  void link(const Machine& other, const std::string& network);
  // Nothing comes through the link of this network, as if its cable were out; until it is mended.
  void cut(const std::string& network) const { set(network, "down"); }
  void mend(const std::string& network) const { set(network, "up"); }

  // A command there, with a configuration of the machine's own and no $PROFFER_MASTER.
  Words command(Words words) const;
  std::map<std::string, std::string> environment() const;
  Exit runs(const Words& words, Seconds deadline = kDeadline) const;
  std::unique_ptr<Process> starts(const Words& words) const;
  // As another user of the machine.
  Exit runs_as(unsigned uid, const Words& words) const;
  // Calls `fn` on a thread that is in this machine's network: sockets that it makes belong there.
  void within(const std::function<void()>& fn) const;

  // Packets to `network`.0/24 go by way of `gateway`.
  void route(const std::string& network, const std::string& gateway) const;
  // It passes on packets that are for others.
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
