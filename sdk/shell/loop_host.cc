// Turns bytes and timers into events of the scheduler's guest, and its calls into bytes and timers.
// It makes no decisions.

#include "sdk/shell/loop_host.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include "common/text.h"
#include "net/membership.h"
#include "net/randomness.h"
#include "sdk/shell/complaints.h"

namespace proffer::sdk {
namespace {

// How long the last messages, such as a teardown, may take to leave after run().
constexpr Duration kLinger = seconds(2);
// The same complaint is not repeated sooner.
constexpr Duration kComplainEvery = seconds(10);
// A callback that runs longer causes a warning.
constexpr Duration kCallbackPatience = seconds(5);

// Checks that epoll, which the loop uses, can watch it.
Result<void> check_descriptor(int descriptor) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return Error::unavailable(text("epoll_create1: ", std::strerror(errno)));
  epoll_event event{};
  const int failed = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
  close(epoll);
  if (failed == 0) return {};
  if (failed == EBADF) {
    return Error::invalid_argument(text("descriptor ", descriptor, " is not open"));
  }
  return Error::unsupported(
             text("descriptor ", descriptor, " cannot be watched: ", std::strerror(failed)))
      .with_hint("a file or directory is always ready: read it with run_aside()");
}

// Opens the file that the options name; ends the program if it fails.
std::optional<SessionFile> open_session_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  Result<SessionFile> file = SessionFile::open(path);
  if (!file) exit_with(file.error());
  // The secret is on disk before it is first used: if this process ends before the master's answer,
  // the secret alone finds the framework again.
  if (file->is_new()) {
    print_warning(text("there was no session file ", quoted(path), ": this is a new framework"));
  }
  return *std::move(file);
}

Masters masters_of(const std::string& given) {
  Result<Masters> masters = find_masters(KeyKind::kUser, "the master's address", given);
  if (masters) return *std::move(masters);
  Error error = std::move(masters).error();
  if (!error.hint().empty()) exit_with(error);
  exit_with(std::move(error).with_hint("for example /run/proffer/master.sock or 127.0.0.1:5050"));
}

Dealer::Options dealer_options(const Masters& masters) {
  Result<std::optional<ClientKeys>> keys = keys_for(KeyKind::kUser, masters);
  if (!keys) exit_with(keys.error());
  const std::vector<std::string> endpoints = zmq_endpoints(masters);
  return {.endpoint = endpoints.front(),
          .others = {endpoints.begin() + 1, endpoints.end()},
          .keys = *std::move(keys),
          .keys_now = [](const ClientKeys& known) { return current_keys(KeyKind::kUser, known); },
          .seed = random_seed(),
          .backoff = endpoints.size() > 1 ? kFailoverBackoff : BackoffLimits()};
}

}  // namespace

LoopHost::LoopHost(const SchedulerOptions& options)
    : masters_(masters_of(options.master)),
      session_file_(open_session_file(options.session_file)),
      secret_(session_file_ ? session_file_->secret() : random_secret()),
      timer_(loop_, [this] { guest_->on_timer(); }),
      dealer_(loop_, dealer_options(masters_),
              {.on_connected =
                   [this] {
                     was_told_unreachable_ = false;
                     guest_->on_connected();
                   },
               .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
               .on_disconnected =
                   [this](const std::string& reason) { guest_->on_disconnected(reason); },
               .on_failed = [this](const std::string& reason) { on_failed(reason); }}),
      timers_(loop_),
      watchdog_(kCallbackPatience, [](std::string_view callback, Duration ran) {
        print_warning(text(callback, " has run for ", ran.millis() / 1'000,
                           " s; the scheduler does nothing else until it returns\n  hint: move "
                           "long work to run_aside(), or to a thread that calls post()"));
      }) {}

LoopHost::~LoopHost() {
  for (const auto& [descriptor, weak] : watched_) {
    if (const std::shared_ptr<Watched> watched = weak.lock()) watched->watcher.reset();
  }
}

FrameworkId LoopHost::framework() const {
  return session_file_ ? session_file_->framework() : FrameworkId();
}

