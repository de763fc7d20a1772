#include "tests/packages/debian_root.h"

#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>

#include <sys/stat.h>

#include "common/text.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

Words blank_separated(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Reads lines of NAME="value".
std::map<std::string, std::string> read_environment(const std::string& file) {
  std::map<std::string, std::string> environment;
  std::istringstream stream(read_file(file));
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (line.starts_with("#") || equals == std::string::npos) continue;
    std::string value = line.substr(equals + 1);
    std::erase(value, '"');
    environment[line.substr(0, equals)] = value;
  }
  return environment;
}

// Converts names of capabilities from systemd's form ("CAP_SYS_TIME") to setpriv's ("-sys_time").
std::string dropped(const std::string& names) {
  std::string all;
  for (std::string name : blank_separated(names)) {
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    all += text(all.empty() ? "-" : ",-", name.substr(std::string("cap_").size()));
  }
  return all;
}

// The prefix of a command that runs as this user.
Words become(const std::string& user) {
  return {"setpriv", "--reuid=" + user, "--regid=" + (user == "nobody" ? "nogroup" : user),
          "--init-groups"};
}

// A child of `parent`; this kernel does not list children.
pid_t child_of(pid_t parent) {
  pid_t child = 0;
  eventually([&] {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string stat = read_file(entry.path() / "stat");
      const size_t name_end = stat.rfind(')');
      if (name_end == std::string::npos) continue;
      const Words fields = blank_separated(stat.substr(name_end + 1));
      if (fields.size() < 2 || fields[1] != std::to_string(parent)) continue;
      child = std::stoi(entry.path().filename());
      return true;
    }
    return false;
  });
  return child;
}

}  // namespace

// Users inside must be able to enter the directory.
DebianRoot::DebianRoot(Nothing) { fs::permissions(home_.path(), fs::perms(0755)); }

DebianRoot::DebianRoot() : DebianRoot(Nothing()) {
  made_ = run({"debootstrap", "--variant=minbase", "bookworm", root()}, {}, {}, Seconds{900});
}

std::unique_ptr<DebianRoot> DebianRoot::copy() const {
  std::unique_ptr<DebianRoot> own(new DebianRoot(Nothing()));
  own->made_ =
      run({"cp", "--archive", "--reflink=auto", root(), own->root()}, {}, {}, Seconds{300});
  return own;
}

DebianRoot::DebianRoot(const DebianRoot& base, std::string hostname, const std::string& shared)
    : DebianRoot(Nothing()) {
  made_.code = 0;
  base_ = base.root();
  hostname_ = std::move(hostname);
  shared_ = shared;
  for (const char* folder : {"root", "changes", "work"}) fs::create_directory(home_ / folder);
}

DebianRoot::~DebianRoot() { halt(); }

// The host sees the mounts of the namespaces below the root of their first process.
std::string DebianRoot::at(const std::string& path) const {
  return (base_.empty() ? root() : text("/proc/", inside_, "/root")) + path;
}

Exit DebianRoot::in_root(Words words, Seconds deadline) const {
  // Java's packages need /proc.
  const Words enter = {"unshare",       "--mount",
                       "--pid",         "--fork",
                       "--kill-child",  "--mount-proc=" + root() + "/proc",
                       "chroot",        root(),
                       "env",           "-i",
                       kSystemPath,     "DEBIAN_FRONTEND=noninteractive",
                       "LC_ALL=C.UTF-8"};
  words.insert(words.begin(), enter.begin(), enter.end());
  return run(words, {}, {}, deadline);
}

Exit DebianRoot::apt_get(Words words) const {
  words.insert(words.begin(), {"apt-get", "-y", "--no-install-recommends"});
  return in_root(std::move(words));
}

std::set<std::string> DebianRoot::paths() const {
  std::set<std::string> paths;
  const auto is_left_out = [](const std::string& path) {
    for (const char* folder : {"/debs", "/proc", "/sys", "/tmp", "/var/cache", "/var/log",
                               "/var/lib/apt", "/var/lib/dpkg"}) {
      if (path == folder) return true;
    }
    return path.ends_with("-") || path == "/etc/ld.so.cache";
  };
  for (auto entry = fs::recursive_directory_iterator(root()); entry != fs::end(entry); ++entry) {
    const std::string path = entry->path().string().substr(root().size());
    if (is_left_out(path)) {
      entry.disable_recursion_pending();
    } else {
      paths.insert(path);
    }
  }
  return paths;
}

