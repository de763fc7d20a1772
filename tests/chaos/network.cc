#include "tests/chaos/network.h"

#include <algorithm>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "tests/integration/kill/record.h"

namespace proffer::test {
namespace {

constexpr const char* kDevice = "/dev/net/tun";
constexpr const char* kName = "chaos";
constexpr int kMachinesMax = 255;
// Maximum number of delayed packets; more are dropped, as in a router.
constexpr size_t kWaitingMax = 65'536;
constexpr size_t kPacketBytesMax = 2'048;
constexpr size_t kHeaderBytes = 20;
constexpr size_t kLastByteOfTarget = 19;

}  // namespace

Network::Network()
    : ways_(kMachinesMax, std::vector<Way>(kMachinesMax)), wake_up_(::eventfd(0, EFD_CLOEXEC)) {}

Network::~Network() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  CHECK_EQ(::write(wake_up_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  thread_.join();
}

bool Network::is_possible() { return ::access(kDevice, R_OK | W_OK) == 0; }

std::string Network::address(int number) { return text("10.240.0.", number); }

void Network::join(const Machine& machine, int number) {
  CHECK(number > 0 && number < kMachinesMax);
  CHECK(!thread_.joinable()) << "the first packet may be under way";
  Port port{.number = number};
  machine.within([&] {
    port.device = Fd(::open(kDevice, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::copy_n(kName, std::string_view(kName).size(), request.ifr_name);
    PCHECK(::ioctl(port.device.get(), TUNSETIFF, &request) == 0);
  });
  for (const Words& step : {Words{"ip", "addr", "add", address(number) + "/24", "dev", kName},
                            Words{"ip", "link", "set", kName, "up"}}) {
    const Exit done = machine.runs(step);
    CHECK_EQ(done.code, 0) << done.err;
  }
  ports_.push_back(std::move(port));
}

void Network::start() {
  thread_ = std::thread([this] { run(); });
}

void Network::set(int from, int to, Way way) {
  const std::lock_guard lock(mutex_);
  for (int i = 1; i < kMachinesMax; ++i) {
    for (int k = 1; k < kMachinesMax; ++k) {
      if ((from == 0 || from == i) && (to == 0 || to == k)) ways_[i][k] = way;
    }
  }
}

Way Network::way(int from, int to) {
  const std::lock_guard lock(mutex_);
  return ways_[from][to];
}

void Network::run() {
  std::vector<pollfd> fds;
  for (const Port& port : ports_) fds.push_back({port.device.get(), POLLIN, 0});
  fds.push_back({wake_up_.get(), POLLIN, 0});
  while ((fds.back().revents & POLLIN) == 0) {
    timespec until_due{};
    if (!waiting_.empty()) {
      const int64_t left = std::max<int64_t>(0, waiting_.front().due - now_nanos());
      until_due = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    }
    ::ppoll(fds.data(), fds.size(), waiting_.empty() ? nullptr : &until_due, nullptr);
    for (size_t i = 0; i < ports_.size(); ++i) {
      if (fds[i].revents != 0) pass_on(i);
    }
    deliver_those_due();
  }
}

void Network::pass_on(size_t from) {
  char bytes[kPacketBytesMax];
  while (true) {
    const ssize_t size = ::read(ports_[from].device.get(), bytes, sizeof bytes);
    if (size <= 0) return;
    const bool is_ipv4 = static_cast<size_t>(size) >= kHeaderBytes && (bytes[0] >> 4 & 0xf) == 4;
    if (!is_ipv4) continue;
    const int number = static_cast<uint8_t>(bytes[kLastByteOfTarget]);
    const auto target = std::find_if(ports_.begin(), ports_.end(),
                                     [&](const Port& port) { return port.number == number; });
    if (target == ports_.end()) continue;
    const Way how = way(ports_[from].number, number);
    if (how.swallows || waiting_.size() >= kWaitingMax) continue;
    Packet packet{.due = now_nanos() + int64_t{how.delay_millis} * 1'000'000,
                  .port = static_cast<size_t>(target - ports_.begin()),
                  .bytes = std::string(bytes, static_cast<size_t>(size))};
    const auto later =
        std::upper_bound(waiting_.begin(), waiting_.end(), packet.due,
                         [](int64_t due, const Packet& waiting) { return due < waiting.due; });
    waiting_.insert(later, std::move(packet));
  }
}

void Network::deliver_those_due() {
  while (!waiting_.empty() && waiting_.front().due <= now_nanos()) {
    const Packet& packet = waiting_.front();
    // Packets that the device does not take are dropped; senders repeat them.
    static_cast<void>(
        !::write(ports_[packet.port].device.get(), packet.bytes.data(), packet.bytes.size()));
    waiting_.pop_front();
  }
}

}  // namespace proffer::test
