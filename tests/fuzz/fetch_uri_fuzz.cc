// Texts of the sources of task files.

#include "common/check.h"
#include "common/fetch_uri.h"
#include "proto/fetched_files.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_fetch_uri(Input input) {
  const std::string_view whole = text_of(input);
  if (const Result<void> name = check_fetched_name(whole); !name) {
    check_told(name.error());
  } else {
    CHECK(whole.find('/') == std::string_view::npos && whole != "..") << whole;
  }
  if (const Result<void> sum = check_sha256(whole); !sum) check_told(sum.error());
  if (const Result<proto::FetchedFile> file = proto::parse_fetched_file(whole); !file) {
    check_told(file.error());
  } else {
    const Result<proto::FetchedFile> same = proto::parse_fetched_file(to_text(*file));
    CHECK(same && *same == *file) << whole;
    CHECK(file->is_extracted || check_fetched_name(proto::stored_name(*file))) << whole;
  }
  const std::string shown = shown_uri(whole);
  const Result<FetchUri> uri = parse_fetch_uri(whole);
  if (!uri) return check_told(uri.error());
  CHECK(is_readable(whole));
  CHECK(uri->path.empty() != (uri->scheme == FetchUri::Scheme::kFile)) << whole;
  CHECK(uri->path.empty() || uri->path.front() == '/') << whole;
  CHECK(uri->path.find('\0') == std::string::npos) << whole;
  // The printed form names the same file, without credentials.
  const Result<FetchUri> again = parse_fetch_uri(shown);
  CHECK(again && !again->has_credentials && again->name == uri->name) << whole;
  CHECK(uri->has_credentials != (shown == whole)) << whole;
}

}  // namespace proffer::fuzz
