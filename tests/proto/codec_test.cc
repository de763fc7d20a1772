// The rules of proto/schema/wire.capnp, one by one: each invalid value, each kind of malformed
// frame.

#include "proto/codec/codec.h"

#include <cstring>
#include <functional>

#include <capnp/message.h>
#include <capnp/schema.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include "common/limits.h"
#include "tests/proto/valid_messages.h"
#include "tests/support/message_generator.h"
#include "wire.capnp.h"

namespace proffer::proto::codec_test {
namespace {

using namespace test;

Bytes flat(capnp::MessageBuilder& builder) {
  const auto words = capnp::messageToFlatArray(builder);
  const auto bytes = words.asBytes();
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.begin());
  return {begin, begin + bytes.size()};
}

// A frame written as a foreign or hostile program could.
Bytes written(const std::function<void(wire::Envelope::Builder)>& fill) {
  capnp::MallocMessageBuilder builder(kFrameBytesMax / sizeof(capnp::word));  // a single segment
  auto envelope = builder.initRoot<wire::Envelope>();
  envelope.setVersion(kProtocolVersion);
  fill(envelope);
  return flat(builder);
}

TEST(Codec, RefusesWrongValuesAndSaysWhich) {
  struct Row {
    Message message;
    std::string_view says;
  };
  const Row rows[] = {
      {KillTask{}, "task id must be"},
      {KillTask{.task = TaskId("..")}, "task id must be"},
      {KillTask{.task = TaskId("a/b")}, "task id must be"},
      {KillTask{.framework = FrameworkId("a b"), .task = TaskId("t")}, "framework id must be"},
      {KillTask{.task = TaskId("t"), .grace = nanoseconds(-2)}, "the grace of a kill"},
      {with(valid_subscribe(), [](Subscribe& m) { m.secret = Secret("x"); }), "a secret must be"},
      {with(valid_subscribe(), [](Subscribe& m) { m.role = RoleName("a//b"); }), "a role must be"},
      {with(valid_subscribe(), [](Subscribe& m) { m.role = {}; }), "a role must be"},
      {with(valid_subscribe(), [](Subscribe& m) { m.failover_timeout = nanoseconds(-1); }),
       "the failover timeout must be from 0"},
      {run_with({.amounts = ResourceVector::of(-1, 0)}), "milli-cpus must be from 0"},
      {run_with({.amounts = ResourceVector::of(0, -1)}), "milli-MiB of mem must be from 0"},
      {run_with({.amounts = ResourceVector::of(0, 0, 0, -1)}), "milli-gpus must be from 0"},
      {run_with({.amounts = ResourceVector::of(0, 0, 0, 2000), .gpus = {{0, 1000}}}),
       "gpu devices sum up to 1, but the amount of gpus is 2"},
      {run_with({.amounts = ResourceVector::of(0, 0, 0, 1000), .gpus = {{1, 500}, {0, 500}}}),
       "gpu devices must be sorted"},
      {run_with({.amounts = ResourceVector::of(0, 0, 0, 1000), .gpus = {{1, 500}, {1, 500}}}),
       "gpu devices must be sorted"},
      {run_with({.amounts = ResourceVector::of(0, 0, 0, 1000), .gpus = {{0, 1000}, {1, 0}}}),
       "a gpu device must be"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.command = std::string("a\0b", 3); }), "NUL"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.executor = ""; }), "must not be empty"},
      {with(run(valid_spec()),
            [](RunTask& m) {
              m.becomes = {{ExecutorId("a b"), "/s"}};
            }),
       "executor id must be"},
      {with(run(valid_spec()),
            [](RunTask& m) {
              m.becomes = {{ExecutorId("e"), std::string("/\0", 2)}};
            }),
       "NUL"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.environment["A=B"] = ""; }),
       "the name of an environment variable"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.environment[""] = ""; }),
       "the name of an environment variable"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.environment["A"] = std::string("\0", 1); }),
       "NUL"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.kill_signal = 0; }), "from 1 to 31"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.kill_signal = 9; }), "neither 9 (SIGKILL)"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.fetch = {{.uri = ""}}; }),
       "its URI must have 1"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.fetch = {{.uri = "file:///a b"}}; }),
       "without spaces"},
      {with(run(valid_spec()),
            [](RunTask& m) { m.spec.fetch = {{.uri = "file:///a", .sha256 = "AB"}}; }),
       "64 of 0-9 a-f"},
      {with(run(valid_spec()),
            [](RunTask& m) { m.spec.fetch = {{.uri = "file:///a", .name = "../b"}}; }),
       "without '/'"},
      {with(run(valid_spec()),
            [](RunTask& m) { m.spec.fetch = {{.uri = "file:///a", .name = ".."}}; }),
       "without '/'"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.readiness = {{.ports = {"no"}}}; }),
       "one of the task's port names, not 'no'"},
      {with(run(valid_spec()),
            [](RunTask& m) {
              m.spec.port_names = {"a"};
              m.spec.readiness = {{.ports = {"a", "a"}}};
            }),
       "named twice"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.readiness = {{.after = nanoseconds(-1)}}; }),
       "the time until a task is ready must be from 0"},
      {with(run(valid_spec()), [](RunTask& m) { m.spec.port_names = {"http port"}; }),
       "port name must be"},
      {with(run(valid_spec()), [](RunTask& m) { m.assignment.ports["p"] = 0; }),
       "a port must not be zero"},
      {with(asking(valid_ask()), [](DeclareAsks& m) { m.asks[0].count = -1; }),
       "the count of an ask must be from 0"},
      {with(asking(valid_ask()),
            [](DeclareAsks& m) {
              m.asks[0].constraints = {{.attribute = "rack", .values = {"a", "b"}}};
            }),
       "constraint on 'rack': it must have 1 to 1 values, not 2"},
      {with(asking(valid_ask()),
            [](DeclareAsks& m) { m.asks[0].constraints = {{.attribute = "", .values = {"a"}}}; }),
       "attribute name must be"},
      {with(asking(valid_ask()), [](DeclareAsks& m) { m.asks[0].gang = 0; }),
       "the gang of an ask must be from 1"},
      {with(asking(valid_ask()), [](DeclareAsks& m) { m.asks[0].spread = "a b"; }),
       "attribute name must be"},
      {with(asking(valid_ask()),
            [](DeclareAsks& m) {
              m.asks[0].max_per = {{.attribute = "rack"}, {.attribute = "host"}};
            }),
       "max_per of an ask must be sorted"},
      {with(asking(valid_ask()),
            [](DeclareAsks& m) { m.asks[0].max_per = {{.attribute = "rack", .count = 0}}; }),
       "the count of max_per must be from 1"},
      {with(asking(valid_ask()), [](DeclareAsks& m) { m.asks[0].prefer.hosts = {"a b"}; }),
       "agent name must be"},
      {with(asking(valid_ask()), [](DeclareAsks& m) { m.asks[0].prefer.racks = {""}; }),
       "the value of attribute 'rack'"},
      {with(asking(valid_ask()), [](DeclareAsks& m) { m.asks[0].expiry = nanoseconds(-1); }),
       "the expiry of an ask must be from 0"},
      {with(asking(valid_ask()), [](DeclareAsks& m) { m.asks[0].duration = nanoseconds(-1); }),
       "the duration of an ask must be from 0"},
      {RevokeNotice{.agent = AgentId("a")}, "a revoke notice must name a task"},
      {RevokeWithdrawn{.agent = AgentId("a")}, "a withdrawn revoke must name a task"},
      {Accept{.operations = {Reserve{.agent = AgentId("a")}}}, "a role must be"},
      {Accept{.offers = {OfferId(0)}}, "an offer id must not be zero"},
      {Offers{.offers = {{.id = OfferId(0), .agent = AgentId("a")}}},
       "an offer id must not be zero"},
      {with(valid_agent(), [](RegisterAgent& m) { m.attributes["host"] = "h"; }),
       "attribute 'host'"},
      {with(valid_agent(), [](RegisterAgent& m) { m.attributes["rack"] = "a\nb"; }),
       "the value of attribute 'rack'"},
      {ExecutorUpdate{.status = {.task = TaskId("t"), .at = Time::from_nanos(-1)}},
       "must not be before 1970"},
      {Call{.method = "a b"}, "method must be"},
      {checked({.kind = HealthCheck::Kind::kTcp, .port = "admin"}),
       "one of the task's port names, not 'admin'"},
      {checked({.kind = HealthCheck::Kind::kHttp, .port = "http", .path = "index"}),
       "its path must begin with '/'"},
      {checked({.kind = HealthCheck::Kind::kHttp, .port = "http", .path = "/a b"}),
       "visible ASCII"},
      {checked({.kind = HealthCheck::Kind::kCommand}), "its command must have 1"},
      {checked({.port = "http", .interval = {}}), "its interval must be from 1ms"},
      {checked({.port = "http", .timeout = {}}), "its timeout must be from 1ms"},
      {checked({.port = "http", .grace = nanoseconds(-1)}), "its grace must be from 0s"},
      {checked({.port = "http", .failures = 0}), "its failures must be from 1 to 1000, not 0"},
      {StoreRequest{}, "must have an operation"},
      {StoreRequest{.operations = {{.key = "a//b"}}}, "a store key must be names"},
      {StoreRequest{.operations = {{.key = ""}}}, "a store key must be names"},
      {StoreRequest{.operations = std::vector<StoreOperation>(
                        3, {.key = "a", .value = letters(kStoreEntryBytesMax)})},
       "a store request has"},
      {FrameworkRequest{.id = "a b"}, "request id must be"},
  };
  for (const Row& row : rows) {
    const std::string why = refusal_of(encoded(row.message));
    EXPECT_NE(why.find(row.says), std::string::npos) << row.says << " / " << why;
    EXPECT_EQ(why.find(message_name(row.message)), 0u) << why;  // the error names the message
  }
}

