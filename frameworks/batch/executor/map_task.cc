// A map task: chunks → mapper → partition → sort (with the combiner) → map.out and map.index. Read
// `run_map` first. Only the runs of the sort grow with the input, and they are files.

#include <algorithm>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/blocks.h"
#include "frameworks/batch/executor/combine.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/sort.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/executor/unpack.h"

namespace proffer::batch {
namespace {

// Sorts the mapper's lines, through a combiner if there is one.
class MapSort {
 public:
  MapSort(const MapWork& work, const TaskSetting& setting, const Split& split, int stderr_fd) {
    const Shuffle& shuffle = work.shuffle;
    const int64_t bytes = shuffle.sort_bytes > 0 ? shuffle.sort_bytes : setting.sort_bytes;
    if (shuffle.combine.empty()) {
      plain_.emplace(scratch_directory(setting), bytes, shuffle.keys);
    } else {
      combining_.emplace(
          CombiningSort::Options{.directory = scratch_directory(setting),
                                 .bytes = bytes,
                                 .partitions = work.reducers,
                                 .command = shuffle.combine,
                                 .environment = command_environment(work.common, setting, &split),
                                 .stderr_fd = stderr_fd},
          shuffle.keys);
    }
  }
  LineSink& sink() { return plain_ ? static_cast<LineSink&>(*plain_) : *combining_; }
  Result<void> finish(LineSink& out) {
    return plain_ ? plain_->finish(out) : combining_->finish(out);
  }
  // A line that is too long is so in each attempt at the same input.
  TaskTrouble trouble_of(const Error& error) const {
    if (combining_ && combining_->trouble()) return *combining_->trouble();
    TaskTrouble trouble{.message = error.message()};
    if (error.code() == ErrorCode::kResourceExhausted) trouble.blame = Blame::kInput;
    return trouble;
  }

 private:
  std::optional<ExternalSort> plain_;
  std::optional<CombiningSort> combining_;
};

// Writes the split's lines to the mapper, on a separate thread.
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
  // True to continue. A mapper that reads no more is no error.
  bool feed(const Chunk& chunk) {
    ChunkRecords records(chunk, split_.format);
    Result<std::unique_ptr<InputReader>> reader = InputReader::open(chunk, records.begin());
    if (!reader) return fail(std::move(reader).error());
    bool at_end = false;
    while (!records.done() && !setting_.stopped->load(std::memory_order_relaxed)) {
      const Result<std::string_view> bytes = (*reader)->next();
      if (!bytes) return fail(bytes.error());
      at_end = bytes->empty();
      if (at_end) break;
      const std::string_view owned = records.feed(*bytes);
      if (!owned.empty() && !put(owned)) return false;
      note_done(setting_, kFeedPhase, read_ + (*reader)->bytes_read(), split_.bytes());
    }
    read_ += (*reader)->bytes_read();
    records_ += records.records();
    if (records.left_over() > 0) {
      return fail(Error::corruption(text("input ", quoted(chunk.path),
                                         " ends inside a record: ", records.left_over(), " of ",
                                         split_.format.bytes, " bytes remain at its end"))
                      .with_hint("fixed:BYTES needs files of whole records"));
    }
    if (at_end && records.missing() > 0) {
      return fail(Error::corruption(
          text("input ", quoted(chunk.path), " has become shorter since the job was submitted: ",
               records.missing(), " bytes are missing; submit a new job to read it as it is now")));
    }
    if (!records.lacks_end()) return true;
    ++records_;
    const char end = split_.format.end();
    return put(std::string_view(&end, 1));
  }

  bool put(std::string_view bytes) {
    WriteOutcome written = write_all(to_.get(), bytes);
    if (written.error) return fail(*std::move(written.error));
    if (written.closed) return false;
    bytes_ += static_cast<int64_t>(bytes.size());
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
  std::optional<Error> error_;
  int64_t read_ = 0;  // of the files of finished chunks
  int64_t records_ = 0;
  int64_t bytes_ = 0;
};

// Passes the mapper's lines to the sort.
Result<void> partition_lines(int from, LineSink& to, const MapWork& work, TaskResult& result) {
  LineReader lines(from);
  for (;;) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) return line.error();
    if (!*line) return {};
    const Result<bool> put = to.put(partition_of(**line, work.shuffle.keys, work.reducers), **line);
    if (!put) return put.error();
    ++result.records_out;
  }
}

