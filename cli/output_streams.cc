// One thread polls all transfers. It asks the master for a task's agent only if the last known
// place is empty or does not answer.

#include "cli/output_streams.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/file_places.h"
#include "cli/master_client.h"
#include "cli/task_output.h"
#include "common/check.h"
#include "common/text.h"
#include "net/http_get.h"
#include "net/randomness.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr size_t kTransfersMax = 200;  // two for each task
constexpr size_t kOffersMax = 64;
constexpr auto kTryAgainAfter = std::chrono::milliseconds(500);
constexpr int kTriesAfterEnd = 6;

using Clock = std::chrono::steady_clock;

struct Transfer {
  FrameworkId framework = {};
  TaskId task = {};
  AgentId agent = {};  // read last from this one; empty if not known
  OutputStreams::Stream stream = OutputStreams::Stream::kStdout;
  uint64_t offset = 0;    // of the next byte from the file
  uint64_t passed = 0;    // of the next byte to pass on; more than `offset` after an offer
  std::string held = {};  // bytes that may be the beginning of a mark
  int tries_after_end = 0;
  std::optional<HttpGet> get = {};  // empty while it waits for its next try
};

struct Offered {
  TaskId task = {};
  uint64_t offset = 0;
  std::string bytes = {};
};

struct Followed {
  FrameworkId framework = {};
  TaskId task = {};
  AgentId agent = {};             // empty if not known
  std::string http_address = {};  // likewise
};

}  // namespace

struct OutputStreams::Impl {
  explicit Impl(const Masters& masters) : master(masters), places(masters) {}

  Masters master;
  Sink sink;
  Failed failed;
  Missing missing;
  Closed closed;
  std::string hole_mark;  // no output contains it: it is random
  Fd wake;

  std::mutex mutex;
  std::condition_variable idle;
  std::deque<Followed> waiting;  // guarded by mutex
  std::set<TaskId> ended;        // guarded by mutex
  std::vector<Offered> offers;   // guarded by mutex: at most kOffersMax
  size_t unfinished = 0;         // guarded by mutex: tasks with a stream
  bool ending = false;           // guarded by mutex

  std::vector<std::unique_ptr<Transfer>> transfers;  // used by the thread only
  std::vector<std::unique_ptr<Transfer>> broken;     // used by the thread only: waiting for a retry
  Clock::time_point again_at = {};                   // used by the thread only: time of the retry
  std::map<TaskId, int> open;                        // used by the thread only: streams by task
  FilePlaces places;                                 // used by the thread only
  std::thread thread;

  void drive();
  void wait_for_any();
  void go_on();
  void take_waiting();
  void try_again();
  Result<HttpPlace> find_agent(Transfer& transfer);
  void start(std::unique_ptr<Transfer> transfer, const Result<HttpPlace>& place);
  void take_offers();
  void take(Transfer& transfer, std::string_view bytes);
  void pass_on(Transfer& transfer, uint64_t offset, std::string_view bytes);
  void give_up_or_wait(std::unique_ptr<Transfer> transfer, const std::string& why);
  void close(const Transfer& transfer);
  void rouse() const;
};

void OutputStreams::Impl::drive() {
  while (true) {
    {
      const std::lock_guard lock(mutex);
      if (ending) return;
    }
    try_again();
    take_waiting();
    take_offers();
    go_on();
    wait_for_any();
  }
}

