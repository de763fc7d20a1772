// proffer debug bundle: the state of a cluster and of this machine in one archive, for a person who
// looks for the cause of a problem. Each part is a file; if a part cannot be read, the manifest
// names it and the reason. Secrets are removed, and each file has a maximum size.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/events_on_disk.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/programs.h"
#include "cli/redaction.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "net/http_get.h"
#include "proto/json/events_json.h"
#include "proto/json/json.h"
#include "sdk/version.h"

extern char** environ;

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;

// Longer files are cut to their last part; a bundle has about twenty files.
constexpr size_t kFileBytesMax = size_t{4} << 20;
constexpr const char* kCommandLimit = "20s";
constexpr size_t kLogLines = 5'000;
constexpr size_t kEvents = 1'000;
constexpr const char* kUnits[] = {"proffer-master", "proffer-agent", "proffer-service",
                                  "proffer-batch"};

std::string read_tail(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(0, std::ios::end);
  const auto size = static_cast<int64_t>(in.tellg());
  const int64_t begin = std::max<int64_t>(0, size - static_cast<int64_t>(kFileBytesMax));
  in.seekg(begin);
  std::string tail(std::istreambuf_iterator<char>(in), {});
  // A secret that is cut in two would not be recognised.
  if (begin > 0) tail.erase(0, std::min(tail.find('\n'), tail.size()));
  return tail;
}

// A temporary directory, removed with this object.
class Workplace {
 public:
  static Result<Workplace> make() {
    const Result<std::string> parent = temporary_directory();
    if (!parent) return parent.error();
    std::string path = *parent + "/proffer-debug-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return Error::unavailable(
          text("cannot make a directory in ", quoted(*parent), ": ", std::strerror(errno)));
    }
    return Workplace(path);
  }
  Workplace(Workplace&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Workplace& operator=(Workplace&&) = delete;
  ~Workplace() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  fs::path operator/(std::string_view name) const { return fs::path(path_) / name; }
  const std::string& path() const { return path_; }

 private:
  explicit Workplace(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A program's standard output and error, and its exit code; 127: it could not be started.
struct Said {
  int code = 127;
  std::string text = {};
};
Said ask_program(const std::vector<std::string>& words, const fs::path& scratch) {
  std::vector<std::string> all = {"timeout", kCommandLimit};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return {127, std::strerror(failed)};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_tail(scratch)};
}

class Bundle {
 public:
  Bundle(const Workplace& place, std::string name) : place_(place), name_(std::move(name)) {
    fs::create_directory(folder());
    fs::permissions(folder(), fs::perms::owner_all);
  }

  Redaction& redaction() { return redaction_; }
  fs::path folder() const { return place_ / name_; }
  fs::path scratch() const { return place_ / "scratch"; }

  void add(const std::string& file, std::string_view content) {
    keep(file, redaction_.of(content));
  }
  void add_environment(const std::string& file, std::string_view content) {
    keep(file, redaction_.of_environment(content));
  }
  void misses(const std::string& file, std::string_view why) {
    manifest_ += text("missing  ", file, ": ", redaction_.of(why), "\n");
    ++missing_;
  }
  void add_program(const std::string& file, const std::vector<std::string>& words) {
    const Said said = ask_program(words, scratch());
    if (said.code == 127) return misses(file, text("cannot run ", quoted(words[0])));
    add(file, text("exit code ", said.code, "\n", said.text));
  }
  void finish() { keep("manifest.txt", manifest_); }
  size_t missing() const { return missing_; }
  const std::string& manifest() const { return manifest_; }

 private:
  void keep(const std::string& file, std::string_view content) {
    const bool is_cut = content.size() > kFileBytesMax;
    if (is_cut) content.remove_prefix(content.size() - kFileBytesMax);
    std::ofstream out(folder() / file, std::ios::binary);
    out << content;
    out.close();
    if (!out) {
      manifest_ += text("missing  ", file, ": it cannot be written\n");
      ++missing_;
    } else if (file != "manifest.txt") {
      manifest_ += text("has      ", file, is_cut ? " (its last part)" : "", "\n");
    }
  }

  const Workplace& place_;
  const std::string name_;
  Redaction redaction_;
  std::string manifest_;
  size_t missing_ = 0;
};

struct Options {
  std::string file = {};
  std::string master = {};
  std::string data_dir = "/var/lib/proffer/master";
  std::string settings = "/etc/proffer";
  std::vector<std::string> logs = {};
};

// Learns tokens and keys that logs may contain by mistake.
void learn_secrets(const Options& options, Bundle& bundle) {
  const std::string agent = "/var/lib/proffer/agent";
  for (const std::string& directory : {options.data_dir, agent, options.settings}) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(directory, failed)) {
      const std::string name = entry.path().filename();
      const bool is_secret = name.find("token") != std::string::npos ||
                             name.find("secret") != std::string::npos || name.ends_with(".key");
      if (!is_secret || !entry.is_regular_file(failed)) continue;
      const std::string content = read_tail(entry.path());
      for (const std::string_view line : split(content, '\n')) bundle.redaction().know(line);
    }
  }
}

