#pragma once

// An app file: YAML (JSON is a subset), an app in each of its documents. Strict: what is not
// understood is refused, never guessed.

#include <string_view>
#include <vector>

#include "frameworks/service/core/app.h"

namespace proffer::service {

// It travels as one request through the master, with a little around it.
inline constexpr size_t kAppFileBytesMax = 192 * 1024;
static_assert(kAppFileBytesMax < kRelayedBytesMax);

struct AppFile {
  std::vector<AppSpec> apps = {};  // in the order of the file
  std::vector<int> lines = {};     // where each begins
};
// 1 to kAppsPerFileMax checked apps (check_app), the expressions of their constraints compiled too.
// Errors: kInvalidArgument with the line and the value, and with the app's name if there are
// several documents: not YAML, an unknown key (naming the nearest), a key given twice, a value of a
// wrong type or outside its bounds, a name or a command missing, a name that is there twice, more
// than kAppFileBytesMax.
Result<AppFile> parse_apps(std::string_view yaml);

// The one app of a file. Errors: as parse_apps(); several apps.
Result<AppSpec> parse_app_file(std::string_view yaml);

}  // namespace proffer::service
