#include "tests/machines/machines.h"

#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sched.h>

#include "common/check.h"
#include "common/text.h"
#include "net/fd.h"

namespace proffer::test {
namespace {

// The device name from the network: a machine's links have different networks.
std::string device_of(const std::string& network) { return "p-" + network; }

}  // namespace

Machine::Machine(std::string name, const std::string& directory)
    : name_(std::move(name)), directory_(directory + "/" + name_) {
  std::filesystem::create_directories(directory_ + "/tmp");
  holder_ = std::make_unique<Process>(Words{"unshare", "--net", "--", "sh", "-c",
                                            "ip link set lo up && echo up && exec sleep 100000"});
  CHECK(holder_->line_with("up")) << holder_->err();
}

void Machine::link(const Machine& other, const std::string& network) {
  const std::string device = device_of(network);
  const Words steps[] = {
      command({"ip", "link", "add", device, "type", "veth", "peer", "name", device, "netns",
               std::to_string(other.holder_->pid())}),
      command({"ip", "addr", "add", network + ".1/24", "dev", device}),
      command({"ip", "link", "set", device, "up"}),
      other.command({"ip", "addr", "add", network + ".2/24", "dev", device}),
      other.command({"ip", "link", "set", device, "up"}),
  };
  for (const Words& step : steps) {
    const Exit done = run(step);
    CHECK_EQ(done.code, 0) << done.err;
  }
}

void Machine::set(const std::string& network, const std::string& state) const {
  const Exit done = run(command({"ip", "link", "set", device_of(network), state}));
  CHECK_EQ(done.code, 0) << done.err;
}

Words Machine::command(Words words) const {
  const Words enter = {"nsenter", text("--net=/proc/", holder_->pid(), "/ns/net"), "--"};
  words.insert(words.begin(), enter.begin(), enter.end());
  return words;
}

std::map<std::string, std::string> Machine::environment() const {
  return {{"PROFFER_CONFIG_DIR", directory_ + "/config"},
          {"PROFFER_MASTER", ""},
          {"TMPDIR", directory_ + "/tmp"}};
}

void Machine::route(const std::string& network, const std::string& gateway) const {
  const Exit done = run(command({"ip", "route", "add", network + ".0/24", "via", gateway}));
  CHECK_EQ(done.code, 0) << done.err;
}

void Machine::forward() const {
  const Exit done = run(command({"sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"}));
  CHECK_EQ(done.code, 0) << done.err;
}

Exit Machine::runs(const Words& words, Seconds deadline) const {
  return run(command(words), environment(), {}, deadline);
}

std::unique_ptr<Process> Machine::starts(const Words& words) const {
  return std::make_unique<Process>(command(words), environment());
}

void Machine::within(const std::function<void()>& fn) const {
  std::thread thread([&] {
    const Fd network(open(text("/proc/", holder_->pid(), "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK_EQ(setns(network.get(), CLONE_NEWNET), 0);
    fn();
  });
  thread.join();
}

Exit Machine::runs_as(unsigned uid, const Words& words) const {
  Words become = {"setpriv", text("--reuid=", uid), text("--regid=", uid), "--clear-groups"};
  become.insert(become.end(), words.begin(), words.end());
  return runs(become);
}

}  // namespace proffer::test