Unit DebianRoot::unit(const std::string& name) const {
  Unit unit;
  std::string command;
  std::map<std::string, std::string> environment;
  // In a template unit such as "stunnel@zookeeper", %i means the part after the @.
  const size_t instance = name.find('@') + 1;
  const std::string file = instance == 0 ? name : name.substr(0, instance);
  std::istringstream stream(read_file(at("/usr/lib/systemd/system/" + file + ".service")));
  std::string dropped_capabilities;
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (line.starts_with("#") || equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    std::string value = line.substr(equals + 1);
    if (const size_t i = value.find("%i"); i != std::string::npos) {
      value.replace(i, 2, name.substr(instance));
    }
    if (key == "User") unit.user = value;
    if (key == "ExecStart") command = value;
    if (key == "UMask") unit.umask = value;
    if (key == "Environment") {
      unit.environment.push_back(value);
      environment[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    }
    if (key == "NoNewPrivileges") unit.has_no_new_privileges = value == "yes";
    if (key == "EnvironmentFile") {
      unit.environment_file = value.substr(1);
      for (const auto& [variable, given] : read_environment(at(value.substr(1)))) {
        environment[variable] = given;
      }
    }
    if (key != "CapabilityBoundingSet") continue;
    if (value.empty()) {
      unit.bounding_set = "-all";
    } else {
      dropped_capabilities += " " + value.substr(1);
    }
  }
  if (!dropped_capabilities.empty()) unit.bounding_set = dropped(dropped_capabilities);
  unit.exec_start = blank_separated(command);
  for (const std::string& word : unit.exec_start) {
    if (!word.starts_with("$")) {
      unit.command.push_back(word);
      continue;
    }
    for (const std::string& one : blank_separated(environment[word.substr(1)])) {
      unit.command.push_back(one);
    }
  }
  return unit;
}

void DebianRoot::boot() {
  // $0: the root; $1: the root below it; $2: the changes on top; $3: /srv/shared. The first process
  // reaps orphans, as init does.
  const std::string own_system = "mount --rbind /sys \"$0/sys\"";
  const std::string machine =
      "mount -t overlay overlay -o \"lowerdir=$1,upperdir=$2/changes,workdir=$2/work\" \"$0\" && "
      "mkdir -p \"$0/srv/shared\" && mount --bind \"$3\" \"$0/srv/shared\" && "
      "mount -t sysfs sysfs \"$0/sys\" && hostname " +
      hostname_;
  init_ = std::make_unique<Process>(Words{
      "unshare", "--mount", "--pid", "--net", "--uts", "--fork", "--kill-child", "/bin/sh", "-c",
      (base_.empty() ? own_system : machine) +
          " && mount -t proc proc \"$0/proc\" && ip link set lo up && exec chroot \"$0\" "
          "perl -e '$SIG{CHLD} = \"IGNORE\"; $| = 1; print \"up\\n\"; sleep while 1'",
      root(), base_, home_.path(), shared_});
  if (!init_->line_with("up")) return;
  inside_ = child_of(init_->pid());
}

Words DebianRoot::enter() const {
  return {"nsenter",   text("--target=", inside_),
          "--mount",   "--pid",
          "--net",     "--uts",
          "chroot",    root(),
          "env",       "-i",
          kSystemPath, "LC_ALL=C.UTF-8"};
}

Words DebianRoot::command_of(const Unit& unit) {
  Words words = become(unit.user);
  words.push_back("--bounding-set=" + unit.bounding_set);
  if (unit.has_no_new_privileges) words.push_back("--no-new-privs");
  words.push_back("env");
  words.insert(words.end(), unit.environment.begin(), unit.environment.end());
  for (const char* word : {"/bin/sh", "-c", "umask $0; exec \"$@\""}) words.push_back(word);
  words.push_back(unit.umask);
  words.insert(words.end(), unit.command.begin(), unit.command.end());
  return words;
}

std::unique_ptr<Process> DebianRoot::start(const Unit& unit) const {
  Words words = enter();
  const Words command = command_of(unit);
  words.insert(words.end(), command.begin(), command.end());
  return std::make_unique<Process>(words);
}

Exit DebianRoot::stop(Process& started) {
  kill(child_of(started.pid()), SIGTERM);
  return started.wait();
}

std::unique_ptr<Process> DebianRoot::starts_as(const std::string& user,
                                               const std::string& shell_command) const {
  Words words = enter();
  const Words user_words = become(user);
  words.insert(words.end(), user_words.begin(), user_words.end());
  for (const char* word : {"--reset-env", "/bin/sh", "-c"}) words.push_back(word);
  words.push_back("cd; " + shell_command);
  return std::make_unique<Process>(words);
}

Exit DebianRoot::as(const std::string& user, const std::string& shell_command,
                    Seconds deadline) const {
  return starts_as(user, shell_command)->wait(deadline);
}

}  // namespace proffer::test
