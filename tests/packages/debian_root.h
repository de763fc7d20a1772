#pragma once

// A fresh Debian 12 in a folder: packages are installed into it, and the commands of its units run
// in it as systemd would run them, in mount, process and network namespaces of their own. Needs
// root, debootstrap and Debian's servers.

#include <memory>
#include <set>
#include <string>

#include "tests/integration/processes.h"

namespace proffer::test {

// The environment of a fresh login, besides the user's.
inline constexpr const char* kSystemPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

// What a unit file says of its process.
struct Unit {
  std::string user = "root";
  Words environment = {};  // NAME=value
  Words command = {};      // ExecStart, with the variables of its EnvironmentFile in place
  Words exec_start = {};   // ExecStart as written: a word may be "$VARIABLE"
  std::string environment_file = {};  // empty: none
  bool has_no_new_privileges = false;
  std::string umask = "0022";
  std::string bounding_set = "+all";  // for setpriv
};

class DebianRoot {
 public:
  // Takes a minute or two; made() says whether it worked.
  DebianRoot();
  // A machine of that name with all that `base` has: what it changes, `base` does not see. It has
  // no cgroups, which machines of one kernel would share. `shared`: a folder that it has as
  // /srv/shared.
  DebianRoot(const DebianRoot& base, std::string hostname, const std::string& shared);
  // One's own, of what this one has now; it is not booted.
  std::unique_ptr<DebianRoot> copy() const;
  ~DebianRoot();
  DebianRoot(const DebianRoot&) = delete;
  DebianRoot& operator=(const DebianRoot&) = delete;

  const Exit& made() const { return made_; }
  // A path inside as seen from outside.
  std::string at(const std::string& path) const;
  // A command of root's with the network of this machine; what it starts ends with it. Not of a
  // root with a base.
  Exit in_root(Words words, Seconds deadline = Seconds{900}) const;
  Exit apt_get(Words words) const;

  // All paths but logs, caches, backups and the database of packages, to be compared.
  std::set<std::string> paths() const;

  // From /usr/lib/systemd/system; of a template too, as "stunnel@zookeeper".
  Unit unit(const std::string& name) const;
  // Makes the namespaces: units and users see no other process and no other network.
  void boot();
  // The first process of the namespaces.
  pid_t inside() const { return inside_; }
  std::unique_ptr<Process> start(const Unit& unit) const;
  // What start() runs there, as root.
  static Words command_of(const Unit& unit);
  // SIGTERM to what start() returned, and its end.
  static Exit stop(Process& started);
  Exit as(const std::string& user, const std::string& shell_command,
          Seconds deadline = kDeadline) const;
  std::unique_ptr<Process> starts_as(const std::string& user,
                                     const std::string& shell_command) const;
  // Ends all processes in the namespaces.
  void halt() { init_ = nullptr; }

 private:
  // Empty.
  struct Nothing {};
  explicit DebianRoot(Nothing nothing);
  std::string root() const { return home_ / "root"; }
  Words enter() const;

  TemporaryDirectory home_;
  Exit made_;
  std::string base_ = {};      // the root below this one, if any
  std::string hostname_ = {};  // empty: that of this machine
  std::string shared_ = {};
  std::unique_ptr<Process> init_;
  pid_t inside_ = 0;
};

}  // namespace proffer::test
