// One turn of the loop, in libuv's order: descriptors (poll), then `on_check` lets the sockets
// handle their messages, then `on_prepare` runs the functions of the turn's end and checks for
// pending work before libuv blocks. Start reading at Loop::Impl::on_prepare.

#include "net/loop.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include "common/check.h"
#include "net/time_histogram.h"

namespace proffer {
namespace {

int64_t read_clock(clockid_t clock) {
  timespec now{};
  CHECK_EQ(clock_gettime(clock, &now), 0);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A program may be started with closed standard streams. The next opened files would get their
// numbers: libuv aborts when it closes one of them, and printed text would go to a socket. So the
// numbers are taken by descriptors that can be used in the wrong direction only: a program that
// prints gets an error.
void hold_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    CHECK_EQ(::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY), fd);
  }
}

}  // namespace

struct Timer::State {
  std::function<void()> fn;
  std::optional<Time> due;
  uint64_t order = 0;  // of arming: timers of one instant run in this order
};

struct Loop::Impl {
  using TimerKey = std::pair<Time, uint64_t>;

  uv_loop_t uv{};
  uv_prepare_t prepare{};
  uv_check_t check{};
  uv_idle_t idle{};
  uv_timer_t timer{};
  uv_async_t wake{};
  int64_t wall_start = read_clock(CLOCK_REALTIME);
  int64_t monotonic_start = read_clock(CLOCK_MONOTONIC);

  std::vector<Pump*> awake;
  size_t pumps = 0;  // including sleeping ones
  std::map<TimerKey, std::shared_ptr<Timer::State>> timers;
  uint64_t armed_count = 0;
  std::vector<std::function<void()>> deferred;
  std::vector<std::shared_ptr<std::function<void()>>> hooks;
  std::map<int, std::pair<uv_signal_t*, std::function<void()>>> signals;
  std::shared_ptr<void> companion;
  TimeHistogram turns;
  std::optional<int64_t> turn_began;  // monotonic nanoseconds; none: the next turn is not measured
  uint64_t waited_before = 0;         // libuv's total wait for I/O at that time
  bool is_stopping = false;           // run() returns after this turn
  bool is_closing = false;            // in the destructor: no function is called any more

  std::mutex mutex;
  std::vector<std::function<void()>> posted;  // guarded by mutex

  Impl() {
    hold_standard_streams();
    CHECK_EQ(uv_loop_init(&uv), 0);
    CHECK_EQ(uv_loop_configure(&uv, UV_METRICS_IDLE_TIME), 0);
    uv_prepare_init(&uv, &prepare);
    uv_check_init(&uv, &check);
    uv_idle_init(&uv, &idle);
    uv_timer_init(&uv, &timer);
    CHECK_EQ(
        uv_async_init(&uv, &wake, [](uv_async_t* h) { static_cast<Impl*>(h->data)->on_wake(); }),
        0);
    prepare.data = check.data = idle.data = timer.data = wake.data = this;
    uv_check_start(&check, [](uv_check_t* h) { static_cast<Impl*>(h->data)->on_check(); });
    uv_prepare_start(&prepare, [](uv_prepare_t* h) { static_cast<Impl*>(h->data)->on_prepare(); });
  }

  Time now() const {
    return Time::from_nanos(wall_start + (read_clock(CLOCK_MONOTONIC) - monotonic_start));
  }

  void on_wake() {
    std::vector<std::function<void()>> ready;
    {
      const std::lock_guard lock(mutex);
      ready.swap(posted);
    }
    for (const auto& fn : ready) fn();
  }

  // Uses an index, since a handler may make and destroy sockets. A removed one leaves a null until
  // the turn ends.
  void on_check() {
    if (is_stopping) return;  // the last turn is over; libuv only polls once more
    for (size_t i = 0; i < awake.size(); ++i) {
      if (awake[i] != nullptr) awake[i]->pump();
    }
  }

  void on_prepare() {
    std::erase(awake, nullptr);
    if (is_closing) return;
    run_due_timers();
    std::vector<std::function<void()>> ready;
    ready.swap(deferred);
    for (const auto& fn : ready) fn();
    for (size_t i = 0; i < hooks.size(); ++i) {
      // Kept alive, since a hook may destroy itself.
      if (const auto hook = hooks[i]) (*hook)();
    }
    std::erase(hooks, nullptr);
    for (Pump* pump : awake) {
      if (pump != nullptr) pump->flush();
    }
    record_turn();
    if (is_stopping) {
      uv_stop(&uv);
      return;
    }
    if (is_busy()) {
      uv_idle_start(&idle, [](uv_idle_t*) {});  // poll checks without blocking
    } else {
      uv_idle_stop(&idle);
    }
    arm_uv_timer();
  }

