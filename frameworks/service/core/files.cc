#include "frameworks/service/core/files.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/fetch_uri.h"
#include "common/text.h"

namespace proffer::service {
namespace {

constexpr std::string_view kOpen = "~{";
constexpr std::string_view kLiteral = "~~{";  // encodes ~{

bool is_variable(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

// A text, and the variable after it; empty at the end.
struct Piece {
  std::string text = {};
  std::string variable = {};
};

Result<std::vector<Piece>> pieces_of(std::string_view content) {
  std::vector<Piece> pieces(1);
  while (!content.empty()) {
    const size_t at = content.find('~');
    pieces.back().text += content.substr(0, at);
    if (at == std::string_view::npos) break;
    content.remove_prefix(at);
    if (content.starts_with(kLiteral)) {
      pieces.back().text += kOpen;
      content.remove_prefix(kLiteral.size());
    } else if (content.starts_with(kOpen)) {
      const size_t end = std::min(content.find('}'), content.size());
      const std::string_view name = content.substr(kOpen.size(), end - kOpen.size());
      if (end == content.size() || !is_variable(name)) {
        return Error::invalid_argument(
                   text("~{ must be followed by the name of a variable and }, not by ",
                        quoted(name.substr(0, 40))))
            .with_hint("for example ~{PORT_http}; write ~~{ for a literal ~{");
      }
      pieces.back().variable = name;
      pieces.emplace_back();
      content.remove_prefix(end + 1);
    } else {
      pieces.back().text += '~';
      content.remove_prefix(1);
    }
  }
  return pieces;
}

std::string in_quotes(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

Result<void> check_files(const AppFiles& files) {
  if (files.size() > kFilesMax) {
    return Error::invalid_argument(
        text("files has ", files.size(), "; at most ", kFilesMax, " are allowed"));
  }
  size_t bytes = 0;
  for (const auto& [name, content] : files) {
    if (Result<void> ok = check_fetched_name(name); !ok) return std::move(ok).error().in("files");
    const std::string file = text("files: ", quoted(name));
    if (content.find('\0') != std::string::npos) {
      return Error::invalid_argument(text(file, " must be text, without a NUL"))
          .with_hint("fetch binary files instead: fetch: [URI]");
    }
    const Result<std::vector<Piece>> pieces = pieces_of(content);
    if (!pieces) return Error(pieces.error()).in(file);
    bytes += name.size() + content.size();
  }
  const size_t script = files_script(files).size();
  if (bytes <= kFilesBytesMax && script <= kFilesScriptBytesMax) return {};
  return Error::invalid_argument(text("files have ", bytes, " bytes, and ", script,
                                      " as a script; at most ", kFilesBytesMax, " and ",
                                      kFilesScriptBytesMax, " are allowed"))
      .with_hint("fetch large files instead: fetch: [URI]");
}

std::string files_script(const AppFiles& files) {
  std::string script;
  for (const auto& [name, content] : files) {
    const Result<std::vector<Piece>> pieces = pieces_of(content);
    if (!pieces) continue;
    script += "printf %s";
    for (const Piece& piece : *pieces) {
      if (!piece.text.empty()) script += " " + in_quotes(piece.text);
      if (!piece.variable.empty()) {
        script += text(" \"${", piece.variable, "?is not set, and a file of the app has it}\"");
      }
    }
    if (pieces->size() == 1 && pieces->front().text.empty()) script += " ''";
    script += text(" >", in_quotes(name), " || exit 1\n");
  }
  return script.empty() ? script : text(script, "unset ", kFilesVariable, "\n");
}

}  // namespace proffer::service