TEST(Codec, DoesNotRepeatASecretInAnError) {
  Subscribe message = valid_subscribe();
  message.secret = Secret("ABCDEF0123456789abcdef0123456789");  // almost valid
  EXPECT_EQ(refusal_of(encoded(message)).find("ABCDEF"), std::string::npos);
}

TEST(Codec, RefusesWhatOurEncoderCouldNotWrite) {
  struct Row {
    std::string_view what;
    std::function<void(wire::Envelope::Builder)> fill;
  };
  const auto status = [](wire::Envelope::Builder envelope) {
    auto out = envelope.initExecutorUpdate().initStatus();
    out.setTask("t");
    return out;
  };
  const auto ports = [](wire::Envelope::Builder envelope, unsigned count) {
    auto agent = envelope.initRegisterAgent();
    agent.setAgent("a");
    agent.setSecret(kSecret.str().c_str());
    return agent.initPorts(count);
  };
  const Row rows[] = {
      {"unknown task state", [&](auto e) { status(e).setState(static_cast<wire::TaskState>(10)); }},
      {"unknown task reason",
       [&](auto e) { status(e).setReason(static_cast<wire::TaskReason>(kTaskReasonCount)); }},
      {"unknown update source",
       [&](auto e) { status(e).setSource(static_cast<wire::UpdateSource>(2)); }},
      {"unknown error code",
       [&](auto e) { e.initError().setCode(static_cast<wire::ErrorCode>(kErrorCodeCount)); }},
      {"unknown resource kind",
       [&](auto e) {
         e.initDecline().initRefusal().initTooLittle(1).set(0, static_cast<wire::ResourceKind>(4));
       }},
      {"a text for people has 4097 bytes",
       [&](auto e) { status(e).setMessage(letters(kReasonTextBytesMax + 1).c_str()); }},
      {"port ranges must be sorted", [&](auto e) { ports(e, 1)[0].setLast(5); }},
      {"port ranges must be sorted",
       [&](auto e) {
         auto range = ports(e, 1)[0];
         range.setFirst(6);
         range.setLast(5);
       }},
      {"port ranges must be sorted",  // adjacent ranges must be merged
       [&](auto e) {
         auto list = ports(e, 2);
         list[0].setFirst(5);
         list[0].setLast(6);
         list[1].setFirst(7);
         list[1].setLast(8);
       }},
      {"attributes must be sorted",
       [&](auto e) {
         auto agent = e.initRegisterAgent();
         agent.setAgent("a");
         agent.setSecret(kSecret.str().c_str());
         auto list = agent.initAttributes(2);
         for (auto attribute : list) {
           attribute.setName("rack");
           attribute.setValue("r1");
         }
       }},
      {"environment must be sorted",
       [&](auto e) {
         auto run = e.initRunTask();
         run.setFramework("f");
         auto spec = run.initSpec();
         spec.setId("t");
         auto list = spec.initEnvironment(2);
         list[0].setName("B");
         list[1].setName("A");
       }},
      {"unknown band",
       [&](auto e) {
         auto ask = e.initDeclareAsks().initAsks(1)[0];
         ask.setName("x");
         ask.setBand(static_cast<wire::Band>(kBandCount));
       }},
      {"unknown revoke reason",
       [&](auto e) {
         auto notice = e.initRevokeNotice();
         notice.initTasks(1).set(0, "t");
         notice.setAgent("a");
         notice.setReason(static_cast<wire::RevokeReason>(kRevokeReasonCount));
       }},
      {"unknown operation", [&](auto e) { e.initAccept().initOperations(1)[0].setNone(); }},
  };
  for (const Row& row : rows) {
    const std::string why = refusal_of(written(row.fill));
    EXPECT_NE(why.find(row.what), std::string::npos) << row.what << " / " << why;
  }
}

