// Time zones as the core gets them, compared with the C library's.

#include "frameworks/batch/shell/zones.h"

#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/prng.h"
#include "common/text.h"

namespace proffer::batch::zones_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNow = 1'795'651'200;  // 2026-11-26T00:00Z

// Sets TZ for the C library, and restores it.
class LocalZone {
 public:
  explicit LocalZone(const std::string& name) {
    const char* before = ::getenv("TZ");
    if (before != nullptr) before_ = before;
    ::setenv("TZ", text(":", name).c_str(), 1);
    ::tzset();
  }
  ~LocalZone() {
    before_ ? ::setenv("TZ", before_->c_str(), 1) : ::unsetenv("TZ");
    ::tzset();
  }
  LocalZone(const LocalZone&) = delete;
  LocalZone& operator=(const LocalZone&) = delete;

  static std::string at(int64_t unix_seconds) {
    const time_t seconds = unix_seconds;
    std::tm tm = {};
    ::localtime_r(&seconds, &tm);
    char buffer[32];
    ::strftime(buffer, sizeof(buffer), tm.tm_sec == 0 ? "%Y-%m-%dT%H:%M" : "%Y-%m-%dT%H:%M:%S",
               &tm);
    return buffer;
  }

 private:
  std::optional<std::string> before_;
};

TEST(Zones, LocalTimesAreThoseOfTheCLibrary) {
  for (const std::string name :
       {"UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Asia/Kolkata",
        "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Etc/GMT+5"}) {
    SCOPED_TRACE(name);
    const Result<Zone> zone = read_zone(name, kNow);
    ASSERT_TRUE(zone) << zone.error().message();
    const LocalZone local(name);
    Prng prng(3);
    const auto expect_same = [&zone](int64_t at) {
      EXPECT_EQ(local_text(*zone, at), LocalZone::at(at)) << at;
    };
    for (int i = 0; i < 2'000; ++i) expect_same(prng.between(zone->begin, zone->end - 1));
    for (const ZoneOffset& offset : zone->offsets) {
      expect_same(offset.from);
      if (offset.from > zone->begin) expect_same(offset.from - 1);
    }
  }
}

TEST(Zones, NameThatIsNoneIsRefused) {
  for (const std::string name : {"Europe/Nowhere", "", "../../../etc/passwd"}) {
    const Result<Zone> zone = read_zone(name, kNow);
    ASSERT_FALSE(zone) << name;
    EXPECT_THAT(zone.error().message(), HasSubstr(quoted(name)));
    EXPECT_THAT(zone.error().hint(), HasSubstr("Europe/Berlin"));
  }
}

}  // namespace
}  // namespace proffer::batch::zones_test
