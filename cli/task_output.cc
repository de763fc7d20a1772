#include "cli/task_output.h"

#include <memory>

#include <curl/curl.h>

#include "common/text.h"
#include "net/address.h"

namespace proffer::cli {
namespace {

struct Transfer {
  CURL* curl = nullptr;
  const std::function<void(std::string_view)>* write = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  std::string error_body = {};
};

size_t on_body(char* bytes, size_t size, size_t count, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  long status = 0;
  curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
  const std::string_view body(bytes, size * count);
  if (status < 300) {
    (*transfer->write)(body);
  } else if (transfer->error_body.size() < 1024) {
    transfer->error_body += body.substr(0, 1024);
  }
  return size * count;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(context)->cancelled->load() ? 1 : 0;
}

}  // namespace

Result<void> stream_file(const proto::TaskRow& task, std::string_view file, bool follow,
                         const std::function<void(std::string_view)>& write,
                         const std::atomic<bool>& cancelled) {
  if (task.http_address.empty()) {
    return Error::failed_precondition(
        text("task ", quoted(task.task.str()), " is on no agent that serves files"));
  }
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (initialised != CURLE_OK || curl == nullptr) return Error::internal("cannot start libcurl");
  const HttpPlace place = http_place(task.http_address);
  const std::string url = text(place.url, "/v1/files/", task.framework.str(), "/", task.task.str(),
                               "/", file, follow ? "?follow=1" : "");
  Transfer transfer{.curl = curl.get(), .write = &write, .cancelled = &cancelled};
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  if (!place.socket.empty()) {
    curl_easy_setopt(curl.get(), CURLOPT_UNIX_SOCKET_PATH, place.socket.c_str());
  }
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, 5L);
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");  // Agents are near; a proxy is never meant.
  const CURLcode code = curl_easy_perform(curl.get());
  if (code == CURLE_ABORTED_BY_CALLBACK) return {};
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (code != CURLE_OK) {
    return Error::unavailable(text("cannot read ", quoted(file), " from agent ",
                                   quoted(task.agent.str()), " at ", task.http_address, ": ",
                                   curl_easy_strerror(code)));
  }
  if (status == 404) {
    return Error::not_found(text("task ", quoted(task.task.str()), " has no file ", quoted(file),
                                 " on agent ", quoted(task.agent.str())));
  }
  if (status == 403) {
    return Error::permission_denied(
        text("agent ", quoted(task.agent.str()), ": ", trimmed(transfer.error_body)));
  }
  if (status >= 300) {
    return Error::internal(
        text("agent ", quoted(task.agent.str()), " answered ", status, ": ", transfer.error_body));
  }
  return {};
}

}  // namespace proffer::cli