TEST(Codec, RefusesAnOperationOfALaterVersionAsUnsupported) {
  const Result<Envelope> decoded = decode(
      written([](wire::Envelope::Builder e) { e.initAccept().initOperations(1)[0].setNone(); }));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::kUnsupported);
}

TEST(Codec, RefusesVersionsThatItDoesNotSpeakAndNamesBoth) {
  Encoder encoder;
  for (const uint32_t version : {0u, kProtocolVersion + 1, 4'000'000'000u}) {
    const auto frame = encoder.encode({.version = version, .message = Heartbeat{}});
    ASSERT_TRUE(frame);
    const Result<Envelope> decoded = decode(*frame);
    ASSERT_FALSE(decoded) << version;
    EXPECT_EQ(decoded.error().code(), ErrorCode::kUnsupported);
    EXPECT_EQ(decoded.error().message(), "protocol version " + std::to_string(version) +
                                             " is not supported; supported are 1 to 3");
    EXPECT_FALSE(decoded.error().hint().empty());
  }
}

TEST(Codec, LooksAtTheVersionBeforeAnythingElse) {
  const Bytes frame = written([](wire::Envelope::Builder e) {
    e.setVersion(kProtocolVersion + 1);
    e.initKillTask();  // without a task: invalid in our version, but maybe valid in a later one
  });
  EXPECT_EQ(decode(frame).error().code(), ErrorCode::kUnsupported);
}

// A later version's union has more members than ours.
TEST(Codec, AMessageOfALaterVersionIsUnknownWithItsTag) {
  const auto offset =
      capnp::Schema::from<wire::Envelope>().getProto().getStruct().getDiscriminantOffset();
  for (const uint16_t tag : {uint16_t{MessageGenerator::kMessageCount}, uint16_t{40000}}) {
    Bytes frame = encoded(KillTask{.task = TaskId("t")});
    const size_t data = 16;  // after the segment table and the root pointer
    std::memcpy(frame.data() + data + 2 * offset, &tag, sizeof tag);
    const Result<Envelope> decoded = decode(frame);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(decoded->message, Message(Unknown{.tag = tag}));
    EXPECT_EQ(decoded->sequence, 1u);
  }
  const Result<Envelope> none = decode(written([](wire::Envelope::Builder e) { e.setNone(); }));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->message, Message(Unknown{.tag = 0}));
}

