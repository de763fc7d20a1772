#pragma once

// Random messages and records within all bounds, as a peer may send them. Each alternative can be
// selected by its index, so that tests can cover all. Equal seeds give equal messages.

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/limits.h"
#include "common/prng.h"
#include "common/text.h"
#include "proto/history.h"
#include "proto/records.h"

namespace proffer::proto {

class MessageGenerator {
 public:
  explicit MessageGenerator(uint64_t seed) : prng_(seed) {}

  // `index` in 1..count-1; Unknown (0) cannot be sent.
  static constexpr size_t kMessageCount = std::variant_size_v<Message>;
  Message message(size_t index) { return make_variant<Message>(index); }
  Message message() { return message(1 + prng_.below(kMessageCount - 1)); }
  Envelope envelope() { return envelope(message()); }
  Envelope envelope(Message message) {
    return {.leader = LeaderEpoch(any_number()),
            .sequence = any_number(),
            .message = std::move(message)};
  }
  RegistryRow row(size_t index) { return make_variant<RegistryRow>(index); }
  CheckpointRecord record(size_t index) { return make_variant<CheckpointRecord>(index); }
  HistoryRecord history(size_t index) { return make_variant<HistoryRecord>(index); }

  // A name of 1 to 128 bytes, usually short.
  std::string name() {
    static constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    std::string out;
    const size_t size = rarely() ? kNameBytesMax : 1 + prng_.below(20);
    for (size_t i = 0; i < size; ++i) out += kLetters[prng_.below(kLetters.size())];
    return out == "." || out == ".." ? "dot" : out;
  }
  std::string role() {
    std::string out = name();
    while (out.size() + kNameBytesMax + 1 <= kRoleBytesMax && prng_.chance(1, 3))
      out += "/" + name();
    return out;
  }
  std::string secret() {
    std::string out;
    for (int i = 0; i < 32; ++i) out += "0123456789abcdef"[prng_.below(16)];
    return out;
  }
  ClusterId cluster() { return flip() ? ClusterId(secret()) : ClusterId(); }
  // Arbitrary bytes, usually few, rarely `size_max`.
  std::string bytes(size_t size_max) {
    std::string out(size(30, size_max), '\0');
    for (char& c : out) c = static_cast<char>(prng_.below(256));
    return out;
  }
  // At least one byte, without control characters.
  std::string plain(size_t size_max) {
    std::string out(1 + size(20, size_max - 1), 'x');
    for (char& c : out) c = static_cast<char>(prng_.between('.', '~'));
    std::erase_if(out, [](char c) { return c == '[' || c == ']' || c == ';'; });
    return out.empty() ? "v" : out;
  }
  Duration duration() {
    return rarely() ? kDurationMax : Duration::nanos(prng_.between(0, kDurationMax.nanos()));
  }
  Time time() {
    return rarely() ? Time::far_future()
                    : Time::from_nanos(prng_.between(0, std::numeric_limits<int64_t>::max() - 1));
  }
  int64_t amount() {
    if (rarely()) return kAmountMax;
    return prng_.chance(1, 3) ? 0 : prng_.between(0, 100'000'000);
  }
  ResourceVector amounts() {
    ResourceVector out;
    for (const ResourceKind kind : kResourceKinds) out[kind] = amount();
    return out;
  }
  PortSet ports(size_t ranges_max = kPortRangesMax) {
    std::vector<PortRange> ranges;
    int next = 1;
    const size_t count = size(3, ranges_max);
    for (size_t i = 0; i < count; ++i) {
      const int first = next + static_cast<int>(prng_.below(100));
      const int last = first + static_cast<int>(prng_.below(100));
      ranges.push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(last)});
      next = last + 2;
    }
    return PortSet(std::move(ranges));
  }
  Resources resources() {
    Resources out{.amounts = amounts(), .ports = ports()};
    if (prng_.chance(1, 2)) return out;
    out.amounts[ResourceKind::kGpus] = 0;
    for (int32_t i = 0; i < static_cast<int32_t>(kGpuDevicesMax); ++i) {
      if (!prng_.chance(1, 8)) continue;
      const auto milli = static_cast<int32_t>(prng_.between(1, 1000));
      out.gpus.push_back({i, milli});
      out.amounts[ResourceKind::kGpus] += milli;
    }
    return out;
  }
  Attributes attributes() {
    Attributes out;
    const size_t count = size(4, kAttributesMax);
    for (size_t i = 0; i < count; ++i) out.emplace(name(), plain(kNameBytesMax));
    out.erase("host");
    return out;
  }
  Environment environment() {
    Environment out;
    const size_t count = size(4, kEnvironmentEntriesMax);
    for (size_t i = 0; i < count; ++i) {
      std::string value = bytes(20);
      std::erase(value, '\0');
      out.emplace(name(), std::move(value));
    }
    return out;
  }
  std::map<std::string, uint16_t> named_ports() {
    std::map<std::string, uint16_t> out;
    const size_t count = size(3, kPortNamesMax);
    for (size_t i = 0; i < count; ++i) {
      out.emplace(name(), static_cast<uint16_t>(prng_.between(1, 65535)));
    }
    return out;
  }
  Constraint constraint() {
    Constraint out{.attribute = name(), .op = enumerator<Constraint::Operator>(6)};
    const bool list = out.op == Constraint::Operator::kIn || out.op == Constraint::Operator::kNotIn;
    size_t count = list ? 1 + size(3, kConstraintValuesMax - 1) : 1;
    if (out.op == Constraint::Operator::kExists) count = 0;
    for (size_t i = 0; i < count; ++i) out.values.push_back(plain(kConstraintTextBytesMax));
    return out;
  }
  Ask ask() {
    return {.name = AskName(name()),
            .shape = amounts(),
            .count = rarely() ? kAskCountMax : prng_.between(0, 1000),
            .constraints = several<Constraint>(2, kConstraintsMax, [&] { return constraint(); }),
            .ports = prng_.between(0, static_cast<int64_t>(kPortNamesMax)),
            .priority = static_cast<int32_t>(any_number()),
            .role = RoleName(maybe(role())),
            .spread = maybe(name()),
            .max_per = max_per(),
            .group = maybe(name()),
            .prefer = flip() ? preference() : Preference{},
            .gang = rarely() ? kGangMax : prng_.between(1, 10),
            .band = enumerator<Band>(kBandCount),
            .borrow = flip(),
            .revocable_ok = flip(),
            .expiry = duration(),
            .duration = duration(),
            .max_run_time = duration(),
            .static_ports = numbers()};
  }
  std::vector<uint16_t> numbers() {
    std::set<uint16_t> sorted;
    const size_t count = size(2, kPortNamesMax);
    for (size_t i = 0; i < count; ++i) {
      sorted.insert(static_cast<uint16_t>(prng_.between(1, 65'535)));
    }
    return {sorted.begin(), sorted.end()};
  }
  std::vector<MaxPer> max_per() {
    std::map<std::string, int64_t> sorted;
    const size_t count = size(2, kMaxPerMax);
    for (size_t i = 0; i < count; ++i) sorted[name()] = prng_.between(1, kAskCountMax);
    std::vector<MaxPer> out;
    for (const auto& [attribute, most] : sorted) {
      out.push_back({.attribute = attribute, .count = most});
    }
    return out;
  }
  Preference preference() {
    return {.hosts = several<std::string>(3, kPreferredMax, [&] { return name(); }),
            .racks = several<std::string>(2, kPreferredMax, [&] { return plain(kNameBytesMax); }),
            .wait = duration()};
  }
  Slice slice() {
    return {.resources = resources(), .reserved_for = RoleName(maybe(role())), .revocable = flip()};
  }
  Offer offer() {
    return {.id = OfferId(1 + prng_.below(1000)),
            .agent = AgentId(name()),
            .attributes = attributes(),
            .slices = several<Slice>(2, 4, [&] { return slice(); }),
            .fills = several<AskFill>(2, kAsksMax,
                                      [&] {
                                        return AskFill{.ask = AskName(name()),
                                                       .count = prng_.between(0, kAskCountMax)};
                                      }),
            .ports = ports(),
            .lease = duration(),
            .role = RoleName(maybe(role())),
            .gang = any_number(),
            .http_address = maybe(plain(kAddressBytesMax)),
            .host = maybe(plain(kAddressBytesMax)),
            .max_run_time = duration()};
  }
  TaskClaim claim() {
    return {.slices = several<Slice>(2, 4,
                                     [&] {
                                       Slice out = slice();
                                       out.resources.ports = {};
                                       return out;
                                     }),
            .role = RoleName(role()),
            .priority = static_cast<int32_t>(any_number()),
            .band = enumerator<Band>(kBandCount),
            .gang = any_number(),
            .max_run_time = duration()};
  }
  Quota quota() {
    Quota out;
    for (const ResourceKind kind : kResourceKinds) {
      if (flip()) out.set(kind, amount());
    }
    return out;
  }
  Operation operation() {
    switch (prng_.below(4)) {
      case 0:
        return Reserve{.agent = AgentId(name()), .role = RoleName(role()), .amounts = amounts()};
      case 1:
        return Unreserve{.agent = AgentId(name()), .role = RoleName(role()), .amounts = amounts()};
      default:
        return Launch{.agent = AgentId(name()),
                      .tasks = several<TaskSpec>(2, 4, [&] { return spec(); })};
    }
  }
  Refusal refusal() {
    return {
        .refuse_for = duration(),
        .too_little = several<ResourceKind>(
            1, kResourceKindCount, [&] { return enumerator<ResourceKind>(kResourceKindCount); }),
        .wrong_agent = flip()};
  }
  TaskSpec spec() {
    TaskSpec out{.id = TaskId(name()),
                 .ask = AskName(maybe(name())),
                 .shape = amounts(),
                 .command = bytes(kCommandBytesMax),
                 .environment = environment(),
                 .port_names = several<std::string>(2, kPortNamesMax, [&] { return name(); }),
                 .executor = "./" + name(),
                 .executor_id = ExecutorId(maybe(name())),
                 .kill_grace = duration(),
                 .data = bytes(kPayloadBytesMax),
                 .user = maybe(name()),
                 .fetch = several<FetchedFile>(2, kFetchedFilesMax, [&] { return fetched_file(); }),
                 .max_run_time = duration(),
                 .kill_signal = static_cast<int32_t>(prng_.between(10, 15)),
                 .labels = labels()};
    std::erase(out.command, '\0');
    for (const char* secret : {"db", "tls.key", "both"}) {
      if (!prng_.chance(1, 4)) continue;
      out.secrets.push_back({.name = secret, .variable = text("V_", out.secrets.size())});
      if (flip()) out.secrets.back().file = secret;
    }
    if (!out.port_names.empty() && flip()) {
      out.static_ports[out.port_names.front()] = static_cast<uint16_t>(prng_.between(1, 65'535));
    }
    if (prng_.chance(1, 4)) out.health = health_check(out.port_names);
    if (prng_.chance(1, 4)) {
      out.readiness = Readiness{.after = duration()};
      if (!out.port_names.empty()) out.readiness->ports = {out.port_names.front()};
    }
    return out;
  }
  Labels labels() {
    Labels out;
    for (size_t i = size(2, kLabelsMax); i > 0; --i) {
      out[name().substr(0, kLabelNameBytesMax)] = maybe(name());
    }
    if (!check_labels(out)) out.clear();
    return out;
  }
  FetchedFile fetched_file() {
    return {.uri = "file:///" + name(),
            .sha256 = flip() ? std::string() : std::string(kSha256TextBytes, '0'),
            .name = maybe(name()),
            .is_executable = flip(),
            .is_extracted = flip(),
            .is_cached = flip()};
  }
  HealthCheck health_check(const std::vector<std::string>& port_names) {
    HealthCheck out{.kind = enumerator<HealthCheck::Kind>(kHealthCheckKindCount),
                    .path = "/" + name(),
                    .command = "test -e " + name(),
                    .interval = milliseconds(1) + duration() / 2,
                    .timeout = milliseconds(1) + duration() / 2,
                    .grace = duration(),
                    .failures = prng_.between(1, kHealthFailuresMax)};
    if (port_names.empty()) out.kind = HealthCheck::Kind::kCommand;
    if (out.kind != HealthCheck::Kind::kCommand) {
      out.port = port_names[prng_.below(port_names.size())];
    }
    return out;
  }
  std::set<std::string> users(size_t most) {
    std::set<std::string> out;
    for (size_t i = size(3, most); i > 0; --i) out.insert(name());
    return out;
  }
  std::string store_key() { return role(); }
  StoreOperation store_operation() {
    StoreOperation out{.kind = enumerator<StoreOperation::Kind>(kStoreOperationKindCount),
                       .key = store_key(),
                       .value = bytes(1'000),
                       .after = maybe(store_key())};
    if (flip()) out.expected = any_number();
    return out;
  }
  Assignment assignment() {
    return {.resources = resources(),
            .ports = named_ports(),
            .claim = flip() ? claim() : TaskClaim{},
            .user = flip() ? name() : std::string(),
            .launched_at = time(),
            .ticket = maybe(plain(kTicketBytesMax))};
  }
  TaskStatus status() {
    TaskStatus out{.task = TaskId(name()),
                   .agent = AgentId(maybe(name())),
                   .state = enumerator<TaskState>(kTaskStateCount),
                   .reason = enumerator<TaskReason>(kTaskReasonCount),
                   .source = enumerator<UpdateSource>(2),
                   .sequence = any_number(),
                   .message = bytes(kReasonTextBytesMax),
                   .data = bytes(kUpdateDataBytesMax),
                   .at = time()};
    if (flip()) out.exit_code = static_cast<int32_t>(any_number());
    if (flip()) out.signal = static_cast<int32_t>(any_number());
    if (prng_.chance(1, 4)) out.healthy = flip();
    if (prng_.chance(1, 4)) out.usage = usage();
    if (prng_.chance(1, 4)) out.ready = flip();
    if (prng_.chance(1, 4)) out.labels = labels();
    return out;
  }
  TaskUsage usage() {
    const auto figure = [&] {
      return flip() ? std::optional(static_cast<int64_t>(any_number() >> 1)) : std::nullopt;
    };
    return {.cpu_nanos = figure(),
            .throttled_nanos = figure(),
            .memory_peak_bytes = figure(),
            .out_of_memory = figure(),
            .read_bytes = figure(),
            .written_bytes = figure()};
  }

  Prng& prng() { return prng_; }

 private:
  bool rarely() { return prng_.chance(1, 50); }
  bool flip() { return prng_.chance(1, 2); }
  // Usually few, rarely the maximum. Large ones are even rarer: a frame must hold all of them.
  size_t size(size_t few, size_t most) {
    if (prng_.chance(1, most > 1000 ? 400 : 100)) return most;
    return prng_.below(std::min(few, most) + 1);
  }
  std::string maybe(std::string text) { return flip() ? std::move(text) : std::string(); }
  uint64_t any_number() {
    switch (prng_.below(4)) {
      case 0:
        return 0;
      case 1:
        return std::numeric_limits<uint64_t>::max();
      case 2:
        return prng_.below(100);
      default:
        return prng_.next();
    }
  }
  template <class Enum>
  Enum enumerator(size_t count) {
    return static_cast<Enum>(prng_.below(count));
  }
  template <class Value, class Make>
  std::vector<Value> several(size_t few, size_t most, const Make& make) {
    std::vector<Value> out(size(few, most));
    for (Value& value : out) value = make();
    return out;
  }
  std::vector<OfferId> offer_ids() {
    return several<OfferId>(3, kOfferIdsMax,
                            [&] { return OfferId(1 + (prng_.next() >> prng_.between(1, 63))); });
  }
  std::vector<TaskId> task_ids() {
    return several<TaskId>(3, kTasksPerMessageMax, [&] { return TaskId(name()); });
  }

  template <class Variant>
  Variant make_variant(size_t index) {
    Variant out;
    make_at(index, out, std::make_index_sequence<std::variant_size_v<Variant>>());
    return out;
  }
  template <class Variant, size_t... kIndices>
  void make_at(size_t index, Variant& out, std::index_sequence<kIndices...>) {
    ((index == kIndices ? make(out.template emplace<kIndices>()) : void()), ...);
  }

  void make(Unknown&) {}
  void make(Subscribe& m) {
    m = {.framework = FrameworkId(maybe(name())),
         .name = name(),
         .role = RoleName(role()),
         .mode = enumerator<OfferMode>(2),
         .secret = Secret(secret()),
         .failover_timeout = duration(),
         .user = bytes(kNameBytesMax),
         .serves_users = flip(),
         .remembers_tasks = flip(),
         .cluster = cluster(),
         .stands_by = flip()};
  }
  void make(DeclareAsks& m) {
    m = {.generation = any_number(),
         .asks = several<Ask>(3, prng_.chance(1, 4) ? kAsksMax : 8, [&] { return ask(); })};
  }
  void make(Accept& m) {
    m = {.offers = offer_ids(),
         .operations = several<Operation>(2, 20, [&] { return operation(); }),
         .refusal = flip() ? refusal() : Refusal{}};
  }
  void make(Decline& m) { m = {.offers = offer_ids(), .refusal = refusal()}; }
  void make(Suppress&) {}
  void make(Revive&) {}
  void make(KillTask& m) {
    m = {.framework = FrameworkId(maybe(name())), .task = TaskId(name())};
    if (flip()) m.grace = duration();
  }
  void make(Acknowledge& m) {
    m = {.framework = FrameworkId(maybe(name())),
         .task = TaskId(name()),
         .agent = AgentId(maybe(name())),
         .source = enumerator<UpdateSource>(2),
         .sequence = any_number()};
  }
  void make(Reconcile& m) {
    m = {.tasks = task_ids()};
    if (flip()) {
      for (size_t i = 0; i < m.tasks.size(); ++i) m.agents.emplace_back(maybe(name()));
    }
  }
  void make(Reconciled& m) { m.missing_agents = static_cast<uint32_t>(any_number()); }
  void make(NotLeader& m) { m.leader = maybe(plain(kAddressBytesMax)); }
  void make(FrameworkMessage& m) {
    m = {.framework = FrameworkId(maybe(name())),
         .agent = AgentId(name()),
         .executor = ExecutorId(name()),
         .to_scheduler = flip(),
         .data = bytes(kPayloadBytesMax)};
  }
  void make(Teardown&) {}
  void make(Subscribed& m) {
    m = {.framework = FrameworkId(name()),
         .session = SessionEpoch(any_number()),
         .failed_over = flip(),
         .heartbeat = duration(),
         .timeout = duration(),
         .missing_agents = static_cast<uint32_t>(any_number()),
         .cluster = cluster()};
  }
  void make(Offers& m) {
    m = {.offers = several<Offer>(3, prng_.chance(1, 4) ? kOffersPerMessageMax : 8,
                                  [&] { return offer(); })};
  }
  void make(Rescind& m) { m = {.offers = offer_ids()}; }
  void make(AgentTrouble& m) { m.why = flip() ? plain(kTroubleBytesMax) : std::string(); }
  void make(RevokeNotice& m) {
    m = {.tasks = task_ids(),
         .agent = AgentId(name()),
         .reason = enumerator<RevokeReason>(kRevokeReasonCount),
         .beneficiary = RoleName(maybe(role())),
         .grace = duration()};
    if (m.tasks.empty()) m.tasks.emplace_back(name());
  }
  void make(RevokeWithdrawn& m) {
    m = {.tasks = task_ids(), .agent = AgentId(name())};
    if (m.tasks.empty()) m.tasks.emplace_back(name());
  }
  void make(Update& m) { m = {.framework = FrameworkId(name()), .status = status()}; }
  void make(AskReport& m) {
    m = {.generation = any_number(), .rows = several<AskReport::Row>(3, 20, [&] {
                                       return AskReport::Row{.ask = AskName(name()),
                                                             .could_ever_fit = flip(),
                                                             .why = bytes(kReasonTextBytesMax)};
                                     })};
  }
  void make(Failure& m) {
    m = {.agent = AgentId(name()),
         .executor = ExecutorId(maybe(name())),
         .message = bytes(kReasonTextBytesMax)};
  }
  void make(ErrorMessage& m) {
    m = {.code = enumerator<ErrorCode>(kErrorCodeCount),
         .message = bytes(kReasonTextBytesMax),
         .hint = bytes(kReasonTextBytesMax),
         .ends_session = flip(),
         .retry = flip(),
         .ends_tasks = flip()};
  }
  void make(RegisterAgent& m) {
    m = {.agent = AgentId(name()),
         .secret = Secret(secret()),
         .attributes = attributes(),
         .slices = several<Slice>(2, kSlicesMax, [&] { return slice(); }),
         .ports = ports(),
         .http_address = bytes(kAddressBytesMax),
         .tasks_follow = static_cast<uint32_t>(prng_.below(kTasksPerAgentMax + 1)),
         .cluster = cluster(),
         .boot = any_number(),
         .takes_secrets = flip(),
         .keeps_tickets = flip()};
    if (!flip()) return;
    m.files = {.address = plain(kAddressBytesMax),
               .pin = plain(kPinBytesMax),
               .token_key = Secret(secret()),
               .clock = Time::from_nanos(prng_.between(0, int64_t{1} << 60))};
  }
  void make(RegisterTasks& m) {
    m = {.tasks = several<AgentTask>(3, 20, [&] {
           return AgentTask{.framework = FrameworkId(name()),
                            .task = TaskId(name()),
                            .ask = AskName(maybe(name())),
                            .executor = ExecutorId(maybe(name())),
                            .state = enumerator<TaskState>(kTaskStateCount),
                            .sequence = any_number(),
                            .resources = resources(),
                            .unacknowledged = several<TaskStatus>(1, 8, [&] { return status(); }),
                            .claim = flip() ? claim() : TaskClaim{},
                            .user = maybe(name()),
                            .command = bytes(kCommandShownBytes),
                            .launched_at = time(),
                            .labels = labels(),
                            .ticket = maybe(plain(kTicketBytesMax))};
         })};
  }
  void make(UnregisterAgent&) {}
  void make(AgentRegistered& m) {
    m = {.agent = AgentId(name()),
         .session = SessionEpoch(any_number()),
         .heartbeat = duration(),
         .timeout = duration(),
         .cluster = cluster()};
  }
  void make(RunTask& m) {
    m = {.framework = FrameworkId(name()), .spec = spec(), .assignment = assignment()};
    m.run = any_number();
    if (flip()) m.becomes = {ExecutorId(name()), "/" + name()};
    for (const SecretUse& use : m.spec.secrets) {
      m.secrets.push_back({.name = use.name, .value = bytes(kSecretBytesMax)});
    }
  }
  void make(ShutdownFramework& m) { m = {.framework = FrameworkId(name())}; }
  void make(ReleaseFiles& m) {
    m = {.framework = FrameworkId(maybe(name())),
         .begins = several<std::string>(2, kReleasedNamesMax, [&] { return name(); }),
         .agents = several<AgentId>(2, kReleasedAgentsMax, [&] { return AgentId(name()); })};
    if (m.begins.empty()) m.begins.push_back(name());
  }
  void make(ExecutorHello& m) {
    m = {.framework = FrameworkId(name()),
         .executor = ExecutorId(name()),
         .token = Secret(secret()),
         .run = any_number(),
         .tells_runs = flip(),
         .runs = several<ExecutorRun>(2, 20, [&] {
           ExecutorRun run{.task = TaskId(name()),
                           .run = any_number(),
                           .ended = flip(),
                           .acknowledged = any_number()};
           if (flip()) run.status = status();
           return run;
         })};
  }
  void make(ExecutorWelcome& m) {
    m = {.session = SessionEpoch(any_number()), .heartbeat = duration(), .timeout = duration()};
  }
  void make(ExecutorUpdate& m) { m = {.status = status(), .takes_another = flip()}; }
  void make(ExecutorShutdown&) {}
  void make(Heartbeat&) {}
  void make(Call& m) { m = {.id = any_number(), .method = name(), .json = bytes(kJsonBytesMax)}; }
  void make(Reply& m) {
    m = {.id = any_number(), .json = bytes(kJsonBytesMax), .next = bytes(kPageTextBytesMax)};
    if (flip()) make(m.error.emplace());
  }

  void make(StoreRequest& m) {
    m = {.id = any_number(), .operations = several<StoreOperation>(3, kStoreOperationsMax, [&] {
                               return store_operation();
                             })};
    if (m.operations.empty()) m.operations.push_back(store_operation());
  }
  void make(StoreResult& m) {
    m = {.id = any_number(),
         .outcomes = several<StoreResult::Outcome>(3, 20, [&] {
           return StoreResult::Outcome{
               .version = any_number(),
               .value = bytes(1'000),
               .entries = several<StoreResult::Entry>(
                   3, 20,
                   [&] { return StoreResult::Entry{.key = store_key(), .version = any_number()}; }),
               .more = flip()};
         })};
    if (flip()) make(m.error.emplace());
  }
  void make(FrameworkRequest& m) {
    m = {.relay = any_number(),
         .id = name(),
         .principal = bytes(kNameBytesMax),
         .data = bytes(kRelayedBytesMax),
         .timeout = duration(),
         .is_operator = flip(),
         .role = flip() ? RoleName(role()) : RoleName()};
  }
  void make(FrameworkResponse& m) {
    m = {.relay = any_number(), .data = bytes(kRelayedBytesMax)};
    if (flip()) make(m.error.emplace());
  }

  void make(FrameworkRecord& r) {
    r = {.framework = FrameworkId(name()),
         .name = name(),
         .role = RoleName(role()),
         .mode = enumerator<OfferMode>(2),
         .secret = Secret(secret()),
         .failover_timeout = duration(),
         .user = bytes(kNameBytesMax),
         .serves_users = flip(),
         .users = users(kFrameworkUsersMax),
         .ticket_key = Secret(flip() ? secret() : std::string())};
  }
  void make(AgentRecord& r) {
    r = {.agent = AgentId(name()), .secret = Secret(secret()), .unreachable = flip()};
    if (flip()) r.drained_by = time();
    r.admission = any_number();
    if (flip()) r.gone_at = time();
    r.gone_secrets = several<Secret>(2, kGoneSecretsMax, [&] { return Secret(secret()); });
  }
  void make(RoleRecord& r) {
    r = {.role = RoleName(role()),
         .settings = {.weight = prng_.between(kWeightMin, kWeightMax),
                      .guarantee = quota(),
                      .limit = quota()}};
    r.users = users(kRoleUsersMax);
  }
  void make(ReservationRecord& r) {
    r = {.agent = AgentId(name()), .role = RoleName(role()), .resources = resources()};
    r.resources.ports = {};
  }
  void make(KnownKey& r) {
    constexpr std::string_view kLetters = "0aZ.-:+=^!/*?&<>()[]{}@%$#";
    const auto key = [&] {
      std::string text;
      while (text.size() < kPublicKeyBytes) text += kLetters[prng_.below(kLetters.size())];
      return PublicKey(std::move(text));
    };
    r = {.key = key(),
         .kind = enumerator<KeyKind>(static_cast<int>(kKeyKindCount)),
         .name = name(),
         .since = time(),
         .by = bytes(kNameBytesMax),
         .runs_as = bytes(kNameBytesMax)};
    if (flip()) {
      r.token_until = time();
    } else if (flip()) {
      r.replaces = key();
    }
  }
  void make(SecretRecord& r) {
    r = {.owner = name(),
         .name = "db",
         .sealed = bytes(kSealedSecretBytesMax),
         .key_id = plain(16),
         .since = time()};
  }
  void make(ClusterRecord& r) {
    r = {.cluster = ClusterId(secret())};
    for (size_t i = size(2, kLedMastersMax); i > 0; --i) {
      const uint64_t first = 1 + prng_.below(1'000'000);
      r.led.push_back({.master = MasterId(secret()),
                       .name = plain(kAddressBytesMax),
                       .first = LeaderEpoch(first),
                       .last = LeaderEpoch(first + prng_.below(1'000'000)),
                       .since = time()});
      if (flip()) r.led.back().until = time();
    }
  }
  void make(StoreRecord& r) {
    r = {.framework = FrameworkId(name()),
         .key = store_key(),
         .value = bytes(kStoreEntryBytesMax),
         .version = any_number()};
  }
  void make(AgentIdentity& r) {
    r = {.agent = AgentId(name()),
         .secret = Secret(secret()),
         .leader = LeaderEpoch(any_number()),
         .place = maybe(name()),
         .cluster = cluster(),
         .memory = static_cast<uint32_t>(any_number())};
  }
  void make(ExecutorRecord& r) {
    r = {.framework = FrameworkId(name()),
         .executor = ExecutorId(name()),
         .token = Secret(secret()),
         .run = any_number(),
         .pid = static_cast<int32_t>(prng_.between(0, std::numeric_limits<int32_t>::max())),
         .start_ticks = any_number(),
         .boot_id = bytes(kNameBytesMax),
         .program = bytes(kNameBytesMax),
         .own = prng_.chance(1, 2),
         .leftover = prng_.chance(1, 2),
         .user = prng_.chance(1, 2) ? name() : std::string(),
         .fetching = prng_.chance(1, 2)};
  }
  void make(ExecutorGone& r) {
    r = {.framework = FrameworkId(name()), .executor = ExecutorId(name())};
  }
  void make(TaskRecord& r) {
    r = {.framework = FrameworkId(name()),
         .spec = spec(),
         .assignment = assignment(),
         .executor = ExecutorId(name()),
         .run = any_number()};
  }
  void make(UpdateRecord& r) {
    r = {.framework = FrameworkId(name()), .status = status(), .executor_sequence = any_number()};
  }
  void make(AcknowledgedRecord& r) {
    r = {.framework = FrameworkId(name()), .task = TaskId(name()), .sequence = any_number()};
  }

  // --- the master's history ---------------------------------------------------------------------
  void make(EndedTask& r) {
    r = {.framework = FrameworkId(name()),
         .framework_name = maybe(plain(kNameBytesMax)),
         .role = RoleName(maybe(role())),
         .user = maybe(plain(kNameBytesMax)),
         .command = bytes(kReasonTextBytesMax),
         .ask = AskName(maybe(name())),
         .amounts = amounts(),
         .launched_at = time(),
         .waited = {},
         .status = status()};
    for (size_t i = 0; i < kWaitReasonCount; ++i) {
      if (!rarely()) continue;
      r.waited.push_back({static_cast<WaitReason>(i),
                          nanoseconds(1 + int64_t(any_number() >> 1) % (INT64_MAX - 1))});
    }
    while (!is_terminal(r.status.state)) r.status.state = enumerator<TaskState>(kTaskStateCount);
  }
  void make(RoleUse& r) {
    r = {.role = RoleName(role()), .from = time(), .until = {}, .seconds = amounts()};
    r.until = std::max(r.from, time());
  }
  void make(RoleWait& r) {
    r = {.role = RoleName(role()), .from = time(), .until = {}, .waited = {}};
    r.until = std::max(r.from, time());
    for (size_t i = 0; i < kWaitReasonCount; ++i) {
      if (!rarely()) continue;
      r.waited.push_back({static_cast<WaitReason>(i), static_cast<int64_t>(any_number() >> 1),
                          static_cast<int64_t>(any_number() >> 1)});
    }
  }
  void make(LifeBegan& r) { r = {.leader = LeaderEpoch(any_number()), .at = time()}; }
  void make(LifeEnded& r) { r = {.at = time()}; }
  void make(HistoryGap& r) {
    r = {.from = time(), .until = {}, .lost = any_number()};
    r.until = std::max(r.from, time());
  }

  Prng prng_;
};

}  // namespace proffer::proto
