#include "proto/messages.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <set>

#include "common/printable.h"
#include "common/text.h"

namespace proffer::proto {
namespace {

constexpr std::array kMessageNames = {
    std::string_view("unknown"),
    std::string_view("subscribe"),
    std::string_view("declare_asks"),
    std::string_view("accept"),
    std::string_view("decline"),
    std::string_view("suppress"),
    std::string_view("revive"),
    std::string_view("kill_task"),
    std::string_view("acknowledge"),
    std::string_view("reconcile"),
    std::string_view("framework_message"),
    std::string_view("teardown"),
    std::string_view("subscribed"),
    std::string_view("offers"),
    std::string_view("rescind"),
    std::string_view("update"),
    std::string_view("ask_report"),
    std::string_view("failure"),
    std::string_view("error"),
    std::string_view("register_agent"),
    std::string_view("register_tasks"),
    std::string_view("unregister_agent"),
    std::string_view("agent_registered"),
    std::string_view("run_task"),
    std::string_view("shutdown_framework"),
    std::string_view("executor_hello"),
    std::string_view("executor_welcome"),
    std::string_view("executor_update"),
    std::string_view("executor_shutdown"),
    std::string_view("heartbeat"),
    std::string_view("call"),
    std::string_view("reply"),
    std::string_view("store_request"),
    std::string_view("store_result"),
    std::string_view("framework_request"),
    std::string_view("framework_response"),
    std::string_view("revoke_notice"),
    std::string_view("agent_trouble"),
    std::string_view("reconciled"),
    std::string_view("not_leader"),
    std::string_view("release_files"),
    std::string_view("revoke_withdrawn"),
};
static_assert(kMessageNames.size() == std::variant_size_v<Message>);

constexpr int32_t kSignalMax = 31;  // higher numbers are real-time signals

}  // namespace

Result<void> check_health_check(const HealthCheck& check,
                                const std::vector<std::string>& port_names) {
  const auto wrong = [](const auto&... parts) {
    return Error::invalid_argument(text("a health check: ", parts...));
  };
  if (check.kind == HealthCheck::Kind::kCommand) {
    if (check.command.empty() || check.command.size() > kCommandBytesMax ||
        check.command.find('\0') != std::string::npos) {
      return wrong("its command must have 1 to ", kCommandBytesMax, " bytes and no NUL");
    }
  } else if (std::find(port_names.begin(), port_names.end(), check.port) == port_names.end()) {
    return wrong("its port must be one of the task's port names, not ", quoted(check.port));
  }
  if (check.kind == HealthCheck::Kind::kHttp) {
    const bool plain = std::all_of(check.path.begin(), check.path.end(),
                                   [](char c) { return c > ' ' && c <= '~'; });
    if (!check.path.starts_with('/') || check.path.size() > kHealthPathBytesMax || !plain) {
      return wrong("its path must begin with '/' and have at most ", kHealthPathBytesMax,
                   " visible ASCII characters, not ", quoted(check.path));
    }
  }
  for (const auto& [name, span, least] : {std::tuple("interval", check.interval, milliseconds(1)),
                                          std::tuple("timeout", check.timeout, milliseconds(1)),
                                          std::tuple("grace", check.grace, Duration())}) {
    if (span < least || span > kDurationMax) {
      return wrong("its ", name, " must be from ", to_text(least), " to ten years, not ",
                   span.nanos(), " ns");
    }
  }
  if (check.failures < 1 || check.failures > kHealthFailuresMax) {
    return wrong("its failures must be from 1 to ", kHealthFailuresMax, ", not ", check.failures);
  }
  return {};
}

Result<void> check_labels(const Labels& labels) {
  if (labels.size() > kLabelsMax) {
    return Error::invalid_argument(
        text("a task has at most ", kLabelsMax, " labels, not ", labels.size()));
  }
  size_t bytes = 0;
  for (const auto& [name, value] : labels) {
    bytes += name.size() + value.size();
    if (!is_valid_name(name) || name.size() > kLabelNameBytesMax) {
      return Error::invalid_argument(
          text("the name of a label is 1 to ", kLabelNameBytesMax,
               " letters, digits, '.', '_' or '-', and not '.' or '..', not ", quoted(name)));
    }
    if (value.size() > kLabelValueBytesMax) {
      return Error::invalid_argument(text("the value of label ", quoted(name), " has at most ",
                                          kLabelValueBytesMax, " bytes, not ", value.size()));
    }
    if (!is_plain_text(value)) {
      return Error::invalid_argument(text("the value of label ", quoted(name),
                                          " must be UTF-8 without control characters, not ",
                                          quoted(value)));
    }
  }
  if (bytes > kLabelsBytesMax) {
    return Error::invalid_argument(text("the labels of a task have at most ", kLabelsBytesMax,
                                        " bytes together, not ", bytes));
  }
  return {};
}

Result<void> check_readiness(const Readiness& readiness,
                             const std::vector<std::string>& port_names) {
  if (readiness.after < Duration() || readiness.after > kDurationMax) {
    return Error::invalid_argument("readiness: `after` must be from 0 to ten years");
  }
  std::set<std::string_view> seen;
  for (const std::string& port : readiness.ports) {
    if (std::find(port_names.begin(), port_names.end(), port) == port_names.end()) {
      return Error::invalid_argument(
          text("readiness: each port must be one of the task's port names, not ", quoted(port)));
    }
    if (!seen.insert(port).second) {
      return Error::invalid_argument(text("readiness: port ", quoted(port), " is named twice"));
    }
  }
  return {};
}

Result<void> check_static_ports(const std::map<std::string, uint16_t>& static_ports,
                                const std::vector<std::string>& port_names) {
  std::map<uint16_t, std::string_view> seen;
  for (const auto& [name, port] : static_ports) {
    if (port == 0) {
      return Error::invalid_argument(
          text("the number of port ", quoted(name), " must be from 1 to 65535, not 0"));
    }
    if (std::find(port_names.begin(), port_names.end(), name) == port_names.end()) {
      return Error::invalid_argument(text(
          "the number ", port, " must be of one of the task's port names, not of ", quoted(name)));
    }
    const auto [at, is_new] = seen.emplace(port, name);
    if (!is_new) {
      return Error::invalid_argument(text("ports ", quoted(at->second), " and ", quoted(name),
                                          " must have different numbers, not both ", port));
    }
  }
  return {};
}

Result<void> check_secret_name(std::string_view name) {
  if (is_valid_name(name) && name.size() <= kLabelNameBytesMax) return {};
  return Error::invalid_argument(
      text("the name of a secret must be 1 to ", kLabelNameBytesMax,
           " letters, digits, '.', '_' or '-', and not '.' or '..', not ", quoted(name)));
}

Result<void> check_secret_uses(const std::vector<SecretUse>& secrets) {
  if (secrets.size() > kTaskSecretsMax) {
    return Error::invalid_argument(
        text("a task has at most ", kTaskSecretsMax, " secrets, not ", secrets.size()));
  }
  const auto is_variable = [](std::string_view name) {
    return !name.empty() && name.size() <= kLabelNameBytesMax &&
           !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_';
           });
  };
  std::set<std::string_view> names;
  std::set<std::string_view> variables;
  std::set<std::string_view> files;
  for (const SecretUse& use : secrets) {
    if (Result<void> checked = check_secret_name(use.name); !checked) return checked;
    const auto wrong = [&](const auto&... parts) {
      return Error::invalid_argument(text("secret ", quoted(use.name), ": ", parts...));
    };
    if (!names.insert(use.name).second) return wrong("it is named twice");
    if (use.variable.empty() && use.file.empty()) {
      return wrong("it must be given as a variable (env), as a file (file), or as both");
    }
    if (!use.variable.empty() && !is_variable(use.variable)) {
      return wrong("its variable must be letters, digits and '_', at most ", kLabelNameBytesMax,
                   ", and not begin with a digit, not ", quoted(use.variable));
    }
    if (!use.file.empty() && (!is_valid_name(use.file) || use.file.size() > kFileNameBytesMax)) {
      return wrong("its file must be a name of letters, digits, '.', '_' or '-', not ",
                   quoted(use.file));
    }
    if (!use.variable.empty() && !variables.insert(use.variable).second) {
      return wrong("another secret is the variable ", quoted(use.variable), " already");
    }
    if (!use.file.empty() && !files.insert(use.file).second) {
      return wrong("another secret is the file ", quoted(use.file), " already");
    }
  }
  return {};
}

