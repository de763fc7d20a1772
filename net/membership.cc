#include "net/membership.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/durable_files.h"
#include "net/fd.h"
#include "net/users.h"

namespace proffer {
namespace {

constexpr std::string_view kHeader = "proffer membership 1";
constexpr std::string_view kTokenHeader = "proffer-join-1";
constexpr std::string_view kSeveral = "all:";  // before the addresses of several masters
constexpr uint16_t kMasterPort = 5050;
constexpr size_t kTokenBytesMax = 4'096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<std::string> folder_of(KeyKind kind) {
  if (std::string named = variable("PROFFER_CONFIG_DIR"); !named.empty()) return named;
  if (kind == KeyKind::kAgent) return std::string("/etc/proffer");
  if (std::string config = variable("XDG_CONFIG_HOME"); !config.empty()) return config + "/proffer";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.config/proffer";
  return Error::failed_precondition(
             "neither $HOME nor $XDG_CONFIG_HOME is set, so the place of keys is unknown")
      .with_hint("set $PROFFER_CONFIG_DIR");
}

// A master on this machine is reached by its socket; port 0 is not an address.
bool are_master_addresses(const Result<Masters>& masters) {
  return masters && std::all_of(masters->begin(), masters->end(), [](const Address& one) {
           return one.socket.empty() && one.port != 0;
         });
}

// The value of the line "name value"; empty: there is none.
std::string_view value_of(const std::vector<std::string_view>& lines, std::string_view name) {
  for (const std::string_view line : lines) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

Result<void> make_folders(const std::string& path, mode_t mode) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0755);  // usually it exists; the last call reports errors
  }
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return Error::unavailable(text("cannot make ", quoted(path), ": ", strerror(errno)));
}

// The given value, or else $PROFFER_MASTER; none if both are empty.
Result<std::optional<Masters>> named_masters(std::string_view what, std::string_view given) {
  const std::string of_environment = variable("PROFFER_MASTER");
  if (given.empty()) {
    if (of_environment.empty()) return std::optional<Masters>();
    what = "$PROFFER_MASTER";
    given = of_environment;
  }
  Result<Masters> masters = parse_masters(what, given, kMasterPort);
  if (!masters) return std::move(masters).error();
  for (const Address& one : *masters) {
    if (!one.socket.empty() || one.port != 0) continue;
    return Error::invalid_argument(text(what, " must name a port from 1 to 65535, not 0"));
  }
  return std::optional<Masters>(*std::move(masters));
}

}  // namespace

Result<std::string> membership_file(KeyKind kind) {
  Result<std::string> folder = folder_of(kind);
  if (!folder) return folder;
  return text(*folder, "/", to_text(kind), ".keys");
}

Result<std::optional<Membership>> read_membership(KeyKind kind) {
  const Result<std::string> path = membership_file(kind);
  if (!path) return std::optional<Membership>();
  const Result<std::string> bytes = read_secret_file(*path);
  if (!bytes && bytes.error().code() == ErrorCode::kNotFound) return std::optional<Membership>();
  if (!bytes) return bytes.error();
  const std::vector<std::string_view> lines = split(*bytes, '\n');
  const std::string_view master_key = value_of(lines, "master_key");
  const Result<Masters> masters = parse_masters("masters", value_of(lines, "masters"), kMasterPort);
  const Result<KeyPair> own = key_pair_of(value_of(lines, "secret_key"));
  const std::string_view next = value_of(lines, "next_secret_key");
  const Result<KeyPair> successor = next.empty() ? KeyPair() : key_pair_of(next);
  const std::string_view name = value_of(lines, to_text(kind));
  if (lines.empty() || lines[0] != kHeader || !is_sum_right(*bytes) ||
      !are_master_addresses(masters) || !own || !successor || !is_valid_public_key(master_key) ||
      !is_valid_name(name)) {
    return Error::corruption(
               text(quoted(*path), bytes->empty() ? " is empty" : " is not a file of proffer join"))
        .with_hint("restore it from a copy, or remove it and join again with a new join token");
  }
  return std::optional<Membership>(
      Membership{.kind = kind,
                 .name = std::string(name),
                 .masters = *masters,
                 .keys = {.own = *own, .server = PublicKey(std::string(master_key))},
                 .successor = next.empty() ? std::nullopt : std::optional(*successor)});
}

Result<void> prepare_membership(KeyKind kind) {
  const Result<std::string> folder = folder_of(kind);
  if (!folder) return folder.error();
  constexpr mode_t kOwn = 0700;
  constexpr mode_t kShared = 0755;
  const bool is_agent = kind == KeyKind::kAgent;
  if (Result<void> made = make_folders(*folder, is_agent ? kShared : kOwn); !made) return made;
  if (access(folder->c_str(), W_OK) == 0) return {};
  Error error =
      Error::unavailable(text("cannot write in ", quoted(*folder), ": ", strerror(errno)));
  if (!is_agent) return error;
  return std::move(error).with_hint("run proffer join as root for an agent of this machine");
}

