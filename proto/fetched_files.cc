#include "proto/fetched_files.h"

#include <set>

#include "common/fetch_uri.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer::proto {
namespace {

constexpr std::string_view kSum = "sha256=";
constexpr std::string_view kName = "name=";
constexpr std::string_view kExecutable = "executable";
constexpr std::string_view kExtract = "extract";
constexpr std::string_view kUncached = "uncached";

bool is_option(std::string_view part) {
  return part.starts_with(kSum) || part.starts_with(kName) || part == kExecutable ||
         part == kExtract || part == kUncached;
}

void set_option(std::string_view option, FetchedFile& file) {
  if (option.starts_with(kSum)) {
    file.sha256 = option.substr(kSum.size());
  } else if (option.starts_with(kName)) {
    file.name = option.substr(kName.size());
  } else if (option == kExecutable) {
    file.is_executable = true;
  } else if (option == kExtract) {
    file.is_extracted = true;
  } else {
    file.is_cached = false;
  }
}

}  // namespace

Result<FetchedFile> parse_fetched_file(std::string_view whole) {
  FetchedFile file;
  size_t end = whole.size();
  // Options follow the URI: read them from the end, while they are options.
  for (size_t comma = whole.rfind(','); comma != std::string_view::npos && comma > 0;
       comma = whole.rfind(',', comma - 1)) {
    const std::string_view part = whole.substr(comma + 1, end - comma - 1);
    if (!is_option(part)) break;  // this comma belongs to the URI
    set_option(part, file);
    end = comma;
  }
  file.uri = whole.substr(0, end);
  if (Result<void> valid = check_fetched_files({file}); !valid) return std::move(valid).error();
  return file;
}

std::string to_text(const FetchedFile& file) {
  std::string out = file.uri;
  if (!file.sha256.empty()) out += text(",", kSum, file.sha256);
  if (!file.name.empty()) out += text(",", kName, file.name);
  if (file.is_executable) out += text(",", kExecutable);
  if (file.is_extracted) out += text(",", kExtract);
  if (!file.is_cached) out += text(",", kUncached);
  return out;
}

std::string stored_name(const FetchedFile& file) {
  if (!file.name.empty() || file.is_extracted) return file.name;
  const Result<FetchUri> uri = parse_fetch_uri(file.uri);
  return uri ? uri->name : std::string();
}

bool is_shareable(const FetchedFile& file) {
  const Result<FetchUri> uri = parse_fetch_uri(file.uri);
  return uri && file.is_cached && !file.sha256.empty() && !uri->has_credentials &&
         uri->scheme != FetchUri::Scheme::kFile;
}

Result<void> check_fetched_files(const std::vector<FetchedFile>& files) {
  if (files.size() > kFetchedFilesMax) {
    return Error::invalid_argument(
        text("a task may have at most ", kFetchedFilesMax, " files fetched, not ", files.size()));
  }
  std::set<std::string> names;
  size_t bytes = 0;
  for (const FetchedFile& file : files) {
    if (Result<void> one = check_fetched_file(file); !one) return one;
    const Result<FetchUri> uri = parse_fetch_uri(file.uri);
    if (!uri) return uri.error();
    if (file.is_executable && file.is_extracted) {
      return Error::invalid_argument(text("the file ", quoted(shown_uri(file.uri)),
                                          " cannot be executable and unpacked"))
          .with_hint("an archive says which of its files are executable");
    }
    bytes += file.uri.size() + file.name.size();
    if (bytes > kFetchedTextBytesMax) {
      return Error::invalid_argument(text("the URIs of a task's files have more than ",
                                          kFetchedTextBytesMax, " bytes together"));
    }
    const std::string name = stored_name(file);
    if (name.empty() && file.is_extracted) continue;
    if (Result<void> valid = check_fetched_name(name); !valid) {
      return std::move(valid).error().in(shown_uri(file.uri));
    }
    if (!names.insert(name).second) {
      return Error::invalid_argument(text("two fetched files are named ", quoted(name)))
          .with_hint("give one of them another name");
    }
  }
  return {};
}

}  // namespace proffer::proto
