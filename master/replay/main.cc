// proffer-replay: replays a recording in a core of the production code, and compares the results
// with the recorded ones.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/cli11_problem.h"
#include "common/printable.h"
#include "common/text.h"
#include "master/recording/life_replay.h"
#include "master/replay/lives.h"
#include "proto/json/blame_json.h"
#include "proto/json/event_lines.h"
#include "proto/json/json.h"
#include "proto/json/policy_trial_json.h"
#include "sim/policy_trial.h"
#include "sim/recorded_work.h"
#include "store/checkpoint_log.h"

namespace proffer::master {
namespace {

namespace fs = std::filesystem;

constexpr int kExitDiffers = 1;
constexpr int kExitUsage = 2;
constexpr uint64_t kBytesMax = uint64_t{64} << 30;

struct Options {
  std::vector<std::string> paths = {};
  ReplayBounds bounds = {};
  std::string trace = {};
  std::vector<std::string> explain = {};
  std::vector<std::string> blame = {};
  std::string save = {};
  std::vector<std::string> with = {};
  bool json = false;
};

std::string hex_of(uint64_t value) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

std::string span_text(Duration span) { return to_text(milliseconds(span.millis())); }

// Prints the trace of each event, with the time since the life began.
class TracePrinter final : public StepWatcher {
 public:
  void begins(const MasterOptions& options, const MasterSnapshot&) override {
    began_ = now_ = options.started_at;
  }
  void hears(const MasterEvent&, Time now) override { now_ = std::max(now_, now); }
  void says(const MasterOutbox& out) override {
    for (const TraceEvent& event : out.trace) {
      std::cout << to_text(now_ - began_) << " " << printable_line(to_text(event)) << "\n";
    }
  }
  void ends() override {}

 private:
  Time began_;
  Time now_;
};

std::string json_of(const LifeReplay& life) {
  std::string out = text(
      "{\"version\":", proto::json_text(life.version()), ",\"leader\":", life.leader().value(),
      ",\"steps\":", life.steps(), ",\"tasks\":", life.tasks_launched(),
      ",\"span_s\":", print_milli((life.now() - life.began()).millis()), ",\"hash\":\"",
      hex_of(life.hash()), "\",\"sums\":", life.sums(), ",\"same_until_step\":", life.same_until(),
      ",\"same\":", life.is_same() ? "true" : "false");
  if (life.differs_at()) out += text(",\"differs_before_step\":", *life.differs_at());
  return out + "}";
}

std::string words_of(const LifeReplay& life) {
  std::string out =
      text("leader ", life.leader().value(), ", Proffer ", life.version(), ": ", life.steps(),
           " steps in ", span_text(life.now() - life.began()), ", hash ", hex_of(life.hash()));
  if (life.differs_at()) {
    return out + text("\nit differs from what happened, between steps ", life.same_until(), " and ",
                      *life.differs_at());
  }
  if (life.steps() == 0) return out + "\nit has no steps";
  if (!life.is_compared()) return out + "\nno sum was recorded for them: they are not compared";
  out += text("\nthe same as what happened, in ", life.sums(), life.sums() == 1 ? " sum" : " sums");
  if (life.same_until() < life.steps()) {
    out += text("; the last ", life.steps() - life.same_until(), " steps are not compared");
  }
  if (!life.why_ended().empty()) out += text("; its end: ", life.why_ended());
  return out;
}

// The sums over all lives.
class Total {
 public:
  // Returns the gap before it.
  std::optional<LivesGap> add(const LifeReplay& life) {
    std::optional<LivesGap> gap;
    if (lives_ > 0 && life.leader() > leader_) {
      gap = LivesGap{leader_, life.leader(), std::max(life.began() - now_, Duration())};
      gaps_ = gaps_ + gap->duration;
    }
    if (lives_++ == 0) began_ = life.began();
    leader_ = life.leader();
    now_ = life.now();
    steps_ += life.steps();
    tasks_ += life.tasks_launched();
    same_ += life.is_same() ? 1 : 0;
    // FNV-1a of the lives' hashes.
    for (int i = 0; i < 64; i += 8) {
      hash_ = (hash_ ^ (life.hash() >> i & 0xff)) * 0x100'0000'01b3;
    }
    return gap;
  }
  uint64_t lives() const { return lives_; }

  std::string json() const {
    return text("{\"lives\":", lives_, ",\"steps\":", steps_, ",\"tasks\":", tasks_,
                ",\"span_s\":", print_milli((now_ - began_).millis()),
                ",\"gaps_s\":", print_milli(gaps_.millis()), ",\"hash\":\"", hex_of(hash_),
                "\",\"same_lives\":", same_, ",\"same\":", same_ == lives_ ? "true" : "false", "}");
  }
  std::string words() const {
    return text(lives_, " lives: ", steps_, " steps in ", span_text(now_ - began_), " with ",
                tasks_, tasks_ == 1 ? " task" : " tasks", " launched, hash ", hex_of(hash_), "; ",
                same_ == lives_ ? std::string("all are the same as what happened")
                                : text(same_, " of them are the same as what happened"),
                "; between them ", span_text(gaps_));
  }

