// proffer exec: runs one more command in a running task. The command gets pipes or a new terminal,
// never the user's own streams, which another process of the task's user could keep open.
// `Exec::pump` copies bytes between the two.

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/daemon_place.h"
#include "cli/local_terminal.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "net/fd.h"
#include "net/local_address.h"
#include "net/membership.h"
#include "net/passed_fds.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr size_t kChunk = 64 * 1024;
constexpr size_t kAnswerBytes = 64 * 1024;
// After the end of the command, output of its other processes is read for this long at most.
constexpr int kDrainMillis = 200;
constexpr char kEndOfInput = 4;  // Ctrl-D on a terminal

Error failed(std::string_view what) {
  return Error::unavailable(text("cannot ", what, ": ", std::strerror(errno)));
}

// Accepts only a socket on this machine that belongs to root, to this user, or to the owner of its
// folder. No other process may learn the command.
Result<Fd> connect_to(const std::string& path) {
  const Result<sockaddr_un> address = local_address(path);
  if (!address) return address.error();
  Fd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (connection.get() < 0) return failed("make a socket");
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
      0) {
    return failed(text("reach the agent at ", path));
  }
  ucred other{};
  socklen_t size = sizeof other;
  struct stat folder {};
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) != 0 ||
      stat(path.substr(0, path.rfind('/') + 1).c_str(), &folder) != 0) {
    return failed(text("check which process listens at ", path));
  }
  if (other.uid != 0 && other.uid != geteuid() && other.uid != folder.st_uid) {
    return Error::permission_denied(
        text("the agent at ", path, " runs as uid ", other.uid, ", which is not trusted"));
  }
  return connection;
}

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(to, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // The reader is gone.
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
}

class Exec {
 public:
  // Errors: the agent's own, and kUnavailable.
  Result<void> begin(const proto::TaskRow& task, const std::string& agent_socket,
                     const std::string& command, bool is_terminal);
  // The exit code, after the end of the command.
  Result<int> pump();

 private:
  struct Ends {
    Fd ours;
    Fd theirs;
  };
  static Result<Ends> make_pipe(bool we_write);
  static Result<Ends> make_terminal();
  void take_size() const;
  void read_input();
  void write_input();
  bool copy(Fd& from, int to);
  Result<int> hear_answer();
  void on_signal();

  bool is_terminal_ = false;
  Fd agent_;
  Fd signals_;
  Fd in_;   // the command's input; the same as `out_` for a terminal
  Fd out_;  // the command's output
  Fd err_;
  bool input_ended_ = false;
  std::string waiting_;  // input that the command has not yet read
};

Result<Exec::Ends> Exec::make_pipe(bool we_write) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return failed("make a pipe");
  Ends made{.ours = Fd(ends[we_write ? 1 : 0]), .theirs = Fd(ends[we_write ? 0 : 1])};
  fcntl(made.ours.get(), F_SETFL, O_NONBLOCK);
  return made;
}

