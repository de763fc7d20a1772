// Read transfer() first: it is the loop over attempts. An attempt continues after the bytes of the
// last one only if the server confirms by ETag or date that the file has not changed (If-Range);
// else the file begins anew.

#include "slave/fetcher/transfer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <curl/curl.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::fetcher {
namespace {

enum class Trial { kDone, kAgain, kNever };

constexpr long kOk = 200;
constexpr long kPartialContent = 206;
constexpr long kRequestTimeout = 408;
constexpr long kRangeNotSatisfiable = 416;
constexpr long kTooManyRequests = 429;
constexpr long kServerErrors = 500;

bool is_same_word(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  for (size_t i = 0; i < one.size(); ++i) {
    if ((one[i] | 0x20) != (other[i] | 0x20)) return false;
  }
  return true;
}

class Transfer {
 public:
  Transfer(const std::string& uri, int fd, Room& room, Sha256& sum, const TransferOptions& options)
      : uri_(uri), fd_(fd), room_(room), sum_(sum), options_(options), curl_(curl_easy_init()) {}

  Trial try_once() {
    if (curl_ == nullptr) return fail(Error::internal("libcurl gave no handle"));
    if (offset_ > 0 && validator_.empty() && !begin_anew()) return Trial::kNever;
    const int64_t before = offset_;
    const long status = perform();
    if (failed_) return Trial::kNever;  // The error is not the server's.
    if (code_ == CURLE_OK && (status == kOk || status == kPartialContent)) return Trial::kDone;
    // The server has nothing at this range, or another file: the whole file is requested.
    if (code_ == CURLE_RANGE_ERROR || (before > 0 && status == kRangeNotSatisfiable)) {
      validator_.clear();
      why_ = "the file on the server has changed";
      return Trial::kAgain;
    }
    if (code_ == CURLE_HTTP_RETURNED_ERROR || code_ == CURLE_OK) {
      why_ = text("the server answered ", static_cast<int64_t>(status));
      const bool is_passing =
          status >= kServerErrors || status == kRequestTimeout || status == kTooManyRequests;
      if (is_passing) return Trial::kAgain;
      return fail(Error::not_found(why_));
    }
    why_ = problem_[0] != '\0' ? problem_ : curl_easy_strerror(code_);
    switch (code_) {
      case CURLE_URL_MALFORMAT:
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_TOO_MANY_REDIRECTS:
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_LOGIN_DENIED:
        return fail(Error::unavailable(why_));
      default:
        return Trial::kAgain;
    }
  }

  const std::string& why() const { return why_; }
  std::optional<Error> take_error() { return std::exchange(failed_, std::nullopt); }

 private:
  struct Free {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  Trial fail(Error error) {
    failed_ = std::move(error);
    return Trial::kNever;
  }

  bool begin_anew() {
    room_.give_back(offset_);
    offset_ = 0;
    sum_.take();
    if (ftruncate(fd_, 0) == 0) return true;
    failed_ = Error::unavailable("its file cannot be cut");
    return false;
  }

  long perform() {
    CURL* curl = curl_.get();
    curl_easy_reset(curl);
    problem_[0] = '\0';
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem_);
    curl_easy_setopt(curl, CURLOPT_URL, uri_.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    const bool is_https = uri_.starts_with("https:");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, options_.redirects_max);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "proffer-fetch");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, options_.connect_timeout_millis);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, options_.stalled_seconds);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
    std::unique_ptr<curl_slist, Free> headers;
    if (offset_ > 0) {
      curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(offset_));
      headers.reset(curl_slist_append(nullptr, text("If-Range: ", validator_).c_str()));
      curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    }
    code_ = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  // After redirects, the headers of the last answer count.
  static size_t on_header(const char* bytes, size_t one, size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const std::string_view line(bytes, one * count);
    if (line.starts_with("HTTP/")) {
      transfer.etag_.clear();
      transfer.date_.clear();
    }
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      const std::string_view name = line.substr(0, colon);
      const std::string_view value = trimmed(line.substr(colon + 1));
      // A weak ETag does not guarantee equal bytes.
      if (is_same_word(name, "etag") && value.starts_with('"')) transfer.etag_ = value;
      if (is_same_word(name, "last-modified")) transfer.date_ = value;
    }
    return line.size();
  }

  static size_t on_bytes(const char* bytes, size_t one, size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const size_t size = one * count;
    if (transfer.offset_ == 0) {
      transfer.validator_ = transfer.etag_.empty() ? transfer.date_ : transfer.etag_;
    }
    Result<void> done = transfer.room_.take(size);
    if (done) done = write_at(transfer.fd_, bytes, size, transfer.offset_);
    if (!done) {
      transfer.failed_ = std::move(done).error();
      return 0;
    }
    transfer.sum_.add(bytes, size);
    transfer.offset_ += static_cast<int64_t>(size);
    return size;
  }

  const std::string uri_;
  const int fd_;
  Room& room_;
  Sha256& sum_;
  const TransferOptions& options_;
  std::unique_ptr<CURL, Free> curl_;
  CURLcode code_ = CURLE_OK;
  char problem_[CURL_ERROR_SIZE] = {};
  std::string etag_;
  std::string date_;
  std::string validator_;  // of the bytes written so far
  int64_t offset_ = 0;
  std::string why_;
  std::optional<Error> failed_;
};

}  // namespace

Result<void> transfer(const std::string& uri, int fd, Room& room, Sha256& sum,
                      const TransferOptions& options) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return Error::internal("libcurl cannot be initialised");
  Transfer one(uri, fd, room, sum, options);
  for (size_t round = 0;; ++round) {
    const Trial trial = one.try_once();
    if (trial == Trial::kDone) return {};
    if (std::optional<Error> error = one.take_error()) return *std::move(error);
    if (round == options.wait_millis.size()) {
      return Error::unavailable(text(one.why(), " (tried ", round + 1, " times)"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(options.wait_millis[round]));
  }
}

}  // namespace proffer::fetcher
