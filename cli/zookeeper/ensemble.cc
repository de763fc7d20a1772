// The decisions of `proffer zookeeper init`. Read plan_ensemble() first, then files_of().

#include "cli/zookeeper/ensemble.h"

#include <algorithm>
#include <cctype>

#include <arpa/inet.h>

#include "common/text.h"
#include "net/address.h"
#include "store/zookeeper_options.h"

namespace proffer::cli {
namespace {

constexpr const char* kExample =
    "as in: proffer zookeeper init --dir cluster m1.example m2.example m3.example";
constexpr size_t kHostBytesMax = 253;
constexpr size_t kLabelBytesMax = 63;
constexpr int kIdMax = 255;  // ZooKeeper's maximum

bool is_number(const std::string& host, int family) {
  std::array<unsigned char, 16> bytes{};
  return host.find('\0') == std::string::npos && inet_pton(family, host.c_str(), bytes.data()) == 1;
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kLabelBytesMax && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '-');
         });
}

// RFC 1123. A last label of digits would be a damaged IPv4 address.
bool is_dns_name(std::string_view host) {
  if (host.empty() || host.size() > kHostBytesMax) return false;
  const std::vector<std::string_view> labels = split(host, '.');
  const bool ends_in_number = std::all_of(labels.back().begin(), labels.back().end(),
                                          [](unsigned char c) { return std::isdigit(c) != 0; });
  return !ends_in_number && std::all_of(labels.begin(), labels.end(), is_label);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

Result<void> check_host(const std::string& host) {
  const bool is_ipv6 = is_number(host, AF_INET6);
  if (!is_ipv6 && host.find(':') != std::string::npos) {
    return Error::invalid_argument(
               text("HOST must be a DNS name or an IP address without a port, not ", quoted(host)))
        .with_hint(
            "ZooKeeper's servers use ports 2888 and 3888; --port is the port of the masters");
  }
  if (!is_ipv6 && !is_number(host, AF_INET) && !is_dns_name(host)) {
    return Error::invalid_argument(
               text("HOST must be a DNS name or an IP address, not ", quoted(host)))
        .with_hint(kExample);
  }
  if (is_loopback(host) || host == "0.0.0.0" || host == "::") {
    return Error::invalid_argument(text("other machines cannot reach HOST ", quoted(host)))
        .with_hint("use the name or address of the machine in the network");
  }
  return {};
}

Result<void> check_hosts(const std::vector<std::string>& hosts) {
  if (hosts.size() < kEnsembleMachinesMin) {
    return Error::invalid_argument(text("a cluster needs at least ", kEnsembleMachinesMin,
                                        " machines to survive the loss of one, not ", hosts.size()))
        .with_hint(kExample);
  }
  if (hosts.size() > kMastersMax) {
    return Error::invalid_argument(
               text("a cluster has at most ", kMastersMax, " masters, not ", hosts.size()))
        .with_hint("3 or 5 masters are enough; all other machines join as agents: proffer join");
  }
  std::vector<std::string> seen;
  for (const std::string& host : hosts) {
    if (Result<void> checked = check_host(host); !checked) return checked;
    if (std::find(seen.begin(), seen.end(), lower(host)) != seen.end()) {
      return Error::invalid_argument(text("HOST ", quoted(host), " is listed twice"))
          .with_hint("list each machine once");
    }
    seen.push_back(lower(host));
  }
  return {};
}

Result<int> parse_port(std::string_view what, std::string_view given) {
  const Result<int64_t> port = parse_whole(what, given, 1, 65'535);
  if (!port) return port.error();
  return static_cast<int>(*port);
}

Result<void> check_path(const std::string& path) {
  if (!path.starts_with("/")) {
    return Error::invalid_argument(text("--path must begin with /, not ", quoted(path)))
        .with_hint(text("as in --path=", kDefaultPath));
  }
  const Result<ZooKeeperOptions> zk = parse_zookeeper("--path", text("127.0.0.1:2181", path));
  if (zk) return {};
  return Error(zk.error().code(), zk.error().message())
      .with_hint(text("as in --path=", kDefaultPath));
}

const EnsembleMachine* find(const Ensemble& ensemble, const std::string& host) {
  for (const EnsembleMachine& machine : ensemble.machines) {
    if (lower(machine.host) == lower(host)) return &machine;
  }
  return nullptr;
}

// Masters and agents already use these values, so they cannot change.
Result<void> check_same(const Ensemble& now, const Ensemble& before) {
  constexpr const char* kNew = "for another cluster, use another --dir";
  if (now.path != before.path) {
    return Error::failed_precondition(text("the path of these machines is ", before.path,
                                           ", so it cannot become ", quoted(now.path)))
        .with_hint(kNew);
  }
  if (now.port != before.port) {
    return Error::failed_precondition(text("the port of these masters is ", before.port,
                                           ", so it cannot become ", now.port))
        .with_hint(kNew);
  }
  return {};
}

// "m2.example,m3.example,m1.example" for m2: each master names itself first.
std::string advertised(const Ensemble& ensemble, const EnsembleMachine& own) {
  std::string hosts = bracketed(own.host);
  const auto own_place = std::find(ensemble.machines.begin(), ensemble.machines.end(), own) -
                         ensemble.machines.begin();
  const size_t count = ensemble.machines.size();
  for (size_t i = 1; i < count; ++i) {
    const size_t next = (static_cast<size_t>(own_place) + i) % count;
    hosts += text(",", bracketed(ensemble.machines[next].host));
  }
  return hosts;
}

// tickTime bounds how late an expired session is noticed: ADR 0054. Clients use the loopback
// address, since Debian's client library has no TLS.
std::string zoo_cfg(const Ensemble& ensemble) {
  std::string cfg = text(
      "# Made by proffer zookeeper init.\n"
      "tickTime=500\ninitLimit=40\nsyncLimit=20\ndataDir=/var/lib/zookeeper\n"
      "clientPort=2181\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
      "autopurge.purgeInterval=24\n"
      "# All servers have one key, and trust only that key. So host names prove nothing more.\n"
      "sslQuorum=true\nssl.quorum.hostnameVerification=false\n"
      "ssl.quorum.keyStore.location=",
      kQuorumPem.place, "\nssl.quorum.trustStore.location=", kQuorumPem.place, "\n");
  for (const EnsembleMachine& machine : ensemble.machines) {
    cfg += text("server.", machine.id, "=", bracketed(machine.host), ":2888:3888\n");
  }
  return cfg;
}

// Debian's class path lacks TLS (then the port between servers stays closed without an error), and
// the library that writes /var/log/zookeeper/zookeeper.log.
constexpr std::string_view kJavaSettingsText =
    "# Made by proffer zookeeper init.\n"
    "CLASSPATH=/etc/zookeeper/conf:/usr/share/java/zookeeper.jar:/usr/share/java/netty-codec.jar:"
    "/usr/share/java/slf4j-log4j12.jar:/usr/share/java/log4j-1.2.jar\n";

std::string master_flags(const Ensemble& ensemble, const EnsembleMachine& machine) {
  return text("--zk=127.0.0.1:2181", ensemble.path, "\n--zk_secret_file=", kPassword.place,
              "\n--port=", ensemble.port, "\n--advertise=", advertised(ensemble, machine), "\n");
}

}  // namespace

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : text("[", host, "]");
}

