// proffer secret: values that tasks get when they start. A value comes from standard input or a
// file, never from an argument, which other users of the machine could read.

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "net/fd.h"
#include "proto/json/secrets_json.h"

namespace proffer::cli {
namespace {

// Turns the terminal's echo off for the lifetime of this object.
class WithoutEcho {
 public:
  WithoutEcho() : changed_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!changed_) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  ~WithoutEcho() {
    if (changed_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  WithoutEcho(const WithoutEcho&) = delete;
  WithoutEcho& operator=(const WithoutEcho&) = delete;

 private:
  termios before_ = {};
  bool changed_;
};

Error too_large() {
  return Error::resource_exhausted(
             text("the value of a secret may have at most ", kSecretBytesMax, " bytes"))
      .with_hint("encrypt large files yourself, and store the encryption key as the secret");
}

// Reads to the end of the file, or one line from a terminal.
Result<std::string> read_value(int file, std::string_view name, bool is_line) {
  std::string value;
  std::array<char, 4096> part = {};
  while (true) {
    const ssize_t got = read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Error::unavailable(text("cannot read ", name, ": ", std::strerror(errno)));
    }
    value.append(part.data(), static_cast<size_t>(got));
    if (value.size() > kSecretBytesMax + 1) return too_large();
    if (got == 0 || (is_line && value.ends_with('\n'))) return value;
  }
}

Result<std::string> value_of_input() {
  const bool is_terminal = isatty(STDIN_FILENO) == 1;
  std::optional<WithoutEcho> silent;
  if (is_terminal) {
    print_question("value: ");
    silent.emplace();
  }
  Result<std::string> value = read_value(STDIN_FILENO, "standard input", is_terminal);
  if (is_terminal) print_line("", stderr);
  // `echo` and people end a value with a newline, which is not part of it.
  if (value && value->ends_with('\n')) value->pop_back();
  return value;
}

Result<std::string> value_of_file(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return Error::not_found(text("cannot open ", quoted(path), ": ", std::strerror(errno)));
  }
  return read_value(file.get(), quoted(path), false);
}

int set_secret(const Words& words) {
  std::string master_flag;
  std::string name;
  std::string path;
  bool json = false;
  Arguments arguments(
      "proffer secret set NAME [--file FILE]",
      "set one of your secrets, or change its value. Tasks launched from now on get the new value. "
      "The value is read from standard input, without the newline at its end.");
  arguments.master(&master_flag);
  arguments.required("NAME", &name, "secret name: letters, digits, '.', '_' or '-'");
  arguments.option("--file", &path, "read the value from this file, all of it");
  arguments.flag("--json", &json, "print one JSON object");
  arguments.note("Apps name the secrets that they need by the key `secrets` of the app file.");
  arguments.examples({"proffer secret set db_password < password.txt",
                      "proffer secret set tls_key --file tls.key"});
  if (const auto status = arguments.parse(words)) return *status;
  if (Result<void> checked = proto::check_secret_name(name); !checked) {
    return usage_error(checked.error(), json);
  }
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  Result<std::string> value = path.empty() ? value_of_input() : value_of_file(path);
  if (!value) return print_error(value.error(), json);
  if (value->empty()) {
    return usage_error(Error::invalid_argument("the value of a secret cannot be empty")
                           .with_hint("give it on standard input, or name a file with --file"),
                       json);
  }
  if (value->size() > kSecretBytesMax) return print_error(too_large(), json);
  const Result<CallResult> answer =
      call(*master, "secret_set",
           proto::secret_set_call_json({.name = name, .value = *std::move(value)}));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

int list_secrets(const Words& words) {
  std::string master_flag;
  bool json = false;
  Arguments arguments("proffer secret list [--json]",
                      "list the names of your secrets; operators see the names of all users' "
                      "secrets. Values are never shown.");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.examples({"proffer secret list"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<std::vector<proto::SecretRow>> rows =
      call_list<proto::SecretRow>(*master, "secrets", {}, proto::parse_secrets);
  if (!rows) return print_error(rows.error(), json);
  if (json) {
    print_json(proto::secrets_json(*rows));
    return 0;
  }
  const auto now = Time::from_nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
  Table table({"NAME", "OWNER", "SET", "STATE"});
  for (const proto::SecretRow& row : *rows) {
    table.row({row.name, row.owner, age(now - row.since) + " ago",
               row.is_readable ? "ready" : "the master has no key file"});
  }
  table.print();
  return 0;
}

int remove_secret(const Words& words) {
  std::string master_flag;
  proto::SecretRemoveCall removed;
  bool json = false;
  Arguments arguments("proffer secret remove NAME",
                      "remove one of your secrets. Running tasks keep it. Apps that use it start "
                      "no more instances.");
  arguments.master(&master_flag);
  arguments.required("NAME", &removed.name, "secret name, as in proffer secret list");
  arguments.option("--user", &removed.owner, "owner of the secret, for operators (default: you)");
  arguments.flag("--json", &json, "print one JSON object");
  arguments.examples({"proffer secret remove db_password"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<CallResult> answer =
      call(*master, "secret_remove", proto::secret_remove_call_json(removed));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

}  // namespace

int run_secret(const Words& words) {
  const std::string_view verb = words.empty() ? std::string_view() : words.front();
  const Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
  if (verb == "set") return set_secret(rest);
  if (verb == "list") return list_secrets(rest);
  if (verb == "remove") return remove_secret(rest);
  if (verb == "--help" || verb == "-h") {
    print_lines("usage: proffer secret VERB …\n\n");
    print_lines(help_row("set", "set a secret, or change its value", 10));
    print_lines(help_row("list", "list the names of secrets", 10));
    print_lines(help_row("remove", "remove a secret", 10));
    print_lines("\nproffer secret VERB --help shows the options of a subcommand.\n");
    return 0;
  }
  return usage_error(unknown_verb(verb, "proffer secret", {"set", "list", "remove"}), false);
}

}  // namespace proffer::cli