Result<void> check_fetched_file(const FetchedFile& file) {
  const auto wrong = [](const auto&... parts) {
    return Error::invalid_argument(text("a file to fetch: ", parts...));
  };
  const auto is_visible = [](unsigned char c) { return c > ' ' && c != 0x7f; };
  if (file.uri.empty() || file.uri.size() > kUriBytesMax ||
      !std::all_of(file.uri.begin(), file.uri.end(), is_visible)) {
    return wrong("its URI must have 1 to ", kUriBytesMax,
                 " bytes without spaces and control characters, not ", quoted(file.uri));
  }
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (!file.sha256.empty() && (file.sha256.size() != kSha256TextBytes ||
                               !std::all_of(file.sha256.begin(), file.sha256.end(), is_digit))) {
    return wrong("its SHA-256 must be ", kSha256TextBytes, " of 0-9 a-f, not ",
                 quoted(file.sha256));
  }
  if (file.name.size() > kFileNameBytesMax || file.name == "." || file.name == ".." ||
      file.name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    return wrong("its name must be a file name of at most ", kFileNameBytesMax,
                 " bytes without '/' and NUL, not ", quoted(file.name));
  }
  return {};
}

Result<void> check_kill_signal(int32_t number) {
  if (number >= 1 && number <= kSignalMax && number != SIGKILL && number != SIGSTOP) return {};
  return Error::invalid_argument(text("the kill signal of a task must be from 1 to ", kSignalMax,
                                      " and neither ", SIGKILL, " (SIGKILL) nor ", SIGSTOP,
                                      " (SIGSTOP), not ", number));
}