  // A turn begins at the end of the last one; libuv counts the wait in between.
  void record_turn() {
    const int64_t time = read_clock(CLOCK_MONOTONIC);
    const uint64_t waited = uv_metrics_idle_time(&uv);
    if (turn_began) {
      turns.record(nanoseconds(time - *turn_began - static_cast<int64_t>(waited - waited_before)));
    }
    turn_began = time;
    waited_before = waited;
  }

  // Runs the timers that are due now; one that is armed again for a past time waits for the next
  // turn.
  void run_due_timers() {
    const Time time = now();
    const uint64_t last = armed_count;
    std::vector<std::shared_ptr<Timer::State>> due;
    for (const auto& [key, state] : timers) {
      if (key.first > time) break;
      due.push_back(state);
    }
    for (const auto& state : due) {
      // An earlier timer may have disarmed, re-armed or destroyed it.
      if (!state->due || *state->due > time || state->order > last) continue;
      timers.erase({*state->due, state->order});
      state->due.reset();
      const auto fn = state->fn;  // a copy: it may destroy the timer
      fn();
    }
  }

  bool is_busy() {
    // All pumps must be asked, since the call also makes ZeroMQ sockets process the commands that
    // their descriptor signals.
    bool busy = false;
    std::erase_if(awake, [&busy](Pump* pump) {
      if (pump == nullptr) return true;
      const bool is_pending = pump->is_pending();
      busy = busy || is_pending;
      if (is_pending || !pump->may_sleep()) return false;
      pump->is_awake_ = false;
      return true;
    });
    if (busy || !deferred.empty()) return true;
    return !timers.empty() && timers.begin()->first.first <= now();
  }

  // Only wakes the loop; rounded up to libuv's milliseconds.
  void arm_uv_timer() {
    if (timers.empty()) {
      uv_timer_stop(&timer);
      return;
    }
    const Duration wait = timers.begin()->first.first - now();
    const int64_t millis =
        wait.nanos() <= 0 ? 0 : wait.millis() + (wait.nanos() % 1'000'000 != 0 ? 1 : 0);
    uv_update_time(&uv);
    uv_timer_start(
        &timer, [](uv_timer_t*) {}, static_cast<uint64_t>(millis), 0);
  }
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}

Loop::~Loop() {
  CHECK_EQ(impl_->pumps, 0u) << "a socket outlives its loop";
  impl_->is_closing = true;
  for (auto& [number, signal] : impl_->signals) {
    uv_close(reinterpret_cast<uv_handle_t*>(signal.first),
             [](uv_handle_t* h) { delete reinterpret_cast<uv_signal_t*>(h); });
  }
  for (auto* handle :
       {reinterpret_cast<uv_handle_t*>(&impl_->prepare),
        reinterpret_cast<uv_handle_t*>(&impl_->check), reinterpret_cast<uv_handle_t*>(&impl_->idle),
        reinterpret_cast<uv_handle_t*>(&impl_->timer),
        reinterpret_cast<uv_handle_t*>(&impl_->wake)}) {
    uv_close(handle, nullptr);
  }
  uv_run(&impl_->uv, UV_RUN_DEFAULT);  // until running work has ended and handles are closed
  CHECK_EQ(uv_loop_close(&impl_->uv), 0) << "a watcher outlives its loop";
  impl_->companion.reset();
}

Time Loop::now() const { return impl_->now(); }

void Loop::run() {
  impl_->turn_began.reset();
  uv_run(&impl_->uv, UV_RUN_DEFAULT);
  impl_->is_stopping = false;
}

// The present turn ends in on_prepare; waking ensures that there is one.
void Loop::stop() {
  impl_->is_stopping = true;
  uv_async_send(&impl_->wake);
}

void Loop::post(std::function<void()> fn) {
  const std::lock_guard lock(impl_->mutex);
  impl_->posted.push_back(std::move(fn));
  uv_async_send(&impl_->wake);
}

void Loop::defer(std::function<void()> fn) { impl_->deferred.push_back(std::move(fn)); }

void Loop::work(std::function<void()> on_worker, std::function<void()> on_done) {
  struct Work {
    uv_work_t request{};
    Impl* loop = nullptr;
    std::function<void()> on_worker;
    std::function<void()> on_done;
  };
  auto* work = new Work;
  work->request.data = work;
  work->loop = impl_.get();
  work->on_worker = std::move(on_worker);
  work->on_done = std::move(on_done);
  CHECK_EQ(uv_queue_work(
               &impl_->uv, &work->request,
               [](uv_work_t* request) { static_cast<Work*>(request->data)->on_worker(); },
               [](uv_work_t* request, int) {
                 const std::unique_ptr<Work> done(static_cast<Work*>(request->data));
                 if (!done->loop->is_closing) done->on_done();
               }),
           0);
}

