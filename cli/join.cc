// proffer join-token and proffer join: a machine or a user becomes part of a cluster. An operator
// makes a token; its holder registers a key with it, once.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/text.h"
#include "net/dealer.h"
#include "net/fd.h"
#include "net/membership.h"
#include "net/users.h"
#include "proto/json/keys_json.h"

namespace proffer::cli {
namespace {

constexpr size_t kTokenBytesMax = 16 * 1024;

Result<std::string> read_token(const std::string& path) {
  const Fd file(path.empty() ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string from = path.empty() ? std::string("standard input") : quoted(path);
  if (file.get() < 0) {
    return Error::not_found(text("cannot open ", from, ": ", std::strerror(errno)));
  }
  std::string bytes;
  std::array<char, 4'096> part{};
  while (bytes.size() <= kTokenBytesMax) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Error::unavailable(text("cannot read ", from, ": ", std::strerror(errno)));
    }
    if (got == 0) break;
    bytes.append(part.data(), static_cast<size_t>(got));
  }
  return bytes;
}

// The address that answered comes first. Other addresses of the same master are of no use.
Masters masters_after_joining(const JoinToken& token, const Address& answered) {
  if (!token.several) return {answered};
  Masters masters = token.masters;
  std::rotate(masters.begin(), std::find(masters.begin(), masters.end(), answered), masters.end());
  return masters;
}

// Tries each address of the token. If an answer was lost, a call with the new key shows whether the
// key was registered.
Result<Address> register_key(const JoinToken& token, const KeyPair& own) {
  const Result<KeyPair> once = key_pair_of(token.secret_key);
  if (!once) return once.error();
  const std::string arguments =
      proto::join_call_json({.key = own.public_key, .runs_as = user_name(geteuid())});
  std::optional<Error> last;
  bool is_refused = false;
  for (const Address& master : token.masters) {
    const Result<CallResult> joined = call(
        Masters{master}, ClientKeys{.own = *once, .server = token.master_key}, "join", arguments);
    if (joined) return master;
    last = joined.error();
    is_refused |= last->message().find(kRefusesKey) != std::string::npos;
    if (last->code() != ErrorCode::kUnavailable) return *last;
    if (is_known({master}, {.own = own, .server = token.master_key}, seconds(2))) return master;
  }
  if (is_refused) {
    return Error::permission_denied("the join token has been used or has expired")
        .with_hint("ask an operator for a new one: proffer join-token");
  }
  return *last;
}

}  // namespace

int run_join_token(const Words& words) {
  std::string master_flag;
  std::string agent;
  std::string user;
  std::string ttl = "10m";
  bool json = false;
  Arguments arguments("proffer join-token --agent NAME|--user NAME [--ttl DURATION]",
                      "print a join token, one line with which another machine or user joins the "
                      "cluster once. Pass it to `proffer join` there, and keep it secret.");
  arguments.master(&master_flag);
  arguments.option("--agent", &agent, "create a token for the agent of this name");
  arguments.option("--user", &user,
                   "create a token for this user, with the rights that it has in the cluster");
  arguments.option("--ttl", &ttl, "time after which the token expires (default 10m)");
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.note(
      "The master must serve other machines: proffer keys init, then proffer-master --port=5050.");
  arguments.examples(
      {"proffer join-token --agent a17 > token", "proffer join-token --user ada --ttl 1h"});
  if (const auto status = arguments.parse(words)) return *status;
  if (agent.empty() == user.empty()) {
    return usage_error(
        Error::invalid_argument("the token's subject is missing: give either --agent or --user"),
        json);
  }
  const KeyKind kind = agent.empty() ? KeyKind::kUser : KeyKind::kAgent;
  const std::string& name = agent.empty() ? user : agent;
  if (Result<void> valid = check_name(text("--", to_text(kind)), name); !valid) {
    return usage_error(valid.error(), json);
  }
  Result<Duration> valid_for = parse_duration(ttl);
  if (!valid_for) return usage_error(std::move(valid_for).error().in("--ttl"), json);
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);

  // The master gets only the public half.
  const KeyPair once = make_key_pair();
  const Result<CallResult> answer =
      call(*master, "join_token",
           proto::join_token_call_json(
               {.key = once.public_key, .kind = kind, .name = name, .valid_for = *valid_for}));
  if (!answer) return print_error(answer.error(), json);
  const Result<proto::JoinTokenReply> made = proto::parse_join_token_reply(answer->json);
  if (!made) return print_error(made.error(), json);
  if (made->addresses.empty()) {
    return print_error(
        Error::failed_precondition("the master does not know its address for other machines")
            .with_hint("start the master with --advertise=HOST, and revoke this token; proffer "
                       "keys list shows it"),
        json);
  }
  JoinToken token{.kind = kind,
                  .name = name,
                  .masters = {},
                  .several = made->several,
                  .master_key = made->master_key,
                  .secret_key = once.secret_key};
  for (const std::string& one : made->addresses) {
    const Result<Address> address = parse_address("the master's address", one);
    if (!address) return print_error(address.error(), json);
    token.masters.push_back(*address);
  }
  print_line(to_text(token));
  return 0;
}

int run_join(const Words& words) {
  std::string file;
  bool replace = false;
  bool json = false;
  Arguments arguments("proffer join [--join-file FILE] < TOKEN",
                      "join a cluster with the token of `proffer join-token`: either this machine "
                      "as an agent (run it as root), or this user");
  arguments.option("--join-file", &file, "file with the token (default: standard input)");
  arguments.flag("--replace", &replace, "replace the membership in another cluster");
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.examples({"sudo proffer join < token"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<std::string> given = read_token(file);
  if (!given) return print_error(given.error(), json);
  const Result<JoinToken> token = parse_join_token(*given);
  if (!token) return usage_error(token.error(), json);

  // Check the path first: the token can be used only once.
  const Result<std::string> path = membership_file(token->kind);
  if (!path) return print_error(path.error(), json);
  if (!replace && access(path->c_str(), F_OK) == 0) {
    return print_error(Error::already_exists(text("already joined another cluster: ", *path))
                           .with_hint("to leave it, add --replace"),
                       json);
  }
  if (Result<void> ready = prepare_membership(token->kind); !ready) {
    return print_error(ready.error(), json);
  }
  const KeyPair own = make_key_pair();
  const Result<Address> master = register_key(*token, own);
  if (!master) return print_error(master.error(), json);
  const Membership joined{.kind = token->kind,
                          .name = token->name,
                          .masters = masters_after_joining(*token, *master),
                          .keys = {.own = own, .server = token->master_key}};
  if (Result<void> written = write_membership(joined); !written) {
    return print_error(
        Error(written.error())
            .with_hint(
                text("the new key is registered but could not be saved: proffer keys revoke ",
                     own.public_key.str().substr(0, 8))),
        json);
  }
  if (json) {
    print_json("{}");
  } else {
    print_line(text(
        to_text(token->kind), " ", token->name, " has joined the cluster of ", to_text(*master),
        token->kind == KeyKind::kAgent ? "; next: proffer agent" : "; next: proffer status"));
  }
  return 0;
}

}  // namespace proffer::cli
