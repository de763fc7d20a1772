// Runs every target over its corpus, and over a bounded number of seeded changes of it: a bug that
// clang's fuzzer found once is found again with any compiler. PROFFER_LONG=1 makes many more
// changes. An input that breaks a law is written to the temporary directory, for the corpus.
//
// FUZZ_SEEDS=1 in the environment writes the seeds that are not text, after a change of the schema.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include <glog/logging.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/records.h"
#include "frameworks/batch/core/results.h"
#include "frameworks/batch/core/schedule.h"
#include "frameworks/batch/core/waiting.h"
#include "frameworks/batch/core/work.h"
#include "proto/codec/codec.h"
#include "proto/codec/records.h"
#include "proto/json/batch_json.h"
#include "proto/json/event_lines.h"
#include "tests/fuzz/targets.h"
#include "tests/support/long.h"
#include "tests/support/message_generator.h"

namespace proffer::fuzz {

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace corpus_test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

fs::path corpus() { return fs::path(PROFFER_SOURCE_DIR) / "tests/fuzz/corpus"; }

struct Seed {
  std::string name;
  Bytes bytes;
};

std::vector<Seed> seeds_of(std::string_view target) {
  std::vector<Seed> seeds;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus() / target, none)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.push_back({entry.path().filename().string(), Bytes(std::istreambuf_iterator<char>(file),
                                                             std::istreambuf_iterator<char>())});
  }
  // Sorted, so that the changes do not depend on the directory's order.
  std::sort(seeds.begin(), seeds.end(),
            [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

// The current input, for the message of a failing CHECK.
struct Running {
  std::string what;
  Bytes bytes;
};
Running running;

[[noreturn]] void on_broken_law() {
  const fs::path kept = fs::temp_directory_path() / "proffer-fuzz-finding";
  std::ofstream(kept, std::ios::binary)
      .write(reinterpret_cast<const char*>(running.bytes.data()),
             static_cast<std::streamsize>(running.bytes.size()));
  std::cerr << "a law was broken by " << running.what << "; the input is in " << kept << std::endl;
  std::abort();
}

// The input has a heap block of its exact size, so that a sanitizer finds reads beyond it.
void run(const Target& target, std::string what, Bytes bytes) {
  running = {std::move(what), std::move(bytes)};
  const std::vector<uint8_t> exact(running.bytes.begin(), running.bytes.end());
  target.run(exact);
}

// Makes one random or malicious change.
void change(Prng& prng, const Bytes& other, Bytes& bytes) {
  static constexpr std::string_view kTokens[] = {";",
                                                 ":",
                                                 "=",
                                                 ",",
                                                 "[",
                                                 "]",
                                                 "{",
                                                 "}",
                                                 "\"",
                                                 "\n",
                                                 "..",
                                                 "/",
                                                 "-",
                                                 "0",
                                                 "9999999999999999999",
                                                 "0.001",
                                                 " ",
                                                 "\\",
                                                 "%00",
                                                 "\xff",
                                                 "\xc2\x9b",
                                                 std::string_view("\0", 1)};
  const uint64_t changes = 1 + prng.below(4);
  for (uint64_t i = 0; i < changes; ++i) {
    const size_t at = prng.below(bytes.size() + 1);
    if (at == bytes.size() || prng.chance(1, 6)) {
      const std::string_view token = kTokens[prng.below(std::size(kTokens))];
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), token.begin(), token.end());
      continue;
    }
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (prng.below(6)) {
      case 0:
        *place = static_cast<uint8_t>(*place ^ (1u << prng.below(8)));
        break;
      case 1:
        *place = static_cast<uint8_t>(prng.below(256));
        break;
      case 2:
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(
                                       1 + prng.below(std::min<size_t>(bytes.size() - at, 16))));
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4: {  // Copies one word over another: often a pointer to a wrong place.
        if (bytes.size() < 16) break;
        const size_t to = prng.below(bytes.size() / 8) * 8;
        const size_t from = prng.below(bytes.size() / 8) * 8;
        for (size_t k = 0; k < 8; ++k) bytes[to + k] = bytes[from + k];
        break;
      }
      default:  // the beginning of one and the end of another
        bytes.resize(at);
        if (at < other.size()) {
          bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(at), other.end());
        }
    }
  }
}

