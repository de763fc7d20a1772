// proffer-zookeeper implements `proffer zookeeper`. `init` makes the files for all machines of a
// cluster with a shared ZooKeeper, in one directory; `install` copies one machine's files to their
// places. It is a separate program, so that `proffer` does not load GnuTLS and ZooKeeper's client.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/zookeeper/directory.h"
#include "cli/zookeeper/ensemble.h"
#include "cli/zookeeper/install.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "net/durable_files.h"
#include "net/fd.h"
#include "net/users.h"

namespace proffer::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// --- init

// "m1" or "m1.example" on the machine of this name.
bool is_this_machine(const std::string& host) {
  std::string own(256, '\0');
  if (gethostname(own.data(), own.size() - 1) != 0) return false;
  own.resize(std::strlen(own.c_str()));
  return host == own || host.starts_with(own + ".");
}

std::string word_of_shell(const std::string& word) {
  const bool is_plain = word.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789-._/:+@%") == std::string::npos;
  if (is_plain) return word;
  const std::string command = shell_command({"", word});  // '' 'word'
  return command.substr(command.find(' ') + 1);
}

void print_made(const std::string& dir, const Ensemble& ensemble, bool is_rerun) {
  print_line(text("made the files of ", ensemble.machines.size(), " machines in ", dir,
                  "; they hold keys, so keep a copy where only operators can read it"));
  print_line("next, install them, where the packages proffer and zookeeperd are:");
  for (const EnsembleMachine& machine : ensemble.machines) {
    const std::string files = text(dir, "/", machine.host);
    if (is_this_machine(machine.host)) {
      print_line(text("  sudo proffer zookeeper install ", word_of_shell(files)));
      continue;
    }
    // An operator's home on the other machine holds the copy until it is installed.
    print_line(text("  scp -rp ", word_of_shell(files), " ", word_of_shell(bracketed(machine.host)),
                    ": && ssh ", machine.host, " 'sudo proffer zookeeper install ", machine.host,
                    " && rm -r ", machine.host, "'"));
  }
  const std::string_view order =
      is_rerun ? "on the new machine first, then on one after the other" : "on each machine";
  print_line(text("then, ", order, ": sudo systemctl restart zookeeper"));
  print_line(text("then, ", is_rerun ? order : "on one machine after the other",
                  ": sudo systemctl restart proffer-master"));
}

int init(const Words& words) {
  std::string dir;
  std::string master_key_file;
  EnsembleRequest request;
  bool json = false;
  Arguments arguments(
      "proffer zookeeper init --dir DIR HOST HOST HOST…",
      "make the settings and keys of a cluster in which each HOST runs a ZooKeeper server and a "
      "master: one directory for each machine, which proffer zookeeper install puts in place. With "
      "the DIR of an earlier call, add one machine: list all HOSTs and the new one.");
  arguments.words("HOST", &request.hosts, "names or addresses by which machines reach each other");
  arguments.option("--dir", &dir, "directory for the files of all machines (mode 0700)");
  arguments.option("--port", &request.port,
                   text("port of the masters (default ", kDefaultMasterPort, ")"));
  arguments.option("--path", &request.path,
                   text("path of the cluster in ZooKeeper (default ", kDefaultPath, ")"));
  arguments.option("--master-key", &master_key_file,
                   "use this key of a master that machines have joined, not a new one");
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.examples({"proffer zookeeper init --dir cluster m1.example m2.example m3.example"});
  if (const auto status = arguments.parse(words)) return *status;
  while (dir.size() > 1 && dir.ends_with("/")) dir.pop_back();
  if (dir.empty()) {
    return usage_error(Error::invalid_argument("--dir is missing")
                           .with_hint("name a new directory for the files: --dir cluster"),
                       json);
  }
  const Result<std::optional<Ensemble>> before = read_ensemble(dir);
  if (!before) return print_error(before.error(), json);
  const Result<Ensemble> ensemble = plan_ensemble(request, *before);
  if (!ensemble) return print_error(ensemble.error(), json);
  if (*before && !master_key_file.empty()) {
    return usage_error(Error::invalid_argument("--master-key is for the first call only: the "
                                               "masters of this directory have a key")
                           .with_hint("for another cluster, use another --dir"),
                       json);
  }
  const Result<EnsembleSecrets> secrets =
      *before ? read_secrets(dir, **before) : make_secrets(master_key_file);
  if (!secrets) return print_error(secrets.error(), json);
  if (Result<void> written = write_ensemble(dir, *ensemble, *secrets); !written) {
    return print_error(written.error(), json);
  }
  if (json) {
    print_json("{}");
  } else {
    print_made(dir, *ensemble, before->has_value());
  }
  return 0;
}

// --- install

Result<Contents> read_given(const std::string& dir) {
  std::error_code failed;
  if (!fs::is_directory(dir, failed)) {
    return Error::not_found(text("there is no directory ", quoted(dir)))
        .with_hint("name the directory that proffer zookeeper init made for this machine");
  }
  Contents given;
  for (const SetupFile& file : kSetupFiles) {
    const std::string path = text(dir, "/", file.name);
    Result<std::optional<OpenedFile>> found = read_if_exists(path);
    if (!found) return std::move(found).error();
    if (!*found) continue;
    if (file.is_private && ((*found)->mode & 077) != 0) {
      return Error::failed_precondition(
                 text("other users may read or write ", quoted(path), ", which holds a secret"))
          .with_hint(text("if no other user has read it: chmod 600 ", path,
                          "; copy with scp -p or tar, which keep the mode"));
    }
    given.emplace(file.name, std::move((*found)->bytes));
  }
  return given;
}