void add_machine(Bundle& bundle) {
  utsname system{};
  ::uname(&system);
  bundle.add("versions.txt", text("proffer ", version(), "\n", system.sysname, " ", system.release,
                                  " ", system.version, " ", system.machine, "\n"));
  bundle.add_program("disks.txt", {"df", "-h"});
  bundle.add_program("memory.txt", {"cat", "/proc/meminfo", "/proc/loadavg"});
}

// Command lines of Proffer's processes that this user may see.
void add_processes(Bundle& bundle) {
  std::string all;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    // Reads only Proffer's processes: a forking process that has used up its CPU time may block the
    // reader for seconds.
    if (!read_tail(entry.path() / "comm").starts_with("proffer-")) continue;
    std::string line = read_tail(entry.path() / "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    const std::string_view program = std::string_view(line).substr(0, line.find(' '));
    const bool is_daemon =
        program.ends_with("proffer-master") || program.ends_with("proffer-agent") ||
        program.ends_with("proffer-service") || program.ends_with("proffer-batch");
    if (is_daemon) all += text(pid, " ", line, "\n");
  }
  if (all.empty()) return bundle.misses("processes.txt", "no Proffer daemon runs on this machine");
  bundle.add("processes.txt", all);
}

void add_settings(const Options& options, Bundle& bundle) {
  std::error_code failed;
  size_t found = 0;
  for (const auto& entry : fs::directory_iterator(options.settings, failed)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file(failed)) continue;
    if (name.ends_with(".flags")) bundle.add("settings-" + name, read_tail(entry.path()));
    if (name.ends_with(".env")) bundle.add_environment("settings-" + name, read_tail(entry.path()));
    found += name.ends_with(".flags") || name.ends_with(".env");
  }
  if (found == 0)
    bundle.misses("settings", text("no .flags or .env files in ", quoted(options.settings)));
}

void add_logs(const Options& options, Bundle& bundle) {
  for (const char* unit : kUnits) {
    const std::string file = text("log-", unit, ".txt");
    const Said said = ask_program({"journalctl", "--no-pager", "--quiet", "-o", "short-iso", "-u",
                                   unit, "-n", std::to_string(kLogLines)},
                                  bundle.scratch());
    if (said.code != 0 || said.text.empty()) {
      bundle.misses(file, said.text.empty() ? text("the journal has no entries of ", unit)
                                            : said.text.substr(0, said.text.find('\n')));
    } else {
      bundle.add(file, said.text);
    }
  }
  size_t number = 0;
  for (const std::string& log : options.logs) {
    const std::string file = text("log-", ++number, "-", fs::path(log).filename().string());
    if (::access(log.c_str(), R_OK) != 0) {
      bundle.misses(file, text("cannot read ", quoted(log), ": ", std::strerror(errno)));
    } else {
      bundle.add(file, read_tail(log));
    }
  }
}

// False if the master does not answer.
bool add_answer(const Masters& master, const std::string& method, const std::string& arguments,
                const std::string& file, Bundle& bundle, bool is_paged = false) {
  const Result<CallResult> first = call(master, method, arguments, seconds(10));
  if (!first) {
    bundle.misses(file, first.error().message());
    return false;
  }
  // One page per line.
  std::string all = first->json + "\n";
  std::string next = is_paged ? first->next : "";
  while (!next.empty() && all.size() < kFileBytesMax / 2) {
    const Result<CallResult> page = call(
        master, method, proto::task_query_json({.after = std::exchange(next, {})}), seconds(10));
    if (!page) break;
    all += page->json + "\n";
    next = page->next;
  }
  bundle.add(file, all);
  if (!next.empty()) bundle.misses(file + ", the rest", "the file has reached its maximum size");
  return true;
}

void add_metrics(const Options& options, const Masters& master, Bundle& bundle) {
  const std::string told = to_text(master);
  const std::string socket =
      told.starts_with('/') ? http_socket_beside(told) : options.data_dir + "-http.sock";
  std::string page;
  const Result<HttpAnswer> answer =
      http_get({.address = socket}, "/metrics", [&](std::string_view part) { page += part; },
               {.begin_max = seconds(5), .end_max = seconds(20)});
  if (!answer) return bundle.misses("metrics.txt", answer.error().message());
  if (answer->status != 200) {
    return bundle.misses("metrics.txt", text("status ", answer->status));
  }
  bundle.add("metrics.txt", page);
}