void LoopHost::save_identity(const FrameworkId& framework, const Secret& secret) {
  if (!session_file_) return;
  if (Result<void> saved = session_file_->save(framework, secret); !saved) {
    print_warning(text(saved.error().message(), "; the framework is still found by its secret"));
  }
}

void LoopHost::forget_identity() {
  if (session_file_) session_file_->remove();
}

void LoopHost::work(std::function<void()> work, std::function<void()> done) {
  loop_.work(std::move(work), std::move(done));
}

void LoopHost::on_signal(int signal, std::function<void()> what) {
  loop_.on_signal(signal, std::move(what));
}

Result<std::shared_ptr<void>> LoopHost::watch(int descriptor, WatchEvents wanted,
                                              std::function<void(WatchEvents)> what) {
  if (!wanted.readable && !wanted.writable) {
    return Error::invalid_argument(
        text("descriptor ", descriptor,
             " cannot be watched for nothing: set readable, writable or both"));
  }
  if (const auto known = watched_.find(descriptor);
      known != watched_.end() && !known->second.expired()) {
    return Error::already_exists(text("descriptor ", descriptor, " is already watched"))
        .with_hint(
            "destroy the Watch before closing the descriptor, or before watching it for something "
            "else");
  }
  if (Result<void> checked = check_descriptor(descriptor); !checked) {
    return std::move(checked).error();
  }
  auto watched = std::make_shared<Watched>();
  watched->watcher = std::make_unique<FdWatcher>(
      loop_, descriptor,
      FdWatcher::Events{.readable = wanted.readable, .writable = wanted.writable},
      [fn = std::move(what)](FdWatcher::Events found) {
        fn({.readable = found.readable, .writable = found.writable});
      });
  std::erase_if(watched_, [](const auto& entry) { return entry.second.expired(); });
  watched_.emplace(descriptor, watched);
  return std::shared_ptr<void>(std::move(watched));
}

bool LoopHost::send(const proto::Envelope& envelope) {
  const Result<std::span<const std::byte>> frame = encoder_.encode(envelope);
  if (frame) return dealer_.send(*frame);
  // Its number is used up, so this connection has a gap. Reconciliation recovers the effect of the
  // message.
  print_warning(text("cannot send a message to the master: ", frame.error().message()));
  dealer_.reset("cannot send a message");
  return false;
}

void LoopHost::on_frame(std::span<const std::byte> frame) {
  Result<proto::Envelope> envelope = proto::decode(frame);
  if (envelope) {
    if (const auto* other = std::get_if<proto::NotLeader>(&*envelope->message)) {
      return dealer_.redirect(leader_endpoint(other->leader), standby_words(other->leader));
    }
    return guest_->on_frame(*std::move(envelope));
  }
  print_warning(text("cannot read a message from the master: ", envelope.error().message()));
  dealer_.reset("cannot read a message from the master");
}

// Called once for each time that the master is away.
void LoopHost::on_failed(const std::string& reason) {
  if (std::exchange(was_told_unreachable_, true)) return;
  const bool was_named = masters_.front().socket != kMasterSocket;
  print_warning(text(
      "cannot reach the master at ", to_text(masters_), ": ", reason, "; retrying",
      was_named
          ? ""
          : "\n  hint: name another with --master or $PROFFER_MASTER, as `proffer dev` prints it"));
}

void LoopHost::happened(const TraceEvent& event) {
  if (event.level() == TraceLevel::kLongLived) return print_note(to_text(event));
  if (event.level() != TraceLevel::kMisbehaved && event.level() != TraceLevel::kOperator) return;
  const Time now = loop_.now();
  const auto [last, is_first] = complained_.try_emplace(event.what(), now);
  if (!is_first && now - last->second < kComplainEvery) return;
  last->second = now;
  print_warning(to_text(event));
}

void LoopHost::warn(std::string_view what) { print_warning(what); }

void LoopHost::refused(const Error& error, bool is_handled) {
  if (!is_handled) print_error(error);
}

void LoopHost::leave(int) {
  dealer_.close_gracefully(kLinger);
  timer_.arm(std::nullopt);
  loop_.stop();
}

}  // namespace proffer::sdk
