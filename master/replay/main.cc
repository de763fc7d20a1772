// proffer-replay: tells a core of the production code what a recording says, and compares what
// comes of it with what came of it then.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/text.h"
#include "master/recording/recording.h"
#include "proto/json/blame_json.h"
#include "proto/json/json.h"
#include "store/checkpoint_log.h"

namespace proffer::master {
namespace {

namespace fs = std::filesystem;

constexpr int kExitDiffers = 1;
constexpr int kExitUsage = 2;
constexpr uint64_t kBytesMax = uint64_t{64} << 30;

struct Options {
  std::string path = {};
  std::optional<Duration> until = {};  // from the beginning of the recording
  std::optional<uint64_t> steps = {};
  std::string trace = {};
  std::vector<std::string> explain = {};
  std::vector<std::string> blame = {};
  std::string save = {};
  bool json = false;
};

std::string hex_of(uint64_t value) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

// One life of a master.
class Replay {
 public:
  explicit Replay(const Options& options) : options_(options) {}

  // False: enough.
  Result<bool> take(const std::string& record) {
    Result<std::optional<RecordedEntry>> read = reader_.read(record);
    if (!read) return std::move(read).error();
    if (!options_.save.empty()) saved_.push_back(record);
    if (!*read) return true;
    RecordedEntry& entry = **read;
    if (auto* begins = std::get_if<RecordingBegins>(&entry)) {
      if (core_) return Error::corruption("the recording is damaged: it begins twice");
      version_ = begins->version;
      leader_ = begins->options.leader;
      began_ = now_ = begins->options.started_at;
      core_ = std::make_unique<Master>(begins->options, begins->snapshot);
      return true;
    }
    if (!core_) return Error::corruption("the recording is damaged: it does not begin");
    if (const auto* sum = std::get_if<RecordedSum>(&entry)) return compare(*sum);
    if (const auto* ends = std::get_if<RecordingEnds>(&entry)) {
      why_ended_ = ends->why;
      return true;
    }
    auto& recorded = std::get<RecordedEvent>(entry);
    if (is_enough(recorded.now)) {
      if (!saved_.empty()) saved_.pop_back();
      return false;
    }
    now_ = std::max(now_, recorded.now);
    out_.clear();
    core_->handle(std::move(recorded.event), recorded.now, out_);
    hash_.add(out_);
    ++steps_;
    if (trace_ == nullptr) return true;
    for (const TraceEvent& event : out_.trace) {
      *trace_ << to_text(now_ - began_) << " " << to_text(event) << "\n";
    }
    return true;
  }

  // Until one is wrong, or it is enough.
  std::optional<Error> take_all(const std::vector<std::string>& records) {
    for (const std::string& record : records) {
      const Result<bool> goes_on = take(record);
      if (!goes_on) return goes_on.error();
      if (!*goes_on) break;
    }
    return std::nullopt;
  }

  void print_trace_to(std::ostream& trace) { trace_ = &trace; }
  bool has_begun() const { return core_ != nullptr; }
  const Master& core() const { return *core_; }
  bool differs() const { return differs_at_.has_value(); }
  bool is_compared() const { return sums_ > 0; }
  // What was replayed, with the sums that were recorded, and at its end the one of this version.
  std::vector<std::string> saved() const {
    std::vector<std::string> records = saved_;
    if (same_until_ < steps_) {
      records.push_back(RecordingWriter(records.size()).sum(steps_, hash_.value()));
    }
    return records;
  }

  std::string json() const {
    std::string out =
        text("{\"version\":\"", version_, "\",\"leader\":", leader_.value(), ",\"steps\":", steps_,
             ",\"span_s\":", (now_ - began_).millis() / 1000, ",\"hash\":\"", hex_of(hash_.value()),
             "\",\"sums\":", sums_, ",\"same_until_step\":", same_until_,
             ",\"same\":", differs_at_ || sums_ == 0 ? "false" : "true");
    if (differs_at_) out += text(",\"differs_before_step\":", *differs_at_);
    return out + "}";
  }
  std::string words() const {
    std::string out =
        text("leader ", leader_.value(), ", Proffer ", version_, ": ", steps_, " steps in ",
             to_text(milliseconds((now_ - began_).millis())), ", hash ", hex_of(hash_.value()));
    if (differs_at_) {
      return out + text("\nit differs from what happened, between steps ", same_until_, " and ",
                        *differs_at_);
    }
    if (sums_ == 0) return out + "\nno sum was recorded of them: they are compared with nothing";
    out += text("\nthe same as what happened, in ", sums_, sums_ == 1 ? " sum" : " sums");
    if (same_until_ < steps_) {
      out += text("; the last ", steps_ - same_until_, " steps are compared with nothing");
    }
    if (!why_ended_.empty()) out += text("; its end: ", why_ended_);
    return out;
  }

 private:
  bool is_enough(Time now) const {
    return (options_.until && now - began_ > *options_.until) ||
           (options_.steps && steps_ >= *options_.steps);
  }
  Result<bool> compare(const RecordedSum& sum) {
    if (sum.steps != steps_) {
      return Error::corruption(
          text("the recording is damaged: ", steps_, " steps are there of the first ", sum.steps));
    }
    ++sums_;
    if (sum.hash == hash_.value()) {
      same_until_ = steps_;
      return true;
    }
    differs_at_ = steps_;
    return false;
  }

