#include "slave/shell/agent_http.h"

#include <utility>

#include "net/own_address.h"
#include "net/randomness.h"
#include "net/tls_identity.h"
#include "proto/json/json.h"
#include "slave/shell/machine.h"

namespace proffer::agent {
namespace {

std::string files_of(const std::vector<DirEntry>& entries) {
  std::vector<proto::FileRow> rows;
  for (const DirEntry& entry : entries) {
    rows.push_back({.name = entry.name,
                    .size = entry.is_directory ? 0 : entry.bytes,
                    .directory = entry.is_directory});
  }
  return proto::files_json(rows);
}

}  // namespace

Result<std::unique_ptr<AgentHttp>> AgentHttp::listen(Loop& loop, Options options,
                                                     Handlers handlers) {
  std::unique_ptr<AgentHttp> made(new AgentHttp(loop, std::move(options), std::move(handlers)));
  if (Result<void> listening = made->listen(); !listening) return std::move(listening).error();
  return made;
}

AgentHttp::AgentHttp(Loop& loop, Options options, Handlers handlers)
    : loop_(loop), options_(std::move(options)), handlers_(std::move(handlers)) {}

AgentHttp::~AgentHttp() = default;

// The socket's path is the same in each life, since executors have given it to others.
Result<void> AgentHttp::listen() {
  DaemonHttp::Options web{
      .socket = http_socket_beside(options_.socket),
      .port = options_.port,
      .directory = options_.directory,
      .names = options_.names,
      .handler = handlers_.on_request,
      .files = {.prefix = "/v1/files/", .resolve = handlers_.resolve, .encode_directory = files_of},
      .connections_max = options_.connections_max};
  if (Result<void> prepared = prepare_tls(web); !prepared) return prepared;
  Result<std::unique_ptr<DaemonHttp>> listening = DaemonHttp::listen(loop_, std::move(web));
  if (!listening) return std::move(listening).error();
  http_ = *std::move(listening);
  address_ = http_->address();
  files_.address = https_address();
  return {};
}

Result<void> AgentHttp::prepare_tls(DaemonHttp::Options& web) {
  if (!options_.https_port) return {};
  Result<TlsIdentity> identity = make_tls_identity(options_.agent);
  if (!identity) return std::move(identity).error();
  files_ = {.pin = identity->pin, .token_key = random_secret()};
  gate_ = std::make_unique<FileGate>(
      files_.token_key, [this] { return loop_.now(); },
      [this, there = std::weak_ptr<bool>(is_there_)](RefusedBearer refused) {
        loop_.post([this, there, refused = std::move(refused)] {
          if (!there.expired()) handlers_.on_refused(refused);
        });
      });
  const bool is_v6 = own_host().find(':') != std::string::npos;
  web.tls_port = Address{is_v6 ? "::" : "0.0.0.0", *options_.https_port};
  web.tls = {.identity = *std::move(identity),
             .admit = [raw = gate_.get()](std::string_view token, std::string_view path,
                                          std::string_view peer) {
               return raw->admit(token, path, peer);
             }};
  return {};
}

std::string AgentHttp::own_host() const {
  std::string host = options_.https_host;
  for (const Address& master : options_.masters) {
    if (host.empty() && master.socket.empty()) host = own_address_towards(master).value_or("");
  }
  return host.empty() ? host_name() : host;
}

std::string AgentHttp::https_address() const {
  return http_->tls_port() == 0 ? "" : to_text(Address{own_host(), http_->tls_port()});
}

}  // namespace proffer::agent