Result<void> write_membership(const Membership& membership) {
  const Result<std::string> path = membership_file(membership.kind);
  if (!path) return path.error();
  constexpr mode_t kOnlyItsOwner = 0600;
  return write_file_durably(
      *path,
      with_sum(text(kHeader, "\nmasters ", to_text(membership.masters), "\nmaster_key ",
                    membership.keys.server.str(), "\n", to_text(membership.kind), " ",
                    membership.name, "\npublic_key ", membership.keys.own.public_key.str(),
                    "\nsecret_key ", membership.keys.own.secret_key, "\n",
                    membership.successor
                        ? text("next_secret_key ", membership.successor->secret_key, "\n")
                        : std::string()),
               SumPlace::kSecond),
      kOnlyItsOwner);
}

ClientKeys current_keys(KeyKind kind, const ClientKeys& known) {
  const Result<std::optional<Membership>> joined = read_membership(kind);
  const bool is_same = joined && *joined && (*joined)->keys.server == known.server;
  return is_same ? (*joined)->keys : known;
}

std::string to_text(const JoinToken& token) {
  return text(kTokenHeader, " ", to_text(token.kind), " ", token.name, " ",
              token.several ? kSeveral : "", to_text(token.masters), " ", token.master_key.str(),
              " ", token.secret_key);
}

Result<JoinToken> parse_join_token(std::string_view given) {
  const auto wrong = [](std::string_view what) {
    return Error::invalid_argument(text("this is not a join token: ", what))
        .with_hint("use the whole line that proffer join-token prints");
  };
  if (given.size() > kTokenBytesMax) return wrong("it is too long");
  const std::string_view line = trimmed(given);
  if (line.find('\n') != std::string_view::npos) return wrong("it has more than one line");
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() != 6 || words[0] != kTokenHeader) {
    return wrong(text("it must be six words that begin with ", kTokenHeader));
  }
  JoinToken token;
  const std::optional<KeyKind> kind = parse_key_kind(words[1]);
  if (!kind || !is_valid_name(words[2])) return wrong("the agent or user name is missing");
  token.kind = *kind;
  token.name = std::string(words[2]);
  token.several = words[3].starts_with(kSeveral);
  Result<Masters> masters = parse_masters(
      "the masters", words[3].substr(token.several ? kSeveral.size() : 0), kMasterPort);
  if (!are_master_addresses(masters)) return wrong("the addresses of the masters are missing");
  token.masters = *std::move(masters);
  if (!is_valid_public_key(words[4])) return wrong("the master's key is incomplete");
  if (!key_pair_of(words[5])) return wrong("its own key is incomplete");
  token.master_key = PublicKey(std::string(words[4]));
  token.secret_key = std::string(words[5]);
  return token;
}

Result<Masters> find_masters(KeyKind kind, std::string_view what, std::string_view given) {
  Result<std::optional<Masters>> named = named_masters(what, given);
  if (!named) return std::move(named).error();
  if (*named) return **std::move(named);
  Result<std::optional<Membership>> joined = read_membership(kind);
  if (!joined) return std::move(joined).error();
  return *joined ? (*joined)->masters : Masters{{.socket = std::string(kMasterSocket)}};
}

Result<FoundMasters> find_masters_for_user(std::string_view what, std::string_view given) {
  Result<std::optional<Masters>> named = named_masters(what, given);
  if (!named) return std::move(named).error();
  if (*named) return FoundMasters{.masters = **std::move(named)};
  Result<std::optional<Membership>> joined = read_membership(KeyKind::kUser);
  if (!joined) return std::move(joined).error();
  const std::optional<Address> dev = dev_master();
  FoundMasters found;
  if (*joined) {
    found.masters = (*joined)->masters;
    if (dev) {
      found.note = text("this is the cluster that you joined, at ", to_text(found.masters),
                        "; your `proffer dev` is at --master=", to_text(*dev));
    }
  } else if (dev) {
    found.masters = {*dev};
    if (has_listener(std::string(kMasterSocket))) {
      found.note = text("this is the cluster of your `proffer dev`, at ", to_text(*dev),
                        "; that of this machine is at --master=", kMasterSocket);
    }
  } else {
    found.masters = {{.socket = std::string(kMasterSocket)}};
  }
  return found;
}

Result<std::optional<ClientKeys>> keys_for(KeyKind kind, const Masters& masters) {
  const auto is_far = [](const Address& one) {
    return one.socket.empty() && !is_loopback(one.host);
  };
  const auto far = std::find_if(masters.begin(), masters.end(), is_far);
  const bool are_sockets = std::all_of(masters.begin(), masters.end(),
                                       [](const Address& one) { return !one.socket.empty(); });
  if (are_sockets) return std::optional<ClientKeys>();
  const Result<std::optional<Membership>> joined = read_membership(kind);
  if (joined && *joined &&
      (far != masters.end() ||
       std::find_first_of(masters.begin(), masters.end(), (*joined)->masters.begin(),
                          (*joined)->masters.end()) != masters.end())) {
    return std::optional<ClientKeys>((*joined)->keys);
  }
  if (far == masters.end()) return std::optional<ClientKeys>();
  if (!joined) return joined.error();
  return Error::failed_precondition(text("a master on another machine, such as ", to_text(*far),
                                         ", requires a key, and this ",
                                         kind == KeyKind::kAgent ? "machine" : "user", " has none"))
      .with_hint(
          "register one: proffer join, with the line that an operator gets from proffer "
          "join-token");
}

}  // namespace proffer