 private:
  uint64_t lives_ = 0;
  uint64_t same_ = 0;
  uint64_t steps_ = 0;
  uint64_t tasks_ = 0;
  uint64_t hash_ = 0xcbf2'9ce4'8422'2325;
  Duration gaps_;
  Time began_;
  LeaderEpoch leader_;
  Time now_;
};

Result<std::string> explained(const Master& core, const std::vector<std::string>& words) {
  const Principal root{.user = "root"};
  if (words[0] == "role") {
    const auto role = core.explain_role(words[1]);
    if (!role) return role.error();
    return proto::explained_role_json(*role);
  }
  if (words[0] == "task") {
    const auto task = core.explain_task(words[1], &root);
    if (!task) return task.error();
    return proto::explained_task_json(*task);
  }
  const auto framework = core.explain(words[1], &root);
  if (!framework) return framework.error();
  return proto::explanation_json(*framework);
}

Result<std::string> blamed(const Master& core, const std::vector<std::string>& words) {
  const Principal root{.user = "root"};
  const Result<proto::Blame> blame = words[0] == "role"   ? core.blame_role(words[1])
                                     : words[0] == "task" ? core.blame_task(words[1], &root)
                                                          : core.blame_framework(words[1]);
  if (!blame) return blame.error();
  return proto::blame_json(*blame);
}

void say(const std::string& what, bool is_json) {
  std::cout << (is_json ? printable_json(what) : printable_lines(what)) << "\n";
}

int fail(const Error& error, bool json) {
  if (json) {
    std::cerr << printable_json(proto::error_json(error)) << "\n";
    return kExitUsage;
  }
  std::cerr << "error: " << printable_line(error.message()) << "\n";
  if (!error.hint().empty()) std::cerr << "  hint: " << printable_line(error.hint()) << "\n";
  return kExitUsage;
}

// Answers the questions about the last life.
Result<void> answer(const LifeReplay& last, const Options& options) {
  if (!options.explain.empty()) {
    Result<std::string> said = explained(last.core(), options.explain);
    if (!said) return std::move(said).error();
    std::cout << printable_json(*said) << "\n";
  }
  if (!options.blame.empty()) {
    Result<std::string> said = blamed(last.core(), options.blame);
    if (!said) return std::move(said).error();
    std::cout << printable_json(*said) << "\n";
  }
  if (options.save.empty()) return {};
  if (last.differs_at()) {
    return Error::failed_precondition(
        "the replay differs from the recording and is not saved: as a test it would always fail");
  }
  if (fs::exists(options.save)) {
    return Error::already_exists(text(quoted(options.save), " is there already"))
        .with_hint("--save names a new file");
  }
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(options.save);
  if (!opened) return std::move(opened).error();
  return opened->log->append(last.saved());
}

// Tries another policy on the replayed work.
Result<void> try_with(const sim::Work& work, const Options& options) {
  std::vector<sim::RoleChange> changes;
  for (const std::string& with : options.with) {
    Result<sim::RoleChange> change = sim::parse_role_change(with);
    if (!change) return std::move(change).error();
    changes.push_back(*std::move(change));
  }
  Result<proto::PolicyTrial> trial = sim::try_policy(work, changes);
  if (!trial) return std::move(trial).error();
  trial->with = options.with;
  if (options.json) {
    std::cout << printable_json(proto::policy_trial_json(*trial)) << "\n";
  } else {
    std::cout << "\n" << printable_lines(sim::trial_tables(*trial));
  }
  return {};
}

int replay(const Options& options) {
  const Result<std::vector<RecordedLife>> lives = find_lives(options.paths);
  if (!lives) return fail(lives.error(), options.json);
  bool differs = false;
  std::string missing;  // the unknown part of the work
  int code = 0;
  Total total;
  TracePrinter printer;
  sim::WorkReader work;
  StepWatcher* watcher = nullptr;
  if (!options.trace.empty()) watcher = &printer;
  if (!options.with.empty()) watcher = &work;
  std::unique_ptr<LifeReplay> last;  // the last life with a beginning
  for (const RecordedLife& recorded : *lives) {
    Result<CheckpointLog::Readable> read = CheckpointLog::read(recorded.file, kBytesMax);
    auto life = std::make_unique<LifeReplay>(options.bounds, watcher);
    Result<void> told;
    if (read) {
      told = life->take_all(read->records);
    } else {
      told = read.error();
    }
    // The valid part before the error is reported, and the other lives are read.
    if (life->has_begun()) {
      const std::optional<LivesGap> gap = total.add(*life);
      if (gap && gap->after.value() + 1 < gap->before.value()) missing = to_text(*gap);
      // Another master led between the end of such a recording and the next life.
      if (last != nullptr && last->is_ended_early()) {
        missing = text("leader ", last->leader().value(),
                       " was not recorded to its end: ", last->why_ended());
      }
      if (gap && !options.json) std::cout << printable_line(to_text(*gap)) << "\n";
      say(options.json ? json_of(*life) : words_of(*life), options.json);
      differs = differs || life->differs_at();
      last = std::move(life);
      // The asks in the omitted part are unknown, so no policy is tried after it.
      if (last->is_cut() && !options.with.empty()) break;
    } else if (told) {
      told = Error::corruption("this file has no recording");
    }
    if (!told) {
      code = fail(Error(told.error()).in(recorded.file), options.json);
      missing = text("the rest of ", recorded.file, " cannot be read");
    }
    if (read && read->damaged_bytes > 0) {
      missing = text("the rest of ", recorded.file, " is damaged");
      std::cerr << printable_line(text(recorded.file, ": damaged: ", read->damaged_bytes, " bytes"))
                << "\n";
    }
  }
  if (last == nullptr) return code;
  if (total.lives() > 1) say(options.json ? total.json() : total.words(), options.json);
  if (const Result<void> answered = answer(*last, options); !answered) {
    return fail(answered.error(), options.json);
  }
  if (!options.with.empty()) {
    if (!missing.empty()) {
      return fail(Error::failed_precondition(
                      text("--with needs all of the work, and a part is missing: ", missing))
                      .with_hint("name the recordings of consecutive leaders"),
                  options.json);
    }
    if (differs) {
      return fail(Error::failed_precondition("--with needs a recording that replays without a "
                                             "difference: the work after a difference is not known")
                      .with_hint("replay it with the version of Proffer that wrote it"),
                  options.json);
    }
    if (const Result<void> tried = try_with(work.work(), options); !tried) {
      return fail(tried.error(), options.json);
    }
  }
  const bool is_whole = !options.bounds.until && !options.bounds.steps;
  if (code == 0 && is_whole && !last->is_compared()) code = kExitUsage;
  return differs ? kExitDiffers : code;
}

int run(int argc, char** argv) {
  Options options;
  std::string until;
  CLI::App app{
      "Replays recordings of masters (proffer-master --record) with the production core,\nand "
      "compares the result with what happened.",
      "proffer replay"};
  app.add_option(
         "FILE", options.paths,
         "recordings, or directories of recordings; all lives are replayed, in the order they led")
      ->required();
  app.add_option("--until", until,
                 "replay each life up to this time after its beginning, as in 90s or 2h");
  app.add_option("--steps", options.bounds.steps, "replay this many steps of each life");
  app.add_option("--trace", options.trace, "-: print each event of the replay")
      ->check(CLI::IsMember({"-"}));
  app.add_option("--explain", options.explain,
                 "explain at the end: framework NAME, role PATH or task FRAMEWORK/TASK")
      ->expected(2);
  app.add_option("--blame", options.blame,
                 "show `proffer blame` at the end; arguments as of --explain")
      ->expected(2);
  app.add_option("--save", options.save,
                 "write the replayed part of the last life to a new file, for a test");
  app.add_option(
         "--with", options.with,
         "simulate with other role settings: 'role eng weight=3' (or guarantee, limit); repeatable")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json,
               "print one JSON object for each life, and one for all lives");
  app.footer(
      "Exit codes: 0 no difference, 1 the replay differs from the recording, 2 wrong usage or a "
      "recording that\ncannot be read or compared.\n\nExamples:\n"
      "  proffer replay /var/lib/proffer/recordings\n"
      "  proffer replay /var/lib/proffer/recordings --with 'role eng weight=3'");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
    return fail(cli11_problem(app, "proffer replay", error.what()), json);
  }
  for (const auto* words : {&options.explain, &options.blame}) {
    if (words->empty()) continue;
    const std::string& kind = words->front();
    if (kind == "framework" || kind == "role" || kind == "task") continue;
    return fail(
        Error::invalid_argument(
            text("--explain and --blame take a framework, a role or a task, not a ", quoted(kind))),
        options.json);
  }
  if (!options.with.empty() && options.bounds.steps) {
    return fail(Error::invalid_argument("--with takes a time, not steps: use --until, not --steps"),
                options.json);
  }
  if (!options.with.empty() && !options.trace.empty()) {
    return fail(Error::invalid_argument("--with and --trace cannot be combined: use one of them"),
                options.json);
  }
  // Errors in them are reported before the long replay.
  for (const std::string& with : options.with) {
    const Result<sim::RoleChange> change = sim::parse_role_change(with);
    if (!change) return fail(change.error(), options.json);
  }
  if (!until.empty()) {
    const Result<Duration> span = parse_duration(until);
    if (!span) return fail(Error(span.error()).in("--until"), options.json);
    options.bounds.until = *span;
  }
  options.bounds.is_kept = !options.save.empty();
  return replay(options);
}

}  // namespace
}  // namespace proffer::master

int main(int argc, char** argv) { return proffer::master::run(argc, argv); }
