#pragma once

// The files of the page, which are in the program (web/).

#include <span>
#include <string_view>

namespace proffer::cli {

struct WebFile {
  std::string_view path = {};  // "/style.css"; "/" for index.html
  std::string_view type = {};
  std::string_view etag = {};  // with its quotes
  std::string_view body = {};
};
std::span<const WebFile> web_files();

}  // namespace proffer::cli
