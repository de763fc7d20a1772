#pragma once

// An HTTP server of files on a free loopback port, whose answers can be made wrong. One answer per
// connection.

#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::test_support {

struct FileRequest {
  std::string path = {};
  std::string head = {};  // the whole request head
  int64_t from = 0;       // the begin of a Range; 0 without
  std::string if_range = {};
};

struct FileAnswer {
  int status = 200;
  std::string headers = {};  // each line with its line end
  std::string body = {};
  size_t length = 0;  // the stated length; 0: that of the body
};

class FileServer {
 public:
  using Handler = std::function<FileAnswer(const FileRequest&)>;

  explicit FileServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
    CHECK(listen(listener_, 64) == 0);
    CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~FileServer() {
    is_over_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (std::thread& one : answers_) one.join();
    close(listener_);
  }
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;

  std::string url(std::string_view path) const { return text("http://127.0.0.1:", port_, path); }
  // All requests so far.
  std::vector<FileRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  static std::string header(const std::string& head, const std::string& name) {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  void serve() {
    while (!is_over_) {
      const int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer >= 0) answers_.emplace_back([this, peer] { converse(peer); });
    }
  }

  void converse(int peer) {
    std::string head;
    char buffer[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = recv(peer, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      head.append(buffer, static_cast<size_t>(got));
    }
    answer(peer, head);
    close(peer);
  }

  void answer(int peer, const std::string& head) {
    const size_t path = head.find(' ');
    if (path == std::string::npos) return;
    FileRequest request{.path = head.substr(path + 1, head.find(' ', path + 1) - path - 1),
                        .head = head,
                        .if_range = header(head, "If-Range")};
    const std::string range = header(head, "Range");
    if (range.starts_with("bytes=")) request.from = std::stoll(range.substr(6));
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const FileAnswer told = handler_(request);
    const size_t length = told.length == 0 ? told.body.size() : told.length;
    const std::string bytes =
        text("HTTP/1.1 ", told.status, " -\r\nContent-Length: ", static_cast<int64_t>(length),
             "\r\nConnection: close\r\n", told.headers, "\r\n", told.body);
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t more = send(peer, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) return;
      sent += static_cast<size_t>(more);
    }
    shutdown(peer, SHUT_WR);
    // Wait until the client has read it: a reset would drop bytes.
    char rest[256];
    while (recv(peer, rest, sizeof rest, 0) > 0) {
    }
  }

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> is_over_ = false;
  mutable std::mutex mutex_;
  std::vector<FileRequest> requests_;
  std::vector<std::thread> answers_;  // used only by thread_ until it has ended
  std::thread thread_;
};

}  // namespace proffer::test_support