Result<Exec::Ends> Exec::make_terminal() {
  Ends made{.ours = Fd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), .theirs = Fd()};
  if (made.ours.get() < 0 || grantpt(made.ours.get()) != 0 || unlockpt(made.ours.get()) != 0) {
    return failed("make a terminal");
  }
  made.theirs = Fd(ioctl(made.ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (made.theirs.get() < 0) return failed("open a terminal");
  fcntl(made.ours.get(), F_SETFL, O_NONBLOCK);
  return made;
}

Result<void> Exec::begin(const proto::TaskRow& task, const std::string& agent_socket,
                         const std::string& command, bool is_terminal) {
  is_terminal_ = is_terminal;
  const std::string path = exec_socket_beside(agent_socket);
  if (path.empty()) {
    return Error::failed_precondition(text("task ", quoted(task.task.str()), " is on agent ",
                                           quoted(task.agent.str()),
                                           ", whose socket is not on this machine"))
        .with_hint(
            "run proffer exec on the agent's machine; if the agent's --work_dir is not the "
            "default, add --agent-dir");
  }
  Result<Fd> connection = connect_to(path);
  if (!connection) return std::move(connection).error();
  agent_ = *std::move(connection);

  sigset_t heard;
  sigemptyset(&heard);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) sigaddset(&heard, signal);
  sigprocmask(SIG_BLOCK, &heard, nullptr);
  signals_ = Fd(signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
  std::signal(SIGPIPE, SIG_IGN);

  std::vector<Fd> theirs;
  if (is_terminal) {
    Result<Ends> terminal = make_terminal();
    if (!terminal) return std::move(terminal).error();
    out_ = std::move(terminal->ours);
    theirs.push_back(std::move(terminal->theirs));
    take_size();
  } else {
    for (Fd* ours : {&in_, &out_, &err_}) {
      Result<Ends> ends = make_pipe(ours == &in_);
      if (!ends) return std::move(ends).error();
      *ours = std::move(ends->ours);
      theirs.push_back(std::move(ends->theirs));
    }
  }
  std::vector<int> passed;
  for (const Fd& one : theirs) passed.push_back(one.get());
  const std::string request = proto::json_line({{"framework", task.framework.str()},
                                                {"task", task.task.str()},
                                                {"command", command},
                                                {"terminal", is_terminal}});
  if (send_with_fds(agent_.get(), request, passed, 0) < 0) {
    return errno == EMSGSIZE ? Error::resource_exhausted("the command is too long")
                             : failed("ask the agent");
  }
  return {};
}

Result<int> Exec::pump() {
  TerminalMode terminal;
  if (is_terminal_) terminal.set(TerminalMode::Mode::kRaw);
  std::optional<Result<int>> answer;
  while (true) {
    const int input = waiting_.empty() && !input_ended_ ? STDIN_FILENO : -1;
    const int to_command = is_terminal_ ? out_.get() : in_.get();
    std::array<pollfd, 6> ready = {{{input, POLLIN, 0},
                                    {waiting_.empty() ? -1 : to_command, POLLOUT, 0},
                                    {out_.get(), POLLIN, 0},
                                    {err_.get(), POLLIN, 0},
                                    {signals_.get(), POLLIN, 0},
                                    {answer ? -1 : agent_.get(), POLLIN, 0}}};
    const int found = poll(ready.data(), ready.size(), answer ? kDrainMillis : -1);
    if (found < 0 && errno != EINTR) return failed("wait");
    if (answer && (found == 0 || (out_.get() < 0 && err_.get() < 0))) return *std::move(answer);
    if (found <= 0) continue;
    if (ready[4].revents != 0) on_signal();
    if (ready[2].revents != 0 && !copy(out_, STDOUT_FILENO) && is_terminal_) waiting_.clear();
    if (ready[3].revents != 0) copy(err_, STDERR_FILENO);
    if (ready[1].revents != 0) write_input();
    if (ready[0].revents != 0) read_input();
    if (ready[5].revents != 0) answer = hear_answer();
    if (answer) input_ended_ = true;
  }
}

void Exec::read_input() {
  waiting_.resize(kChunk);
  const ssize_t got = read(STDIN_FILENO, waiting_.data(), waiting_.size());
  waiting_.resize(got > 0 ? static_cast<size_t>(got) : 0);
  if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) return;
  input_ended_ = true;
  in_ = Fd();
  if (is_terminal_) waiting_.assign(1, kEndOfInput);
}

void Exec::write_input() {
  const int to = is_terminal_ ? out_.get() : in_.get();
  const ssize_t wrote = write(to, waiting_.data(), waiting_.size());
  if (wrote > 0) waiting_.erase(0, static_cast<size_t>(wrote));
  if (wrote >= 0 || errno == EAGAIN || errno == EINTR) return;
  waiting_.clear();
  input_ended_ = true;
  in_ = Fd();
}

// False if the stream has ended; it is closed then.
bool Exec::copy(Fd& from, int to) {
  std::array<char, kChunk> bytes;
  const ssize_t got = read(from.get(), bytes.data(), bytes.size());
  if (got > 0) write_all(to, {bytes.data(), static_cast<size_t>(got)});
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return true;
  from = Fd();
  return false;
}

Result<int> Exec::hear_answer() {
  std::string bytes(kAnswerBytes, '\0');
  const ssize_t got = recv(agent_.get(), bytes.data(), bytes.size(), 0);
  if (got <= 0) {
    return Error::unavailable(
        "the agent closed the connection, so the exit code of the command is unknown");
  }
  bytes.resize(static_cast<size_t>(got));
  const auto members = proto::parse_json_line(bytes);
  if (!members) return Error(members.error()).in("the agent's answer");
  const auto number = [&](const std::string& name) -> std::optional<int64_t> {
    const auto at = members->find(name);
    if (at == members->end() || !std::holds_alternative<int64_t>(at->second)) return std::nullopt;
    return std::get<int64_t>(at->second);
  };
  const auto words = [&](const std::string& name) {
    const auto at = members->find(name);
    const auto* value = at == members->end() ? nullptr : std::get_if<std::string>(&at->second);
    return value == nullptr ? std::string() : *value;
  };
  if (const auto code = number("exit_code")) return static_cast<int>(*code & 0xFF);
  if (const auto signal = number("signal")) return 128 + static_cast<int>(*signal & 0x7F);
  return Error(parse_error_code(words("code")).value_or(ErrorCode::kInternal), words("message"))
      .with_hint(words("hint"));
}

