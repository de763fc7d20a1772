// Records that a service scheduler reads from its store and from its instances' updates.

#include "common/check.h"
#include "frameworks/service/core/ports.h"
#include "frameworks/service/core/records.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace {

// A record in an older format is written in the current one.
template <class Record>
void check_form_of_today(const Record& record, std::string_view bytes,
                         Result<Record> (*decode)(std::string_view)) {
  const std::string today = service::encode(record);
  CHECK(today == bytes || !today.starts_with(bytes.substr(0, bytes.find(' ') + 1)));
  const Result<Record> again = decode(today);
  CHECK(again && service::encode(*again) == today);
}

}  // namespace

void fuzz_service_record(Input input) {
  const std::string_view bytes = text_of(input);
  if (const Result<service::AppRecord> app = service::decode_app(bytes)) {
    check_form_of_today(*app, bytes, service::decode_app);
    CHECK(service::check_app(app->spec));
  } else {
    check_told(app.error());
  }
  if (const Result<service::InstanceBlock> block = service::decode_block("web", bytes)) {
    CHECK(service::encode(*block) == bytes);
  } else {
    check_told(block.error());
  }
  if (const Result<service::InstanceRecord> instance = service::decode_instance(bytes)) {
    CHECK(!instance->agent.empty());
  } else {
    check_told(instance.error());
  }
  if (const Result<service::Versions> versions = service::decode_versions(bytes)) {
    check_form_of_today(*versions, bytes, service::decode_versions);
  } else {
    check_told(versions.error());
  }
  for (const auto& [name, port] : service::parse_told_ports(bytes)) CHECK_GT(port, 0);
  if (const auto id = service::parse_task_id(TaskId(std::string(bytes)))) {
    CHECK(service::to_task_id(*id).str() == bytes);
  }
}

}  // namespace proffer::fuzz