TEST(Codec, DoesNotSendUnknownMessages) {
  Encoder encoder;
  const auto frame = encoder.encode({.message = Unknown{.tag = 7}});
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code(), ErrorCode::kInvalidArgument);
}

TEST(Codec, RefusesFramesThatAreTooLargeToSendAndGoesOn) {
  Encoder encoder;
  Accept large{.operations = {Launch{.agent = AgentId("a")}}};
  TaskSpec spec = valid_spec();
  spec.data = letters(kPayloadBytesMax);
  std::get<Launch>(large.operations[0]).tasks = {spec, spec, spec};
  const auto refused = encoder.encode({.message = large});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_NE(refused.error().message().find("accept"), std::string::npos);

  const auto next = encoder.encode({.message = KillTask{.task = TaskId("t")}});
  ASSERT_TRUE(next);
  const Result<Envelope> decoded = decode(*next);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->message, Message(KillTask{.task = TaskId("t")}));
}

TEST(Codec, TheLargestTaskFitsAFrame) {
  TaskSpec spec = valid_spec();
  spec.data = letters(kPayloadBytesMax);
  spec.command = letters(kCommandBytesMax);
  spec.executor = letters(kCommandBytesMax);
  for (size_t i = 0; i < kEnvironmentEntriesMax; ++i) {
    spec.environment["v" + std::to_string(i)] =
        letters(kEnvironmentBytesMax / kEnvironmentEntriesMax - 5);
  }
  spec.port_names = std::vector<std::string>(kPortNamesMax, letters(kNameBytesMax));
  EXPECT_EQ(refusal_of(encoded(run(spec))), "accepted");
}

