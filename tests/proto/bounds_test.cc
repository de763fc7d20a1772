// Each bound of proto/schema/wire.capnp, at its limit and one over it.

#include <functional>

#include <gtest/gtest.h>

#include "tests/proto/valid_messages.h"

namespace proffer::proto::bounds_test {
namespace {

using namespace test;

// A message in which something has `limit + over` elements.
struct Bound {
  std::string_view what;
  std::function<Message(size_t over)> make;
};

const Bound kBounds[] = {
    {"a name", [](size_t over) { return KillTask{.task = TaskId(letters(128 + over))}; }},
    {"a role",
     [](size_t over) {
       return with(valid_subscribe(),
                   [&](Subscribe& m) { m.role = RoleName(role_of(kRoleBytesMax + over)); });
     }},
    {"a user",
     [](size_t over) {
       return with(valid_subscribe(),
                   [&](Subscribe& m) { m.user = letters(kNameBytesMax + over); });
     }},
    {"a duration",
     [](size_t over) {
       return with(valid_subscribe(), [&](Subscribe& m) {
         m.failover_timeout = kDurationMax + nanoseconds(static_cast<int64_t>(over));
       });
     }},
    {"the grace of a kill",
     [](size_t over) {
       return KillTask{.task = TaskId("t"),
                       .grace = kDurationMax + nanoseconds(static_cast<int64_t>(over))};
     }},
    {"a command",
     [](size_t over) {
       return with(run(valid_spec()),
                   [&](RunTask& m) { m.spec.command = letters(kCommandBytesMax + over); });
     }},
    {"an executor",
     [](size_t over) {
       return with(run(valid_spec()),
                   [&](RunTask& m) { m.spec.executor = letters(kCommandBytesMax + over); });
     }},
    {"the data of a task",
     [](size_t over) {
       return with(run(valid_spec()),
                   [&](RunTask& m) { m.spec.data = letters(kPayloadBytesMax + over); });
     }},
    {"environment variables",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         for (size_t i = 0; i < kEnvironmentEntriesMax + over; ++i) {
           m.spec.environment["v" + std::to_string(i)] = "";
         }
       });
     }},
    {"bytes of an environment",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         m.spec.environment["v"] = letters(kEnvironmentBytesMax - 1 + over);
       });
     }},
    {"port names",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         m.spec.port_names = std::vector<std::string>(kPortNamesMax + over, "p");
       });
     }},
    {"assigned ports",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         for (size_t i = 0; i < kPortNamesMax + over; ++i) {
           m.assignment.ports["p" + std::to_string(i)] = 1;
         }
       });
     }},
    {"an amount",
     [](size_t over) {
       return run_with({.amounts = ResourceVector::of(kAmountMax + static_cast<int64_t>(over), 0)});
     }},
    {"an amount of disk",
     [](size_t over) {
       return run_with(
           {.amounts = ResourceVector::of(0, 0, kAmountMax + static_cast<int64_t>(over))});
     }},
    {"port ranges",
     [](size_t over) {
       std::vector<PortRange> ranges;
       for (size_t i = 0; i < kPortRangesMax + over; ++i) {
         const auto port = static_cast<uint16_t>(100 + 2 * i);
         ranges.push_back({port, port});
       }
       return run_with({.ports = PortSet(std::move(ranges))});
     }},
    {"the index of a gpu device",
     [](size_t over) {
       return run_with({.amounts = ResourceVector::of(0, 0, 0, 1000),
                        .gpus = {{static_cast<int32_t>(kGpuDevicesMax - 1 + over), 1000}}});
     }},
    {"a part of a gpu device",
     [](size_t over) {
       const auto milli = static_cast<int32_t>(1000 + over);
       return run_with({.amounts = ResourceVector::of(0, 0, 0, milli), .gpus = {{0, milli}}});
     }},
    {"a sandbox",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         m.becomes = {{ExecutorId("e"), letters(kPathBytesMax + over)}};
       });
     }},
    {"tasks of an executor",
     [](size_t over) {
       ExecutorHello hello{.framework = FrameworkId("f"),
                           .executor = ExecutorId("e"),
                           .token = Secret(std::string(32, 'a'))};
       hello.runs.assign(kExecutorRunsMax + over, {.task = TaskId("t")});
       return hello;
     }},
    {"the data of an update",
     [](size_t over) {
       return with(ExecutorUpdate{.status = valid_status()},
                   [&](ExecutorUpdate& m) { m.status.data = letters(kUpdateDataBytesMax + over); });
     }},
    {"a framework message",
     [](size_t over) {
       return FrameworkMessage{.agent = AgentId("a"),
                               .executor = ExecutorId("e"),
                               .data = letters(kPayloadBytesMax + over)};
     }},
    {"asks",
     [](size_t over) {
       return DeclareAsks{.asks = std::vector<Ask>(kAsksMax + over, valid_ask())};
     }},
    {"the count of an ask",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].count = kAskCountMax + static_cast<int64_t>(over);
       });
     }},
    {"the ports of an ask",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].ports = static_cast<int64_t>(kPortNamesMax + over);
       });
     }},
    {"constraints",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].constraints = std::vector<Constraint>(kConstraintsMax + over, listing(1, 1));
       });
     }},
    {"values of a constraint",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].constraints = {listing(kConstraintValuesMax + over, 1)};
       });
     }},
    {"a value of a constraint",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].constraints = {listing(1, kConstraintTextBytesMax + over)};
       });
     }},
    {"max_per",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         for (size_t i = 0; i < kMaxPerMax + over; ++i) {
           m.asks[0].max_per.push_back({.attribute = "n" + std::to_string(i)});
         }
       });
     }},
    {"the count of max_per",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].max_per = {
             {.attribute = "host", .count = kAskCountMax + static_cast<int64_t>(over)}};
       });
     }},
    {"preferred hosts",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].prefer.hosts = std::vector<std::string>(kPreferredMax + over, "a1");
       });
     }},
    {"preferred racks",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].prefer.racks = std::vector<std::string>(kPreferredMax + over, "r1");
       });
     }},
    {"the name of a preferred rack",
     [](size_t over) {
       return with(asking(valid_ask()),
                   [&](DeclareAsks& m) { m.asks[0].prefer.racks = {letters(128 + over)}; });
     }},
    {"the wait for preferred hosts",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].prefer.wait = kDurationMax + nanoseconds(static_cast<int64_t>(over));
       });
     }},
    {"the gang of an ask",
     [](size_t over) {
       return with(asking(valid_ask()),
                   [&](DeclareAsks& m) { m.asks[0].gang = kGangMax + static_cast<int64_t>(over); });
     }},
    {"the expiry of an ask",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].expiry = kDurationMax + nanoseconds(static_cast<int64_t>(over));
       });
     }},
    {"the duration of an ask",
     [](size_t over) {
       return with(asking(valid_ask()), [&](DeclareAsks& m) {
         m.asks[0].duration = kDurationMax + nanoseconds(static_cast<int64_t>(over));
       });
     }},
    {"the attribute of a spread",
     [](size_t over) {
       return with(asking(valid_ask()),
                   [&](DeclareAsks& m) { m.asks[0].spread = letters(kNameBytesMax + over); });
     }},
    {"the role of an offer",
     [](size_t over) {
       return with(Offers{.offers = {valid_offer()}},
                   [&](Offers& m) { m.offers[0].role = RoleName(role_of(kRoleBytesMax + over)); });
     }},
    {"slices of a claim",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         m.assignment.claim = {.slices = std::vector<Slice>(kSlicesMax + over),
                               .role = RoleName("r")};
       });
     }},
    {"the amount of a reservation",
     [](size_t over) {
       return Accept{.operations = {Reserve{.agent = AgentId("a"),
                                            .role = RoleName("r"),
                                            .amounts = ResourceVector::of(
                                                kAmountMax + static_cast<int64_t>(over), 0)}}};
     }},
    {"tasks of a revoke notice",
     [](size_t over) {
       return RevokeNotice{.tasks = std::vector<TaskId>(kTasksPerMessageMax + over, TaskId("t")),
                           .agent = AgentId("a")};
     }},
    {"the grace of a revoke notice",
     [](size_t over) {
       return RevokeNotice{.tasks = {TaskId("t")},
                           .agent = AgentId("a"),
                           .grace = kDurationMax + nanoseconds(static_cast<int64_t>(over))};
     }},
    {"tasks of a withdrawn revoke",
     [](size_t over) {
       return RevokeWithdrawn{.tasks = std::vector<TaskId>(kTasksPerMessageMax + over, TaskId("t")),
                              .agent = AgentId("a")};
     }},
    {"offers",
     [](size_t over) {
       return Offers{.offers = std::vector<Offer>(kOffersPerMessageMax + over, valid_offer())};
     }},
    {"slices",
     [](size_t over) {
       return with(Offers{.offers = {valid_offer()}},
                   [&](Offers& m) { m.offers[0].slices.resize(kSlicesMax + over); });
     }},
    {"asks filled by an offer",
     [](size_t over) {
       return with(Offers{.offers = {valid_offer()}}, [&](Offers& m) {
         m.offers[0].fills = std::vector<AskFill>(kAsksMax + over, {.ask = AskName("x")});
       });
     }},
    {"offer ids of an accept",
     [](size_t over) {
       return Accept{.offers = std::vector<OfferId>(kOfferIdsMax + over, OfferId(1))};
     }},
    {"offer ids of a decline",
     [](size_t over) {
       return Decline{.offers = std::vector<OfferId>(kOfferIdsMax + over, OfferId(1))};
     }},
    {"offer ids of a rescind",
     [](size_t over) {
       return Rescind{.offers = std::vector<OfferId>(kOfferIdsMax + over, OfferId(1))};
     }},
    {"operations",
     [](size_t over) {
       return Accept{.operations = std::vector<Operation>(kOperationsMax + over,
                                                          Launch{.agent = AgentId("a")})};
     }},
    {"tasks of a launch",
     [](size_t over) {
       return Accept{.operations = {Launch{.agent = AgentId("a"),
                                           .tasks = std::vector<TaskSpec>(
                                               kTasksPerMessageMax + over, valid_spec())}}};
     }},
    {"resource kinds of a refusal",
     [](size_t over) {
       return Decline{.refusal = {.too_little = std::vector<ResourceKind>(kResourceKindCount + over,
                                                                          ResourceKind::kMem)}};
     }},
    {"tasks to reconcile",
     [](size_t over) {
       return Reconcile{.tasks = std::vector<TaskId>(kTasksPerMessageMax + over, TaskId("t"))};
     }},
    {"names of released files",
     [](size_t over) {
       return ReleaseFiles{.begins = std::vector<std::string>(kReleasedNamesMax + over, "t")};
     }},
    {"agents of released files",
     [](size_t over) {
       return ReleaseFiles{.begins = {"t"},
                           .agents = std::vector<AgentId>(kReleasedAgentsMax + over, AgentId("a"))};
     }},
    {"rows of an ask report",
     [](size_t over) {
       return AskReport{.rows =
                            std::vector<AskReport::Row>(kAsksMax + over, {.ask = AskName("x")})};
     }},
    {"attributes",
     [](size_t over) {
       return with(valid_agent(), [&](RegisterAgent& m) {
         for (size_t i = 0; i < kAttributesMax + over; ++i) {
           m.attributes["n" + std::to_string(i)] = "v";
         }
       });
     }},
    {"the value of an attribute",
     [](size_t over) {
       return with(valid_agent(),
                   [&](RegisterAgent& m) { m.attributes["rack"] = letters(128 + over); });
     }},
    {"an HTTP address",
     [](size_t over) {
       return with(valid_agent(),
                   [&](RegisterAgent& m) { m.http_address = letters(kAddressBytesMax + over); });
     }},
    {"the pin of a certificate",
     [](size_t over) {
       return with(valid_agent(), [&](RegisterAgent& m) {
         m.files = {.address = "a:1",
                    .pin = letters(kPinBytesMax + over),
                    .token_key = Secret(std::string(32, 'a'))};
       });
     }},
    {"messages with tasks that follow",
     [](size_t over) {
       return with(valid_agent(), [&](RegisterAgent& m) {
         m.tasks_follow = static_cast<uint32_t>(kTasksPerAgentMax + over);
       });
     }},
    {"tasks of an agent in one message",
     [](size_t over) {
       return RegisterTasks{.tasks = std::vector<AgentTask>(
                                kTasksPerMessageMax + over,
                                AgentTask{.framework = FrameworkId("f"), .task = TaskId("t")})};
     }},
    {"labels",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         for (size_t i = 0; i < kLabelsMax + over; ++i) m.spec.labels["l" + std::to_string(i)] = "";
       });
     }},
    {"the name of a label",
     [](size_t over) {
       return with(run(valid_spec()), [&](RunTask& m) {
         m.spec.labels = {{letters(kLabelNameBytesMax + over), "x"}};
       });
     }},
    {"the value of a label",
     [](size_t over) {
       TaskStatus status = valid_status();
       status.labels = {{"l", letters(kLabelValueBytesMax + over)}};
       return Update{.framework = FrameworkId("f"), .status = status};
     }},
    {"the bytes of labels",
     [](size_t over) {
       TaskStatus status = valid_status();
       for (char c = 'a'; c < 'a' + 16; ++c) {
         status.labels[std::string(1, c)] = letters(kLabelsBytesMax / 16 - 1);
       }
       status.labels.begin()->second += letters(over);
       return Update{.framework = FrameworkId("f"), .status = status};
     }},
    {"unacknowledged updates",
     [](size_t over) {
       return RegisterTasks{.tasks = {{.framework = FrameworkId("f"),
                                       .task = TaskId("t"),
                                       .unacknowledged = std::vector<TaskStatus>(
                                           kUpdatesPerTaskMax + over, valid_status())}}};
     }},
    {"the arguments of a call",
     [](size_t over) { return Call{.method = "m", .json = letters(kJsonBytesMax + over)}; }},
    {"a reply", [](size_t over) { return Reply{.json = letters(kJsonBytesMax + over)}; }},
    {"store operations",
     [](size_t over) {
       return StoreRequest{
           .operations = std::vector<StoreOperation>(kStoreOperationsMax + over, {.key = "k"})};
     }},
    {"a store key",
     [](size_t over) {
       std::string key = "k";
       while (key.size() + 2 <= kStoreKeyBytesMax) key += "/k";
       key += letters(kStoreKeyBytesMax - key.size() + over);
       return StoreRequest{.operations = {{.key = key}}};
     }},
    {"what listed store keys begin with",
     [](size_t over) {
       return StoreRequest{.operations = {{.kind = StoreOperation::Kind::kList,
                                           .key = letters(kStoreKeyBytesMax + over)}}};
     }},
    {"a store value",
     [](size_t over) {
       return StoreRequest{.operations = {{.kind = StoreOperation::Kind::kPut,
                                           .key = "k",
                                           .value = letters(kStoreEntryBytesMax + over)}}};
     }},
    {"store outcomes",
     [](size_t over) {
       return StoreResult{.outcomes =
                              std::vector<StoreResult::Outcome>(kStoreOperationsMax + over)};
     }},
    {"store entries",
     [](size_t over) {
       return StoreResult{.outcomes = {{.entries = std::vector<StoreResult::Entry>(
                                            kStoreListMax + over, {.key = "k"})}}};
     }},
    {"a request to a framework",
     [](size_t over) {
       return FrameworkRequest{.id = "r", .data = letters(kRelayedBytesMax + over)};
     }},
    {"a principal",
     [](size_t over) {
       return FrameworkRequest{.id = "r", .principal = letters(kNameBytesMax + over)};
     }},
    {"the response of a framework",
     [](size_t over) { return FrameworkResponse{.data = letters(kRelayedBytesMax + over)}; }},
    {"failures of a health check",
     [](size_t over) {
       return checked(
           {.port = "http", .failures = kHealthFailuresMax + static_cast<int64_t>(over)});
     }},
    {"files to fetch",
     [](size_t over) {
       TaskSpec spec = valid_spec();
       spec.fetch.assign(kFetchedFilesMax + over, {.uri = "file:///a"});
       return run(std::move(spec));
     }},
    {"the URI of a file to fetch",
     [](size_t over) {
       TaskSpec spec = valid_spec();
       spec.fetch = {{.uri = letters(kUriBytesMax + over)}};
       return run(std::move(spec));
     }},
    {"the name of a file to fetch",
     [](size_t over) {
       TaskSpec spec = valid_spec();
       spec.fetch = {{.uri = "file:///a", .name = letters(kFileNameBytesMax + over)}};
       return run(std::move(spec));
     }},
    {"the user of a task",
     [](size_t over) {
       TaskSpec spec = valid_spec();
       spec.user = letters(kNameBytesMax + over);
       return run(std::move(spec));
     }},
    {"the kill signal of a task",
     [](size_t over) {
       TaskSpec spec = valid_spec();
       spec.kill_signal = 31 + static_cast<int32_t>(over);
       return run(std::move(spec));
     }},
    {"a next page", [](size_t over) { return Reply{.next = letters(kPageTextBytesMax + over)}; }},
};

TEST(Codec, AcceptsEverythingUpToItsBoundAndRefusesOneMore) {
  for (const Bound& row : kBounds) {
    EXPECT_EQ(refusal_of(encoded(row.make(0))), "accepted") << row.what;
    const Result<Envelope> over = decode(encoded(row.make(1)));
    ASSERT_FALSE(over) << row.what;
    EXPECT_EQ(over.error().code(), ErrorCode::kInvalidArgument) << row.what;
  }
}

}  // namespace
}  // namespace proffer::proto::bounds_test
