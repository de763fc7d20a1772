// proffer backup: the dump of `proffer registry`, under the name that operators expect.

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/programs.h"

namespace proffer::cli {

int run_backup(const Words& words) {
  Words backup = {"backup"};
  backup.insert(backup.end(), words.begin(), words.end());
  return print_error(become("registry", backup), false);
}

}  // namespace proffer::cli
