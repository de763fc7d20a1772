#include "net/daemon_help.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gflags/gflags.h>

#include "common/check.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "net/daemon_flags.h"
#include "net/terminal.h"

DECLARE_bool(help);
DECLARE_bool(version);

// gflags calls it after printing an error about a flag; its header does not declare it.
namespace google {
extern void (*gflags_exitfunc)(int);
}

namespace proffer {
namespace {

constexpr size_t kHelpColumns = 88;
constexpr size_t kHelpIndent = 6;  // blanks before a description

// Includes its default value. "…" stands for a value if the default is empty.
std::string shown(const gflags::CommandLineFlagInfo& flag) {
  if (flag.type == "bool" && flag.default_value == "false") return "--" + flag.name;
  return text("--", flag.name, "=", flag.default_value.empty() ? "…" : flag.default_value);
}

std::string row(const gflags::CommandLineFlagInfo& flag) {
  return text("  ", shown(flag), "\n", wrapped(flag.description, kHelpColumns, kHelpIndent), "\n");
}

void print_help(std::string_view name, const DaemonHelp& help) {
  std::string all =
      text("usage: ", help.command.empty() ? name : help.command, " [--FLAG=VALUE]…\n\n",
           wrapped(help.what, kHelpColumns), "\n\nFlags, with their default values:\n");
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);  // by file, then by name
  std::erase_if(flags, [&](const auto& flag) { return flag.filename != help.source; });
  for (const FlagSection& section : help.sections) {
    all += text("\n", section.heading, ":\n");
    for (const std::string_view wanted : section.flags) {
      const auto flag = std::find_if(flags.begin(), flags.end(),
                                     [&](const auto& one) { return one.name == wanted; });
      CHECK(flag != flags.end()) << "no flag, or in two sections: " << wanted;
      all += row(*flag);
      flags.erase(flag);
    }
  }
  CHECK(help.sections.empty() || flags.empty()) << "in no section: " << flags.front().name;
  for (const gflags::CommandLineFlagInfo& flag : flags) all += row(flag);
  all += text("  --flagfile=…\n",
              wrapped("file with flags, one per line (of the packages: /etc/proffer/*.flags)",
                      kHelpColumns, kHelpIndent),
              "\n\n--helpfull also shows the flags of the libraries, such as --v=1 for a\nmore "
              "detailed log.\n");
  if (!help.end.empty()) all += text("\n", wrapped(help.end, kHelpColumns), "\n");
  print_lines(all);
}

// Refuses a flag that does not exist in the words of Proffer's other programs; gflags has its own.
void refuse_unknown_flags(const DaemonHelp& help, int argc, char** argv) {
  std::string name = std::string(help.command);
  if (name.empty()) name = std::filesystem::path(argv[0]).filename().string();
  gflags::CommandLineFlagInfo flag;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (!word.starts_with("-") || word == "-") continue;
    const size_t equals = word.find('=');
    const size_t begin = word.starts_with("--") ? 2 : 1;
    const std::string wanted(word.substr(begin, equals == word.npos ? equals : equals - begin));
    std::string known = wanted;
    // gflags takes - for _, and --noNAME for --NAME=false.
    std::replace(known.begin(), known.end(), '-', '_');
    const bool is_flag = gflags::GetCommandLineFlagInfo(known.c_str(), &flag);
    const bool is_not = !is_flag && known.starts_with("no") &&
                        gflags::GetCommandLineFlagInfo(known.substr(2).c_str(), &flag) &&
                        flag.type == "bool";
    if (is_flag && equals == word.npos && flag.type != "bool") ++i;  // its value
    if (is_flag || is_not || known == "h") continue;
    std::vector<gflags::CommandLineFlagInfo> flags;
    gflags::GetAllFlags(&flags);
    std::vector<std::string> names;
    for (const gflags::CommandLineFlagInfo& one : flags) {
      if (one.filename == help.source) names.push_back("--" + one.name);
    }
    exit_with(unexpected_words({argv + i, argv + argc}, {name, names}), 2);
  }
}

}  // namespace

void read_daemon_flags(const DaemonHelp& help, int argc, char** argv) {
  google::gflags_exitfunc = [](int) { std::exit(2); };
  gflags::SetUsageMessage(std::string(help.what));
  gflags::SetVersionString(PROFFER_VERSION);
  refuse_unknown_flags(help, argc, argv);
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
  const std::string name = gflags::ProgramInvocationShortName();
  google::gflags_exitfunc = [](int) { std::exit(0); };
  if (FLAGS_help) {
    print_help(name, help);
    std::exit(0);
  }
  if (FLAGS_version) {
    print_line(text(name, " ", PROFFER_VERSION));
    std::exit(0);
  }
  gflags::HandleCommandLineHelpFlags();
  if (argc == 1) return;
  exit_with(Error::invalid_argument(text("unexpected argument ", quoted(argv[1])))
                .with_hint(text(name, " takes only flags: ", name, " --help")),
            2);
}

}  // namespace proffer