void Loop::on_signal(int signal, std::function<void()> fn) {
  const auto found = impl_->signals.find(signal);
  if (!fn) {
    if (found == impl_->signals.end()) return;
    uv_close(reinterpret_cast<uv_handle_t*>(found->second.first),
             [](uv_handle_t* h) { delete reinterpret_cast<uv_signal_t*>(h); });
    impl_->signals.erase(found);
    return;
  }
  if (found != impl_->signals.end()) {
    found->second.second = std::move(fn);
    return;
  }
  auto* handle = new uv_signal_t;
  CHECK_EQ(uv_signal_init(&impl_->uv, handle), 0);
  handle->data = impl_.get();
  impl_->signals[signal] = {handle, std::move(fn)};
  CHECK_EQ(uv_signal_start(
               handle,
               [](uv_signal_t* h, int number) {
                 auto* loop = static_cast<Impl*>(h->data);
                 const auto at = loop->signals.find(number);
                 if (at == loop->signals.end()) return;
                 const auto call = at->second.second;  // a copy: it may replace itself
                 call();
               },
               signal),
           0);
}

void Loop::add(Pump* pump) {
  ++impl_->pumps;
  wake(pump);
}

void Loop::wake(Pump* pump) {
  if (std::exchange(pump->is_awake_, true)) return;
  impl_->awake.push_back(pump);
}

void Loop::remove(Pump* pump) {
  --impl_->pumps;
  pump->is_awake_ = true;  // No later event would wake it.
  std::replace(impl_->awake.begin(), impl_->awake.end(), pump, static_cast<Pump*>(nullptr));
}

const TimeHistogram& Loop::turns() const { return impl_->turns; }

std::shared_ptr<void>& Loop::companion() { return impl_->companion; }

Timer::Timer(Loop& loop, std::function<void()> fn)
    : loop_(loop), state_(std::make_shared<State>()) {
  state_->fn = std::move(fn);
}

Timer::~Timer() { arm(std::nullopt); }

void Timer::arm(std::optional<Time> due) {
  auto& timers = loop_.impl_->timers;
  if (state_->due) timers.erase({*state_->due, state_->order});
  state_->due = due;
  if (!due) return;
  state_->order = ++loop_.impl_->armed_count;
  timers.emplace(Loop::Impl::TimerKey{*due, state_->order}, state_);
}

bool Timer::is_armed() const { return state_->due.has_value(); }

TurnHook::TurnHook(Loop& loop, std::function<void()> fn)
    : loop_(loop), fn_(std::make_shared<std::function<void()>>(std::move(fn))) {
  loop_.impl_->hooks.push_back(fn_);
}

TurnHook::~TurnHook() {
  auto& hooks = loop_.impl_->hooks;
  std::replace(hooks.begin(), hooks.end(), fn_, std::shared_ptr<std::function<void()>>());
}

struct FdWatcher::Impl {
  uv_poll_t poll{};
  int wanted = 0;  // the events last requested from libuv
  // Shared, so that the function may destroy the watcher that calls it.
  std::shared_ptr<std::function<void(Events)>> fn;
};

FdWatcher::FdWatcher(Loop& loop, int fd, Events wanted, std::function<void(Events)> fn)
    : impl_(new Impl) {
  CHECK_EQ(uv_poll_init(&loop.impl_->uv, &impl_->poll, fd), 0) << "descriptor " << fd;
  impl_->poll.data = impl_;
  impl_->fn = std::make_shared<std::function<void(Events)>>(std::move(fn));
  want(wanted);
}

FdWatcher::~FdWatcher() {
  impl_->fn.reset();
  uv_poll_stop(&impl_->poll);
  uv_close(reinterpret_cast<uv_handle_t*>(&impl_->poll),
           [](uv_handle_t* h) { delete static_cast<Impl*>(h->data); });
}

void FdWatcher::want(Events wanted) {
  impl_->wanted = (wanted.readable ? UV_READABLE : 0) | (wanted.writable ? UV_WRITABLE : 0);
  if (impl_->wanted == 0) {
    uv_poll_stop(&impl_->poll);
    return;
  }
  uv_poll_start(&impl_->poll, impl_->wanted, [](uv_poll_t* h, int status, int happened) {
    auto* const impl = static_cast<Impl*>(h->data);
    const auto held = impl->fn;
    if (!held) return;
    // An error (for example, the other end closed with unread data) appears at the next read.
    (*held)(Events{.readable = status < 0 || (happened & UV_READABLE) != 0,
                   .writable = (happened & UV_WRITABLE) != 0});
    // libuv stops at an error. One read may have returned earlier data, so the owner is called
    // again until it has found the error and closed. `impl` still exists: libuv frees it later.
    if (status < 0 && impl->fn != nullptr && impl->wanted != 0) {
      uv_poll_start(h, impl->wanted, h->poll_cb);
    }
  });
}

}  // namespace proffer
