// A map task: chunks → mapper → partition → sort → map.out and map.index. `run_map` is the story;
// each arrow is a pipe, so nothing grows with the input but sort's temporary files.

#include <algorithm>
#include <array>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/partition.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"

namespace proffer::batch {
namespace {

// Lines go through sort as "00012<TAB>key<TAB>value": one sort puts them in order of partition and
// key.
constexpr size_t kPrefixBytes = 6;

void put_prefix(std::array<char, kPrefixBytes>& prefix, uint32_t partition) {
  for (size_t i = kPrefixBytes - 1; i-- > 0;) {
    prefix[i] = static_cast<char>('0' + partition % 10);
    partition /= 10;
  }
  prefix[kPrefixBytes - 1] = '\t';
}

// Writes the split's lines to the mapper, on a thread of its own.
class Feeder {
 public:
  Feeder(const Split& split, Fd to, const TaskSetting& setting)
      : split_(split), to_(std::move(to)), setting_(setting) {
    thread_ = std::thread([this] {
      for (const Chunk& chunk : split_.chunks) {
        if (!feed(chunk)) break;
      }
      to_.reset();
    });
  }
  ~Feeder() { join(); }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  void join() {
    if (thread_.joinable()) thread_.join();
  }
  // After join():
  const std::optional<Error>& error() const { return error_; }
  int64_t records() const { return records_; }
  int64_t bytes() const { return bytes_; }

 private:
  // Whether to go on. A mapper that has read enough is no error.
  bool feed(const Chunk& chunk) {
    Result<Fd> file = open_to_read(chunk.path);
    if (!file) return fail(std::move(file).error());
    ChunkLines lines(chunk);
    int64_t at = lines.begin();
    buffer_.resize(256 * 1024);
    while (!lines.done() && !setting_.stopped->load(std::memory_order_relaxed)) {
      const ssize_t got = ::pread(file->get(), buffer_.data(), buffer_.size(), at);
      if (got < 0) {
        if (errno == EINTR) continue;
        return fail(system_error(text("reading ", quoted(chunk.path)), errno));
      }
      if (got == 0) break;
      at += got;
      const std::string_view owned =
          lines.feed(std::string_view(buffer_.data(), static_cast<size_t>(got)));
      if (!owned.empty() && !put(owned)) return false;
    }
    return !lines.lacks_newline() || put("\n");
  }

  bool put(std::string_view bytes) {
    WriteOutcome written = write_all(to_.get(), bytes);
    if (written.error) return fail(*std::move(written.error));
    if (written.closed) return false;
    records_ += std::count(bytes.begin(), bytes.end(), '\n');
    bytes_ += static_cast<int64_t>(bytes.size());
    note_done(setting_, kFeedPhase, bytes_, split_.bytes());
    return true;
  }

  bool fail(Error error) {
    error_ = std::move(error);
    return false;
  }

  const Split& split_;
  Fd to_;
  const TaskSetting& setting_;
  std::thread thread_;
  std::string buffer_;
  std::optional<Error> error_;
  int64_t records_ = 0;
  int64_t bytes_ = 0;
};

// From the mapper's lines to sort's. Ends early if sort does.
Result<void> partition_lines(int from, int to, uint32_t reducers, TaskResult& result) {
  LineReader lines(from);
  BufferedWriter out(to);
  std::array<char, kPrefixBytes> prefix;
  for (;;) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) return line.error();
    if (!*line) break;
    put_prefix(prefix, partition_of(**line, reducers));
    for (const std::string_view part :
         {std::string_view(prefix.data(), prefix.size()), **line, std::string_view("\n")}) {
      const WriteOutcome written = out.write(part);
      if (written.error) return *written.error;
      if (written.closed) return {};  // How sort ended says why.
    }
    ++result.records_out;
  }
  const WriteOutcome flushed = out.flush();
  if (flushed.error) return *flushed.error;
  return {};
}

// From sort's lines to the two files.
Result<void> write_map_output(int from, uint32_t reducers, const TaskSetting& setting,
                              TaskResult& result) {
  Result<Fd> file = open_to_write(text(setting.sandbox, "/map.out"));
  if (!file) return std::move(file).error();
  BufferedWriter out(file->get());
  std::string index;
  IndexEntry entry;
  Fnv1a64 checksum;
  uint32_t open = 0;  // the partition being written
  const auto close_until = [&](uint32_t partition) {
    for (; open < partition; ++open) {
      entry.checksum = checksum.value();
      index += encode_index_entry(entry);
      entry = IndexEntry{.offset = entry.offset + entry.length};
      checksum = Fnv1a64();
    }
  };
  LineReader lines(from);
  for (;;) {
    const Result<std::optional<std::string_view>> next = lines.next();
    if (!next) return next.error();
    if (!*next) break;
    std::string_view line = **next;
    uint32_t partition = 0;
    for (size_t i = 0; i + 1 < kPrefixBytes && i < line.size(); ++i) {
      partition = partition * 10 + static_cast<uint32_t>(line[i] - '0');
    }
    if (line.size() < kPrefixBytes || partition < open || partition >= reducers) {
      return Error::internal("sort gave back other lines than it was given");
    }
    close_until(partition);
    line.remove_prefix(kPrefixBytes);
    for (const std::string_view part : {line, std::string_view("\n")}) {
      if (const WriteOutcome written = out.write(part); written.error) return *written.error;
      checksum.add(part);
      entry.length += static_cast<int64_t>(part.size());
    }
    ++entry.records;
  }
  close_until(reducers);
  if (const WriteOutcome flushed = out.flush(); flushed.error) return *flushed.error;
  result.bytes_out = entry.offset;
  Result<Fd> index_file = open_to_write(text(setting.sandbox, "/map.index"));
  if (!index_file) return std::move(index_file).error();
  if (const WriteOutcome written = write_all(index_file->get(), index); written.error) {
    return *written.error;
  }
  return {};
}

