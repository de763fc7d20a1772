// What a service scheduler reads from its store, and from its instances' updates.

#include "frameworks/service/core/ports.h"
#include "frameworks/service/core/records.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_service_record(Input input) {
  const std::string_view bytes = text_of(input);
  if (const Result<service::AppRecord> app = service::decode_app(bytes)) {
    CHECK(service::encode(*app) == bytes);
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
