#include "net/daemon_help.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gflags/gflags.h>

#include "common/check.h"
#include "common/text.h"
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

constexpr size_t kLineMax = 88;

// Splits `words` into lines of at most kLineMax characters, each after six blanks.
std::string paragraph(std::string_view words) {
  std::string lines;
  std::string line = "     ";
  for (const std::string_view word : split(words, ' ')) {
    if (line.size() + 1 + word.size() > kLineMax) {
      lines += line + "\n";
      line = "     ";
    }
    line += text(" ", word);
  }
  return lines + line + "\n";
}

// Includes its default value. "…" stands for a value if the default is empty.
std::string shown(const gflags::CommandLineFlagInfo& flag) {
  if (flag.type == "bool" && flag.default_value == "false") return "--" + flag.name;
  return text("--", flag.name, "=", flag.default_value.empty() ? "…" : flag.default_value);
}

void print_help(std::string_view name, std::string_view what, std::string_view source) {
  std::string all = text("usage: ", name, " [--FLAG=VALUE]…\n\n", what,
                         "\n\nFlags, with their default values:\n");
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);  // ordered by file, then by name
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (flag.filename != source) continue;
    all += text("  ", shown(flag), "\n", paragraph(flag.description));
  }
  all += text("  --flagfile=…\n", paragraph("file with flags, one per line"),
              "\n--helpfull also shows the flags of the libraries, such as those of the log.\n");
  print_lines(all);
}

}  // namespace

void read_daemon_flags(std::string_view what, std::string_view source, int argc, char** argv) {
  google::gflags_exitfunc = [](int) { std::exit(2); };
  gflags::SetUsageMessage(std::string(what));
  gflags::SetVersionString(PROFFER_VERSION);
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, true);
  const std::string name = gflags::ProgramInvocationShortName();
  google::gflags_exitfunc = [](int) { std::exit(0); };
  if (FLAGS_help) {
    print_help(name, what, source);
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
