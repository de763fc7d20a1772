// proffer service logs: the output of the instance that failed last, or of all running instances.

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/output_streams.h"
#include "cli/service_client.h"
#include "cli/task_output.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(500);

// Removes instances of a former app with this name that belonged to another user.
void forget_former_owners(const Result<proto::ServiceStatusPage>& page,
                          std::vector<proto::TaskRow>& rows) {
  if (!page || page->app.owner.empty()) return;
  std::erase_if(rows, [&](const proto::TaskRow& row) { return row.user != page->app.owner; });
}

bool is_app_gone(const Result<proto::ServiceStatusPage>& page) {
  return !page && page.error().code() == ErrorCode::kNotFound;
}

bool has_failed(const proto::TaskRow& row) {
  return row.state == proto::TaskState::kFailed || row.state == proto::TaskState::kFinished;
}

// The instance that failed last; if none failed, the one that was launched last.
const proto::TaskRow* choose(const std::vector<proto::TaskRow>& rows) {
  const proto::TaskRow* chosen = nullptr;
  for (const proto::TaskRow& row : rows) {
    const auto rank = [](const proto::TaskRow& one) {
      if (has_failed(one)) return std::pair(2, one.changed_at);
      return std::pair(proto::is_terminal(one.state) ? 0 : 1, one.launched_at);
    };
    if (chosen == nullptr || rank(row) > rank(*chosen)) chosen = &row;
  }
  return chosen;
}

std::string how_it_stands(const proto::TaskRow& row) {
  std::string words =
      text(row.task.str(), " on ", row.agent.str(), ": ", proto::to_text(row.state));
  if (!row.message.empty()) {
    words += text(", ", printable(row.message));
  } else if (row.exit_code) {
    words += text(", exit code ", *row.exit_code);
  } else if (row.signal) {
    words += text(", signal ", *row.signal);
  }
  return words;
}

int show_last(const Masters& master, const std::vector<proto::TaskRow>& rows) {
  const proto::TaskRow& task = *choose(rows);
  print_line(text("== ", how_it_stands(task)), stderr);
  FilePlaces places(master);
  for (const auto& [file, stream] : {std::pair("stdout", stdout), {"stderr", stderr}}) {
    const Result<void> done = stream_file(
        places, task, file, false,
        [stream = stream](std::string_view bytes) { print_output_of_task(bytes, stream); });
    if (!done) return print_error(done.error(), false);
  }
  return 0;
}

// Writes whole lines, each with the name of its instance.
class Lines {
 public:
  void write(const TaskId& task, OutputStreams::Stream stream, std::string_view bytes) {
    std::string& line = partial_[{task, stream}];
    line += bytes;
    std::FILE* to = stream == OutputStreams::Stream::kStdout ? stdout : stderr;
    const std::string name = task.str().substr(0, task.str().rfind('-'));
    size_t begin = 0;
    for (size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n', begin)) {
      print_line_of_task(name, std::string_view(line).substr(begin, end - begin), to);
      begin = end + 1;
    }
    line.erase(0, begin);
    if (line.size() > kLineMax) {
      print_line_of_task(name, line, to);
      line.clear();
    }
    std::fflush(to);
  }

 private:
  static constexpr size_t kLineMax = 64 * 1024;
  std::map<std::pair<TaskId, OutputStreams::Stream>, std::string> partial_;
};

// Follows until it is interrupted or the app is gone.
int follow_all(const Masters& master, const FrameworkId& framework, const std::string& app) {
  Lines lines;
  OutputStreams streams(
      master,
      [&](const TaskId& task, OutputStreams::Stream stream, std::string_view bytes) {
        lines.write(task, stream, bytes);
      },
      [](const FrameworkId&, const TaskId& task, const std::string& why) {
        print_note_text(text("cannot read the output of ", task.str(), ": ", printable(why)));
      },
      [](const TaskId& task, OutputStreams::Stream, uint64_t bytes) {
        print_note_text(text(bytes, " bytes of the output of ", task.str(),
                             " are missing here: its agent keeps a limited part"));
      },
      [](const TaskId&) {});
  std::set<TaskId> followed;
  while (true) {
    const Result<std::vector<proto::TaskRow>> rows = instances_of(master, framework, app, false);
    if (rows) {
      std::set<TaskId> here;
      for (const proto::TaskRow& row : *rows) {
        here.insert(row.task);
        if (row.state == proto::TaskState::kStaging || !followed.insert(row.task).second) continue;
        streams.follow(row.framework, row.task, row.agent, row.http_address);
      }
      std::erase_if(followed, [&](const TaskId& task) {
        if (here.count(task) > 0) return false;
        streams.ended(task);
        return true;
      });
      // Between two instances, an app has no task.
      const ServiceClient client(master, framework.str());
      if (here.empty() && is_app_gone(client.status(app))) break;
    }
    std::this_thread::sleep_for(kLookEvery);
  }
  streams.wait();
  return 0;
}

}  // namespace

int run_service_logs(const Words& words) {
  std::string master_flag;
  std::string framework = "service";
  std::string app;
  bool follow = false;
  Arguments arguments("proffer service logs NAME [-f]",
                      "print the output of the instance that failed last, and how it ended; with "
                      "-f the output of all running instances");
  arguments.master(&master_flag);
  arguments.option("--framework", &framework, "framework name or id (default service)");
  arguments.flag("-f,--follow", &follow, "follow the output of all running instances");
  arguments.required("NAME", &app, "app name");
  arguments.note("With -f, Ctrl-C ends only the following.");
  arguments.examples({"proffer service logs web", "proffer service logs web -f"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), false);
  const Result<FrameworkId> id = ServiceClient(*master, framework).framework();
  if (!id) return print_error(id.error(), false);
  Result<std::vector<proto::TaskRow>> rows = instances_of(*master, *id, app, true);
  if (!rows) return print_error(rows.error(), false);
  const Result<proto::ServiceStatusPage> page = ServiceClient(*master, id->str()).status(app);
  forget_former_owners(page, *rows);
  if (rows->empty()) {
    if (is_app_gone(page)) return print_error(page.error(), false);
    return print_error(
        Error::not_found(text("app ", quoted(app), " has no instance that the master knows"))
            .with_hint("list apps with: proffer service list; an app that waits has no output yet"),
        false);
  }
  return follow ? follow_all(*master, *id, app) : show_last(*master, *rows);
}

}  // namespace proffer::cli
