#pragma once

// How a program finds its master: from a given address, from the file of `proffer join`, or on this
// machine. A named cluster always has priority over a default.
//
// The file of `proffer join` contains a secret key, mode 0600: `agent.keys` for the agents of a
// machine, in $PROFFER_CONFIG_DIR or else /etc/proffer; `user.keys` for a user, in
// $PROFFER_CONFIG_DIR or else $XDG_CONFIG_HOME/proffer or ~/.config/proffer.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/keys.h"
#include "common/result.h"
#include "net/address.h"
#include "net/curve_keys.h"

namespace proffer {

// The membership of a machine or user in a cluster: its name there, and the addresses of the
// masters.
struct Membership {
  KeyKind kind = KeyKind::kUser;
  std::string name = {};
  Masters masters = {};
  ClientKeys keys = {};
  // The successor of its key, which the master may already know: `proffer keys rotate` has begun.
  std::optional<KeyPair> successor = {};
  bool operator==(const Membership&) const = default;
};

// The path of the file, see above. Errors: kFailedPrecondition if there is no home directory.
Result<std::string> membership_file(KeyKind kind);
// None: it has not joined. Errors: as read_secret_file().
Result<std::optional<Membership>> read_membership(KeyKind kind);
// Makes the folder (mode 0700 for a user, 0755 for agents). Errors: kUnavailable if it cannot be
// made or written.
Result<void> prepare_membership(KeyKind kind);
// Replaces the file in an existing folder. Errors: kUnavailable.
Result<void> write_membership(const Membership& membership);

// The present keys of a running member: those in the file, if it is still for the cluster with this
// server key, since `proffer keys rotate` may have replaced the member's own. `known` if there is
// no readable file.
ClientKeys current_keys(KeyKind kind, const ClientKeys& known);

// One line, as `proffer join-token` prints it: the name, the addresses and the key of the masters,
// and the secret half of a key that may be used once.
struct JoinToken {
  KeyKind kind = KeyKind::kUser;
  std::string name = {};
  Masters masters = {};
  // `masters` lists all of several masters; otherwise it lists addresses of one.
  bool several = false;
  PublicKey master_key = {};
  std::string secret_key = {};
  bool operator==(const JoinToken&) const = default;
};
std::string to_text(const JoinToken& token);
// Errors: kInvalidArgument; no part of the text is in the message.
Result<JoinToken> parse_join_token(std::string_view text);

// The masters of a daemon or a scheduler. `given` is the flag's value, a list, "" for nothing;
// `what` names it ("--master"). If it is empty: $PROFFER_MASTER, else those of the joined cluster,
// else kMasterSocket. Never those of a `proffer dev`, which was not started for daemons. Errors:
// kInvalidArgument; those of read_membership().
Result<Masters> find_masters(KeyKind kind, std::string_view what, std::string_view given);

// The same for a person, who may use a `proffer dev`: its master comes after those of the joined
// cluster, and before kMasterSocket.
struct FoundMasters {
  Masters masters = {};
  std::string note = {};  // which masters were chosen, if others also serve; or empty
};
Result<FoundMasters> find_masters_for_user(std::string_view what, std::string_view given);

// The keys to reach them: none if all are Unix sockets, or loopback ports other than those of the
// joined cluster. Another machine can be reached only with keys. Errors: kFailedPrecondition with a
// hint; those of read_membership().
Result<std::optional<ClientKeys>> keys_for(KeyKind kind, const Masters& masters);

}  // namespace proffer
