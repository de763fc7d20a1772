// proffer-registry implements `proffer registry`: it reads and copies a master's registry, and
// repairs it while no master uses it. It is a separate program, so that `proffer` does not load
// SQLite and ZooKeeper's client.

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/registry/place.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "proto/json/json.h"
#include "store/registry_file.h"

namespace proffer::cli {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kExitCodes =
    "0 success, 1 failed or refused, 2 wrong usage, 3 an I/O error, or ZooKeeper does not answer";

// The flags of all subcommands.
struct Common {
  RegistryPlace place;
  bool json = false;

  // The exit code, if the command ends here; empty: it continues.
  std::optional<int> parse(Arguments& arguments, const Words& words) {
    place.declare(arguments);
    arguments.flag("--json", &json, "print one JSON object");
    if (const auto status = arguments.parse(words)) return status;
    if (const Result<void> settled = place.settle(); !settled) {
      return usage_error(settled.error(), json);
    }
    return std::nullopt;
  }
};

std::string text_of(const RegistryProgress& progress) {
  return text("epoch ", progress.epoch, ", commit ", progress.commits);
}

// The size of one table.
struct Extent {
  int64_t rows = 0;
  int64_t bytes = 0;  // bytes of keys and values
};

std::map<std::string, Extent> extents(const RegistrySnapshot& found) {
  std::map<std::string, Extent> extents;
  for (const StoreRecord& record : found.records) {
    Extent& extent = extents[record.table];
    ++extent.rows;
    extent.bytes += static_cast<int64_t>(record.key.size() + record.value->size());
  }
  return extents;
}

void print_found(const std::string& where, const RegistrySnapshot& found, const Common& common) {
  const auto rows = static_cast<int64_t>(found.records.size());
  if (common.json) {
    return print_json(proto::json_line({{"registry", where},
                                        {"schema", found.schema},
                                        {"epoch", found.progress.epoch},
                                        {"commits", found.progress.commits},
                                        {"rows", rows}}));
  }
  print_line(text(where, " is intact: ", text_of(found.progress), ", ", rows, " rows"));
}

// Prints the registry, and the epoch of the next master.
int print_changed(const Result<RegistrySnapshot>& changed, const Common& common) {
  if (!changed) return print_error(changed.error(), common.json);
  const std::string where = common.place.name();
  const int64_t next_epoch = changed->progress.epoch + 1;
  const auto rows = static_cast<int64_t>(changed->records.size());
  if (common.json) {
    print_json(proto::json_line({{"registry", where}, {"next_epoch", next_epoch}, {"rows", rows}}));
  } else {
    print_line(text(where, " has ", rows, " rows; the next master leads in epoch ", next_epoch));
  }
  return 0;
}

// Reads the dump `file`; if it is empty, the registry itself.
Result<RegistrySnapshot> read(const std::string& file, const Common& common) {
  return file.empty() ? common.place.read() : RegistryFile::read_dump(file);
}

int inspect(const Words& words) {
  Common common;
  std::string file;
  bool lists_rows = false;
  Arguments arguments(
      "proffer registry inspect",
      "show what a registry, or a dump of one, contains. A master may use it meanwhile.");
  arguments.option("--dump", &file, "dump to read instead of the registry");
  arguments.flag("--rows", &lists_rows, "show each row with its size in bytes");
  arguments.exit_codes(kExitCodes);
  arguments.examples({"proffer registry inspect --rows"});
  if (const auto status = common.parse(arguments, words)) return *status;
  const Result<RegistrySnapshot> found = read(file, common);
  if (!found) return print_error(found.error(), common.json);
  const std::string where = file.empty() ? common.place.name() : file;
  print_found(where, *found, common);
  if (lists_rows) {
    Table table({"TABLE", "KEY", "BYTES"});
    for (const StoreRecord& record : found->records) {
      const auto bytes = static_cast<int64_t>(record.value->size());
      table.row({record.table, record.key, std::to_string(bytes)});
      if (common.json) {
        print_json(
            proto::json_line({{"table", record.table}, {"key", record.key}, {"bytes", bytes}}));
      }
    }
    if (!common.json) table.print();
    return 0;
  }
  Table table({"TABLE", "ROWS", "BYTES"});
  for (const auto& [name, extent] : extents(*found)) {
    table.row({name, std::to_string(extent.rows), std::to_string(extent.bytes)});
    if (common.json) {
      print_json(
          proto::json_line({{"table", name}, {"rows", extent.rows}, {"bytes", extent.bytes}}));
    }
  }
  if (!common.json) table.print();
  return 0;
}

int check(const Words& words) {
  Common common;
  std::string file;
  Arguments arguments(
      "proffer registry check",
      "check whether a registry, or a dump of one, is intact. A master may use it meanwhile.");
  arguments.option("--dump", &file, "dump to check instead of the registry");
  arguments.exit_codes(
      "0 intact, 1 damaged or missing, 2 wrong usage, 3 an I/O error, or ZooKeeper does not "
      "answer");
  arguments.examples({"proffer registry check --dump backup.db"});
  if (const auto status = common.parse(arguments, words)) return *status;
  const Result<RegistrySnapshot> found = read(file, common);
  if (!found) return print_error(found.error(), common.json);
  print_found(file.empty() ? common.place.name() : file, *found, common);
  return 0;
}

// `command` is its name: registry dump, or backup.
int dump_as(std::string_view command, const Words& words) {
  Common common;
  std::string file;
  Arguments arguments(
      text("proffer ", command, " FILE"),
      "copy a registry, consistent at one moment, to a new file. The file contains "
      "secrets of frameworks. A master may use the registry meanwhile. Restore it "
      "with: proffer registry restore FILE. The keys beside the registry, master.key "
      "and secrets.key, are not in it: copy them, too.");
  arguments.required("FILE", &file, "file to create");
  arguments.exit_codes(kExitCodes);
  arguments.examples({text("proffer ", command, " backup.db")});
  if (const auto status = common.parse(arguments, words)) return *status;
  const Result<RegistrySnapshot> found = common.place.read();
  if (!found) return print_error(found.error(), common.json);
  const Result<RegistrySnapshot> written = RegistryFile::write_dump(*found, file);
  if (!written) return print_error(written.error(), common.json);
  print_found(file, *written, common);
  return 0;
}

int dump(const Words& words) { return dump_as("registry dump", words); }

int restore(const Words& words) {
  Common common;
  std::string file;
  bool replaces = false;
  Arguments arguments(
      "proffer registry restore FILE",
      "create a registry from a dump, while no master uses the place. The next master leads in an "
      "epoch far above all known ones, so agents follow it. It does not know what began after the "
      "dump: agents end such tasks, and their frameworks start anew.");
  arguments.flag("--replace", &replaces,
                 "move an existing registry, damaged or not, to set-aside-N in the directory");
  arguments.required("FILE", &file, "the dump");
  arguments.exit_codes(kExitCodes);
  arguments.examples({"proffer registry restore backup.db --replace"});
  if (const auto status = common.parse(arguments, words)) return *status;
  const Result<RegistrySnapshot> found = RegistryFile::read_dump(file);
  if (!found) return print_error(found.error(), common.json);
  return print_changed(common.place.restore(*found, replaces), common);
}

int set_epoch(const Words& words) {
  Common common;
  std::string typed;
  std::string cluster;
  bool accepts_older = false;
  Arguments arguments("proffer registry set-epoch EPOCH",
                      "make the next master lead in an epoch above EPOCH, while no master uses the "
                      "registry. Agents refuse an epoch below the highest one that they know, and "
                      "name that epoch in their logs.");
  arguments.flag("--accept-older", &accepts_older, "accept a registry that lacks the last writes");
  arguments.option(
      "--cluster", &cluster,
      "cluster id to write, from the agents' logs; tasks that the registry lacks will end");
  arguments.required("EPOCH", &typed, "the highest epoch that agents know");
  arguments.exit_codes(kExitCodes);
  arguments.examples({"proffer registry set-epoch 41"});
  if (const auto status = common.parse(arguments, words)) return *status;
  const Result<int64_t> epoch = parse_whole("EPOCH", typed, 0, kRegistryEpochMax);
  if (!epoch) return usage_error(epoch.error(), common.json);
  if (!cluster.empty() && !is_valid_secret(cluster)) {
    return usage_error(Error::invalid_argument(text("--cluster must be 32 hexadecimal digits in "
                                                    "lower case, not ",
                                                    quoted(cluster))),
                       common.json);
  }
  const auto id = cluster.empty() ? std::nullopt : std::optional(ClusterId(cluster));
  return print_changed(common.place.set_epoch(*epoch, id, accepts_older), common);
}

struct Verb {
  std::string_view name;
  int (*run)(const Words& words);
  std::string_view what;
};

constexpr Verb kVerbs[] = {
    {"inspect", inspect, "show what it contains"},
    {"check", check, "check whether it is intact"},
    {"dump", dump, "copy it to a file, also while a master uses it"},
    {"restore", restore, "create a registry from a dump"},
    {"set-epoch", set_epoch, "make the next master lead in an epoch above this one"},
};

void print_usage(std::FILE* where) {
  print_lines("usage: proffer registry VERB …\n\n", where);
  for (const Verb& verb : kVerbs) print_lines(help_row(verb.name, verb.what, 10), where);
  print_lines("\nproffer registry VERB --help shows the options of a subcommand.\n", where);
}

int main(const Words& words) {
  if (words.empty()) {
    print_usage(stderr);
    return kExitUsage;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    print_usage(stdout);
    return 0;
  }
  if (words[0] == "backup") return dump_as("backup", {words.begin() + 1, words.end()});
  std::vector<std::string_view> known;
  for (const Verb& verb : kVerbs) {
    if (verb.name == words[0]) return verb.run({words.begin() + 1, words.end()});
    known.push_back(verb.name);
  }
  return usage_error(unknown_verb(words[0], "proffer registry", known), false);
}

}  // namespace
}  // namespace proffer::cli

int main(int argc, char** argv) {
  return proffer::cli::after_output(proffer::cli::main({argv + 1, argv + argc}));
}