// One encoder for large and small frames in turn: no frame contains bytes of another.
TEST(Codec, FramesDoNotDependOnThoseBefore) {
  Encoder used;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    MessageGenerator generator(seed);
    const Envelope envelope = generator.envelope();
    Encoder fresh;
    const auto expected = fresh.encode(envelope);
    const auto frame = used.encode(envelope);
    ASSERT_EQ(frame.has_value(), expected.has_value()) << seed;
    if (!frame) continue;
    ASSERT_EQ(Bytes(frame->begin(), frame->end()), Bytes(expected->begin(), expected->end()))
        << seed;
  }
}

TEST(Codec, CutsTextsForPeopleAtAWholeCharacter) {
  const std::string umlauts = [] {
    std::string out = "x";  // so that the limit is within a character
    while (out.size() < 2 * kReasonTextBytesMax) out += "ü";
    return out;
  }();
  const Result<Envelope> decoded = decode(encoded(
      ErrorMessage{.message = umlauts, .hint = std::string(3 * kReasonTextBytesMax, '\x80')}));
  ASSERT_TRUE(decoded) << decoded.error().message();
  const auto& error = std::get<ErrorMessage>(*decoded->message);
  EXPECT_EQ(error.message, umlauts.substr(0, kReasonTextBytesMax - 1));
  EXPECT_LE(error.hint.size(), kReasonTextBytesMax);
  EXPECT_GE(error.hint.size(), kReasonTextBytesMax - 4);
}

TEST(Codec, SendsTheLowestPortsOfAFragmentedAgent) {
  Offer offer = valid_offer();
  std::vector<PortRange> ranges;
  for (uint16_t port = 1; port < 2000; port = static_cast<uint16_t>(port + 2)) {
    ranges.push_back({port, port});
  }
  offer.ports = PortSet(ranges);
  const Result<Envelope> decoded = decode(encoded(Offers{.offers = {offer}}));
  ASSERT_TRUE(decoded) << decoded.error().message();
  ranges.resize(kPortRangesMax);
  EXPECT_EQ(std::get<Offers>(*decoded->message).offers[0].ports, PortSet(ranges));
}

