// proffer service proxy: follows apps, and writes a proxy's configuration when their servers
// change. If a scheduler or a master does not answer, no server is removed.

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <stdlib.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/proxy_template.h"
#include "cli/service_client.h"
#include "common/printable.h"
#include "common/text.h"

namespace proffer::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Retry interval after a failed command or a text that the check refused.
constexpr Duration kTryAgain = seconds(1);
constexpr auto kCheckAgain = std::chrono::seconds(30);
// Minimum time between reloads; changes within it are combined. haproxy may lose a reload that
// arrives while the last one is in progress, and keep old servers in use.
constexpr auto kBetweenReloads = std::chrono::milliseconds(500);

// Runs a shell command line with $PROFFER_PROXY_FILE set to the file.
bool run_command(const std::string& command, const std::string& file) {
  ::setenv("PROFFER_PROXY_FILE", file.c_str(), 1);
  return std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c): the user gave this command
}

// The proxy's file. A text replaces it as a whole after the check accepts it; then the command runs
// until it has succeeded once.
class ProxyFile {
 public:
  ProxyFile(std::string path, std::string check, std::string command)
      : path_(std::move(path)), check_(std::move(check)), command_(std::move(command)) {}

  // The last text was not written, or the command failed: call put() again soon.
  bool is_behind() const { return is_behind_; }
  bool has(const std::string& text) const { return text_ == text && !is_behind_; }

  // Errors: kUnavailable for the disk; kFailedPrecondition for the check or the command. After an
  // error the file is unchanged, unless the command failed.
  Result<void> put(const std::string& text) {
    is_behind_ = true;
    if (text_ != text) {
      if (Result<void> replaced = replace(text); !replaced) return replaced;
      text_ = text;
      must_tell_ = !command_.empty();
    }
    if (must_tell_ && !run_command(command_, path_)) {
      return Error::failed_precondition(proffer::text(quoted(command_), " failed; it is retried"));
    }
    must_tell_ = false;
    is_behind_ = false;
    return {};
  }

 private:
  Result<void> replace(const std::string& text) {
    const std::string next = path_ + ".next";
    const bool was_refused = refused_ == text && Clock::now() < refused_until_;
    if (was_refused) return refusal(next);
    std::ofstream file(next, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      return Error::unavailable(
          proffer::text("cannot write ", quoted(next), ": ", std::strerror(errno)));
    }
    if (!check_.empty() && !run_command(check_, next)) {
      refused_ = text;
      refused_until_ = Clock::now() + kCheckAgain;
      return refusal(next);
    }
    refused_.reset();
    std::error_code error;
    // Keep the owner and mode that someone has set on the file.
    const std::filesystem::file_status before = std::filesystem::status(path_, error);
    if (!error && std::filesystem::exists(before)) {
      std::filesystem::permissions(next, before.permissions(), error);
    }
    std::filesystem::rename(next, path_, error);
    if (!error) return {};
    return Error::unavailable(
        proffer::text("cannot replace ", quoted(path_), ": ", error.message()));
  }

  Error refusal(const std::string& next) const {
    return Error::failed_precondition(proffer::text(quoted(check_), " refused ", quoted(next)))
        .with_hint("check the template, or the command of --check");
  }

  const std::string path_;
  const std::string check_;
  const std::string command_;
  std::optional<std::string> text_;  // the last text that this process wrote
  bool must_tell_ = false;           // the command has not succeeded since
  bool is_behind_ = false;
  std::optional<std::string> refused_;
  Clock::time_point refused_until_;
};

Result<ProxyTemplate> read_template(const std::string& path, const std::string& output) {
  if (output.empty())
    return Error::invalid_argument("--output is missing: give the proxy's configuration file");
  std::error_code error;
  if (std::filesystem::equivalent(path, output, error)) {
    return Error::invalid_argument(proffer::text("--output must not be the template itself, ",
                                                 quoted(path),
                                                 "; the template would be overwritten"));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Error::invalid_argument(
        proffer::text("cannot read ", quoted(path), ": ", std::strerror(errno)));
  }
  Result<ProxyTemplate> made = ProxyTemplate::parse(text.str());
  if (!made) return std::move(made).error().in(path);
  return made;
}

// Writes to standard error if `trouble` is not empty and differs from the last message.
void warn(const std::string& trouble, std::string& told) {
  if (!trouble.empty() && trouble != told) {
    print_warning_text(printable(trouble));
  }
  told = trouble;
}

}  // namespace

int run_service_proxy(const Words& words) {
  std::string master_flag;
  std::string framework = "service";
  std::string source_path;
  std::string output;
  std::string check;
  std::string command;
  bool once = false;
  Arguments arguments("proffer service proxy TEMPLATE --output FILE [--check CMD] [--exec CMD]",
                      "keep the configuration of a proxy up to date. A line `#! each APP PORT: "
                      "TEXT` of the template is followed by TEXT for each server of the app, with "
                      "~{host}, ~{port}, ~{instance} and ~{slot} filled in.");
  arguments.master(&master_flag);
  arguments.option("--framework", &framework, "framework name or id (default service)");
  arguments.option("--output", &output, "proxy's configuration file, replaced when servers change");
  arguments.option("--check", &check,
                   "command that must accept the new file, $PROFFER_PROXY_FILE, before it is used");
  arguments.option("--exec", &command, "command to run after a change, to reload the proxy");
  arguments.flag("--once", &once, "write it once and exit");
  arguments.required("TEMPLATE", &source_path, "template file");
  arguments.examples(
      {"proffer service proxy haproxy.tmpl --output haproxy.cfg --exec 'systemctl reload "
       "haproxy'"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), false);
  const Result<ProxyTemplate> source = read_template(source_path, output);
  if (!source) return usage_error(source.error(), false);

  ServersFollower follower(ServiceClient(*master, framework),
                           {source->apps().begin(), source->apps().end()});
  ProxyFile file(output, check, command);
  std::string told;
  while (true) {
    const Result<proto::ServersPage> page = follower.next(file.is_behind() ? kTryAgain : kWatchFor);
    if (!page) {
      if (once) return print_error(page.error(), false);
      warn(proffer::text(page.error().message(), "; ", output, " stays unchanged"), told);
      continue;
    }
    const std::string text = source->fill(page->servers);
    std::string trouble;
    for (const std::string& app : page->unknown) {
      trouble += proffer::text(trouble.empty() ? "" : "; ", "there is no app ", quoted(app));
    }
    if (!file.has(text)) {
      const Result<void> done = file.put(text);
      if (!done && once) return print_error(done.error(), false);
      if (!done) {
        trouble = done.error().message();
      } else {
        const size_t count = page->servers.size();
        print_line(proffer::text(output, ": ", count, count == 1 ? " server" : " servers"));
        if (!command.empty() && !once) std::this_thread::sleep_for(kBetweenReloads);
      }
    }
    warn(trouble, told);
    if (once) return 0;
  }
}

}  // namespace proffer::cli
