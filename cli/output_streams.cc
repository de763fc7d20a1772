// One thread drives all transfers with curl's multi interface. A task's agent is looked up at the
// master when its turn comes.

#include "cli/output_streams.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include <curl/curl.h>

#include "cli/master_client.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr size_t kTransfersMax = 200;  // two for each task
constexpr int kPollMillis = 1'000;

struct Transfer {
  TaskId task = {};
  OutputStreams::Stream stream = OutputStreams::Stream::kStdout;
  const OutputStreams::Sink* sink = nullptr;
  CURL* curl = nullptr;
};

size_t on_body(char* bytes, size_t size, size_t count, void* context) {
  const auto* transfer = static_cast<Transfer*>(context);
  long status = 0;
  curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status < 300) {
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
  size_t unfinished = 0;                               // guarded by mutex: tasks asked for
  bool ending = false;                                 // guarded by mutex

  std::map<CURL*, std::unique_ptr<Transfer>> transfers;  // of the thread
  std::map<TaskId, int> open;                            // of the thread: transfers by task
  std::thread thread;

  void drive();
  void take_waiting();
  void begin(const FrameworkId& framework, const TaskId& task);
  void add(const proto::TaskRow& row, Stream stream);
  void reap();
  void finished(size_t tasks);
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
  }
  for (const auto& [curl, transfer] : transfers) {
    curl_multi_remove_handle(multi, curl);
    curl_easy_cleanup(curl);
  }
}

void OutputStreams::Impl::take_waiting() {
  while (transfers.size() + 2 <= kTransfersMax) {
    std::pair<FrameworkId, TaskId> next;
    {
      const std::lock_guard lock(mutex);
      if (waiting.empty()) return;
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    begin(next.first, next.second);
  }
}

void OutputStreams::Impl::begin(const FrameworkId& framework, const TaskId& task) {
  const proto::TaskQuery query{
      .prefix = framework.str() + "/" + task.str(), .ended = true, .limit = 1};
  const Result<CallResult> page = call(master, "tasks", proto::task_query_json(query));
  Result<std::vector<proto::TaskRow>> rows =
      page ? proto::parse_tasks(page->json) : Result<std::vector<proto::TaskRow>>(page.error());
  if (!rows || rows->empty() || rows->front().task != task || rows->front().http_address.empty()) {
    failed(task, rows ? "the master does not know its agent" : rows.error().message());
    return finished(1);
  }
  open[task] = 2;
  add(rows->front(), Stream::kStdout);
  add(rows->front(), Stream::kStderr);
}

void OutputStreams::Impl::add(const proto::TaskRow& row, Stream stream) {
  auto transfer = std::make_unique<Transfer>();
  transfer->task = row.task;
  transfer->stream = stream;
  transfer->sink = &sink;
  transfer->curl = curl_easy_init();
  CURL* curl = transfer->curl;
  const std::string url =
      text("http://", row.http_address, "/v1/files/", row.framework.str(), "/", row.task.str(), "/",
           stream == Stream::kStdout ? "stdout" : "stderr", "?follow=1");
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
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
    const std::unique_ptr<Transfer> transfer = std::move(at->second);
    transfers.erase(at);
    if (code != CURLE_OK) failed(transfer->task, curl_easy_strerror(code));
    curl_multi_remove_handle(multi, curl);
    curl_easy_cleanup(curl);
    if (--open[transfer->task] == 0) {
      open.erase(transfer->task);
      finished(1);
    }
  }
}

void OutputStreams::Impl::finished(size_t tasks) {
  const std::lock_guard lock(mutex);
  unfinished -= tasks;
  if (unfinished == 0) idle.notify_all();
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

void OutputStreams::wait() {
  std::unique_lock lock(impl_->mutex);
  impl_->idle.wait(lock, [this] { return impl_->unfinished == 0; });
}

}  // namespace proffer::cli
