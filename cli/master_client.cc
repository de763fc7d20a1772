#include "cli/master_client.h"

#include <cstdlib>
#include <optional>

#include "common/text.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/membership.h"
#include "net/randomness.h"
#include "proto/codec/codec.h"
#include "proto/json/json.h"
#include "proto/json/keys_json.h"

namespace proffer::cli {
namespace {

Error unreachable(const Masters& masters, std::string_view why) {
  Error error = Error::unavailable(text("cannot reach a master at ", to_text(masters), ": ", why));
  if (masters.front().socket.empty() && !is_loopback(masters.front().host)) {
    return std::move(error).with_hint(
        "on the master's machine, proffer status says whether it serves and proffer keys list "
        "whether this user's key is known; an operator gives another with proffer join-token");
  }
  return std::move(error).with_hint(
      "start a local cluster with `proffer dev`, or say where the master is with "
      "--master=SOCKET, --master=HOST:PORT or $PROFFER_MASTER");
}

std::string name_of(const proto::TaskRow& row) {
  return row.framework.str() + "/" + row.task.str();
}

}  // namespace

Result<Masters> master_address(const std::string& flag) {
  if (!flag.empty()) return find_masters(KeyKind::kUser, "--master", flag);
  const char* variable = std::getenv("PROFFER_MASTER");
  return find_masters(KeyKind::kUser, "$PROFFER_MASTER", variable == nullptr ? "" : variable);
}

Result<CallResult> call(const Masters& master, std::string_view method, std::string_view arguments,
                        Duration timeout) {
  const Result<std::optional<ClientKeys>> keys = keys_for(KeyKind::kUser, master);
  if (!keys) return keys.error();
  return call(master, *keys, method, arguments, timeout);
}

Result<CallResult> call(const Masters& master, const std::optional<ClientKeys>& keys,
                        std::string_view method, std::string_view arguments, Duration timeout) {
  Loop loop;
  std::optional<Result<CallResult>> answer;
  const auto finish = [&](Result<CallResult> result) {
    if (!answer) answer = std::move(result);
    loop.stop();
  };
  proto::Encoder encoder;
  std::unique_ptr<Dealer> dealer;
  // In a row, of attempts. A standby that answers is no failure: it is waited for a leader.
  size_t failures = 0;
  std::string why = text("no answer in ", to_text(timeout));
  const auto failed = [&](const std::string& reason) {
    if (why.find(kRefusesKey) == why.npos) why = reason;
    if (++failures >= master.size()) finish(unreachable(master, why));
  };
  const std::vector<std::string> endpoints = zmq_endpoints(master);
  Dealer::Options dealer_options{.endpoint = endpoints.front(),
                                 .others = {endpoints.begin() + 1, endpoints.end()},
                                 .keys = keys,
                                 .keep_connected = master.size() > 1,
                                 .seed = random_seed()};
  // One whose machine is off answers nothing: there must be time left for all others.
  if (master.size() > 1) {
    dealer_options.connect_timeout = timeout / static_cast<int64_t>(master.size() + 1);
  }
  dealer = std::make_unique<Dealer>(
      loop, std::move(dealer_options),
      Dealer::Handlers{
          .on_connected =
              [&] {
                const auto frame = encoder.encode(
                    {.version = proto::kProtocolVersionMin,
                     .message = proto::Call{
                         .id = 1, .method = std::string(method), .json = std::string(arguments)}});
                if (!frame) return finish(frame.error());
                dealer->send(*frame);
              },
          .on_frame =
              [&](std::span<const std::byte> frame) {
                Result<proto::Envelope> envelope = proto::decode(frame);
                if (!envelope) {
                  return finish(std::move(envelope).error().in("the master's answer"));
                }
                if (auto* other = std::get_if<proto::NotLeader>(&*envelope->message);
                    other != nullptr && master.size() > 1) {
                  failures = 0;
                  why = other->leader.empty()
                            ? "no master leads at the moment"
                            : text("the leader, ", other->leader, ", does not answer");
                  return dealer->redirect(leader_endpoint(other->leader), why);
                }
                if (auto* error = std::get_if<proto::ErrorMessage>(&*envelope->message)) {
                  return finish(Error(error->code, error->message).with_hint(error->hint));
                }
                auto* reply = std::get_if<proto::Reply>(&*envelope->message);
                if (reply == nullptr) return;
                if (reply->error) {
                  return finish(Error(reply->error->code, reply->error->message)
                                    .with_hint(reply->error->hint));
                }
                const std::string& place = dealer->endpoint();
                finish(CallResult{.json = std::move(reply->json),
                                  .next = std::move(reply->next),
                                  .master = place.substr(place.find("://") + 3)});
              },
          .on_disconnected =
              [&](const std::string& reason) {
                if (reason != why) failed(reason);
              },
          .on_failed = failed});
  Timer timer(loop, [&] { finish(unreachable(master, why)); });
  timer.arm(loop.now() + timeout);
  dealer->connect();
  loop.run();
  dealer->close();
  return *std::move(answer);
}

template <class Row>
Result<std::vector<Row>> call_list(const Masters& master, std::string_view method,
                                   proto::TaskQuery query,
                                   Result<std::vector<Row>> (*parse)(std::string_view)) {
  std::vector<Row> rows;
  while (true) {
    Result<CallResult> page = call(master, method, proto::task_query_json(query));
    if (!page) return std::move(page).error();
    Result<std::vector<Row>> parsed = parse(page->json);
    if (!parsed) return std::move(parsed).error().in("the master's answer");
    rows.insert(rows.end(), parsed->begin(), parsed->end());
    if (page->next.empty() || parsed->empty()) return rows;
    query.after = page->next;
  }
}

template Result<std::vector<proto::AgentRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::AgentRow>> (*)(std::string_view));
template Result<std::vector<proto::FrameworkRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::FrameworkRow>> (*)(std::string_view));
template Result<std::vector<proto::RoleRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::RoleRow>> (*)(std::string_view));
template Result<std::vector<proto::OfferRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::OfferRow>> (*)(std::string_view));
template Result<std::vector<KnownKey>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<KnownKey>> (*)(std::string_view));
template Result<std::vector<proto::TaskRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::TaskRow>> (*)(std::string_view));

Result<proto::TaskRow> find_task(const Masters& master, const std::string& word) {
  proto::TaskQuery query{.prefix = word, .ended = true, .limit = 2 * kNamesListedMax};
  Result<CallResult> page = call(master, "tasks", proto::task_query_json(query));
  if (!page) return std::move(page).error();
  Result<std::vector<proto::TaskRow>> rows = proto::parse_tasks(page->json);
  if (!rows) return std::move(rows).error().in("the master's answer");
  if (rows->empty()) {
    return Error::not_found(text("no task begins with ", quoted(word)))
        .with_hint("proffer tasks --all lists them as FRAMEWORK/TASK");
  }
  if (rows->size() == 1) return std::move(rows->front());
  for (proto::TaskRow& row : *rows) {
    if (name_of(row) == word || row.task.str() == word) return std::move(row);
  }
  std::vector<std::string> names;
  for (const proto::TaskRow& row : *rows) names.push_back(name_of(row));
  return Error::invalid_argument(
             text("several tasks begin with ", quoted(word), ": ", listed(names)))
      .with_hint("give more of the name");
}

}  // namespace proffer::cli
