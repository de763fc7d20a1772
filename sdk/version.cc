#include "sdk/version.h"

#define PROFFER_TEXT_OF(number) #number
#define PROFFER_TEXT(number) PROFFER_TEXT_OF(number)

namespace proffer {

std::string_view version() {
  return PROFFER_TEXT(PROFFER_VERSION_MAJOR) "." PROFFER_TEXT(
      PROFFER_VERSION_MINOR) "." PROFFER_TEXT(PROFFER_VERSION_PATCH);
}

}  // namespace proffer