TEST(Codec, TextsAndDataMayBeAnyBytes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  Update update{.framework = FrameworkId("f"), .status = valid_status()};
  update.status.message = all;
  update.status.data = all;
  const Result<Envelope> decoded = decode(encoded(update));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->message, Message(update));
}

// An executor does not know its agent's name: the agent adds it for the master.
TEST(Codec, AnExecutorsMessageNeedNotNameItsAgent) {
  const FrameworkMessage message{.framework = FrameworkId("f"),
                                 .executor = ExecutorId("e"),
                                 .to_scheduler = true,
                                 .data = "pong"};
  const Result<Envelope> decoded = decode(encoded(message));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->message, Message(message));
}

TEST(Codec, FramesNeedNotBeAligned) {
  MessageGenerator generator(11);
  for (size_t index = 1; index < MessageGenerator::kMessageCount; ++index) {
    const Message message = generator.message(index);
    const Bytes frame = encoded(message);
    Bytes shifted(frame.size() + 8);
    for (size_t shift = 0; shift < 8; ++shift) {
      std::memcpy(shifted.data() + shift, frame.data(), frame.size());
      const Result<Envelope> decoded = decode(std::span(shifted.data() + shift, frame.size()));
      ASSERT_TRUE(decoded) << decoded.error().message();
      ASSERT_EQ(decoded->message, message) << message_name(message) << " shift " << shift;
    }
  }
}

TEST(Codec, ReadsFramesOfSeveralSegments) {
  capnp::MallocMessageBuilder builder(16, capnp::AllocationStrategy::FIXED_SIZE);
  auto envelope = builder.initRoot<wire::Envelope>();
  envelope.setVersion(kProtocolVersion);
  auto tasks = envelope.initReconcile().initTasks(40);
  for (unsigned i = 0; i < 40; ++i) tasks.set(i, letters(40).c_str());
  ASSERT_GT(builder.getSegmentsForOutput().size(), 2u);
  const Result<Envelope> decoded = decode(flat(builder));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->message,
            Message(Reconcile{.tasks = std::vector<TaskId>(40, TaskId(letters(40)))}));
}

TEST(Codec, RefusesBrokenFrames) {
  const Bytes good = encoded(KillTask{.task = TaskId("t")});
  const auto changed = [&](size_t at, uint32_t value) {
    Bytes frame = good;
    std::memcpy(frame.data() + at, &value, sizeof value);
    return frame;
  };
  const auto sized = [&](size_t size) {
    Bytes frame = good;
    frame.resize(size);
    return frame;
  };
  struct Row {
    std::string_view what;
    Bytes frame;
  };
  const Row rows[] = {
      {"nothing", {}},
      {"a table only", sized(8)},
      {"half a word more", sized(good.size() + 4)},
      {"a byte less", sized(good.size() - 1)},
      {"a word more", sized(good.size() + 8)},
      {"a word less", sized(good.size() - 8)},
      {"larger than a frame", sized(kFrameBytesMax + 8)},
      {"many segments", changed(0, 1000)},
      {"2^32 segments", changed(0, 0xFFFFFFFF)},
      {"a large segment", changed(4, 0xFFFFFFFF)},
      {"an empty segment", changed(4, 0)},
      {"a root that is a list", changed(8, 1)},
      {"a root beyond the end", changed(8, 0x7FFFFFFC)},
      {"a root before the beginning", changed(8, 0x80000000)},
      {"a far root", changed(8, 2)},
      {"a root that is a capability", changed(8, 3)},
  };
  for (const Row& row : rows) {
    const Result<Envelope> decoded = decode(row.frame);
    ASSERT_FALSE(decoded) << row.what;
    EXPECT_FALSE(decoded.error().message().empty()) << row.what;
  }
}

