// One row of the master's registry. Input: a line "TABLE KEY", then the bytes of the row.

#include "common/check.h"
#include "proto/codec/records.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_row(Input input) {
  const auto [place, bytes] = first_line(text_of(input));
  const size_t blank = place.find(' ');
  if (blank == std::string_view::npos) return;
  const std::string_view table = place.substr(0, blank);
  const std::string_view key = place.substr(blank + 1);
  const Result<proto::RegistryRow> row = proto::decode_row(table, key, bytes);
  if (!row) return check_told(row.error());
  CHECK_EQ(proto::table_of(*row), table);
  CHECK_EQ(proto::key_of(*row), key);
  const std::string encoded = proto::encode_row(*row);
  const Result<proto::RegistryRow> again = proto::decode_row(table, key, encoded);
  CHECK(again) << again.error().message();
  CHECK(*again == *row);
  CHECK(proto::encode_row(*again) == encoded) << "equal rows, other bytes";
}

}  // namespace proffer::fuzz