void add_events_of_disk(const Options& options, Bundle& bundle) {
  const Result<std::string> events = events_on_disk(options.data_dir + "/events", kFileBytesMax);
  if (!events) return bundle.misses("events.txt", events.error().message());
  bundle.add("events.txt", *events);
}

void add_cluster(const Options& options, Bundle& bundle) {
  const Result<Masters> master = master_address(options.master);
  bool answers = false;
  if (!master) {
    bundle.misses("status.json", master.error().message());
  } else {
    answers = add_answer(*master, "status", "", "status.json", bundle);
  }
  if (!answers) {
    for (const char* file : {"agents.json", "frameworks.json", "roles.json", "offers.json",
                             "masters.json", "metrics.txt"}) {
      bundle.misses(file, "the master does not answer");
    }
    return add_events_of_disk(options, bundle);
  }
  for (const char* method : {"agents", "frameworks", "roles", "offers", "masters"}) {
    add_answer(*master, method, "", text(method, ".json"), bundle,
               method != std::string("masters"));
  }
  add_answer(*master, "events", proto::event_query_json({.last = kEvents}), "events.json", bundle);
  add_metrics(options, *master, bundle);
}

void add_registry(const Options& options, Bundle& bundle) {
  const Result<std::string> program = find_program("registry");
  if (!program) return bundle.misses("registry.txt", program.error().message());
  bundle.add_program("registry.txt", {*program, "check", "--data_dir=" + options.data_dir});
}

std::string default_name() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
  return text("proffer-debug-", stamp);
}

int bundle_command(const Words& words) {
  Options options;
  Arguments arguments(
      "proffer debug bundle [FILE.tar.gz]",
      "collect one archive for support: status, agents, frameworks, roles, metrics, events, logs, "
      "settings, versions and a check of the registry, without secrets. Parts that are not "
      "available, for example because the master does not answer, are listed in manifest.txt.");
  arguments.optional("FILE", &options.file,
                     "archive to write (default: proffer-debug-TIME.tar.gz)");
  arguments.master(&options.master);
  arguments.option(
      "--data-dir", &options.data_dir,
      text("data directory of the master on this machine (default ", options.data_dir, ")"));
  arguments.option("--settings", &options.settings,
                   text("directory of the .flags and .env files (default ", options.settings, ")"));
  arguments.option("--log", &options.logs, "log file to add; can be repeated");
  arguments.examples({"proffer debug bundle --log /var/log/proffer.log"});
  if (const auto status = arguments.parse(words)) return *status;
  const std::string name = default_name();
  if (options.file.empty()) options.file = name + ".tar.gz";
  if (!options.file.ends_with(".tar.gz") && !options.file.ends_with(".tgz")) {
    return usage_error(Error::invalid_argument(
                           text("FILE must end in .tar.gz or .tgz, not ", quoted(options.file))),
                       false);
  }
  const Result<Workplace> place = Workplace::make();
  if (!place) return print_error(place.error(), false);
  Bundle bundle(*place, name);
  learn_secrets(options, bundle);
  add_machine(bundle);
  add_processes(bundle);
  add_settings(options, bundle);
  add_cluster(options, bundle);
  add_registry(options, bundle);
  add_logs(options, bundle);
  bundle.finish();

  // Writes a new file, since an old one could have the wrong mode.
  const std::string part = text(options.file, ".", ::getpid(), ".part");
  const mode_t before = ::umask(077);
  const Said packed = ask_program({"tar", "--create", "--gzip", "--force-local", "--file", part,
                                   "--directory", place->path(), name},
                                  bundle.scratch());
  ::umask(before);
  std::error_code failed;
  if (packed.code == 0) fs::rename(part, options.file, failed);
  if (packed.code != 0 || failed) {
    const std::string why = packed.code != 0 ? std::string(trimmed(packed.text)) : failed.message();
    fs::remove(part, failed);
    return print_error(Error::unavailable(text("cannot write ", quoted(options.file), ": ", why)),
                       false);
  }
  print_line(text("wrote ", options.file, ", ", bundle.missing(), " parts are missing"));
  print_lines(bundle.manifest());
  return 0;
}

}  // namespace

int run_debug(const Words& words) {
  if (!words.empty() && words[0] == "bundle") {
    return bundle_command(Words(words.begin() + 1, words.end()));
  }
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    print_lines(
        "usage: proffer debug bundle [FILE.tar.gz]\n\n  bundle     collect status, metrics, "
        "events, logs and settings in one archive, without secrets");
    return 0;
  }
  const std::string_view verb = words.empty() ? std::string_view() : words.front();
  return usage_error(unknown_verb(verb, "proffer debug", {"bundle"}), false);
}

}  // namespace proffer::cli
