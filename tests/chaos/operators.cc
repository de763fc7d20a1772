#include "tests/chaos/operators.h"

#include <poll.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

constexpr int kPauseMillis = 150;
// A resource that no task uses.
constexpr const char* kReserved = "disk:1";
constexpr int64_t kMilli = 1'000;

std::string role_of(int number) { return text("chaos-", number); }
std::string reserved_key(int number) { return text("reserved-", number); }

Exit ask(const std::string& socket, Words words) {
  words.insert(words.begin(), {program("proffer"), "--master=" + socket});
  return run(words);
}

}  // namespace

Operators::Operators(const std::vector<std::string>& sockets, const std::string& records)
    : records_(records.c_str()), count_(static_cast<int>(sockets.size())) {
  for (int i = 1; i <= count_; ++i) {
    threads_.emplace_back(
        [this, i, socket = sockets[static_cast<size_t>(i) - 1]] { run(i, socket); });
  }
}

Operators::~Operators() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void Operators::run(int number, const std::string& socket) {
  int64_t weight = 0;
  int64_t reserved = 0;
  for (int round = 0; !is_over_; ++round) {
    ::poll(nullptr, 0, kPauseMillis);
    const int64_t before = look(number, socket);
    if (before < 0) continue;
    // Each value of a role is written only once, so that a read identifies its write.
    const bool is_reservation = round % 4 == 3;
    const std::string key = is_reservation ? reserved_key(number) : role_of(number);
    // skip the default weight, which reads as unset
    weight += !is_reservation && weight + 1 == kWeightOne;
    const int64_t value = is_reservation ? ++reserved : ++weight;
    const int64_t asked = now_nanos();
    records_.write("asked", asked, text(number, " ", key, " ", value));
    const Exit written =
        is_reservation
            ? ask(socket, {"reserve", text("agent-", number), role_of(number), kReserved})
            : ask(socket,
                  {"role", "set", role_of(number), "--weight",
                   text(value / kMilli, ".", std::to_string(kMilli + value % kMilli).substr(1))});
    const int64_t answered = now_nanos();
    if (written.code == 0) {
      const int64_t after = look(number, socket);
      records_.write("written", asked,
                     text(number, " ", key, " ", value, " ", answered, " ", before, " ", after));
    }
    read(number, socket);
  }
}

int64_t Operators::look(int number, const std::string& socket) {
  const int64_t asked = now_nanos();
  const Exit told = ask(socket, {"status", "--json"});
  const auto status = proto::parse_status(told.out);
  if (told.code != 0 || !status) return -1;
  const auto epoch = static_cast<int64_t>(status->leader.value());
  records_.write("leads", asked, text(number, " ", now_nanos(), " ", epoch));
  leading_ = number;
  return epoch;
}

void Operators::read(int number, const std::string& socket) {
  const auto found = [&](int64_t asked, const std::string& key, int64_t value) {
    records_.write("read", asked, text(number, " ", key, " ", value, " ", now_nanos()));
  };
  int64_t asked = now_nanos();
  const Exit listed = ask(socket, {"role", "list", "--json"});
  const auto roles = proto::parse_roles(listed.out);
  if (listed.code == 0 && roles) {
    for (int i = 1; i <= count_; ++i) {
      int64_t weight = 0;
      for (const auto& role : *roles) {
        // A role without a weight has the default 1, as a role that does not exist.
        if (role.role == RoleName(role_of(i)) && role.weight != kWeightOne) weight = role.weight;
      }
      found(asked, role_of(i), weight);
    }
  }
  asked = now_nanos();
  const Exit agents = ask(socket, {"agents", "--json"});
  const auto rows = proto::parse_agents(agents.out);
  if (agents.code != 0 || !rows) return;
  for (const proto::AgentRow& row : *rows) {
    // The reservations of a disconnected agent are not known.
    if (row.state != proto::AgentState::kConnected) continue;
    for (int i = 1; i <= count_; ++i) {
      if (row.agent != AgentId(text("agent-", i))) continue;
      int64_t reserved = 0;
      for (const proto::ReservedRow& part : row.reserved) {
        if (part.role == RoleName(role_of(i)))
          reserved += part.amounts[ResourceKind::kDisk] / kMilli;
      }
      found(asked, reserved_key(i), reserved);
    }
  }
}

}  // namespace proffer::test
