#include "net/connection_watch.h"

#include <string>
#include <utility>

#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/load_limits.h"
#include "common/text.h"
#include "net/accept_guard.h"
#include "net/peer_process.h"
#include "net/received_bytes.h"

// A function of tcmalloc, in programs that are linked with it (docs/adr/0140); there malloc_trim()
// has no effect.
extern "C" void MallocExtension_ReleaseFreeMemory() __attribute__((weak));

namespace proffer {
namespace {

// A sender of message parts can use up to 2 GB of memory in a second.
constexpr Duration kCheckEvery = milliseconds(100);
constexpr Duration kCheckSuspectsEvery = milliseconds(10);
constexpr Duration kFreedAfter = seconds(1);  // libzmq has freed the data of a closed connection
// For an incomplete message, including the overhead of CURVE and of parts.
constexpr uint64_t kUnfinishedMax = 2 * kFrameBytesMax;
// For complete messages that libzmq queues while the owner does not read, and one incomplete
// message.
constexpr uint64_t kUnreadMax = (kReceiveQueueFrames + 2) * kFrameBytesMax;

// Returns free memory to the kernel.
void give_back_free_memory() {
  if (MallocExtension_ReleaseFreeMemory != nullptr) {
    MallocExtension_ReleaseFreeMemory();
  } else {
    malloc_trim(0);
  }
}

}  // namespace

ConnectionWatch::ConnectionWatch(Loop& loop, Options options, OnShut on_shut)
    : loop_(loop),
      options_(options),
      on_shut_(std::move(on_shut)),
      timer_(loop, [this] { check(); }) {}

ConnectionWatch::Connection* ConnectionWatch::find(int fd) {
  if (fd < 0 || static_cast<size_t>(fd) >= by_fd_.size()) return nullptr;
  Connection& found = by_fd_[static_cast<size_t>(fd)];
  return found.number == 0 ? nullptr : &found;
}

void ConnectionWatch::accepted(int fd) {
  if (fd < 0) return;
  ended(fd);  // Its end was not reported.
  if (static_cast<size_t>(fd) >= by_fd_.size()) by_fd_.resize(static_cast<size_t>(fd) + 1);
  Connection& connection = by_fd_[static_cast<size_t>(fd)];
  connection.number = ++numbers_;
  connection.at_message = connection.at_look = received_bytes(fd);
  ++open_;
  first_messages_.push_back({fd, connection.number, loop_.now() + options_.first_message_max});
  if (!timer_.is_armed()) timer_.arm(loop_.now() + kCheckEvery);

  connection.user = user_of_socket(fd);
  if (!connection.user || *connection.user == 0 || *connection.user == geteuid()) return;
  connection.is_counted = true;
  if (++by_user_[*connection.user] <= options_.connections_per_user_max) return;
  shut(fd, counts_.of_one_user,
       text("its user has ", options_.connections_per_user_max, " connections already"));
}

void ConnectionWatch::ended(int fd) {
  Connection* connection = find(fd);
  if (connection == nullptr) return;
  if (connection->is_counted) {
    const auto user = by_user_.find(*connection->user);
    if (--user->second == 0) by_user_.erase(user);
  }
  *connection = {};
  --open_;
}

void ConnectionWatch::spoke(int fd) {
  ++messages_;
  Connection* connection = find(fd);
  if (connection == nullptr) return;
  connection->has_spoken = true;
  connection->at_message = received_bytes(fd);
}

// libzmq sees this like any other disconnect.
void ConnectionWatch::shut(int fd, uint64_t& count, const std::string& why) {
  ++count;
  const Connection* connection = find(fd);
  shutdown(fd, SHUT_RDWR);
  if (!on_shut_) return;
  const bool has_user = connection != nullptr && connection->user;
  on_shut_(text("a connection", has_user ? text(" of the user ", *connection->user) : std::string(),
                " was closed: ", why));
}

void ConnectionWatch::check() {
  const Time now = loop_.now();
  check_first_messages(now);
  const bool has_suspects = look_for_unfinished();
  if (trim_at_ && *trim_at_ <= now) {
    // The memory that libzmq frees is fragmented, and would stay in the process. Takes
    // milliseconds.
    loop_.work([] { give_back_free_memory(); }, [] {});
    trim_at_.reset();
  }
  if (open_ > 0 || trim_at_) {
    timer_.arm(now + (has_suspects ? kCheckSuspectsEvery : kCheckEvery));
  }
}

void ConnectionWatch::check_first_messages(Time now) {
  while (!first_messages_.empty()) {
    const Waiting& first = first_messages_.front();
    const Connection* connection = find(first.fd);
    const bool is_over =
        connection == nullptr || connection->number != first.number || connection->has_spoken;
    if (!is_over && first.due > now) return;
    if (!is_over) {
      shut(first.fd, counts_.silent,
           text("it has sent no message in ", to_text(options_.first_message_max)));
    }
    first_messages_.pop_front();
  }
}

// If all messages were read since the last check (libzmq returns one message per connection in
// turn), the unread bytes from before that check are a single message without an end. While the
// owner does not read, or is behind, complete messages may wait as well. O(connections).
bool ConnectionWatch::look_for_unfinished() {
  bool has_suspects = false;
  const bool was_all_read = has_read_all_ || messages_ >= open_;
  for (size_t i = 0; i < by_fd_.size(); ++i) {
    Connection& connection = by_fd_[i];
    if (connection.number == 0) continue;
    const int fd = static_cast<int>(i);
    const uint64_t received = received_bytes(fd);
    const bool is_endless =
        received > connection.at_message + kUnreadMax ||
        (was_all_read && connection.at_look > connection.at_message + kUnfinishedMax);
    has_suspects = has_suspects || received > connection.at_message + kUnfinishedMax;
    if (was_all_read) connection.at_look = received;
    if (!is_endless) continue;
    connection.at_message = received;
    if (connection.user) charge_arrivals(*connection.user, kMisusedArrivals);
    shut(fd, counts_.unfinished, "it sends an endless multi-part message");
    trim_at_ = loop_.now() + kFreedAfter;
  }
  if (was_all_read) {
    has_read_all_ = false;
    messages_ = 0;
  }
  return has_suspects;
}

}  // namespace proffer