class Corpus : public testing::TestWithParam<Target> {
 protected:
  static void SetUpTestSuite() { google::InstallFailureFunction(&on_broken_law); }
};

TEST_P(Corpus, ObeysTheLaws) {
  const std::vector<Seed> seeds = seeds_of(GetParam().name);
  ASSERT_FALSE(seeds.empty()) << "no seeds in tests/fuzz/corpus/" << GetParam().name;
  run(GetParam(), "nothing at all", {});
  for (const Seed& seed : seeds) run(GetParam(), "seed " + seed.name, seed.bytes);
}

TEST_P(Corpus, ObeysTheLawsWhenChanged) {
  const std::vector<Seed> seeds = seeds_of(GetParam().name);
  ASSERT_FALSE(seeds.empty());
  const int rounds = GetParam().mutations * (test::is_long() ? 50 : 1);
  for (int round = 0; round < rounds; ++round) {
    Prng prng(static_cast<uint64_t>(round));
    const Seed& seed = seeds[prng.below(seeds.size())];
    const Seed& other = seeds[prng.below(seeds.size())];
    Bytes bytes = seed.bytes;
    change(prng, other.bytes, bytes);
    run(GetParam(), text("seed ", seed.name, " changed in round ", round), std::move(bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(kTargets),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Corpora, BelongToTargets) {
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus())) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(std::any_of(kTargets.begin(), kTargets.end(),
                            [&](const Target& target) { return target.name == name; }))
        << "tests/fuzz/corpus/" << name << " has no target";
  }
}

// --- seeds that are not text -------------------------------------------------------------------

