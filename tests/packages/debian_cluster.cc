#include "tests/packages/debian_cluster.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

// $1: the verb; then units. Debian's own units without a unit file have an init script.
constexpr const char* kSystemctl = R"(#!/bin/sh
verb=$1
shift
if [ "$1" = --now ]; then
  shift
  case $verb in
    enable) verb=start ;;
    disable) verb=stop ;;
  esac
fi
ends() {
  read -r supervisor 2>/dev/null </run/units/$1.supervisor || return 0
  read -r main 2>/dev/null </run/units/$1.main
  kill -KILL $supervisor 2>/dev/null
  kill -TERM $main 2>/dev/null
  while kill -0 $main 2>/dev/null; do sleep 0.02; done
  rm -f /run/units/$1.*
}
begins() {
  [ ! -e /run/units/$1.supervisor ] || return 0
  touch /run/units/$1.supervisor
  setsid sh -c 'echo $$ >/run/units/$0.supervisor
    while :; do
      /run/units/$0 &
      echo $! >/run/units/$0.main
      wait $!
      echo "the unit ended with code $?"
      sleep 1
    done' $1 >>/var/log/$1.log 2>&1 </dev/null &
  while [ ! -s /run/units/$1.main ]; do sleep 0.02; done
}
for unit; do
  if [ ! -e /run/units/$unit ]; then
    service $unit $verb || exit
    continue
  fi
  case $verb in
    start) begins $unit ;;
    stop) ends $unit ;;
    restart) ends $unit; begins $unit ;;
    enable) ;;
    disable) ;;
    *) echo "systemctl of the tests: unknown verb '$verb'" >&2; exit 1 ;;
  esac
done
)";

// A word "$VARIABLE" is not quoted: the shell splits its value into words.
std::string quoted_for_shell(const Words& words) {
  std::string all;
  for (std::string word : words) {
    if (word.starts_with("$")) {
      all += " " + word;
      continue;
    }
    for (size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) {
      word.replace(at, 1, "'\\''");
    }
    all += text(all.empty() ? "" : " ", "'", word, "'");
  }
  return all;
}

// Each start reads the unit's EnvironmentFile, as systemd does.
std::string script_of(Unit unit) {
  std::string script = "#!/bin/sh\n";
  for (const std::string& each : unit.environment) {
    const size_t equals = each.find('=');
    script += text(each.substr(0, equals), "='", each.substr(equals + 1), "'\n");
  }
  if (!unit.environment_file.empty()) script += text(". ", unit.environment_file, "\n");
  unit.command = unit.exec_start;
  return text(script, "exec ", quoted_for_shell(DebianRoot::command_of(unit)), "\n");
}

void write_program(const std::string& path, const std::string& content) {
  write_file(path, content);
  fs::permissions(path, fs::perms(0755));
}

void does(const Words& words) {
  const Exit done = test::run(words);
  CHECK_EQ(done.code, 0) << done.err;
}

constexpr const char* kNetwork = "10.234.0.";

}  // namespace

