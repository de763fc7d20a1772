#pragma once

// What people ask of the scheduler, as text that the master relays.

#include <string>
#include <string_view>
#include <variant>

#include "frameworks/service/core/service_core.h"

namespace proffer::service {

struct ListApps {
  std::string after = {};
};
struct ShowApp {
  std::string app = {};
  std::string after = {};
};
struct ShowHistory {
  std::string app = {};
};
// What a change would do.
struct Preview {
  Change change = {};
};
// Changes and watches are the core's to answer; pictures are answered at once.
using Picture = std::variant<ListApps, ShowApp, ShowHistory, Preview>;
using Asked = std::variant<Change, Picture, Watch, Figures>;

// Errors: kInvalidArgument for what is no request, or an app file that is wrong.
Result<Asked> parse_request(std::string_view data);

// The answers, as JSON. Names, amounts and states are everybody's to see; why an app is not well
// may repeat what its tasks said, and is shown to its owner and to operators.
// What apps were and would be is theirs alone.
Result<std::string> show(const Service& service, const Picture& asked, Time now, const Caller& by);
// The name of the app, or of the first one and how many more; for logs.
std::string app_of(const Change& change);

}  // namespace proffer::service
