#pragma once

// Result<T> and Error: the values for wrong input and failures of the world (STYLE: three kinds of
// errors). Bugs are CHECKs. We throw nothing.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace proffer {

enum class ErrorCode : uint8_t {
  kInvalidArgument,
  kNotFound,
  kAlreadyExists,
  kFailedPrecondition,
  kResourceExhausted,
  kUnavailable,
  kTimeout,
  kCorruption,
  kUnsupported,
  kInternal,
  kPermissionDenied,
};
inline constexpr size_t kErrorCodeCount = 11;

// "invalid_argument", "not_found", …; the `code` of an error printed as JSON.
std::string_view to_text(ErrorCode code);
std::ostream& operator<<(std::ostream& out, ErrorCode code);
std::optional<ErrorCode> parse_error_code(std::string_view text);

// An error for people: lower case, no full stop, with the wrong value and what is allowed. The hint
// names the remedy. Callers add context: "reading job.yaml: line 3: …".
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Error invalid_argument(std::string m) {
    return {ErrorCode::kInvalidArgument, std::move(m)};
  }
  static Error not_found(std::string m) { return {ErrorCode::kNotFound, std::move(m)}; }
  static Error already_exists(std::string m) { return {ErrorCode::kAlreadyExists, std::move(m)}; }
  static Error failed_precondition(std::string m) {
    return {ErrorCode::kFailedPrecondition, std::move(m)};
  }
  static Error resource_exhausted(std::string m) {
    return {ErrorCode::kResourceExhausted, std::move(m)};
  }
  static Error unavailable(std::string m) { return {ErrorCode::kUnavailable, std::move(m)}; }
  static Error timeout(std::string m) { return {ErrorCode::kTimeout, std::move(m)}; }
  static Error corruption(std::string m) { return {ErrorCode::kCorruption, std::move(m)}; }
  static Error unsupported(std::string m) { return {ErrorCode::kUnsupported, std::move(m)}; }
  static Error internal(std::string m) { return {ErrorCode::kInternal, std::move(m)}; }
  static Error permission_denied(std::string m) {
    return {ErrorCode::kPermissionDenied, std::move(m)};
  }

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }

  // A hint often repeats a value that was given; so it is escaped as by printable_lines().
  Error with_hint(std::string_view hint) &&;
  // Puts `context` and ": " before the message.
  Error in(std::string_view context) && {
    message_ = std::string(context) + ": " + message_;
    return std::move(*this);
  }

  bool operator==(const Error&) const = default;

 private:
  ErrorCode code_;
  std::string message_;
  std::string hint_;
};

// Its message, and its hint in parentheses.
std::ostream& operator<<(std::ostream& out, const Error& error);

namespace detail {
// Ends the program, as a CHECK does. It is out of line, so that authors' code does not see glog's
// macros.
[[noreturn]] void end_without_value(const Error& error);
}  // namespace detail

// A T, or the Error that explains its absence. Member names are those of std::expected.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Only if there is a value; else it is a bug.
  T& value() & {
    if (!has_value()) detail::end_without_value(error());
    return std::get<0>(state_);
  }
  const T& value() const& {
    if (!has_value()) detail::end_without_value(error());
    return std::get<0>(state_);
  }
  T&& value() && {
    if (!has_value()) detail::end_without_value(error());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Only if there is no value.
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or the Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

// A broken invariant, found by a core's violations().
struct Violation {
  std::string what;
  bool operator==(const Violation&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Violation& violation);

}  // namespace proffer
