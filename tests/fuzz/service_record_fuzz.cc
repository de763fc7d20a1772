// What a service scheduler reads from its store, and from its instances' updates.

#include "frameworks/service/core/ports.h"
#include "frameworks/service/core/records.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_service_record(Input input) {
  const std::string_view bytes = text_of(input);
  if (const Result<service::AppRecord> app = service::decode_app(bytes)) {
    // A record of an older form is written in the form of today.
    const std::string today = service::encode(*app);
    CHECK(today == bytes || !today.starts_with(bytes.substr(0, bytes.find(' ') + 1)));
    const Result<service::AppRecord> again = service::decode_app(today);
    CHECK(again && service::encode(*again) == today);
    CHECK(service::check_app(app->spec));
  } else {
    check_told(app.error());
  }
  if (const Result<service::InstanceRecord> instance = service::decode_instance(bytes)) {
    CHECK(service::encode(*instance) == bytes);
  } else {
    check_told(instance.error());
  }
  for (const auto& [name, port] : service::parse_told_ports(bytes)) CHECK_GT(port, 0);
  if (const auto id = service::parse_task_id(TaskId(std::string(bytes)))) {
    CHECK(service::to_task_id(*id).str() == bytes);
  }
}

}  // namespace proffer::fuzz
