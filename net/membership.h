#pragma once

// How a program finds its master: by what was said, by what `proffer join` wrote, or on this
// machine. A cluster that nobody named is never taken before one that somebody did.
//
// What `proffer join` wrote is a file with a secret key, mode 0600: `agent.keys` for the agents of
// a machine, in $PROFFER_CONFIG_DIR or else /etc/proffer; `user.keys` for a user, in
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

// A place in a cluster: the name of this machine or user there, and where its masters are.
struct Membership {
  KeyKind kind = KeyKind::kUser;
  std::string name = {};
  Masters masters = {};
  ClientKeys keys = {};
  // Its key's successor, which the master may know already: `proffer keys rotate` has begun.
  std::optional<KeyPair> successor = {};
  bool operator==(const Membership&) const = default;
};

// The folder and the file, as above. Errors: kFailedPrecondition if there is no home directory.
Result<std::string> membership_file(KeyKind kind);
// none: it has not joined. Errors: as read_secret_file().
Result<std::optional<Membership>> read_membership(KeyKind kind);
// Makes the folder (0700 of a user, 0755 of agents). Errors: kUnavailable if it cannot be made, or
// this process may not write there.
Result<void> prepare_membership(KeyKind kind);
// Replaces the file, in a folder that is there. Errors: kUnavailable.
Result<void> write_membership(const Membership& membership);

// The keys of a member that runs since before: those of the file, if it is still one of the cluster
// with this server key; `proffer keys rotate` may have replaced the member's own. `known` if there
// is none, or it cannot be read.
ClientKeys current_keys(KeyKind kind, const ClientKeys& known);

// One line, as `proffer join-token` prints it: the name, where the masters are, the key that they
// must have, and the secret half of a key that may be used once.
struct JoinToken {
  KeyKind kind = KeyKind::kUser;
  std::string name = {};
  Masters masters = {};
  bool several = false;  // `masters` are several; else where one may be found
  PublicKey master_key = {};
  std::string secret_key = {};
  bool operator==(const JoinToken&) const = default;
};
std::string to_text(const JoinToken& token);
// Errors: kInvalidArgument; no part of the text is in the message.
Result<JoinToken> parse_join_token(std::string_view text);

// Where the masters of a daemon or a scheduler are. `given` is what was typed, a list, "" for
// nothing; `what` names it ("--master"). Nothing: $PROFFER_MASTER, else those that were joined,
// else kMasterSocket. Never those of a `proffer dev`, whose user did not start it for them. Errors:
// kInvalidArgument; those of read_membership().
Result<Masters> find_masters(KeyKind kind, std::string_view what, std::string_view given);

// The same for what a person types, who may have a `proffer dev`: its master comes behind those
// that were joined, and before kMasterSocket.
struct FoundMasters {
  Masters masters = {};
  std::string note = {};  // which were taken, if others that serve could have been meant; or empty
};
Result<FoundMasters> find_masters_for_user(std::string_view what, std::string_view given);

// The keys with which they are reached: none if all are Unix sockets, or ports of loopback other
// than those that were joined. Another machine is reached with keys or not at all. Errors:
// kFailedPrecondition with what to do; those of read_membership().
Result<std::optional<ClientKeys>> keys_for(KeyKind kind, const Masters& masters);

}  // namespace proffer
