// A combiner may write its lines in any order and with any keys: they are partitioned and sorted
// like the mapper's. `combine` is one run of the command.

#include "frameworks/batch/executor/combine.h"

#include <thread>

#include <signal.h>

#include "frameworks/batch/executor/posix.h"

namespace proffer::batch {
namespace {

// The part of the memory for the output of combiners, which is much smaller than their input, or
// they are useless.
constexpr int64_t kCombinedPart = 4;

}  // namespace

CombiningSort::CombiningSort(Options options, const KeyRule& keys)
    : options_(std::move(options)),
      keys_(keys),
      given_(options_.bytes - options_.bytes / kCombinedPart, keys),
      combined_(options_.directory, options_.bytes / kCombinedPart, keys) {}

Result<bool> CombiningSort::put(uint32_t partition, std::string_view line) {
  if (given_.add(partition, line)) return true;
  if (Result<void> ok = combine(); !ok) return std::move(ok).error();
  if (given_.add(partition, line)) return true;
  return combined_.put(partition, line);  // longer than the buffer: it bypasses the combiner
}

Result<void> CombiningSort::finish(LineSink& out) {
  if (Result<void> ok = combine(); !ok) return ok;
  given_.release();
  return combined_.finish(out);
}

Result<void> CombiningSort::combine() {
  if (given_.empty()) return {};
  Result<Pipe> to_command = make_pipe();
  if (!to_command) return std::move(to_command).error();
  Result<Pipe> from_command = make_pipe();
  if (!from_command) return std::move(from_command).error();
  Result<Child> command =
      Child::start({"/bin/sh", "-c", options_.command}, options_.environment,
                   to_command->read.get(), from_command->write.get(), options_.stderr_fd);
  if (!command) return std::move(command).error();
  to_command->read.reset();
  from_command->write.reset();

  Result<void> fed;
  std::thread feeder([&] {
    LineWriter writer(to_command->write.get());
    fed = given_.drain(writer);
    if (fed) fed = writer.finish();
    to_command->write.reset();
  });
  Result<void> read;
  LineReader lines(from_command->read.get());
  for (;;) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) read = line.error();
    if (!line || !*line) break;
    const Result<bool> put =
        combined_.put(partition_of(**line, keys_, options_.partitions), **line);
    if (put) continue;
    read = put.error();
    break;
  }
  if (!read) command->kill(SIGKILL);
  from_command->read.reset();
  feeder.join();
  const ExitStatus status = command->wait();
  if (!read) return read;
  if (!fed) return fed;
  trouble_ = trouble_of("the combiner", status, WorkCommon());
  if (trouble_) return Error::failed_precondition(trouble_->message);
  return {};
}

}  // namespace proffer::batch