// Three hundred updates share the same 16 KiB of data: small in the frame, large when read.
TEST(Codec, RefusesPointersThatMultiplyWhatIsThere) {
  constexpr unsigned kTasks = 300;
  constexpr unsigned kStubBytes = 9;
  const auto frame_with = [&](bool shared) {
    Bytes frame = written([](wire::Envelope::Builder e) {
      auto tasks = e.initRegisterTasks().initTasks(kTasks);
      for (unsigned i = 0; i < kTasks; ++i) {
        tasks[i].setFramework("f");
        tasks[i].setTask("t");
        auto status = tasks[i].initUnacknowledged(1)[0];
        status.setTask("t");
        const std::string data(i == 0 ? kUpdateDataBytesMax : kStubBytes, 'x');
        status.setData({reinterpret_cast<const capnp::byte*>(data.data()), data.size()});
      }
    });
    // Pointers to lists in the encoding of Cap'n Proto: two bits for the kind, 30 for the distance,
    // three for the element size and 29 for the length.
    int64_t target = 0;
    int patched = 0;
    for (size_t i = 16; i + 8 <= frame.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, &frame[i], sizeof word);
      if ((word & 3) != 1 || ((word >> 32) & 7) != 2) continue;
      const auto here = static_cast<int64_t>(i / 8) + 1;
      if (word >> 35 == kUpdateDataBytesMax) target = here + (static_cast<int32_t>(word) >> 2);
      if (word >> 35 != kStubBytes || !shared) continue;
      const auto distance = static_cast<uint32_t>(static_cast<int32_t>(target - here) * 4);
      word = uint64_t{kUpdateDataBytesMax} << 35 | uint64_t{2} << 32 | distance | 1;
      std::memcpy(&frame[i], &word, sizeof word);
      ++patched;
    }
    EXPECT_EQ(patched, shared ? static_cast<int>(kTasks) - 1 : 0);
    return frame;
  };
  EXPECT_EQ(refusal_of(frame_with(false)), "accepted");
  EXPECT_NE(refusal_of(frame_with(true)).find("traversal limit"), std::string::npos)
      << refusal_of(frame_with(true));
}

// proto/codec converts enumerators by number, so their order must be the same.
template <class Wire, class Enum>
void expect_same_words(size_t count) {
  const auto enumerants = capnp::Schema::from<Wire>().getEnumerants();
  ASSERT_EQ(enumerants.size(), count);
  for (unsigned i = 0; i < count; ++i) {
    std::string snake;
    for (const char c : std::string_view(enumerants[i].getProto().getName().cStr())) {
      if (c >= 'A' && c <= 'Z') snake += '_';
      snake += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    EXPECT_EQ(snake, to_text(static_cast<Enum>(i)));
  }
}

TEST(Schema, HasTheSameEnumeratorsAsTheValues) {
  expect_same_words<wire::TaskState, TaskState>(kTaskStateCount);
  expect_same_words<wire::TaskReason, TaskReason>(kTaskReasonCount);
  expect_same_words<wire::ErrorCode, ErrorCode>(kErrorCodeCount);
  expect_same_words<wire::ResourceKind, ResourceKind>(kResourceKindCount);
  expect_same_words<wire::Band, Band>(kBandCount);
  expect_same_words<wire::RevokeReason, RevokeReason>(kRevokeReasonCount);
}

TEST(Schema, HasTheSameMessagesInTheSameOrderAsTheValues) {
  const auto fields = capnp::Schema::from<wire::Envelope>().getUnionFields();
  ASSERT_EQ(fields.size(), MessageGenerator::kMessageCount);
  MessageGenerator generator(1);
  for (unsigned i = 1; i < fields.size(); ++i) {
    std::string snake;
    for (const char c : std::string_view(fields[i].getProto().getName().cStr())) {
      if (c >= 'A' && c <= 'Z') snake += '_';
      snake += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    EXPECT_EQ(snake, message_name(generator.message(i)));
  }
}

}  // namespace
}  // namespace proffer::proto::codec_test