  const Options& options_;
  RecordingReader reader_;
  std::unique_ptr<Master> core_;
  MasterOutbox out_;
  TraceHash hash_;
  std::ostream* trace_ = nullptr;
  std::string version_;
  LeaderEpoch leader_;
  Time began_;
  Time now_;
  uint64_t steps_ = 0;
  uint64_t sums_ = 0;
  uint64_t same_until_ = 0;
  std::optional<uint64_t> differs_at_;
  std::string why_ended_;
  std::vector<std::string> saved_;
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

// A file, or those of a directory in the order of their lives.
Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".rec") files.push_back(entry.path());
  }
  if (files.empty()) return Error::not_found(text("there is no recording in ", quoted(path)));
  std::sort(files.begin(), files.end());
  return files;
}

int fail(const Error& error) {
  std::cerr << "error: " << error.message() << "\n";
  if (!error.hint().empty()) std::cerr << "  hint: " << error.hint() << "\n";
  return kExitUsage;
}

int replay(const Options& options) {
  const Result<std::vector<std::string>> files = files_of(options.path);
  if (!files) return fail(files.error());
  bool differs = false;
  int code = 0;
  std::unique_ptr<Replay> last;  // of those that began
  for (const std::string& file : *files) {
    const Result<CheckpointLog::Readable> read = CheckpointLog::read(file, kBytesMax);
    auto life = std::make_unique<Replay>(options);
    if (options.trace == "-") life->print_trace_to(std::cout);
    std::optional<Error> wrong;
    if (!read) {
      wrong = read.error();
    } else {
      wrong = life->take_all(read->records);
    }
    // What is good until there is told, and the other lives are.
    if (life->has_begun()) {
      std::cout << (options.json ? life->json() : life->words()) << "\n";
      differs = differs || life->differs();
      last = std::move(life);
    } else if (!wrong) {
      wrong = Error::corruption("no recording begins here");
    }
    if (wrong) code = fail(Error(*wrong).in(file));
    if (read && read->damaged_bytes > 0) {
      std::cerr << file << ": damaged: " << read->damaged_bytes << " bytes\n";
    }
  }
  if (last == nullptr) return code;
  if (!options.explain.empty()) {
    const Result<std::string> said = explained(last->core(), options.explain);
    if (!said) return fail(said.error());
    std::cout << *said << "\n";
  }
  if (!options.blame.empty()) {
    const Result<std::string> said = blamed(last->core(), options.blame);
    if (!said) return fail(said.error());
    std::cout << *said << "\n";
  }
  if (!options.save.empty()) {
    if (last->differs()) {
      return fail(Error::failed_precondition(
          "what differs is not saved: a test of it would only say that it differs"));
    }
    if (fs::exists(options.save)) {
      return fail(Error::already_exists(text(quoted(options.save), " is there already"))
                      .with_hint("--save names a new file"));
    }
    Result<CheckpointLog::Opened> opened = CheckpointLog::open(options.save);
    if (!opened) return fail(opened.error());
    if (Result<void> written = opened->log->append(last->saved()); !written) {
      return fail(written.error());
    }
  }
  const bool is_whole = !options.until && !options.steps;
  if (code == 0 && is_whole && !last->is_compared()) code = kExitUsage;
  return differs ? kExitDiffers : code;
}

int run(int argc, char** argv) {
  Options options;
  std::string until;
  CLI::App app{
      "Tells the production core what a recording of a master says (proffer-master --record), and\n"
      "compares what comes of it with what came of it then."};
  app.add_option("FILE", options.path,
                 "a recording, or a directory of them: then all lives, one after the other")
      ->required();
  app.add_option("--until", until, "only so much time of each life, as in 90s or 2h");
  app.add_option("--steps", options.steps, "only so many steps of each life");
  app.add_option("--trace", options.trace, "-: print what happened, event by event")
      ->check(CLI::IsMember({"-"}));
  app.add_option("--explain", options.explain,
                 "then explain, as `proffer explain` would have: framework NAME, role PATH or "
                 "task FRAMEWORK/TASK")
      ->expected(2);
  app.add_option("--blame", options.blame, "the same of `proffer blame`")->expected(2);
  app.add_option("--save", options.save,
                 "write what was replayed of the last life to a new file, as a test");
  app.add_flag("--json", options.json, "print one object for each life");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  for (const auto* words : {&options.explain, &options.blame}) {
    if (words->empty()) continue;
    const std::string& kind = words->front();
    if (kind == "framework" || kind == "role" || kind == "task") continue;
    return fail(Error::invalid_argument(
        text("a framework, a role or a task can be asked about, not a ", quoted(kind))));
  }
  if (!until.empty()) {
    const Result<Duration> span = parse_duration(until);
    if (!span) return fail(Error(span.error()).in("--until"));
    options.until = *span;
  }
  return replay(options);
}

}  // namespace
}  // namespace proffer::master

int main(int argc, char** argv) { return proffer::master::run(argc, argv); }
