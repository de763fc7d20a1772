#include "common/fetch_uri.h"

#include <algorithm>
#include <optional>

#include "common/limits.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr std::string_view kFilePrefix = "file://";
constexpr std::string_view kHttpPrefix = "http://";
constexpr std::string_view kHttpsPrefix = "https://";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::optional<int> hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// None if a % is not followed by two digits, or encodes NUL.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const std::optional<int> high = hex_value(text[i + 1]);
    const std::optional<int> low = hex_value(text[i + 2]);
    if (!high || !low || (*high == 0 && *low == 0)) return std::nullopt;
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return out;
}

Error wrong(std::string_view uri, std::string_view why) {
  return Error::invalid_argument(text("the URI ", quoted(shown_uri(uri)), " ", why))
      .with_hint("a URI must be file:///path, http://host/path or https://host/path");
}

Result<FetchUri> parse_file(std::string_view uri) {
  std::string_view rest = uri.substr(kFilePrefix.size());
  constexpr std::string_view kThisHost = "localhost/";
  if (rest.starts_with(kThisHost)) rest.remove_prefix(kThisHost.size() - 1);
  if (!rest.starts_with('/')) return wrong(uri, "must name a file of the agent's machine");
  const std::optional<std::string> path = percent_decoded(rest);
  if (!path) return wrong(uri, "has an invalid %XX escape");
  return FetchUri{
      .scheme = FetchUri::Scheme::kFile, .path = *path, .name = path->substr(path->rfind('/') + 1)};
}

Result<FetchUri> parse_web(std::string_view uri, FetchUri::Scheme scheme, std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  const size_t at = authority.rfind('@');
  const std::string_view host = at == std::string_view::npos ? authority : authority.substr(at + 1);
  if (host.empty() || host.front() == ':') return wrong(uri, "has no host");
  std::string_view path = rest.substr(authority.size());
  path = path.substr(0, path.find('?'));
  const size_t slash = path.rfind('/');
  std::string_view last = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  const std::optional<std::string> name = percent_decoded(last);
  if (!name) return wrong(uri, "has an invalid %XX escape");
  return FetchUri{.scheme = scheme, .has_credentials = at != std::string_view::npos, .name = *name};
}

}  // namespace

Result<FetchUri> parse_fetch_uri(std::string_view uri) {
  if (uri.size() > kUriBytesMax) {
    return wrong(uri, text("has ", uri.size(), " bytes, more than ", kUriBytesMax));
  }
  const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::all_of(uri.begin(), uri.end(), is_printable)) {
    return wrong(uri, "has characters that are not printable ASCII: write them as %XX");
  }
  if (uri.find('#') != std::string_view::npos) return wrong(uri, "has a fragment ('#')");
  if (uri.starts_with(kFilePrefix)) return parse_file(uri);
  if (uri.starts_with(kHttpsPrefix)) {
    return parse_web(uri, FetchUri::Scheme::kHttps, uri.substr(kHttpsPrefix.size()));
  }
  if (uri.starts_with(kHttpPrefix)) {
    return parse_web(uri, FetchUri::Scheme::kHttp, uri.substr(kHttpPrefix.size()));
  }
  return wrong(uri, "has an unknown scheme");
}

std::string shown_uri(std::string_view uri) {
  const size_t scheme = uri.find("://");
  if (scheme == std::string_view::npos) return std::string(uri);
  const size_t begin = scheme + 3;
  const std::string_view authority =
      uri.substr(begin, std::min(uri.find_first_of("/?#", begin), uri.size()) - begin);
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return std::string(uri);
  return text(uri.substr(0, begin), uri.substr(begin + at + 1));
}

Result<void> check_fetched_name(std::string_view name) {
  const auto wrong_name = [&](std::string_view why) {
    return Error::invalid_argument(text("a fetched file cannot be named ", quoted(name), ": ", why))
        .with_hint("use another name: one file name in the sandbox of the task");
  };
  if (name.empty()) return wrong_name("the name is empty");
  if (name.size() > kFileNameBytesMax) {
    return wrong_name(text("the name has more than ", kFileNameBytesMax, " bytes"));
  }
  if (name == "." || name == "..") return wrong_name("it is a directory");
  if (name == "stdout" || name == "stderr" || name == ".fetch") {
    return wrong_name("the agent uses that name");
  }
  if (name.find('/') != std::string_view::npos) return wrong_name("it has a '/'");
  if (std::any_of(name.begin(), name.end(), is_control)) {
    return wrong_name("it has a control character");
  }
  return {};
}

Result<void> check_sha256(std::string_view sum) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (sum.size() == kSha256TextBytes && std::all_of(sum.begin(), sum.end(), is_digit)) return {};
  return Error::invalid_argument(text("sha256 must be ", kSha256TextBytes,
                                      " lower-case hexadecimal digits, not ", quoted(sum)))
      .with_hint("sha256sum FILE prints it");
}

}  // namespace proffer
