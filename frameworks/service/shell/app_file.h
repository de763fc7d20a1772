#pragma once

// An app file: YAML (JSON is a subset), one app. Strict: what is not understood is refused, never
// guessed.

#include <string_view>

#include "frameworks/service/core/app.h"

namespace proffer::service {

// It travels as one request through the master, with a little around it.
inline constexpr size_t kAppFileBytesMax = 192 * 1024;
static_assert(kAppFileBytesMax < kRelayedBytesMax);

// A checked app (check_app), its constraints' expressions compiled too. Errors: kInvalidArgument
// with the line and the value: not YAML, more than one document, an unknown key (naming the
// nearest), a key given twice, a value of a wrong type or outside its bounds, a name or a command
// missing, more than kAppFileBytesMax.
Result<AppSpec> parse_app_file(std::string_view yaml);

}  // namespace proffer::service