void Exec::on_signal() {
  signalfd_siginfo heard = {};
  if (read(signals_.get(), &heard, sizeof heard) != sizeof heard) return;
  if (heard.ssi_signo == SIGWINCH) return take_size();
  const char signal = static_cast<char>(heard.ssi_signo);
  send_with_fds(agent_.get(), {&signal, 1}, {}, MSG_DONTWAIT);
}

void Exec::take_size() const {
  winsize size = {};
  if (is_terminal_ && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
    ioctl(out_.get(), TIOCSWINSZ, &size);
  }
}

// The address at which the task's agent takes commands, next to its socket for files. A master on
// another machine does not know this agent's path here, so the agent's own file gives it.
Result<std::string> agent_socket_of(const proto::TaskRow& task, const Masters& masters,
                                    const std::string& agent_dir) {
  const Result<std::optional<ClientKeys>> keys = keys_for(KeyKind::kUser, masters);
  if (!keys) return keys.error();
  if (!keys->has_value() && !task.http_address.empty()) return task.http_address;
  const std::optional<DaemonPlace> own = read_daemon_place(agent_dir);
  return own && own->agent == task.agent.str() ? own->http : std::string();
}

}  // namespace

int run_exec(const Words& words) {
  std::string master_flag;
  bool json = false;
  bool is_terminal = false;
  std::string agent_dir = "/var/lib/proffer/agent";
  Words command;
  Arguments arguments(
      "proffer exec [-t] TASK -- CMD…",
      "run one more command in a running task: as its user, in its sandbox, within its limits");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.flag("-t,--terminal", &is_terminal,
                 "allocate a terminal, as for a shell: proffer exec -t TASK sh");
  arguments.option(
      "--agent-dir", &agent_dir,
      "--work_dir of this machine's agent, for a remote master (default /var/lib/proffer/agent)");
  arguments.command_line(&command,
                         "TASK is FRAMEWORK/TASK or a unique prefix; one word after it is a shell "
                         "command line, several are a program and its arguments");
  arguments.note(
      "Ctrl-C, SIGTERM and SIGHUP go to the command; the task keeps running. Only the "
      "task's user and operators may use exec, and only on the machine of the task's agent.");
  arguments.exit_codes(
      "that of the command; 128 + N if signal N ended it; 1 refused, 2 wrong usage, 3 the master "
      "or the agent cannot be reached");
  arguments.examples(
      {"proffer exec web-17-3/web.1 -- ps x", "proffer exec -t web-17-3/web.1 -- sh"});
  if (const auto status = arguments.parse(words)) return *status;
  // The command of the usage line begins with TASK; "--" may stand behind it.
  if (command.size() > 1 && command[1] == "--") command.erase(command.begin() + 1);
  if (command.size() < 2) {
    return usage_error(Error::invalid_argument("TASK and CMD are required")
                           .with_hint("proffer exec TASK -- ls -l"),
                       json);
  }
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<proto::TaskRow> task = find_task(*master, command.front());
  if (!task) return print_error(task.error(), json);
  if (proto::is_terminal(task->state)) {
    return print_error(
        Error::failed_precondition(text("task ", task->framework.str(), "/", task->task.str(),
                                        " has ended: ", proto::to_text(task->state)))
            .with_hint("list running tasks with: proffer tasks"),
        json);
  }
  command.erase(command.begin());
  if (command.size() > 1 && command.front() == "--") command.erase(command.begin());
  const Result<std::string> agent_socket = agent_socket_of(*task, *master, agent_dir);
  if (!agent_socket) return print_error(agent_socket.error(), json);
  Exec exec;
  if (Result<void> begun = exec.begin(*task, *agent_socket, shell_command(command), is_terminal);
      !begun) {
    return print_error(begun.error(), json);
  }
  const Result<int> code = exec.pump();
  return code ? *code : print_error(code.error(), json);
}

}  // namespace proffer::cli