// Writes the sorted lines to the two files.
Result<void> write_map_output(const MapWork& work, const TaskSetting& setting, MapSort& sort,
                              TaskResult& result) {
  Result<Fd> file = open_to_write(text(setting.sandbox, "/map.out"));
  if (!file) return std::move(file).error();
  MapIndex index(work.reducers, work.shuffle.is_packed);
  const auto write = [&](auto writer) -> Result<void> {
    if (Result<void> ok = sort.finish(writer); !ok) return ok;
    return writer.finish();
  };
  const Result<void> written = work.shuffle.is_packed ? write(BlockWriter(file->get(), &index))
                                                      : write(LineWriter(file->get(), &index));
  if (!written) return written;
  const std::string entries = index.take();
  result.bytes_out = index.bytes();
  Result<Fd> index_file = open_to_write(text(setting.sandbox, "/map.index"));
  if (!index_file) return std::move(index_file).error();
  if (const WriteOutcome ended = write_all(index_file->get(), entries); ended.error) {
    return *ended.error;
  }
  return {};
}

}  // namespace

std::optional<TaskTrouble> run_map(const MapWork& work, const TaskSetting& setting, int stderr_fd,
                                   TaskResult& result) {
  const Result<std::string> entry = read_plan(work.common, work.common.number);
  if (!entry) return trouble(entry.error());
  const Result<Split> split = decode_split(*entry);
  if (!split) return trouble(split.error());
  const bool is_last = work.reducers == 0;  // the job has no reducers: this output is the result
  result.http_address = setting.agent.serves_other_machines ? source_of_agent(setting.agent.name)
                                                            : setting.agent.http_address;
  if (!is_last && result.http_address.empty()) {
    return TaskTrouble{.message =
                           "this agent serves no files ($PROFFER_AGENT_HTTP is empty), so reducers "
                           "cannot fetch map outputs from it"};
  }
  Result<Pipe> to_mapper = make_pipe();
  if (!to_mapper) return trouble(to_mapper.error());
  Result<Pipe> from_mapper = make_pipe();
  if (!from_mapper) return trouble(from_mapper.error());
  if (Result<void> ok = make_scratch_directory(setting); !ok) return trouble(ok.error());
  MapSort sort(work, setting, *split, stderr_fd);
  Result<Child> mapper = Child::start({"/bin/sh", "-c", work.common.command},
                                      command_environment(work.common, setting, &*split),
                                      to_mapper->read.get(), from_mapper->write.get(), stderr_fd);
  if (!mapper) return trouble(mapper.error());
  to_mapper->read.reset();
  from_mapper->write.reset();

  Feeder feeder(*split, std::move(to_mapper->write), setting);
  const Result<void> passed =
      is_last ? write_part(work.common, setting, from_mapper->read.get(), result)
              : partition_lines(from_mapper->read.get(), sort.sink(), work, result);
  if (!passed) signal_group(SIGKILL);  // they may be waiting for us to continue reading
  from_mapper->read.reset();
  const ExitStatus mapped = mapper->wait();
  feeder.join();
  // The mapper is not at fault if it received only a part of a damaged file.
  if (feeder.error() && feeder.error()->code() == ErrorCode::kCorruption) {
    return TaskTrouble{.message = feeder.error()->message(), .blame = Blame::kInput};
  }
  if (std::optional<TaskTrouble> wrong = trouble_of("the mapper", mapped, work.common);
      wrong && passed) {
    return wrong;
  }
  if (!passed) return sort.trouble_of(passed.error());
  if (feeder.error()) return trouble(*feeder.error());
  result.records_in = feeder.records();
  result.bytes_in = feeder.bytes();
  // A stopped command has not seen all of its input, whatever its exit code.
  if (setting.stopped->load()) return TaskTrouble{.message = "the task was killed"};
  if (is_last) {
    if (Result<void> ok = commit_part(work.common, setting); !ok) return trouble(ok.error());
    return std::nullopt;
  }
  if (Result<void> ok = write_map_output(work, setting, sort, result); !ok) {
    return sort.trouble_of(ok.error());
  }
  return std::nullopt;
}

}  // namespace proffer::batch
