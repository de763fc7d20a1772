// The output directory before its job: prepare and write_plan, or abandon.

#include "frameworks/batch/shell/output.h"

#include <filesystem>
#include <system_error>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/planning/plan_files.h"
#include "frameworks/batch/shell/large_files.h"

namespace proffer::batch {
namespace {

std::string words(int error_number) {
  const char* known = ::strerrordesc_np(error_number);
  return known != nullptr ? known : "unknown error";
}

bool exists(const std::string& path) {
  struct stat seen = {};
  return ::stat(path.c_str(), &seen) == 0;
}

Error cannot_make(const std::string& path, int error_number) {
  return Error::unavailable(text("making output ", quoted(path), ": ", words(error_number)))
      .with_hint(
          "choose a directory in which you may write, on a file system that all agents share");
}

}  // namespace

Result<OutputDirectory> OutputDirectory::prepare(std::string path) {
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int error_number = errno;
    if (error_number == EEXIST) {
      Error error = Error::already_exists(text("output ", quoted(path), " already exists"));
      if (exists(path + "/_temporary") && !exists(path + "/_SUCCESS")) {
        return std::move(error).with_hint(
            "a job writes it, or has not finished; choose another, or remove it if you need none "
            "of it");
      }
      return std::move(error).with_hint("remove it, or choose another with --output");
    }
    if (error_number == ENOENT) {
      const std::string parent = path.substr(0, path.rfind('/'));
      // Some file systems, such as /proc, have directories that take no entries.
      if (exists(parent.empty() ? "/" : parent)) return cannot_make(path, error_number);
      return Error::not_found(
                 text("the parent directory of output ", quoted(path), " does not exist"))
          .with_hint(text("mkdir -p ", parent));
    }
    return cannot_make(path, error_number);
  }
  OutputDirectory output(std::move(path));
  if (::mkdir((output.path_ + "/_temporary").c_str(), 0777) != 0) {
    const int error_number = errno;
    output.abandon();
    return cannot_make(output.path_, error_number);
  }
  return output;
}

Result<std::string> OutputDirectory::make_plan_directory(const std::string& name) const {
  std::string directory = plan_directory(path_, name);
  if (::mkdir(directory.c_str(), 0777) == 0 || errno == EEXIST) return directory;
  return Error::unavailable(text("making ", quoted(directory), ": ", words(errno)));
}

Result<void> OutputDirectory::write_plan(const std::string& name, const std::vector<Split>& splits,
                                         const std::vector<std::string>& arguments,
                                         const ShippedFiles& files) {
  const Result<std::string> directory = make_plan_directory(name);
  if (!directory) return directory.error();
  return write_plan_files(*directory, splits, arguments, files);
}

Result<std::map<std::string, LargeFile>> OutputDirectory::copy_files(
    const std::string& name, const std::map<std::string, std::string>& paths) {
  const Result<std::string> directory = make_plan_directory(name);
  if (!directory) return directory.error();
  return copy_large_files(paths, *directory);
}

Result<void> OutputDirectory::write_request(const std::string& name, const PlanRequest& request,
                                            const HostsOfPaths& hosts) {
  const Result<std::string> directory = make_plan_directory(name);
  if (!directory) return directory.error();
  if (request.locality_wait) {
    if (Result<void> ok = write_whole(*directory + "/hosts", to_text(hosts)); !ok) return ok;
  }
  return write_whole(*directory + "/request", encode_plan_request(request));
}

Result<void> OutputDirectory::write_exported(const std::string& name,
                                             const proto::Environment& exported) {
  return write_whole(exported_path(plan_directory(path_, name)), encode_exported(exported), 0600);
}

Result<void> OutputDirectory::write_order(const JobOrder& order) {
  return write_whole(plan_directory(path_, order.plan) + "/order", encode_order(order));
}

void OutputDirectory::abandon() {
  // A task may be writing meanwhile: retry until nothing is left, or give up.
  for (int round = 0; round < 10 && exists(path_); ++round) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace proffer::batch
