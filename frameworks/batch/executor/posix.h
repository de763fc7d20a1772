#pragma once

// Descriptors, pipes, children and buffered lines: the system calls that tasks use.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "frameworks/batch/core/counters.h"
#include "frameworks/batch/core/shuffle.h"

namespace proffer::batch {

// "opening /x: No such file or directory (errno 2)".
Error system_error(std::string_view what, int error_number);

// Owns a descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  int get() const { return fd_; }
  void reset();

 private:
  int fd_ = -1;
};

Result<Fd> open_to_read(const std::string& path);
// Empties the file, or creates it.
Result<Fd> open_to_write(const std::string& path, mode_t mode = 0644);

// True if there is a file or directory of this name. Errors: kUnavailable if this cannot be
// determined: a wrong "absent" would make it anew, or leave it behind.
Result<bool> is_there(const std::string& path);
// Removes as much of the tree as possible. A failed removal is retried.
void remove_tree(const std::string& path);

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> make_pipe();

// Writes all of it. `closed`: the reader has gone (EPIPE), which may be fine.
struct WriteOutcome {
  bool closed = false;
  std::optional<Error> error = {};
  bool ok() const { return !closed && !error; }
};
WriteOutcome write_all(int fd, std::string_view bytes);
// Reads at most `size` bytes; the buffer is overwritten. Zero at the end.
Result<size_t> read_some(int fd, char* buffer, size_t size);

// Collects small writes.
class BufferedWriter {
 public:
  explicit BufferedWriter(int fd) : fd_(fd) { buffer_.reserve(kBytes); }
  WriteOutcome write(std::string_view bytes);
  WriteOutcome flush();

 private:
  static constexpr size_t kBytes = 256 * 1024;
  int fd_;
  std::string buffer_;
};

// Cuts a descriptor's bytes into lines.
class LineReader {
 public:
  explicit LineReader(int fd, size_t buffer_bytes = 256 * 1024)
      : fd_(fd), buffer_(buffer_bytes, '\0') {}
  // Returns the next line without its newline, as a view that is valid until the next call; none at
  // the end. A last line without a newline is a line. Errors: kUnavailable from the system,
  // kResourceExhausted for a line of more than kLineBytesMax.
  Result<std::optional<std::string_view>> next();

 private:
  int fd_;
  std::string buffer_;
  size_t begin_ = 0;  // start of the bytes that are not yet returned
  size_t end_ = 0;
  bool at_end_ = false;
};

// --- children ----------------------------------------------------------------------------------

struct ExitStatus {
  int code = 0;
  int signal = 0;  // not zero: it ended by this signal
  bool ok() const { return code == 0 && signal == 0; }
};
// "exited with 2", "was ended by signal 9 (Killed)".
std::string to_text(const ExitStatus& status);

// A child in the executor's own process group, so that the agent kills it with the executor. Its
// destructor kills and reaps it.
class Child {
 public:
  Child() = default;
  ~Child();
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept;

  // Searches argv[0] in $PATH of `environment` ("NAME=value"). Signals have their default actions
  // in the child. Descriptors 0, 1 and 2 are these; no others are inherited.
  static Result<Child> start(const std::vector<std::string>& argv,
                             const std::vector<std::string>& environment, int in, int out, int err);
  void kill(int signal) const;
  ExitStatus wait();

 private:
  pid_t pid_ = -1;
};

// Signals all processes of our process group except this one. Does nothing if the group is not our
// own.
void signal_group(int signal);

// Copies a pipe to our standard error and keeps its end; without the report lines if `reports`.
class StderrTail {
 public:
  // Each reported status is passed to `on_status`, on a separate thread.
  StderrTail(Fd read, size_t bytes_max, bool reports = false,
             std::function<void(const std::string&)> on_status = {});
  ~StderrTail() { join(); }
  StderrTail(const StderrTail&) = delete;
  StderrTail& operator=(const StderrTail&) = delete;
  // Waits until all writers have closed it.
  std::string join();
  // Call it after join().
  const Counters& counters() const { return lines_.counters(); }

 private:
  void pass_on(std::string_view bytes);

  Fd read_;
  size_t bytes_max_;
  ReportLines lines_;
  std::string tail_;
  std::thread thread_;
};

}  // namespace proffer::batch
