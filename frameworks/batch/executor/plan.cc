// How tasks read the job's plan, and the work of the last task.

#include "frameworks/batch/core/plan.h"

#include <filesystem>
#include <system_error>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/planning/lanes.h"

namespace proffer::batch {
namespace {

namespace fs = std::filesystem;

// All these bytes of a file; fewer are kCorruption.
Result<std::string> read_at(const std::string& path, int64_t offset, size_t size) {
  Result<Fd> file = open_to_read(path);
  if (!file) return std::move(file).error();
  std::string bytes(size, '\0');
  for (size_t at = 0; at < size;) {
    const ssize_t got = ::pread(file->get(), bytes.data() + at, size - at,
                                static_cast<off_t>(offset + static_cast<int64_t>(at)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(text("reading ", quoted(path)), errno);
    if (got == 0) return Error::corruption(text(quoted(path), " is too short"));
    at += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace

Result<void> move_directory(const std::string& from, const std::string& to) {
  int failed = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (failed != 0 && errno == EINVAL) {  // the file system does not support the flag
    const Result<bool> is_taken = is_there(to);
    if (!is_taken) return is_taken.error();
    failed = *is_taken ? -1 : ::rename(from.c_str(), to.c_str());
    if (*is_taken) errno = EEXIST;
  }
  if (failed == 0) return {};
  if (errno == EEXIST) {
    return Error::already_exists(text(quoted(to), " exists"))
        .with_hint("move it away, then retry the job");
  }
  return system_error(text("moving ", quoted(from), " to ", quoted(to)), errno);
}

Result<std::string> read_plan(const WorkCommon& common, uint32_t entry) {
  std::string directory = plan_directory(common.output, common.plan);
  const Result<bool> was_made = is_there(made_plan(directory));
  if (!was_made) return was_made.error();
  if (*was_made) directory = made_plan(directory);
  const auto told = [](Error error) {
    return std::move(error)
        .in("the job's plan")
        .with_hint("the output directory must be the same on all agents");
  };
  Result<std::string> index =
      read_at(directory + "/index", int64_t{entry} * static_cast<int64_t>(kIndexEntryBytes),
              kIndexEntryBytes);
  if (!index) return told(std::move(index).error());
  const Result<IndexEntry> place = decode_index_entry(*index);
  if (!place) return told(place.error());
  if (place->length > static_cast<int64_t>(kPlanEntryBytesMax)) {
    return told(Error::corruption(text("an entry of ", place->length, " bytes")));
  }
  Result<std::string> bytes =
      read_at(directory + "/entries", place->offset, static_cast<size_t>(place->length));
  if (!bytes) return told(std::move(bytes).error());
  if (Result<void> whole = check_plan_entry(*place, *bytes); !whole) return told(whole.error());
  return bytes;
}

Result<proto::Environment> read_exported(const WorkCommon& common) {
  const std::string directory = plan_directory(common.output, common.plan);
  const Result<bool> has_any = is_there(exported_path(directory));
  if (!has_any) return has_any.error();
  if (!*has_any) return proto::Environment();
  const Result<Fd> file = open_to_read(exported_path(directory));
  if (!file) return file.error();
  std::string bytes(kExportedFileBytesMax, '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const Result<size_t> got = read_some(file->get(), bytes.data() + size, bytes.size() - size);
    if (!got) return got.error();
    if (*got == 0) break;
    size += *got;
  }
  return decode_exported(std::string_view(bytes).substr(0, size));
}

Result<Fd> open_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error(text("opening ", quoted(path)), errno);
  return Fd(fd);
}

std::string path_of(const Fd& directory) { return text("/proc/self/fd/", directory.get()); }

void remove_scratch(const std::string& output) {
  const std::string scratch = output + "/_temporary";
  Result<std::vector<std::string>> names = names_in(scratch);
  if (!names) names = names_in(scratch);  // A failure would leave it behind forever.
  if (!names) return;
  for (const std::string& name : *names) {
    if (name.starts_with("plan-")) return;
  }
  remove_tree(scratch);
}

Result<void> commit_output(const EndWork& work) {
  const std::string& from = work.common.output;
  const std::string& output = work.place;
  const std::string& plan = work.common.plan;
  const Result<bool> has_plan = is_there(plan_directory(from, plan));
  if (!has_plan) return has_plan.error();
  const bool is_aside = from != output && *has_plan;
  // The directory stays the same if it is renamed meanwhile, even if this process stops for long:
  // the files that are checked below are the files that are changed.
  Result<Fd> pinned = open_directory(is_aside ? from : output);
  if (!pinned) return std::move(pinned).error();
  const std::string directory = path_of(*pinned);
  const std::string marker = directory + "/_SUCCESS";
  const Result<bool> is_ours = is_there(plan_directory(directory, plan));
  if (!is_ours) return is_ours.error();
  const Result<bool> has_marker = is_there(marker);
  if (!has_marker) return has_marker.error();
  if (!*is_ours && *has_marker) {  // another attempt has done it, or most of it
    remove_scratch(directory);
    return {};
  }
  for (uint32_t i = 0; i < work.parts; ++i) {
    const Result<bool> has_part = is_there(text(directory, "/", part_name(i)));
    if (!has_part) return has_part.error();
    if (*has_part) continue;
    return Error::failed_precondition(
               text("all tasks finished, but ",
                    quoted(text(is_aside ? from : output, "/", part_name(i))), " is missing"))
        .with_hint("input and output must be the same directories on all agents");
  }
  if (!*is_ours) {
    return Error::failed_precondition(
               text("the output ", quoted(output), " belongs to another job"))
        .with_hint("the output directory must be the same on all agents");
  }
  if (is_aside) {
    const Result<void> moved = move_directory(from, output);
    // Another attempt may have moved it in between.
    const auto is_done = [&] {
      const Result<bool> is_in_place = is_there(plan_directory(output, plan));
      const Result<bool> is_marked = is_there(marker);
      return (is_in_place && *is_in_place) || (is_marked && *is_marked);
    };
    if (!moved && !is_done()) return moved.error();
  }
  const int fd = ::open(marker.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return system_error(text("making ", quoted(output + "/_SUCCESS")), errno);
  ::close(fd);
  // The files of abandoned tasks are useless; those that cannot be removed do no harm.
  remove_tree(directory + "/_temporary");
  return {};
}

Result<void> set_output_aside(const EndWork& work) {
  const std::string& output = work.common.output;
  if (output == work.place) return {};
  const Result<bool> is_ours = is_there(plan_directory(output, work.common.plan));
  if (!is_ours) return is_ours.error();
  return *is_ours ? move_directory(output, work.place) : Result<void>();
}

Result<void> remove_output(const EndWork& work) {
  const std::string& output = work.common.output;
  const Result<bool> is_ours = is_there(plan_directory(output, work.common.plan));
  if (!is_ours) return is_ours.error();
  if (!*is_ours) return {};
  const Result<std::vector<std::string>> names = names_in(output);
  if (!names) return names.error();
  // The plan goes last, so that another attempt still recognises the rest as ours.
  std::error_code error;
  for (const std::string& name : *names) {
    if (name != "_temporary") fs::remove_all(text(output, "/", name), error);
    if (error) break;
  }
  if (!error) fs::remove_all(output + "/_temporary", error);
  if (!error) fs::remove(output, error);
  // A task that is unreachable may be writing there.
  if (!error || error == std::errc::no_such_file_or_directory) return {};
  return Error::unavailable(text("removing ", quoted(output), ": ", error.message()));
}

}  // namespace proffer::batch
