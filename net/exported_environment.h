#pragma once

// The environment that a command on an agent gets from the shell in which it was typed, as with
// `xargs`, and with `--export` of Slurm's srun and sbatch.

#include <map>
#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

struct ExportChoice {
  // "NONE", or with commas between: "ALL", names, and NAME=VALUE, which counts more than ALL. A
  // value has no comma.
  std::string variables = "ALL";
  // HOME is the sandbox; otherwise it is the home directory of this user.
  bool has_sandbox_home = false;
};

// The variables of this process that `choice` names, with the file mode mask and, unless it is
// NONE, the soft limits of this process (process_settings.h). ALL leaves out what is true of this
// shell only (PWD, OLDPWD, SHLVL, _, TMPDIR) and what Proffer sets itself (USER, LOGNAME and
// PROFFER_…, but not PROFFER_MASTER). Errors: kInvalidArgument (a name that is not set, more than
// kEnvironmentBytesMax or kEnvironmentEntriesMax).
Result<std::map<std::string, std::string>> exported_environment(const ExportChoice& choice);

// The shell of $SHELL if it takes -l and -c as sh does, else /bin/sh: to run a command in a login
// shell.
std::string login_shell();

}  // namespace proffer
