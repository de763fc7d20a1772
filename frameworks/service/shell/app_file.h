#pragma once

// An app file: YAML (JSON is a subset) with one app per document. Parsing is strict: anything
// unknown is an error and never guessed.

#include <string_view>
#include <vector>

#include "frameworks/service/core/app.h"

namespace proffer::service {

// A file is sent through the master as one request, with a little overhead.
inline constexpr size_t kAppFileBytesMax = 192 * 1024;
static_assert(kAppFileBytesMax < kRelayedBytesMax);

struct AppFile {
  std::vector<AppSpec> apps = {};  // in the order of the file
  std::vector<int> lines = {};     // the line where each begins
};
// Returns 1 to kAppsPerFileMax checked apps (check_app); the expressions of their constraints
// compile too. Errors: kInvalidArgument with the line and the value, and with the app's name if
// there are several documents: not YAML, an unknown key (naming the nearest), a key given twice, a
// value of a wrong type or outside its bounds, a name or a command missing, two apps with one name,
// more than kAppFileBytesMax.
Result<AppFile> parse_apps(std::string_view yaml);

// Returns the only app of a file. Errors: those of parse_apps(); several apps.
Result<AppSpec> parse_app_file(std::string_view yaml);

}  // namespace proffer::service
