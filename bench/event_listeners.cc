// How late listeners of the event log receive an event: one alone, and beside thousands of others;
// one of them never reads.
//
//   build/bin/event_listeners [PAIRS [LISTENERS [SECONDS [RESULTS.md]]]]
//
// An empty RESULTS.md writes no section.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/epoll.h>

#include "bench/cluster/processes.h"
#include "bench/results.h"
#include "bench/run_once.h"
#include "common/check.h"
#include "common/text.h"
#include "net/descriptors.h"
#include "tests/integration/processes.h"
#include "tests/net/support.h"

namespace {

using namespace proffer;

constexpr auto kLaunchEvery = std::chrono::milliseconds(50);
constexpr size_t kMeasuredMax = 16;

int64_t now_micros() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

struct Listener {
  explicit Listener(const std::string& socket) : fd(net_test::connect_path(socket)) {
    CHECK(fd.get() >= 0) << "cannot connect to " << socket;
    CHECK(net_test::send_all(fd,
                             "GET /v1/events HTTP/1.0\r\nHost: localhost\r\nAccept: "
                             "text/event-stream\r\n\r\n"));
  }
  Fd fd;
  std::string line = {};  // for a measured listener: the part that has arrived
  bool is_measured = false;
  size_t gaps = 0;
};

// "time_s":1795752607.113 as microseconds.
int64_t time_of(const std::string& line) {
  const size_t at = line.find("\"time_s\":");
  if (at == line.npos) return 0;
  return std::stoll(line.substr(at + 9, 10)) * 1'000'000 +
         std::stoll(line.substr(at + 20, 3)) * 1'000;
}

void read_measured(Listener& listener, std::string_view bytes, std::vector<int64_t>& late) {
  const int64_t now = now_micros();
  for (const char c : bytes) {
    if (c != '\n') {
      listener.line += c;
      continue;
    }
    if (listener.line == "event: gap") ++listener.gaps;
    const int64_t at = listener.line.starts_with("data: ") ? time_of(listener.line) : 0;
    if (at > 0) late.push_back(std::max<int64_t>(0, now - at));
    listener.line.clear();
  }
}

struct Heard {
  std::vector<int64_t> late = {};  // microseconds from the event's time to its arrival
  int64_t memory_kib = 0;          // of the master, with all of them
  size_t gaps = 0;
  size_t ended = 0;
};

// The first one never reads, if there are others.
Heard hear(const test::Cluster& cluster, size_t count, int span_s) {
  std::vector<std::unique_ptr<Listener>> listeners;
  const Fd poll(epoll_create1(EPOLL_CLOEXEC));
  for (size_t i = 0; i < count; ++i) {
    listeners.push_back(std::make_unique<Listener>(cluster.http()));
    Listener& listener = *listeners.back();
    const size_t every = std::max<size_t>(1, count / kMeasuredMax);
    listener.is_measured = i % every == every - 1;
    if (i == 0 && count > 1) continue;
    epoll_event wanted{.events = EPOLLIN, .data = {.ptr = &listener}};
    CHECK_EQ(epoll_ctl(poll.get(), EPOLL_CTL_ADD, listener.fd.get(), &wanted), 0);
  }
  std::atomic<bool> is_over = false;
  std::thread launches([&] {
    while (!is_over) {
      bench::run_once(cluster.master());
      std::this_thread::sleep_for(kLaunchEvery);
    }
  });
  Heard heard;
  // the first second is for their connections
  const int64_t begin = now_micros() + 1'000'000;
  std::vector<epoll_event> ready(256);
  std::string block(64 * 1024, '\0');
  bool has_begun = false;
  while (now_micros() < begin + int64_t{span_s} * 1'000'000) {
    if (!has_begun && now_micros() >= begin) {
      has_begun = true;
      heard.late.clear();
    }
    const int found = epoll_wait(poll.get(), ready.data(), static_cast<int>(ready.size()), 100);
    for (int i = 0; i < found; ++i) {
      auto& listener = *static_cast<Listener*>(ready[static_cast<size_t>(i)].data.ptr);
      const ssize_t got = ::recv(listener.fd.get(), block.data(), block.size(), MSG_DONTWAIT);
      if (got == 0) {
        ++heard.ended;
        epoll_ctl(poll.get(), EPOLL_CTL_DEL, listener.fd.get(), nullptr);
      } else if (got > 0 && listener.is_measured) {
        read_measured(listener, {block.data(), static_cast<size_t>(got)}, heard.late);
      }
    }
  }
  is_over = true;
  launches.join();
  heard.memory_kib = bench::memory_kib(cluster.pid_of("master"), "VmRSS");
  for (const auto& listener : listeners) heard.gaps += listener->gaps;
  return heard;
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 5;
  const int count = argc > 2 ? std::atoi(argv[2]) : 2'000;
  const int span_s = argc > 3 ? std::atoi(argv[3]) : 20;
  const std::string path = argc > 4 ? argv[4] : "bench/RESULTS.md";
  CHECK(pairs > 0 && count > 1 && span_s > 0);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);
  raise_descriptor_limit();
  const test::Cluster cluster({.agents = 1});
  for (int i = 0; i < 20; ++i) bench::run_once(cluster.master());  // warm up
  std::vector<int64_t> alone;
  std::vector<int64_t> beside;
  std::vector<int64_t> ratios;
  int64_t memory_alone = 0;
  int64_t memory_beside = 0;
  size_t gaps = 0;
  size_t ended = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    // In this order: the master counts listeners that have just left for a moment longer, and a
    // user may have a little more than 2,000.
    const Heard one = hear(cluster, 1, span_s);
    const Heard many = hear(cluster, static_cast<size_t>(count), span_s);
    CHECK(!one.late.empty() && !many.late.empty()) << "nothing was heard";
    ratios.push_back(bench::percentile(many.late, 99) * 100 /
                     std::max<int64_t>(1, bench::percentile(one.late, 99)));
    if (pair == 0) memory_alone = one.memory_kib;
    memory_beside = std::max(memory_beside, many.memory_kib);
    gaps += many.gaps;
    ended += many.ended;
    alone.insert(alone.end(), one.late.begin(), one.late.end());
    beside.insert(beside.end(), many.late.begin(), many.late.end());
    std::fputs(bench::latency_row(text("pair ", pair + 1, ": alone"), one.late).c_str(), stdout);
    std::fputs(bench::latency_row(text("pair ", pair + 1, ": beside others"), many.late).c_str(),
               stdout);
    std::fflush(stdout);
  }
  const std::string body = text(
      "The time from an event (whole milliseconds of the master's clock) to its arrival at a "
      "listener of server-sent events, in milliseconds. A task of `true` is launched each 50 ms; "
      "events are written to disk in batches of 100 ms before they are sent. ",
      pairs, " alternating pairs of ", span_s, " s: one listener alone, and ", count,
      "; one of them never reads, and ", kMeasuredMax, " are measured.\n\n| | p50 | p99 |\n",
      "|---|---|---|\n", bench::latency_row("one alone", alone),
      bench::latency_row(text("among ", count), beside),
      "\nRatio of the p99 in each pair, median: ", bench::hundredths(bench::percentile(ratios, 50)),
      ". Reported gaps: ", gaps, "; readers cut off: ", ended,
      ". Memory of the master: ", memory_alone / 1'024, " MiB with one, at most ",
      memory_beside / 1'024, " MiB with all.\n");
  std::fputs(body.c_str(), stdout);
  if (path.empty()) return 0;
  bench::write_section(path, "event_listeners",
                       text("build/bin/event_listeners ", pairs, " ", count, " ", span_s), body);
  return 0;
}
