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
  Words command = {};  // ExecStart, with the variables of its EnvironmentFile in place
  bool has_no_new_privileges = false;
  std::string umask = "0022";
  std::string bounding_set = "+all";  // for setpriv
};

class DebianRoot {
 public:
  // Takes a minute or two; made() says whether it worked.
  DebianRoot();
  ~DebianRoot();
  DebianRoot(const DebianRoot&) = delete;
  DebianRoot& operator=(const DebianRoot&) = delete;

  const Exit& made() const { return made_; }
  // A path inside as seen from outside.
  std::string at(const std::string& path) const { return root() + path; }
  // A command of root's with the network of this machine, outside the namespaces.
  Exit in_root(Words words, Seconds deadline = Seconds{900}) const;
  Exit apt_get(Words words) const;

  // All paths but logs, caches, backups and the database of packages, to be compared.
  std::set<std::string> paths() const;

  // From /usr/lib/systemd/system.
  Unit unit(const std::string& name) const;
  // Makes the namespaces: units and users see no other process and no other network.
  void boot();
  std::unique_ptr<Process> start(const Unit& unit) const;
  // SIGTERM to what start() returned, and its end.
  static Exit stop(Process& started);
  Exit as(const std::string& user, const std::string& shell_command,
          Seconds deadline = kDeadline) const;
  // Ends all processes in the namespaces.
  void halt() { init_ = nullptr; }

 private:
  std::string root() const { return home_ / "root"; }
  Words enter(const std::string& user) const;

  TemporaryDirectory home_;
  Exit made_;
  std::unique_ptr<Process> init_;
  pid_t inside_ = 0;  // the first process of the namespaces
};

}  // namespace proffer::test
