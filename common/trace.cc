#include "common/trace.h"

namespace proffer {

std::string to_text(const TraceEvent& event) {
  std::string out(event.what);
  for (const auto& [key, value] : event.fields) {
    out += ' ';
    out += key;
    out += '=';
    out += value;
  }
  return out;
}

}  // namespace proffer