void OutputStreams::Impl::wait_for_any() {
  std::vector<pollfd> polled = {{.fd = wake.get(), .events = POLLIN, .revents = 0}};
  for (const auto& transfer : transfers) {
    polled.push_back({.fd = transfer->get->fd(), .events = transfer->get->events(), .revents = 0});
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(again_at - Clock::now());
  // Without broken transfers, wait until a descriptor is ready.
  poll(polled.data(), polled.size(),
       broken.empty() ? -1 : std::max(0, static_cast<int>(left.count())));
  uint64_t count = 0;
  if (polled.front().revents != 0 && read(wake.get(), &count, sizeof count) < 0) {
    CHECK(errno == EAGAIN) << std::strerror(errno);
  }
}

void OutputStreams::Impl::go_on() {
  std::vector<std::unique_ptr<Transfer>> all = std::exchange(transfers, {});
  for (std::unique_ptr<Transfer>& transfer : all) {
    const Result<bool> whole = transfer->get->go_on();
    if (whole && !*whole) {
      transfers.push_back(std::move(transfer));
      continue;
    }
    const int status = transfer->get->answer().status();
    transfer->get.reset();
    if (!whole) {
      give_up_or_wait(std::move(transfer), whole.error().message());
    } else if (status >= 300) {
      give_up_or_wait(std::move(transfer), text("its agent answered with status ", status));
    } else {
      pass_on(*transfer, transfer->offset, transfer->held);
      close(*transfer);
    }
  }
}

void OutputStreams::Impl::take_waiting() {
  while (transfers.size() + broken.size() + 2 <= kTransfersMax) {
    Followed next;
    {
      const std::lock_guard lock(mutex);
      if (waiting.empty()) return;
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    open[next.task] = 2;
    for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
      auto transfer = std::make_unique<Transfer>();
      transfer->framework = next.framework;
      transfer->task = next.task;
      transfer->agent = next.agent;
      transfer->stream = stream;
      const Result<HttpPlace> place =
          next.agent.empty() ? find_agent(*transfer)
                             : places.find(next.framework, next.agent, next.http_address);
      start(std::move(transfer), place);
    }
  }
}

void OutputStreams::Impl::try_again() {
  if (Clock::now() < again_at) return;
  std::vector<std::unique_ptr<Transfer>> again = std::exchange(broken, {});
  for (std::unique_ptr<Transfer>& transfer : again) {
    places.forget(transfer->framework, transfer->agent);
    const Result<HttpPlace> place = find_agent(*transfer);
    start(std::move(transfer), place);
  }
}

// Where the task's agent serves its files; it may have moved since the last try.
Result<HttpPlace> OutputStreams::Impl::find_agent(Transfer& transfer) {
  const proto::TaskQuery query{
      .prefix = transfer.framework.str() + "/" + transfer.task.str(), .ended = true, .limit = 1};
  const Result<CallResult> page = call(master, "tasks", proto::task_query_json(query));
  if (!page) return page.error();
  const Result<std::vector<proto::TaskRow>> rows = proto::parse_tasks(page->json);
  if (!rows) return rows.error();
  if (rows->empty() || rows->front().task != transfer.task) {
    return Error::not_found("the master does not know its agent");
  }
  transfer.agent = rows->front().agent;
  return find_files(places, rows->front());
}

void OutputStreams::Impl::start(std::unique_ptr<Transfer> transfer,
                                const Result<HttpPlace>& place) {
  if (!place) return give_up_or_wait(std::move(transfer), place.error().message());
  transfer->held.clear();  // It will be read again.
  transfer->offset = transfer->passed;
  const std::string target =
      text(file_target(transfer->framework, transfer->task,
                       transfer->stream == Stream::kStdout ? "stdout" : "stderr"),
           "?follow=1&offset=", transfer->offset, "&hole=", hole_mark);
  Result<HttpGet> get = HttpGet::start(
      *place, target, [this, to = transfer.get()](std::string_view bytes) { take(*to, bytes); });
  if (!get) return give_up_or_wait(std::move(transfer), get.error().message());
  transfer->get = *std::move(get);
  transfers.push_back(std::move(transfer));
}

void OutputStreams::Impl::take_offers() {
  std::vector<Offered> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(offers);
  }
  for (const Offered& offer : taken) {
    for (const auto* all : {&transfers, &broken}) {
      for (const auto& transfer : *all) {
        if (transfer->task != offer.task || transfer->stream != Stream::kStdout) continue;
        // The file has the bytes between.
        if (offer.offset <= transfer->passed) pass_on(*transfer, offer.offset, offer.bytes);
      }
    }
  }
}

// Leaves out what was passed on before.
void OutputStreams::Impl::pass_on(Transfer& transfer, uint64_t offset, std::string_view bytes) {
  const uint64_t end = offset + bytes.size();
  if (end <= transfer.passed) return;
  if (offset < transfer.passed) bytes.remove_prefix(transfer.passed - offset);
  transfer.passed = end;
  sink(transfer.task, transfer.stream, bytes);
}