// A line that is too long is so for each attempt at the same input.
TaskTrouble trouble_of_lines(const Error& error) {
  TaskTrouble trouble{.message = error.message()};
  if (error.code() == ErrorCode::kResourceExhausted) trouble.blame = Blame::kInput;
  return trouble;
}

}  // namespace

std::optional<TaskTrouble> run_map(const MapWork& work, const TaskSetting& setting, int stderr_fd,
                                   TaskResult& result) {
  const Result<std::string> entry = read_plan(work.common, work.common.number);
  if (!entry) return trouble(entry.error());
  const Result<Split> split = decode_split(*entry);
  if (!split) return trouble(split.error());
  const bool is_last = work.reducers == 0;  // The job has no reducers: our output is its output.
  result.http_address = setting.serves_other_machines ? source_of_agent(setting.agent.name)
                                                      : setting.agent.http_address;
  if (!is_last && result.http_address.empty()) {
    return TaskTrouble{.message =
                           "this agent serves no files ($PROFFER_AGENT_HTTP is empty), so reducers "
                           "cannot read the output of maps here"};
  }
  Result<Pipe> to_mapper = make_pipe();
  if (!to_mapper) return trouble(to_mapper.error());
  Result<Pipe> from_mapper = make_pipe();
  if (!from_mapper) return trouble(from_mapper.error());
  Result<Pipe> to_sort = make_pipe();
  if (!to_sort) return trouble(to_sort.error());
  Result<Pipe> from_sort = make_pipe();
  if (!from_sort) return trouble(from_sort.error());

  Result<Child> sort = Child();  // None, if we are the last.
  if (!is_last) {
    sort = Child::start(
        {"sort", "-s", "-t", "\t", "-k1,2", "-S", text(setting.sort_bytes / 1'024, "K"), "-T",
         setting.sandbox, "--parallel=1"},
        sort_environment(setting), to_sort->read.get(), from_sort->write.get(), stderr_fd);
    if (!sort) return trouble(sort.error());
  }
  to_sort->read.reset();
  from_sort->write.reset();
  Result<Child> mapper = Child::start({"/bin/sh", "-c", work.common.command},
                                      command_environment(work.common, setting, &*split),
                                      to_mapper->read.get(), from_mapper->write.get(), stderr_fd);
  if (!mapper) return trouble(mapper.error());
  to_mapper->read.reset();
  from_mapper->write.reset();

  Feeder feeder(*split, std::move(to_mapper->write), setting);
  const Result<void> passed =
      is_last
          ? write_part(work.common, setting, from_mapper->read.get(), result)
          : partition_lines(from_mapper->read.get(), to_sort->write.get(), work.reducers, result);
  if (!passed) signal_group(SIGKILL);  // They may be waiting for us to read on.
  from_mapper->read.reset();
  to_sort->write.reset();
  const ExitStatus mapped = mapper->wait();
  if (std::optional<TaskTrouble> wrong = trouble_of("the mapper", mapped, work.common);
      wrong && passed) {
    sort->kill(SIGKILL);
    return wrong;
  }
  feeder.join();
  if (!passed) return trouble_of_lines(passed.error());
  if (feeder.error()) return trouble(*feeder.error());
  result.records_in = feeder.records();
  result.bytes_in = feeder.bytes();
  // What stopped has not seen all of its input, whatever its exit code says.
  if (setting.stopped->load()) return TaskTrouble{.message = "the task was killed"};
  if (is_last) {
    if (Result<void> ok = commit_part(work.common, setting); !ok) return trouble(ok.error());
    return std::nullopt;
  }
  const Result<void> written =
      write_map_output(from_sort->read.get(), work.reducers, setting, result);
  from_sort->read.reset();
  if (!written) sort->kill(SIGKILL);
  const ExitStatus sorted = sort->wait();
  if (!written) return trouble_of_lines(written.error());
  if (!sorted.ok()) return TaskTrouble{.message = text("sort ", to_text(sorted))};
  return std::nullopt;
}

}  // namespace proffer::batch
