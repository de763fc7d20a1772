#include "cli/redaction.h"

#include <algorithm>
#include <cctype>

#include "common/text.h"

namespace proffer::cli {
namespace {

constexpr size_t kSecretBytesMin = 8;

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool names_secret(std::string_view name) {
  const std::string low = lower(name);
  for (const std::string_view word :
       {"secret", "passw", "token", "credential", "private", "apikey", "api_key", "api-key"}) {
    if (low.find(word) != std::string::npos) return true;
  }
  for (const std::string_view end : {"_key", "-key", "_pwd", "_pass", "-pass", "passphrase"}) {
    if (low.ends_with(end)) return true;
  }
  return low == "pwd" || low == "pass";
}

// The end of the value that begins at `at`.
size_t end_of_value(std::string_view text, size_t at) {
  // An escaped quote inside JSON.
  if (text.substr(at).starts_with("\\\"")) {
    const size_t end = text.find("\\\"", at + 2);
    return end == text.npos ? text.size() : end + 2;
  }
  const char quote = at < text.size() ? text[at] : ' ';
  if (quote != '"' && quote != '\'')
    return std::min(text.find_first_of(" \t\r\n,;&)}]", at), text.size());
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

// The beginning of the value after a name; npos if the name has no value.
size_t value_after(std::string_view text, size_t at, bool is_option) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;  // the quote of "NAME":
  size_t next = text.find_first_not_of(" \t", at);
  if (next == text.npos) return text.npos;
  if (text[next] == '=' || text[next] == ':') {
    next = text.find_first_not_of(" \t", next + 1);
    return next == text.npos || text[next] == '\n' ? text.npos : next;
  }
  return is_option && next > at && text[next] != '-' && text[next] != '\n' ? next : text.npos;
}

// For "Authorization: SCHEME VALUE": the beginning of the value, and the end of its line or quote.
std::pair<size_t, size_t> authorization_after(std::string_view text, size_t at) {
  size_t scheme = value_after(text, at, false);
  if (scheme == text.npos) return {text.npos, text.npos};
  if (text[scheme] == '"' || text[scheme] == '\'') ++scheme;
  const size_t end = std::min(text.find_first_of("\r\n\"'", scheme), text.size());
  const size_t space = text.find(' ', scheme);
  return {space < end ? space + 1 : scheme, end};
}

// Removes "user:password" from scheme://user:password@host.
std::string without_users_of_urls(std::string_view text) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find("://"); at != text.npos; at = text.find("://", at + 3)) {
    const size_t end = std::min(text.find_first_of("/ \t\r\n\"'", at + 3), text.size());
    const size_t host = text.substr(0, end).rfind('@');
    if (host == text.npos || host < at + 3) continue;
    out += text.substr(copied, at + 3 - copied);
    out += kRemoved;
    copied = host;
  }
  out += text.substr(copied);
  return out;
}

// The end of a value in an environment file, by systemd's rules: inside quotes, and after a
// backslash at the end of a line, the value continues on the next line.
size_t end_of_assignment(std::string_view text, size_t at) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && quote != '\'') {
      ++at;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '\n') {
      return at;
    }
  }
  return text.size();
}

void remove_all(std::string& text, std::string_view what) {
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + kRemoved.size())) {
    text.replace(at, what.size(), kRemoved);
  }
}

}  // namespace

void Redaction::know(std::string_view secret) {
  const std::string_view bare = trimmed(secret);
  if (bare.size() < kSecretBytesMin) return;
  known_.emplace_back(bare);
  std::sort(known_.begin(), known_.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string Redaction::of(std::string_view text) const {
  std::string out;
  size_t copied = 0;
  const auto remove = [&](size_t begin, size_t end) {
    out += text.substr(copied, begin - copied);
    out += kRemoved;
    copied = end;
  };
  for (size_t at = 0; at < text.size();) {
    if (!is_of_name(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const std::string_view name = text.substr(at, end - at);
    at = end;
    if (lower(name).ends_with("authorization")) {
      const auto [value, value_end] = authorization_after(text, end);
      if (value == text.npos) continue;
      remove(value, value_end);
      at = value_end;
    } else if (lower(name) == "bearer") {
      const size_t value = text.find_first_not_of(' ', end);
      if (value == text.npos || value == end) continue;
      at = end_of_value(text, value);
      remove(value, at);
    } else if (names_secret(name)) {
      const size_t value = value_after(text, end, name.starts_with("--"));
      if (value == text.npos) continue;
      at = end_of_value(text, value);
      remove(value, at);
    }
  }
  out += text.substr(copied);
  out = without_users_of_urls(out);
  for (const std::string& secret : known_) remove_all(out, secret);
  return out;
}

std::string Redaction::of_environment(std::string_view text) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, line_end - at);
    const std::string_view bare = trimmed(line);
    const size_t equals = line.find('=');
    const bool is_comment = bare.empty() || bare.front() == '#' || bare.front() == ';';
    if (is_comment || equals == line.npos) {
      out += of(line);
      at = line_end + 1;
    } else {
      out += line.substr(0, equals + 1);
      out += kRemoved;
      at = end_of_assignment(text, at + equals + 1) + 1;
    }
    out += '\n';
  }
  return out;
}

}  // namespace proffer::cli
