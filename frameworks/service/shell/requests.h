#pragma once

// Requests to the scheduler, as text that the master relays.

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
// A request for the effect of a change, without making it.
struct Preview {
  Change change = {};
};
// The core answers changes and watches; requests for status are answered at once.
using Picture = std::variant<ListApps, ShowApp, ShowHistory, Preview>;
using Asked = std::variant<Change, Picture, Watch, Figures>;

// Errors: kInvalidArgument if the text is not a request, or contains a wrong app file.
Result<Asked> parse_request(std::string_view data);

// The answers, as JSON. All users see names, amounts and states. Only the app's owner and operators
// see why an app has a problem, because the reason may quote its tasks; the same holds for its
// history and for previews.
Result<std::string> show(const Service& service, const Picture& asked, Time now, const Caller& by);
// The app's name, or the first app's name and the number of others; for logs.
std::string app_of(const Change& change);

}  // namespace proffer::service