// Passes the output on without the marks of holes. Bytes at the end that may be the beginning of a
// mark are held until the next bytes arrive.
void OutputStreams::Impl::take(Transfer& transfer, std::string_view bytes) {
  std::string& held = transfer.held;
  held += bytes;
  const auto pass_held_on = [&](size_t count) {
    pass_on(transfer, transfer.offset, std::string_view(held).substr(0, count));
    transfer.offset += count;
    held.erase(0, count);
  };
  for (size_t mark; (mark = held.find(hole_mark)) != std::string::npos;) {
    pass_held_on(mark);
    const size_t end = held.find('\n');
    if (end == std::string::npos) return;
    const Result<int64_t> count =
        parse_whole("the size of a hole",
                    std::string_view(held).substr(hole_mark.size(), end - hole_mark.size()), 1,
                    int64_t{1} << 50);
    held.erase(0, end + 1);
    if (!count) continue;
    transfer.offset += static_cast<uint64_t>(*count);
    if (transfer.offset <= transfer.passed) continue;
    const uint64_t lost = transfer.offset - std::exchange(transfer.passed, transfer.offset);
    missing(transfer.task, transfer.stream, lost);
  }
  size_t keep = std::min(held.size(), hole_mark.size() - 1);
  while (keep > 0 && !hole_mark.starts_with(std::string_view(held).substr(held.size() - keep))) {
    --keep;
  }
  pass_held_on(held.size() - keep);
}

void OutputStreams::Impl::give_up_or_wait(std::unique_ptr<Transfer> transfer,
                                          const std::string& why) {
  {
    const std::lock_guard lock(mutex);
    if (ended.count(transfer->task) != 0) ++transfer->tries_after_end;
  }
  if (transfer->tries_after_end < kTriesAfterEnd) {
    if (broken.empty()) again_at = Clock::now() + kTryAgainAfter;
    broken.push_back(std::move(transfer));
    return;
  }
  failed(transfer->framework, transfer->task, why);
  close(*transfer);
}

void OutputStreams::Impl::close(const Transfer& transfer) {
  if (--open[transfer.task] > 0) return;
  open.erase(transfer.task);
  closed(transfer.task);
  const std::lock_guard lock(mutex);
  if (--unfinished == 0) idle.notify_all();
}

void OutputStreams::Impl::rouse() const {
  const uint64_t one = 1;
  CHECK(write(wake.get(), &one, sizeof one) == sizeof one) << std::strerror(errno);
}

OutputStreams::OutputStreams(const Masters& master, Sink sink, Failed failed, Missing missing,
                             Closed closed)
    : impl_(std::make_unique<Impl>(master)) {
  impl_->sink = std::move(sink);
  impl_->failed = std::move(failed);
  impl_->missing = std::move(missing);
  impl_->closed = std::move(closed);
  impl_->hole_mark = text("hole-", random_secret().str().substr(0, 32), "-");
  impl_->wake = Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  CHECK_GE(impl_->wake.get(), 0) << std::strerror(errno);
  impl_->thread = std::thread([impl = impl_.get()] { impl->drive(); });
}

OutputStreams::~OutputStreams() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->rouse();
  impl_->thread.join();
}

void OutputStreams::follow(const FrameworkId& framework, const TaskId& task, const AgentId& agent,
                           const std::string& http_address) {
  {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->unfinished;
    impl_->waiting.push_back({framework, task, agent, http_address});
  }
  impl_->rouse();
}

void OutputStreams::offer(const TaskId& task, uint64_t offset, std::string bytes) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->offers.size() == kOffersMax) return;
    impl_->offers.push_back({task, offset, std::move(bytes)});
  }
  impl_->rouse();
}

void OutputStreams::ended(const TaskId& task) {
  const std::lock_guard lock(impl_->mutex);
  impl_->ended.insert(task);
}

void OutputStreams::wait() {
  std::unique_lock lock(impl_->mutex);
  impl_->idle.wait(lock, [this] { return impl_->unfinished == 0; });
}

}  // namespace proffer::cli
