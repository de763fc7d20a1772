// One thread drives all transfers with curl's multi interface. A task's agent is looked up at the
// master when its turn comes.

#include "cli/output_streams.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "cli/master_client.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr size_t kTransfersMax = 200;  // two for each task
constexpr int kPollMillis = 500;       // also between the tries of a broken stream
constexpr int kTriesAfterEnd = 6;

struct Transfer {
  FrameworkId framework = {};
  TaskId task = {};
  OutputStreams::Stream stream = OutputStreams::Stream::kStdout;
  const OutputStreams::Sink* sink = nullptr;
  CURL* curl = nullptr;  // none while it waits for its next try
  uint64_t offset = 0;   // what has been written
  int tries_after_end = 0;
};

size_t on_body(char* bytes, size_t size, size_t count, void* context) {
  auto* transfer = static_cast<Transfer*>(context);
  long status = 0;
  curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status < 300) {
    transfer->offset += size * count;
    (*transfer->sink)(transfer->task, transfer->stream, std::string_view(bytes, size * count));
  }
  return size * count;
}

}  // namespace

struct OutputStreams::Impl {
  Address master;
  Sink sink;
  Failed failed;
  CURLM* multi = nullptr;

  std::mutex mutex;
  std::condition_variable idle;
  std::deque<std::pair<FrameworkId, TaskId>> waiting;  // guarded by mutex
  std::set<TaskId> ended;                              // guarded by mutex
  size_t unfinished = 0;                               // guarded by mutex: tasks asked for
  bool ending = false;                                 // guarded by mutex

  std::map<CURL*, std::unique_ptr<Transfer>> transfers;  // of the thread
  std::vector<std::unique_ptr<Transfer>> broken;         // of the thread: to be tried again
  std::map<TaskId, int> open;                            // of the thread: streams by task
  std::thread thread;

  void drive();
  void take_waiting();
  void try_again();
  Result<std::string> find_agent(const FrameworkId& framework, const TaskId& task) const;
  void start(std::unique_ptr<Transfer> transfer, const std::string& http_address);
  void give_up_or_wait(std::unique_ptr<Transfer> transfer, const std::string& why);
  void close(const Transfer& transfer);
  void reap();
};

void OutputStreams::Impl::drive() {
  while (true) {
    {
      const std::lock_guard lock(mutex);
      if (ending) break;
    }
    take_waiting();
    int running = 0;
    curl_multi_perform(multi, &running);
    reap();
    curl_multi_poll(multi, nullptr, 0, kPollMillis, nullptr);
    try_again();
  }
  for (const auto& [curl, transfer] : transfers) {
    curl_multi_remove_handle(multi, curl);
    curl_easy_cleanup(curl);
  }
}

void OutputStreams::Impl::take_waiting() {
  while (transfers.size() + broken.size() + 2 <= kTransfersMax) {
    std::pair<FrameworkId, TaskId> next;
    {
      const std::lock_guard lock(mutex);
      if (waiting.empty()) return;
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    open[next.second] = 2;
    const Result<std::string> address = find_agent(next.first, next.second);
    for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
      auto transfer = std::make_unique<Transfer>();
      transfer->framework = next.first;
      transfer->task = next.second;
      transfer->stream = stream;
      transfer->sink = &sink;
      if (address)
        start(std::move(transfer), *address);
      else
        give_up_or_wait(std::move(transfer), address.error().message());
    }
  }
}

void OutputStreams::Impl::try_again() {
  std::vector<std::unique_ptr<Transfer>> again = std::exchange(broken, {});
  for (std::unique_ptr<Transfer>& transfer : again) {
    const Result<std::string> address = find_agent(transfer->framework, transfer->task);
    if (address)
      start(std::move(transfer), *address);
    else
      give_up_or_wait(std::move(transfer), address.error().message());
  }
}

// Where the agent of a task serves its files; it may have moved since the last try.
Result<std::string> OutputStreams::Impl::find_agent(const FrameworkId& framework,
                                                    const TaskId& task) const {
  const proto::TaskQuery query{
      .prefix = framework.str() + "/" + task.str(), .ended = true, .limit = 1};
  const Result<CallResult> page = call(master, "tasks", proto::task_query_json(query));
  if (!page) return page.error();
  const Result<std::vector<proto::TaskRow>> rows = proto::parse_tasks(page->json);
  if (!rows) return rows.error();
  if (rows->empty() || rows->front().task != task || rows->front().http_address.empty()) {
    return Error::not_found("the master does not know its agent");
  }
  return rows->front().http_address;
}

void OutputStreams::Impl::start(std::unique_ptr<Transfer> transfer,
                                const std::string& http_address) {
  CURL* curl = curl_easy_init();
  transfer->curl = curl;
  const HttpPlace place = http_place(http_address);
  const std::string url =
      text(place.url, "/v1/files/", transfer->framework.str(), "/", transfer->task.str(), "/",
           transfer->stream == Stream::kStdout ? "stdout" : "stderr",
           "?follow=1&offset=", transfer->offset);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  if (!place.socket.empty()) {
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, place.socket.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer.get());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 5L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_multi_add_handle(multi, curl);
  transfers[curl] = std::move(transfer);
}

void OutputStreams::Impl::reap() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* curl = message->easy_handle;
    const CURLcode code = message->data.result;
    const auto at = transfers.find(curl);
    std::unique_ptr<Transfer> transfer = std::move(at->second);
    transfers.erase(at);
    curl_multi_remove_handle(multi, curl);
    curl_easy_cleanup(curl);
    transfer->curl = nullptr;
    if (code == CURLE_OK)
      close(*transfer);
    else
      give_up_or_wait(std::move(transfer), curl_easy_strerror(code));
  }
}

void OutputStreams::Impl::give_up_or_wait(std::unique_ptr<Transfer> transfer,
                                          const std::string& why) {
  {
    const std::lock_guard lock(mutex);
    if (ended.count(transfer->task) != 0) ++transfer->tries_after_end;
  }
  if (transfer->tries_after_end < kTriesAfterEnd) {
    broken.push_back(std::move(transfer));
    return;
  }
  failed(transfer->task, why);
  close(*transfer);
}

void OutputStreams::Impl::close(const Transfer& transfer) {
  if (--open[transfer.task] > 0) return;
  open.erase(transfer.task);
  const std::lock_guard lock(mutex);
  if (--unfinished == 0) idle.notify_all();
}

OutputStreams::OutputStreams(Address master, Sink sink, Failed failed)
    : impl_(std::make_unique<Impl>()) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK_EQ(initialised, CURLE_OK);
  impl_->master = std::move(master);
  impl_->sink = std::move(sink);
  impl_->failed = std::move(failed);
  impl_->multi = curl_multi_init();
  impl_->thread = std::thread([impl = impl_.get()] { impl->drive(); });
}

OutputStreams::~OutputStreams() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  curl_multi_wakeup(impl_->multi);
  impl_->thread.join();
  curl_multi_cleanup(impl_->multi);
}

void OutputStreams::follow(const FrameworkId& framework, const TaskId& task) {
  {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->unfinished;
    impl_->waiting.emplace_back(framework, task);
  }
  curl_multi_wakeup(impl_->multi);
}

void OutputStreams::ended(const TaskId& task) {
  const std::lock_guard lock(impl_->mutex);
  impl_->ended.insert(task);
}

void OutputStreams::wait() {
  std::unique_lock lock(impl_->mutex);
  impl_->idle.wait(lock, [this] { return impl_->unfinished == 0; });
}

}  // namespace proffer::cli