Result<Ensemble> plan_ensemble(const EnsembleRequest& request,
                               const std::optional<Ensemble>& before) {
  if (Result<void> checked = check_hosts(request.hosts); !checked) {
    return std::move(checked).error();
  }
  Ensemble planned{.path = std::string(kDefaultPath), .port = kDefaultMasterPort};
  if (before) planned = *before;
  if (request.path) {
    if (Result<void> checked = check_path(*request.path); !checked) {
      return std::move(checked).error();
    }
    planned.path = *request.path;
  }
  if (request.port) {
    const Result<int> port = parse_port("--port", *request.port);
    if (!port) return port.error();
    planned.port = *port;
  }
  if (!before) {
    for (const std::string& host : request.hosts) {
      planned.machines.push_back({static_cast<int>(planned.machines.size()) + 1, host});
    }
    return planned;
  }

  if (Result<void> checked = check_same(planned, *before); !checked) {
    return std::move(checked).error();
  }
  std::vector<std::string> added;
  for (const std::string& host : request.hosts) {
    if (find(*before, host) == nullptr) added.push_back(host);
  }
  for (const EnsembleMachine& machine : before->machines) {
    const bool stays =
        std::any_of(request.hosts.begin(), request.hosts.end(),
                    [&](const std::string& host) { return lower(host) == lower(machine.host); });
    if (stays) continue;
    return Error::failed_precondition(
               text("the cluster has machine ", quoted(machine.host), ", which is not listed"))
        .with_hint(
            "list all machines, also those that are down: a machine in their place gets "
            "their name");
  }
  if (added.size() > 1) {
    return Error::failed_precondition(
               text("one machine can be added at a time, not ", added.size(), ": ", listed(added)))
        .with_hint(
            "with more, the servers that know of them and those that do not could both "
            "have a majority; add one, restart all servers, then add the next");
  }
  for (const std::string& host : added) {
    planned.machines.push_back({planned.machines.back().id + 1, host});
  }
  return planned;
}