Exit prepare_for_cluster(const DebianRoot& base) {
  // The installation of packages starts no daemon.
  write_program(base.at("/usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n");
  Exit done = base.apt_get({"install", "sudo", "openssh-server", "openssh-client", "procps"});
  if (done.code != 0) return done;
  return base.in_root({"/bin/sh", "-ec",
                       "for user in op ada; do\n"
                       "  useradd --create-home --user-group --shell /bin/bash $user\n"
                       "done\n"
                       "echo 'op ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/op\n"
                       "mkdir -p -m 0700 ~op/.ssh\n"
                       "ssh-keygen -q -t ed25519 -N '' -f ~op/.ssh/id_ed25519\n"
                       "cp ~op/.ssh/id_ed25519.pub ~op/.ssh/authorized_keys\n"
                       "printf 'StrictHostKeyChecking no\\nLogLevel ERROR\\n' > ~op/.ssh/config\n"
                       "chown -R op: ~op/.ssh\n"
                       "mkdir -p /run/sshd\n"});
}

DebianCluster::DebianCluster(const DebianRoot& base, const std::vector<std::string>& names) {
  fs::permissions(home_.path(), fs::perms(0755));
  fs::create_directory(shared());
  fs::permissions(shared(), fs::perms(01777));
  network_ = std::make_unique<Process>(
      Words{"unshare", "--net", "--", "sh", "-c",
            "ip link add switch type bridge && ip link set switch up && echo up && "
            "exec sleep 100000"});
  CHECK(network_->line_with("up")) << network_->err();
  std::string hosts = "127.0.0.1 localhost\n";
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string short_name = names[i].substr(0, names[i].find('.'));
    hosts += text(kNetwork, i + 1, " ", names[i], " ", short_name, "\n");
    hosts_.push_back({names[i], std::make_unique<DebianRoot>(base, short_name, shared())});
  }
  for (size_t i = 0; i < hosts_.size(); ++i) {
    DebianRoot& root = *hosts_[i].root;
    root.boot();
    CHECK_NE(root.inside(), 0);
    connect(hosts_[i], i + 1);
    write_file(root.at("/etc/hosts"), hosts);
    write_program(root.at("/usr/local/bin/systemctl"), kSystemctl);
    fs::create_directory(root.at("/run/units"));
    for (const std::string unit : {"proffer-master", "proffer-agent", "proffer-service",
                                   "proffer-batch", "stunnel@zookeeper"}) {
      write_program(root.at("/run/units/" + unit), script_of(root.unit(unit)));
    }
    // As at the machine's boot.
    const Exit booted = root.as("root",
                                "/usr/sbin/sshd && systemctl start proffer-master proffer-agent "
                                "proffer-service proffer-batch");
    CHECK_EQ(booted.code, 0) << booted.err;
  }
}

void DebianCluster::connect(const Host& host, size_t number) const {
  const std::string port = text("port", number);
  const Words in_switch = {"nsenter", text("--net=/proc/", network_->pid(), "/ns/net"), "--"};
  const Words in_host = {"nsenter", text("--net=/proc/", host.root->inside(), "/ns/net"), "--"};
  const auto ip = [](Words where, const Words& what) {
    where.push_back("ip");
    where.insert(where.end(), what.begin(), what.end());
    does(where);
  };
  ip(in_switch, {"link", "add", port, "type", "veth", "peer", "name", "eth0", "netns",
                 std::to_string(host.root->inside())});
  ip(in_switch, {"link", "set", port, "master", "switch", "up"});
  ip(in_host, {"addr", "add", text(kNetwork, number, "/24"), "dev", "eth0"});
  ip(in_host, {"link", "set", "eth0", "up"});
}

void DebianCluster::cut(const std::string& name) const {
  does({"nsenter", text("--net=/proc/", at(name).inside(), "/ns/net"), "--", "ip", "link", "set",
        "eth0", "down"});
}

DebianRoot& DebianCluster::at(const std::string& name) const {
  for (const Host& host : hosts_) {
    if (host.name == name) return *host.root;
  }
  CHECK(false) << "no machine " << name;
  std::abort();
}

std::vector<std::string> DebianCluster::places_of(const ShellBlock& block) const {
  std::vector<std::string> places;
  for (const Host& host : hosts_) {
    if (block.where == "On each machine" || block.where.ends_with("n " + host.name)) {
      places.push_back(host.name);
    }
  }
  EXPECT_FALSE(places.empty()) << block.where;
  return places;
}

void DebianCluster::run(const ShellBlock& block) const {
  const size_t comma = block.where.find(", on ");
  const std::string user = comma == std::string::npos ? "op" : block.where.substr(0, comma);
  std::string script = "set -e\n";
  for (const std::string_view line : split(block.script, '\n')) {
    const std::string install = "sudo apt-get install ";
    // dpkg fails if the file does not exist.
    script += line.starts_with(install) && line.find(".deb") == std::string_view::npos
                  ? text("dpkg --status ", line.substr(install.size()), " >/dev/null")
                  : std::string(line);
    script += '\n';
  }
  for (const std::string& place : places_of(block)) {
    const Exit done = at(place).as(user, script, Seconds{120});
    EXPECT_EQ(done.code, 0) << block.where << "\n" << script << done.out << done.err;
  }
}

std::string DebianCluster::log(const std::string& machine, const std::string& unit) const {
  return read_file(at(machine).at("/var/log/" + unit + ".log"));
}

}  // namespace proffer::test
