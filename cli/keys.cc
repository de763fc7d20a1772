// proffer keys: the master's own key, and the keys of the agents and users that have joined. The
// steps of `rotate`: the successor is written to the file beside the current key, then registered
// with the master, then it replaces the key in the file; its first use ends the old key. If
// `rotate` is killed between two steps, the next one continues.

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "net/curve_keys.h"
#include "net/fd.h"
#include "net/membership.h"
#include "proto/json/keys_json.h"

namespace proffer::cli {
namespace {

// Prints this many characters of a key: enough to recognise it.
std::string beginning_of(const PublicKey& key) { return key.str().substr(0, 8); }

// The owner of the folder runs the master.
Result<void> give_to_owner_of(const std::string& folder, const std::string& path) {
  struct stat found = {};
  if (geteuid() != 0 || stat(folder.c_str(), &found) != 0 ||
      chown(path.c_str(), found.st_uid, found.st_gid) == 0) {
    return {};
  }
  return Error::unavailable(text("cannot give ", quoted(path), " to the user of ", quoted(folder),
                                 ": ", std::strerror(errno)));
}

int init(const Words& words) {
  std::string data_dir = "/var/lib/proffer/master";
  std::string path;
  bool json = false;
  Arguments arguments("proffer keys init [--data-dir DIR]",
                      "create the key with which a master serves other machines. Run it once, on "
                      "the master's machine, then start the master with --port.");
  arguments.option("--data-dir", &data_dir, "the master's --data_dir (default " + data_dir + ")");
  arguments.option("--key-file", &path, "the master's --key_file, if it has one");
  arguments.flag("--json", &json, "print one JSON object");
  arguments.examples({"sudo proffer keys init"});
  if (const auto status = arguments.parse(words)) return *status;
  if (path.empty()) path = text(data_dir, "/", kMasterKeyFile);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code failed;
  if (!folder.empty() && std::filesystem::create_directories(folder, failed)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failed);
  }
  const KeyPair keys = make_key_pair();
  if (Result<void> written = write_key_file(path, keys); !written) {
    return print_error(written.error(), json);
  }
  if (Result<void> given = give_to_owner_of(folder.empty() ? "." : folder, path); !given) {
    return print_error(given.error(), json);
  }
  if (json) {
    print_json(proto::join_token_reply_json({.master_key = keys.public_key, .addresses = {}}));
  } else {
    print_line(
        text("the master's key is in ", path, "; its public key is ", keys.public_key.str()));
    print_line("next: proffer-master --port=5050, then proffer join-token --agent NAME");
  }
  return 0;
}

std::string state_of(const KnownKey& key, Time now) {
  if (!key.replaces.empty()) return "replacing " + beginning_of(key.replaces);
  if (!key.is_token()) return "joined";
  return *key.token_until < now ? "token, expired"
                                : text("token for ", age(*key.token_until - now));
}

int list(const Words& words) {
  std::string master_flag;
  bool json = false;
  Arguments arguments("proffer keys list [--json]",
                      "list keys and join tokens: those of this user, or for operators those of "
                      "all agents and users");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.examples({"proffer keys list"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<std::vector<KnownKey>> rows =
      call_list<KnownKey>(*master, "keys", {}, proto::parse_keys);
  if (!rows) return print_error(rows.error(), json);
  if (json) {
    print_json(proto::keys_json(*rows));
    return 0;
  }
  const auto now = Time::from_nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
  Table table({"KEY", "KIND", "NAME", "STATE", "AGE", "BY"});
  for (const KnownKey& row : *rows) {
    table.row({row.key.str(), std::string(to_text(row.kind)), row.name, state_of(row, now),
               age(now - row.since), row.by});
  }
  table.print();
  return 0;
}

// Without the lock, two rotations could each register a successor, and keep the wrong one. The lock
// lasts until its descriptor is closed.
Result<Fd> lock_folder(const std::string& folder) {
  Fd held(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (held.get() >= 0 && flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
  if (errno == EWOULDBLOCK) {
    return Error::failed_precondition("another proffer keys rotate is running")
        .with_hint("try again when it has ended");
  }
  return Error::unavailable(text("cannot lock ", quoted(folder), ": ", std::strerror(errno)));
}

Result<Membership> read_member(KeyKind kind) {
  Result<std::optional<Membership>> joined = read_membership(kind);
  if (!joined) return std::move(joined).error();
  if (*joined) return **std::move(joined);
  return Error::failed_precondition(text(kind == KeyKind::kAgent
                                             ? "this machine has not joined as an agent"
                                             : "this user has not joined a cluster",
                                         ": no key to rotate"))
      .with_hint(kind == KeyKind::kAgent
                     ? "run it on the agent's machine, as the user that joined it"
                     : "to rotate the key of this machine's agent, add --agent");
}

// On success the successor is the key of `member`. After an error the old key is still valid.
Result<void> replace_key(Membership& member, const Masters& masters) {
  if (!member.successor) {
    member.successor = make_key_pair();
    if (Result<void> written = write_membership(member); !written) return written;
  }
  const Result<CallResult> registered =
      call(masters, member.keys, "key_rotate",
           proto::key_rotate_call_json({.key = member.successor->public_key}));
  if (!registered) {
    // The answer may have been lost, and a running agent may already have used the successor.
    const ClientKeys next{.own = *member.successor, .server = member.keys.server};
    if (!is_known(masters, next, seconds(2))) return registered.error();
  }
  member.keys.own = *std::exchange(member.successor, std::nullopt);
  return write_membership(member);
}

int rotate(const Words& words) {
  std::string master_flag;
  bool of_agent = false;
  bool of_masters = false;
  bool json = false;
  Arguments arguments(
      "proffer keys rotate [--agent]",
      "replace the key of this user, or of the agent of this machine, with a new one. The old key "
      "ends when the new one is first used. Running programs switch to the new key by themselves.");
  arguments.master(&master_flag);
  arguments.flag("--agent", &of_agent, "rotate the key of this machine's agent (run it as root)");
  arguments.flag("--masters-key", &of_masters, "not supported yet");
  arguments.flag("--json", &json, "print one JSON object");
  arguments.examples({"proffer keys rotate", "sudo proffer keys rotate --agent"});
  if (const auto status = arguments.parse(words)) return *status;
  if (of_masters) {
    return print_error(
        Error::unsupported(
            "the masters' key cannot be rotated yet: agents and users identify the masters by it")
            .with_hint("for a new key, stop the masters, remove master.key, run proffer keys init, "
                       "and let agents and users join again with proffer join --replace"),
        json);
  }
  const KeyKind kind = of_agent ? KeyKind::kAgent : KeyKind::kUser;
  const Result<std::string> path = membership_file(kind);
  if (!path) return print_error(path.error(), json);
  Result<Membership> member = read_member(kind);
  if (!member) return print_error(member.error(), json);
  const Result<Fd> lock = lock_folder(std::filesystem::path(*path).parent_path().string());
  if (!lock) return print_error(lock.error(), json);
  member = read_member(kind);  // The file may have changed before the lock was taken.
  if (!member) return print_error(member.error(), json);
  Result<Masters> masters = member->masters;
  if (!master_flag.empty()) masters = master_address(master_flag);
  if (!masters) return usage_error(masters.error(), json);

  const PublicKey former = member->keys.own.public_key;
  if (Result<void> replaced = replace_key(*member, *masters); !replaced) {
    return print_error(replaced.error(), json);
  }
  const PublicKey& now = member->keys.own.public_key;
  const bool used = is_known(*masters, member->keys);
  if (json) {
    print_json(proto::key_rotate_call_json({.key = now}));
  } else {
    print_line(text("the key of ", to_text(kind), " ", member->name, " is ", now.str(),
                    used ? "; the old key, " : "; it replaces the old key, ", beginning_of(former),
                    used ? ", has ended" : ", when it is first used"));
  }
  return 0;
}

int revoke(const Words& words) {
  std::string master_flag;
  std::optional<std::string> key;
  std::string agent;
  std::string user;
  bool json = false;
  Arguments arguments("proffer keys revoke KEY|--agent NAME|--user NAME",
                      "revoke a key: end its connections and refuse new ones, at once and for "
                      "good. Tasks on a revoked agent run until the agent becomes unreachable.");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.option("KEY", &key, "a key in proffer keys list, or its beginning");
  arguments.option("--agent", &agent, "revoke all keys and tokens of this agent");
  arguments.option("--user", &user, "revoke all keys and tokens of this user");
  arguments.examples({"proffer keys revoke --agent a17"});
  if (const auto status = arguments.parse(words)) return *status;
  if (int{key && !key->empty()} + int{!agent.empty()} + int{!user.empty()} != 1) {
    return usage_error(
        Error::invalid_argument("the key is missing: give one of KEY, --agent and --user")
            .with_hint("list all with: proffer keys list"),
        json);
  }
  proto::KeyRevokeCall call_of;
  if (key) {
    call_of.key = *key;
  } else {
    call_of.kind = agent.empty() ? KeyKind::kUser : KeyKind::kAgent;
    call_of.name = agent.empty() ? user : agent;
  }
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<CallResult> answer =
      call(*master, "key_revoke", proto::key_revoke_call_json(call_of));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

}  // namespace

int run_keys(const Words& words) {
  const std::string_view verb = words.empty() ? std::string_view() : words.front();
  const Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
  if (verb == "init") return init(rest);
  if (verb == "list") return list(rest);
  if (verb == "rotate") return rotate(rest);
  if (verb == "revoke") return revoke(rest);
  if (verb == "--help" || verb == "-h") {
    print_lines("usage: proffer keys VERB …\n\n");
    print_lines(help_row("init", "create the key with which a master serves other machines", 10));
    print_lines(help_row("list", "list keys and join tokens", 10));
    print_lines(help_row("rotate", "replace the key of this user or agent with a new one", 10));
    print_lines(help_row("revoke", "revoke a key, or all keys of an agent or user", 10));
    print_lines("\nproffer keys VERB --help shows the options of a subcommand.\n");
    return 0;
  }
  return usage_error(unknown_verb(verb, "proffer keys", {"init", "list", "rotate", "revoke"}),
                     false);
}

}  // namespace proffer::cli