std::string to_text(const Ensemble& ensemble) {
  std::string lines = text("# proffer zookeeper init reads this when it adds a machine.\npath ",
                           ensemble.path, "\nport ", ensemble.port, "\n");
  for (const EnsembleMachine& machine : ensemble.machines) {
    lines += text("machine ", machine.id, " ", machine.host, "\n");
  }
  return lines;
}

Result<Ensemble> parse_ensemble(std::string_view given) {
  const auto wrong = [](std::string_view line) {
    return Error::corruption(text("line ", quoted(line), " of ", quoted(kEnsembleFile),
                                  " is not one that proffer zookeeper init writes"))
        .with_hint("restore the file from a copy");
  };
  Ensemble ensemble;
  std::vector<std::string> hosts;
  for (const std::string_view line : split(given, '\n')) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() == 2 && words[0] == "path" && check_path(std::string(words[1]))) {
      ensemble.path = words[1];
    } else if (words.size() == 2 && words[0] == "port" && parse_port("port", words[1])) {
      ensemble.port = *parse_port("port", words[1]);
    } else if (words.size() == 3 && words[0] == "machine") {
      const Result<int64_t> id = parse_whole("id", words[1], 1, kIdMax);
      const int last = ensemble.machines.empty() ? 0 : ensemble.machines.back().id;
      if (!id || *id <= last) return wrong(line);
      ensemble.machines.push_back({static_cast<int>(*id), std::string(words[2])});
      hosts.emplace_back(words[2]);
    } else {
      return wrong(line);
    }
  }
  if (ensemble.path.empty() || ensemble.port == 0 || !check_hosts(hosts)) {
    return Error::corruption(text(quoted(kEnsembleFile), " is incomplete"))
        .with_hint("restore the file from a copy");
  }
  return ensemble;
}

std::vector<MachineFile> files_of(const Ensemble& ensemble, const EnsembleMachine& machine,
                                  const EnsembleSecrets& secrets) {
  return {
      {kZooCfg, zoo_cfg(ensemble)},
      {kMyid, text(machine.id, "\n")},
      {kJavaSettings, std::string(kJavaSettingsText)},
      {kQuorumPem, secrets.quorum_pem},
      {kPassword, secrets.password},
      {kSetupMasterKey, secrets.master_key},
      {kMasterFlags, master_flags(ensemble, machine)},
  };
}

}  // namespace proffer::cli