namespace {

constexpr size_t kMistypedLettersMin = 4;

// "SIGTERM" for "TERMINATE", "term" or "SIGTREM"; SIGTERM if none is near.
std::string nearest_signal(std::string_view given) {
  std::string wanted;
  for (const char c : given.starts_with("SIG") ? given.substr(3) : given) {
    wanted += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  std::vector<std::string_view> names;
  for (int32_t number = 1; number <= kSignalMax; ++number) {
    const char* name = sigabbrev_np(number);
    if (name == nullptr || !check_kill_signal(number)) continue;
    if (wanted.starts_with(name)) return text("SIG", name);
    names.emplace_back(name);
  }
  // Two of three letters are too few to be meant.
  const std::string_view near =
      wanted.size() < kMistypedLettersMin ? std::string_view() : nearest(wanted, names);
  return text("SIG", near.empty() ? std::string_view("TERM") : near);
}

}  // namespace

Result<int32_t> parse_kill_signal(std::string_view text) {
  const std::string_view name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int32_t number = 1; number <= kSignalMax; ++number) {
    const char* known = sigabbrev_np(number);
    if (text != std::to_string(number) && (known == nullptr || name != known)) continue;
    if (Result<void> checked = check_kill_signal(number); !checked) {
      return std::move(checked).error();
    }
    return number;
  }
  return Error::invalid_argument(
             proffer::text("a kill signal must be a name as SIGINT or a number, not ",
                           quoted(text)))
      .with_hint(proffer::text("write ", nearest_signal(text),
                               "; kill -l lists the signals of this machine"));
}

Result<void> check_store_operation(const StoreOperation& operation) {
  if (operation.kind == StoreOperation::Kind::kList) {
    if (operation.key.size() > kStoreKeyBytesMax || operation.after.size() > kStoreKeyBytesMax) {
      return Error::invalid_argument(text("a store key has at most ", kStoreKeyBytesMax, " bytes"));
    }
    return {};
  }
  if (!is_valid_path(operation.key, kStoreKeyBytesMax)) {
    return Error::invalid_argument(
        text("a store key must be names of A-Z a-z 0-9 . _ - joined by '/', at most ",
             kStoreKeyBytesMax, " bytes, not ", quoted(operation.key)));
  }
  if (operation.value.size() > kStoreEntryBytesMax) {
    return Error::resource_exhausted(text("the value of ", quoted(operation.key), " has ",
                                          operation.value.size(), " bytes; at most ",
                                          kStoreEntryBytesMax, " are allowed"));
  }
  return {};
}

const std::vector<TaskSpec>& launched_by(const Operation& operation) {
  static const std::vector<TaskSpec> kNone;
  const auto* launch = std::get_if<Launch>(&operation);
  return launch != nullptr ? launch->tasks : kNone;
}

std::string_view message_name(const Message& message) { return kMessageNames[message.index()]; }

}  // namespace proffer::proto
