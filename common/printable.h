#pragma once

// Foreign text in messages of ours.

#include <string>
#include <string_view>

namespace proffer {

// Control characters (those of C1 too, which steer terminals) and invalid UTF-8 are escaped, long
// texts cut to about 200 bytes: for what libraries say and quote from their input. For a value,
// quoted() of common/text.h puts it between quotes.
std::string printable(std::string_view text);
// The same between double quotes, with these and backslashes escaped, so that it can be read back
// and quotes of its own stay readable: for values of log lines, which tell a message whole. At most
// kReasonTextBytesMax bytes of it, which no message of ours exceeds.
std::string log_value(std::string_view text);
// Whether nothing in it would be escaped.
bool is_printable(std::string_view text);

}  // namespace proffer
