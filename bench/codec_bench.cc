// The cost of one message: a value into a frame, a frame into a checked value. The messages are
// those of a task's life, as the simulated cluster of cluster_bench sends them, and an offer with
// attributes and ports as from a real agent.

#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "common/check.h"
#include "common/text.h"
#include "proto/codec/codec.h"

namespace proffer {
namespace {

const FrameworkId kFramework("batch-1-17");
const AgentId kAgent("agent-42");
const TaskId kTask("map-100017");

proto::TaskSpec task_spec() {
  return {.id = kTask,
          .ask = AskName("map"),
          .shape = ResourceVector::of(1'000, 1'024'000),
          .command = "sort --parallel=1 input | uniq -c > output",
          .environment = {{"HOME", "/home/ada"}, {"LANG", "C.UTF-8"}, {"TMPDIR", "/tmp"}},
          .executor = std::string(proto::kBatchExecutor),
          .executor_id = ExecutorId("warm")};
}

proto::Message offers(int count) {
  proto::Offers message;
  for (int i = 0; i < count; ++i) {
    Resources resources{.amounts = ResourceVector::of(16'000, 65'536'000, 409'600'000, 2'000)};
    resources.gpus = {{.index = 0, .milli = 1'000}, {.index = 1, .milli = 1'000}};
    message.offers.push_back(
        {.id = OfferId(1'000'000 + static_cast<uint64_t>(i)),
         .agent = AgentId(text("agent-", i)),
         .attributes = {{"arch", "x86_64"}, {"disk", "ssd"}, {"rack", "r17"}, {"zone", "b"}},
         .slices = {Slice{.resources = std::move(resources)}},
         .fills = {{.ask = AskName("map"), .count = 16}},
         .ports = PortSet({{31'000, 31'999}}),
         .lease = kOfferTimeout});
  }
  return message;
}

proto::Message accept(int tasks) {
  proto::Launch launch{.agent = kAgent};
  for (int i = 0; i < tasks; ++i) {
    launch.tasks.push_back(task_spec());
    launch.tasks.back().id = TaskId(text("map-", 100'000 + i));
  }
  return proto::Accept{.offers = {OfferId(1'000'000)}, .operations = {std::move(launch)}};
}

proto::Message update() {
  return proto::Update{.framework = kFramework,
                       .status = {.task = kTask,
                                  .agent = kAgent,
                                  .state = proto::TaskState::kFinished,
                                  .sequence = 2,
                                  .exit_code = 0,
                                  .at = Time::from_nanos(1'700'000'000'000'000'000)}};
}

proto::Message run_task() {
  return proto::RunTask{
      .framework = kFramework,
      .spec = task_spec(),
      .assignment = {.resources = {.amounts = ResourceVector::of(1'000, 1'024'000)}}};
}

proto::Message acknowledge() {
  return proto::Acknowledge{.framework = kFramework, .task = kTask, .agent = kAgent, .sequence = 2};
}

proto::Message declare_asks() {
  return proto::DeclareAsks{
      .generation = 3,
      .asks = {
          {.name = AskName("map"), .shape = ResourceVector::of(1'000, 1'024'000), .count = 1'000}}};
}

proto::Envelope envelope_of(proto::Message message) {
  return {.leader = LeaderEpoch(1), .sequence = 12'345, .message = std::move(message)};
}

void encode(benchmark::State& state, const proto::Message& message) {
  const proto::Envelope envelope = envelope_of(message);
  proto::Encoder encoder;
  size_t bytes = 0;
  for (auto _ : state) {
    const Result<std::span<const std::byte>> frame = encoder.encode(envelope);
    CHECK(frame) << frame.error().message();
    bytes = frame->size();
    benchmark::DoNotOptimize(frame->data());
  }
  state.counters["frame_bytes"] = static_cast<double>(bytes);
}

// From unaligned bytes, as most are that a socket returns.
void decode(benchmark::State& state, const proto::Message& message) {
  proto::Encoder encoder;
  const Result<std::span<const std::byte>> frame = encoder.encode(envelope_of(message));
  CHECK(frame) << frame.error().message();
  std::vector<std::byte> bytes(frame->size() + 1);
  std::copy(frame->begin(), frame->end(), bytes.begin() + 1);
  const std::span<const std::byte> unaligned(bytes.data() + 1, frame->size());
  for (auto _ : state) {
    const Result<proto::Envelope> envelope = proto::decode(unaligned);
    CHECK(envelope) << envelope.error().message();
    benchmark::DoNotOptimize(envelope->sequence);
  }
  state.counters["frame_bytes"] = static_cast<double>(unaligned.size());
}

void both(const std::string& name, const proto::Message& message) {
  benchmark::RegisterBenchmark((name + "/encode").c_str(),
                               [message](benchmark::State& state) { encode(state, message); });
  benchmark::RegisterBenchmark((name + "/decode").c_str(),
                               [message](benchmark::State& state) { decode(state, message); });
}

}  // namespace
}  // namespace proffer

int main(int argc, char** argv) {
  using namespace proffer;
  both("heartbeat", proto::Heartbeat{});
  both("declare_asks", declare_asks());
  both("offers/1", offers(1));
  both("offers/16", offers(16));
  both("accept/1", accept(1));
  both("accept/16", accept(16));
  both("run_task", run_task());
  both("update", update());
  both("acknowledge", acknowledge());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
