#include "net/connection_watch.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include <linux/sockios.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/text.h"
#include "net/accept_guard.h"
#include "net/peer_process.h"

namespace proffer {
namespace {

// A sender of parts takes up to 2 GB in a second.
constexpr Duration kCheckEvery = milliseconds(100);
constexpr Duration kLookEvery = milliseconds(20);  // while this process grows
constexpr int kLooksToShut = 4;                    // with bytes each time and nothing whole
constexpr int kLooksMax = 50;                      // then it grows for another reason
// Who sends without end is ahead of the reader. Fewer bytes may be a message whose turn to be read
// has not come, when thousands connect at once: so few mean something only when this process has
// grown by so many times what it may.
constexpr int kManyBytes = 32 * 1024;
constexpr size_t kGrowthTooFar = 16;

size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  size_t size = 0;
  size_t resident = 0;
  in >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

int waiting_bytes(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCINQ, &bytes) == 0 ? bytes : 0;
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
  ended(fd);  // Its end was not told.
  if (static_cast<size_t>(fd) >= by_fd_.size()) by_fd_.resize(static_cast<size_t>(fd) + 1);
  Connection& connection = by_fd_[static_cast<size_t>(fd)];
  connection.number = ++numbers_;
  if (++open_ == 1) {
    calm_bytes_ = resident_bytes();
    looks_ = 0;
  }
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
  connection->spoke_lately = true;
}

// libzmq learns of it as of any other end.
void ConnectionWatch::shut(int fd, uint64_t& count, const std::string& why) {
  ++count;
  const Connection* connection = find(fd);
  shutdown(fd, SHUT_RDWR);
  if (!on_shut_) return;
  const bool has_user = connection != nullptr && connection->user;
  on_shut_(text("a connection", has_user ? text(" of the user ", *connection->user) : std::string(),
                " was shut: ", why));
}

void ConnectionWatch::check() {
  const Time now = loop_.now();
  check_first_messages(now);
  if (wants_trim_) {
    malloc_trim(0);  // What libzmq has freed is in pieces, which would stay here.
    wants_trim_ = false;
  }
  const size_t resident = resident_bytes();
  if (resident <= calm_bytes_ + options_.growth_max) {
    calm_bytes_ = std::min(calm_bytes_, resident);
    looks_ = 0;
  } else {
    look_for_unfinished(resident);
  }
  if (open_ > 0) timer_.arm(now + (looks_ > 0 ? kLookEvery : kCheckEvery));
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

// O(connections), a call of the system for each that has not spoken since the last look.
void ConnectionWatch::look_for_unfinished(size_t resident) {
  const bool is_too_far = resident > calm_bytes_ + kGrowthTooFar * options_.growth_max;
  // The owner may have stopped reading, or be behind: then whole messages wait as well. libzmq
  // gives one of each connection in turn.
  if (!has_read_all_ && messages_ < open_ && !is_too_far) return;
  has_read_all_ = false;
  messages_ = 0;
  const int enough = is_too_far ? 1 : kManyBytes;
  bool found = false;
  for (size_t i = 0; i < by_fd_.size(); ++i) {
    Connection& connection = by_fd_[i];
    if (connection.number == 0) continue;
    const int fd = static_cast<int>(i);
    if (looks_ == 0 || connection.spoke_lately) {
      connection.looks = 0;
    } else if (waiting_bytes(fd) >= enough) {
      ++connection.looks;
    }
    connection.spoke_lately = false;
    if (connection.looks < kLooksToShut) continue;
    connection.looks = 0;
    if (connection.user) note_unfinished(*connection.user);
    shut(fd, counts_.unfinished, "it sends parts of a message without end");
    found = true;
  }
  wants_trim_ |= found;
  if (++looks_ <= kLooksMax || found) return;
  wants_trim_ = true;
  calm_bytes_ = resident;
  looks_ = 0;
}

}  // namespace proffer