void write(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// The smallest of several generated values: seeds matter for their structure, not for their size.
template <class Make>
std::string smallest(const Make& make) {
  std::string best = make(uint64_t{1});
  for (uint64_t seed = 2; seed < 30; ++seed) {
    const std::string other = make(seed);
    // Smaller values are almost empty.
    if (other.size() >= 200 && (best.size() < 200 || other.size() < best.size())) best = other;
  }
  return best;
}

void add_array_seeds(std::map<std::string, std::string>& seeds, const batch::WorkCommon& common) {
  const batch::Indices indices = {{.first = 1, .step = 2, .count = 5},
                                  {.first = 20, .step = 1, .count = 1}};
  seeds["batch_work/range"] = batch::encode_work(batch::RangeWork{.common = common,
                                                                  .command = {"echo", "{}"},
                                                                  .first = 70,
                                                                  .indices = indices,
                                                                  .directory = "/tmp",
                                                                  .ok = {0, 1},
                                                                  .timeout = seconds(9),
                                                                  .time = seconds(2),
                                                                  .lane = 3,
                                                                  .looks_back = true,
                                                                  .failures = {{0, 1}, {4, 2}}});
  seeds["batch_work/gather"] = batch::encode_work(batch::GatherWork{
      .common = common, .indices = indices, .ok = {0}, .done = 6, .commits = true});
  seeds["batch_work/gather_kept"] = batch::encode_work(
      batch::GatherWork{.common = common, .indices = indices, .ok = {0}, .done = 6, .keeps = true});
  seeds["batch_work/range_result"] = batch::encode_range_result(
      {.ended = 9,
       .ran = 8,
       .micros = 70'000,
       .failures = {{.place = 0, .attempt = 1, .code = 75}, {.place = 8, .attempt = 3, .code = 1}},
       .stderr_tail = "no\n"});
  seeds["batch_work/element_end"] = batch::encode_element_end({.position = 70'000,
                                                               .attempt = 2,
                                                               .code = 137,
                                                               .stdout_offset = 10,
                                                               .stdout_length = 1'000,
                                                               .stderr_offset = 7,
                                                               .stderr_length = 0,
                                                               .micros = 1'500});
  seeds["batch_work/element_end_unsealed"] =
      seeds["batch_work/element_end"].substr(0, batch::kElementEndBytes - 8);
  seeds["batch_work/arguments"] = batch::encode_arguments({"a b", "", "c\n"});
  batch::ElementsRecord elements{.done = {true, false, false, true},
                                 .failed = {false, true, false, false},
                                 .failures = {{2, 1}},
                                 .failed_attempts = 3};
  seeds["batch_record/elements"] = batch::encode(elements);
  elements.retries = 3;
  seeds["batch_record/elements_retried"] = batch::encode(elements);
  elements.requeues = {{2, 1}};
  seeds["batch_record/elements_requeued"] = batch::encode(elements);
  batch::EndedRecord ended;
  ended.job.job = "sweep-8";
  ended.job.phase = proto::BatchPhase::kFinished;
  ended.job.array = {.total = 100, .done = 98, .failed = 2, .failed_attempts = 7, .bytes_out = 9};
  seeds["batch_record/ended_array"] = batch::encode(ended);
  ended.job.array->skipped = 3;
  seeds["batch_record/ended_skipped"] = batch::encode(ended);
  ended.job.array->skipped = 0;
  batch::JobOrder order;
  order.name = "sweep";
  order.output = "/tmp/out";
  order.plan = "5e1f";
  order.resources = ResourceVector::of(1'000, 256'000);
  order.array = {.command = {"echo", "{}"}, .indices = indices, .directory = "/tmp"};
  seeds["batch_record/bare_array"] = batch::encode_order(order);
  for (const std::string_view given :
       {"1-10", "0-20:5%4", "1,3,7-9", "{}", "{.}-{//}/{/.}.{#}{/}"}) {
    seeds[text("batch_array/", given.size(), "-bytes")] = given;
  }
  seeds["batch_array/line"] = batch::results_line(
      {.index = 17,
       .lane = 3,
       .is_done = true,
       .end = {.attempt = 2, .code = 124, .stdout_length = 20, .micros = 1'500'000}});
  seeds["batch_array/line"].pop_back();
}

struct Happened {
  int64_t exit_code = 0;
  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task ended"}; }
  void fields(TraceFields& f) const {
    f("framework", "web-1-1")("task", "t1")("exit_code", exit_code)
        .free_text("message", "a \"b\"\n");
  }
};

// Two events of the same kind, so that the second one repeats names; the clock goes back between
// them.
std::string block_of_events() {
  proto::EventBlockWriter block;
  const proto::EventOwners owners = {{"web-1-1", {.user = "ada", .role = "eng"}}};
  const Time now = Time::from_nanos(1'700'000'000'000'000'000);
  block.add({LeaderEpoch(17), 4021}, now, Happened{.exit_code = 1}, owners);
  block.add({LeaderEpoch(17), 4022}, now - seconds(1), Happened{.exit_code = -1}, owners);
  return block.take();
}

// The seeds of frames, rows, records and work, by path below the corpus.
std::map<std::string, std::string> made_seeds() {
  std::map<std::string, std::string> seeds;
  proto::Encoder encoder;
  for (size_t index = 1; index < proto::MessageGenerator::kMessageCount; ++index) {
    proto::MessageGenerator names(1);
    const std::string name(proto::message_name(names.message(index)));
    seeds["frame/" + name] = smallest([&](uint64_t seed) {
      proto::MessageGenerator generator(seed);
      const auto frame = encoder.encode(generator.envelope(generator.message(index)));
      if (!frame) return std::string();
      return std::string(reinterpret_cast<const char*>(frame->data()), frame->size());
    });
  }
  for (size_t index = 0; index < std::variant_size_v<proto::RegistryRow>; ++index) {
    proto::MessageGenerator generator(index + 1);
    const proto::RegistryRow row = generator.row(index);
    seeds["row/" + proto::table_of(row)] =
        proto::table_of(row) + " " + proto::key_of(row) + "\n" + proto::encode_row(row);
  }
  for (size_t index = 0; index < std::variant_size_v<proto::CheckpointRecord>; ++index) {
    seeds[text("record/kind-", index)] = smallest([&](uint64_t seed) {
      return proto::encode_record(proto::MessageGenerator(seed).record(index));
    });
  }
  for (size_t index = 0; index < std::variant_size_v<proto::HistoryRecord>; ++index) {
    seeds[text("history/kind-", index)] = smallest([&](uint64_t seed) {
      return proto::encode_history(proto::MessageGenerator(seed).history(index));
    });
  }
  seeds["event_block/events"] = block_of_events();
  const batch::WorkCommon common = {.job = "words-7",
                                    .command = "awk -f map.awk",
                                    .accepts = {1, 3},
                                    .env = {{"A", "1"}, {"B", "two"}},
                                    .output = "/tmp/out",
                                    .plan = "5e1f",
                                    .maps = 9,
                                    .number = 7,
                                    .attempt = 1};
  seeds["batch_work/map"] = batch::encode_work(batch::MapWork{.common = common, .reducers = 3});
  batch::Shuffle shuffle{.keys = {.separator = ',', .fields = 3, .partition_fields = 1},
                         .combine = "awk -f combine.awk",
                         .sort_bytes = 9 << 20};
  shuffle.keys.sort = {{.first = 1, .last = 2},
                       {.first = 3, .last = 3, .is_numeric = true, .is_reverse = true}};
  seeds["batch_work/map_keys"] =
      batch::encode_work(batch::MapWork{.common = common, .reducers = 3, .shuffle = shuffle});
  seeds["batch_work/map_plain"] = batch::encode_work(
      batch::MapWork{.common = common, .reducers = 3, .shuffle = {.is_packed = false}});
  seeds["batch_work/block_header"] = batch::encode_block_header({.partition = 7,
                                                                 .records = 20,
                                                                 .raw_bytes = 4'000,
                                                                 .stored_bytes = 900,
                                                                 .checksum = 0x0123456789abcdef});
  seeds["batch_work/end"] =
      batch::encode_work(batch::EndWork{.common = common,
                                        .kind = batch::EndWork::Kind::kSetAside,
                                        .place = "/tmp/.unfinished-words-7-5e1f",
                                        .parts = 3});
  seeds["batch_work/plan"] = batch::encode_work(batch::PlanWork{.common = common, .place = "/out"});
  seeds["batch_work/plan_result"] =
      batch::encode_plan_result({.maps = 9, .elements = 7, .input_bytes = 1 << 20});
  seeds["batch_work/plan_result_located"] = batch::encode_plan_result(
      {.maps = 2, .locality = {.groups = {{"h"}}, .maps = {{.group = 1, .count = 2}}}});
  seeds["batch_plan/request"] =
      batch::encode_plan_request({.inputs = {"/in/a", "/in/b"},
                                  .split_bytes = 1 << 20,
                                  .by_file = true,
                                  .files = {.contents = {{"map.awk", "{}"}}},
                                  .lines_of = "/in/list"});
  seeds["batch_plan/split"] =
      batch::encode_split({.chunks = {{"/in/a", 0, 100}, {"/in/ab", 5, 1 << 20}}});
  seeds["batch_plan/split_formatted"] =
      batch::encode_split({.chunks = {{"/in/a.gz", 0, 100, batch::Codec::kGzip}, {"/in/ab", 5, 9}},
                           .format = {.kind = batch::InputFormat::Kind::kFixed, .bytes = 9}});
  seeds["batch_plan/files"] =
      batch::encode_files({.contents = {{"map.awk", "{ print $1 }\n"}, {"x", ""}}});
  seeds["batch_plan/large_files"] =
      batch::encode_files({.contents = {{"x", ""}},
                           .large = {{"model", {.bytes = 1 << 30, .modified_s = 1'700'000'000}}}});
  batch::OrderRecord order;
  order.order.name = "words";
  order.order.map = "cat";
  order.order.output = "/tmp/out";
  order.order.map_accepts = {1};
  order.order.plan = "5e1f";
  order.order.maps = 9;
  order.order.resources = ResourceVector::of(1'000, 256'000);
  order.order.env = common.env;
  order.order.fetch = {{.uri = "https://host/x", .is_executable = true}};
  order.order.reduce = "wc -l";
  order.order.reducers = 2;
  order.order.shuffle = shuffle;
  order.owner = "ada";
  seeds["batch_record/order"] = batch::encode(order);
  seeds["batch_record/bare_order"] = batch::encode_order(order.order);
  batch::OrderRecord near = order;
  near.order.locality = {
      .groups = {{"a", "b"}, {"c"}}, .all = 1, .maps = {{2, 4}, {0, 1}}, .wait = seconds(5)};
  seeds["batch_record/order_near"] = batch::encode(near);
  seeds["batch_record/scheduler"] = batch::encode(batch::SchedulerRecord{.lives = 2, .jobs = 300});
  seeds["batch_record/state"] = batch::encode(
      batch::StateRecord{.started_at = Time::from_nanos(5),
                         .retries = 1,
                         .outcome = batch::Outcome{.phase = proto::BatchPhase::kFailed,
                                                   .error = "why",
                                                   .failed_task = "words-7.map-00007-1",
                                                   .is_kept = true}});
  batch::BlockRecord block;
  block.tasks[3].failures = 1;
  block.tasks[200] = {.winner = 1'001,
                      .failures = 0,
                      .cpu = milliseconds(70),
                      .agent = AgentId("a"),
                      .result = {.bytes_in = 9}};
  seeds["batch_record/block"] = batch::encode(block);
  block.tasks[3].is_counted = true;
  block.counters = {{{"words", "long"}, -70}, {{"words", "short"}, 1}};
  seeds["batch_record/block_counted"] = batch::encode(block);
  batch::EndedRecord ended;
  ended.job.job = "words-7";
  ended.job.phase = proto::BatchPhase::kCancelled;
  seeds["batch_record/ended"] = batch::encode(ended);
  batch::EndedRecord ended_near = ended;
  ended_near.job.map.near = 5;
  ended_near.job.map.far = 2;
  seeds["batch_record/ended_near"] = batch::encode(ended_near);
  ended.job.pipeline = "etl-5";
  ended.job.stage = "words";
  ended.job.after = {{.job = "etl-clean-6", .on = "finished", .fate = "met"}};
  seeds["batch_record/ended_stage"] = batch::encode(ended);
  seeds["batch_record/waiting"] = batch::encode(batch::Waiting{
      .pipeline = "etl-5",
      .stage = "words",
      .after = {{.job = batch::JobId("etl-clean-6"), .on = batch::Condition::kEnded}},
      .takes_any = true});
  batch::JobOrder waits = order.order;
  waits.maps = 0;
  waits.plan = "5e20";
  waits.output = "/tmp/next";
  seeds["batch_record/submission"] = batch::encode_submission(
      {.pipeline = "etl",
       .stages = {{.stage = "clean", .order = order.order},
                  {.stage = "words",
                   .order = waits,
                   .after = {{.job = "clean"}, {.job = "other-3", .on = batch::Condition::kFailed}},
                   .takes_any = true}}});
  batch::ScheduleRecord schedule;
  schedule.order = {.stages = {.stages = {{.order = order.order}}},
                    .cron = "30 3 * * mon-fri",
                    .zone = "Europe/Berlin",
                    .overlap = batch::Overlap::kQueue,
                    .catch_up = batch::CatchUp::kAll};
  schedule.owner = "ada";
  schedule.decided_until = 1'795'651'200;
  schedule.waiting = {1'795'651'200};
  schedule.job = batch::JobId("words-8");
  schedule.log = {{.at = 1'795'564'800, .last = 1'795'564'800, .job = schedule.job}};
  seeds["batch_record/schedule"] = batch::encode(schedule);
  seeds["batch_record/schedule_order"] = batch::encode_schedule_order(schedule.order);
  ended.job.counters = batch::to_rows(block.counters);
  seeds["batch_record/ended_counted"] = batch::encode(ended);
  seeds["batch_call/submit"] =
      proto::batch_call_json({.verb = "submit", .order = batch::encode_order(order.order)});
  seeds["batch_call/status"] = proto::batch_call_json(
      {.verb = "status", .job = "words-7", .phase = "map", .wait = seconds(1)});
  seeds["batch_work/reduce"] = batch::encode_work(
      batch::ReduceWork{.common = common,
                        .addresses = {"127.0.0.1:1", "[::1]:65535"},
                        .maps = {{.agent = 1, .attempt = 0}, {.agent = 0, .attempt = 300}}});
  seeds["batch_work/result"] = batch::encode_result({.records_in = 1,
                                                     .bytes_in = 200,
                                                     .records_out = 70'000,
                                                     .bytes_out = int64_t{1} << 40,
                                                     .http_address = "127.0.0.1:8080"});
  seeds["batch_work/result_counted"] =
      batch::encode_result({.records_in = 1, .counters = block.counters});
  seeds["batch_work/reports"] =
      "x\nreporter:counter:a,b,1\nreporter:status:half\nreporter:counter:a,b,-4\nend";
  seeds["batch_work/progress_status"] =
      batch::encode_progress({.done = 5'000, .status = "reading chapter 4"});
  seeds["batch_work/failure"] = batch::encode_failure({.blame = batch::Blame::kCommand,
                                                       .stderr_tail = "map.awk: line 1\n",
                                                       .fetch_failed = {{1, 2}, {9, 0}}});
  seeds["batch_work/index_entry"] = batch::encode_index_entry(
      {.offset = 10, .length = 1000, .records = 20, .checksum = 0x0123456789abcdef});
  // Without its checksum, which the target adds.
  seeds["batch_work/index_entry_unsealed"] =
      seeds["batch_work/index_entry"].substr(0, batch::kIndexEntryBytes - 8);
  add_array_seeds(seeds, common);
  return seeds;
}

TEST(Corpora, HaveASeedOfEachKindOfMessageAndRecord) {
  for (const auto& [path, bytes] : made_seeds()) {
    if (std::getenv("FUZZ_SEEDS") != nullptr) write(corpus() / path, bytes);
    EXPECT_TRUE(fs::exists(corpus() / path)) << path << " is missing; FUZZ_SEEDS=1 writes it";
  }
}

// A seed that no longer decodes is useless to a fuzzer.
TEST(Corpora, DecodeStill) {
  for (const auto& [path, bytes] : made_seeds()) {
    std::ifstream file(corpus() / path, std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(file), {}};
    bool decodes = true;
    if (path.starts_with("frame/")) {
      const auto envelope = proto::decode(std::as_bytes(std::span(seed)));
      decodes = envelope && "frame/" + std::string(proto::message_name(*envelope->message)) == path;
    } else if (path.starts_with("record/")) {
      decodes = proto::decode_record(seed).has_value();
    } else if (path.starts_with("history/")) {
      decodes = proto::decode_history(seed).has_value();
    } else if (path.starts_with("event_block/")) {
      const auto last = proto::last_place_of(seed);
      decodes = last && proto::place_of(proto::last_line_of(seed)) == last;
    }
    EXPECT_TRUE(decodes) << path << " no longer decodes; FUZZ_SEEDS=1 writes it anew";
  }
}

}  // namespace
}  // namespace corpus_test
}  // namespace proffer::fuzz
