#include "sdk/request.h"

#include <chrono>
#include <random>
#include <thread>

#include "net/membership.h"
#include "proto/json/json.h"
#include "sdk/shell/master_call.h"

namespace proffer::sdk {
namespace {

constexpr int kTries = 3;
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr Duration kBeyondAnswer = seconds(2);  // time for the master to report that no answer came

std::string random_name() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string name;
  for (int i = 0; i < 32; ++i) name += kDigits[random() & 15];
  return name;
}

}  // namespace

Result<std::string> request(const RequestOptions& options, const std::string& data) {
  const Result<Masters> masters =
      find_masters(KeyKind::kUser, "the master's address", options.master);
  if (!masters) return masters.error();
  const std::string call = proto::request_call_json({.framework = options.framework,
                                                     .id = random_name(),
                                                     .timeout = options.timeout,
                                                     .data = data,
                                                     .role = options.role});
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(options.patience.millis());
  for (int attempt = 1;; ++attempt) {
    Result<MasterReply> answer =
        call_master(*masters, "request", call, options.timeout + kBeyondAnswer);
    if (answer) return proto::parse_request_reply(answer->json);
    const ErrorCode code = answer.error().code();
    if (code != ErrorCode::kTimeout && code != ErrorCode::kUnavailable) {
      return std::move(answer).error();
    }
    if (attempt >= kTries && Clock::now() >= until) return std::move(answer).error();
    if (options.patience > Duration()) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace proffer::sdk