Result<Contents> read_present() {
  Contents present;
  for (const SetupFile& file : kSetupFiles) {
    const std::string place(file.place);
    std::error_code failed;
    const std::string folder = fs::path(place).parent_path().string();
    if (!fs::is_directory(folder, failed)) {
      return Error::failed_precondition(text("this machine has no directory ", quoted(folder)))
          .with_hint("install the packages first: apt-get install proffer zookeeperd");
    }
    Result<std::optional<OpenedFile>> found = read_if_exists(place);
    if (!found) return std::move(found).error();
    if (*found) present.emplace(place, std::move((*found)->bytes));
  }
  return present;
}

Result<Account> owner_of(const SetupFile& file) {
  if (const auto account = find_account(std::string(file.user))) return *account;
  return Error::failed_precondition(text("this machine has no user ", quoted(file.user)))
      .with_hint("install the packages first: apt-get install proffer zookeeperd");
}

Result<void> carry_out(const InstallStep& step, const Account& owner) {
  const std::string place(step.file.place);
  const mode_t mode = step.file.is_private ? kPrivateMode : kPublicMode;
  if (step.before && *step.before != step.content) {
    // A private file is never replaced, so this copy has no secret.
    Result<void> kept = write_file_durably(text(place, ".old"), *step.before, mode);
    if (!kept) return kept;
    if (Result<void> done = write_file_durably(place, step.content, mode); !done) return done;
  }
  if (!step.before) {
    if (Result<void> made = make_file_durably(place, step.content, mode); !made) return made;
  }
  const Fd fd(open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0 || fchown(fd.get(), owner.uid, owner.gid) != 0 || fchmod(fd.get(), mode) != 0) {
    return Error::unavailable(
        text("cannot set the owner of ", quoted(place), ": ", std::strerror(errno)));
  }
  return {};
}

Result<std::vector<InstallStep>> install_from(const std::string& dir) {
  const Result<Contents> given = read_given(dir);
  if (!given) return given.error();
  const Result<Contents> present = read_present();
  if (!present) return present.error();
  Result<std::vector<InstallStep>> steps = plan_install(*given, *present);
  if (!steps) return steps;
  // Writes nothing unless all owners exist.
  std::vector<Account> owners;
  for (const InstallStep& step : *steps) {
    const Result<Account> owner = owner_of(step.file);
    if (!owner) return owner.error();
    owners.push_back(*owner);
  }
  for (size_t i = 0; i < steps->size(); ++i) {
    if (Result<void> done = carry_out((*steps)[i], owners[i]); !done) {
      return std::move(done).error();
    }
  }
  return steps;
}

int install(const Words& words) {
  std::string dir;
  bool json = false;
  Arguments arguments("proffer zookeeper install DIR",
                      "put the files that proffer zookeeper init made for this machine in their "
                      "places, with their owners and modes. Other flags of the master stay. A key "
                      "is never replaced; other files stay as FILE.old. Run it as root. Next, "
                      "when all machines have their files: systemctl restart zookeeper, then "
                      "proffer-master, on each machine.");
  arguments.required("DIR", &dir, "directory of this machine, as in cluster/m1.example");
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.examples({"sudo proffer zookeeper install cluster/m1.example"});
  if (const auto status = arguments.parse(words)) return *status;
  if (geteuid() != 0) {
    return print_error(Error::permission_denied("only root can install files of other users")
                           .with_hint("sudo proffer zookeeper install " + dir),
                       json);
  }
  const Result<std::vector<InstallStep>> steps = install_from(dir);
  if (!steps) return print_error(steps.error(), json);
  if (json) {
    print_json("{}");
    return 0;
  }
  bool is_changed = false;
  for (const InstallStep& step : *steps) {
    if (step.before == step.content) continue;
    print_line(text(step.file.place, ": ", step.what));
    is_changed = true;
  }
  print_line(is_changed ? "next, when all machines have their files: systemctl restart zookeeper, "
                          "then proffer-master"
                        : "all files are in place already");
  return 0;
}

struct Verb {
  std::string_view name;
  int (*run)(const Words& words);
  std::string_view what;
};

constexpr Verb kVerbs[] = {
    {"init", init, "make the settings and keys of all machines"},
    {"install", install, "put those of this machine in their places"},
};

void print_usage(std::FILE* where) {
  print_lines("usage: proffer zookeeper VERB …\n\n", where);
  for (const Verb& verb : kVerbs) print_lines(help_row(verb.name, verb.what, 10), where);
  print_lines("\nproffer zookeeper VERB --help shows the options of a subcommand.\n", where);
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
  std::vector<std::string_view> known;
  for (const Verb& verb : kVerbs) {
    if (verb.name == words[0]) return verb.run({words.begin() + 1, words.end()});
    known.push_back(verb.name);
  }
  return usage_error(unknown_verb(words[0], "proffer zookeeper", known), false);
}

}  // namespace
}  // namespace proffer::cli

int main(int argc, char** argv) {
  return proffer::cli::after_output(proffer::cli::main({argv + 1, argv + argc}));
}
