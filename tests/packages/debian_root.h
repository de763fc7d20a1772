#pragma once

// A fresh Debian 12 in a directory. Packages are installed into it, and its units' commands run in
// it as under systemd, in their own mount, process and network namespaces. Needs root, debootstrap
// and Debian's servers.

#include <memory>
#include <set>
#include <string>

#include "tests/integration/processes.h"

namespace proffer::test {

// The environment of a fresh login, besides the user's.
inline constexpr const char* kSystemPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

// The process that a unit file describes.
struct Unit {
  std::string user = "root";
  Words environment = {};  // NAME=value
  Words command = {};      // ExecStart, with the variables of its EnvironmentFile replaced
  Words exec_start = {};   // ExecStart as written: a word may be "$VARIABLE"
  std::string environment_file = {};  // empty if it has none
  bool has_no_new_privileges = false;
  std::string umask = "0022";
  std::string bounding_set = "+all";  // for setpriv
};

class DebianRoot {
 public:
  // Takes a minute or two; made() returns whether it worked.
  DebianRoot();
  // A machine with this name and all files of `base`, which does not see its changes. It has no
  // cgroups, because machines on one kernel would share them. `shared`: a directory that it mounts
  // as /srv/shared.
  DebianRoot(const DebianRoot& base, std::string hostname, const std::string& shared);
  // An independent copy of the current files; it is not booted.
  std::unique_ptr<DebianRoot> copy() const;
  ~DebianRoot();
  DebianRoot(const DebianRoot&) = delete;
  DebianRoot& operator=(const DebianRoot&) = delete;

  const Exit& made() const { return made_; }
  // The host's path of a path inside.
  std::string at(const std::string& path) const;
  // Runs a command as root with the host's network; its processes end with it. Not for a root with
  // a base.
  Exit in_root(Words words, Seconds deadline = Seconds{900}) const;
  Exit apt_get(Words words) const;

  // All paths except logs, caches, backups and the package database, for comparisons.
  std::set<std::string> paths() const;

  // A unit from /usr/lib/systemd/system, also of a template such as "stunnel@zookeeper".
  Unit unit(const std::string& name) const;
  // Creates the namespaces: units and users see only their own processes and network.
  void boot();
  // The first process of the namespaces.
  pid_t inside() const { return inside_; }
  std::unique_ptr<Process> start(const Unit& unit) const;
  // The command of start(), as root.
  static Words command_of(const Unit& unit);
  // Sends SIGTERM to a process of start(), and waits for its end.
  static Exit stop(Process& started);
  Exit as(const std::string& user, const std::string& shell_command,
          Seconds deadline = kDeadline) const;
  std::unique_ptr<Process> starts_as(const std::string& user,
                                     const std::string& shell_command) const;
  // Ends all processes in the namespaces.
  void halt() { init_ = nullptr; }

 private:
  // Selects the constructor of an empty directory.
  struct Nothing {};
  explicit DebianRoot(Nothing nothing);
  std::string root() const { return home_ / "root"; }
  Words enter() const;

  TemporaryDirectory home_;
  Exit made_;
  std::string base_ = {};      // the root below this one, if any
  std::string hostname_ = {};  // empty: the host's name
  std::string shared_ = {};
  std::unique_ptr<Process> init_;
  pid_t inside_ = 0;
};

}  // namespace proffer::test
