// A master becomes the leader through begin_session, make_nodes, elect and elected; session_ended
// and check_deadline end the lead.

#include "store/zookeeper_leadership.h"

#include <utility>
#include <vector>

#include "common/check.h"
#include "common/text.h"
#include "store/zookeeper_options.h"
#include "store/zookeeper_rows.h"

namespace proffer {
namespace {

using Status = ZooKeeperSession::Status;
using Kind = ZooKeeperSession::Write::Kind;

// All folders on the path to ROOT, its nodes, and last its epoch: if that exists, all nodes exist.
std::vector<ZooKeeperSession::Write> nodes_below(const std::string& root) {
  std::vector<ZooKeeperSession::Write> nodes;
  for (size_t end = root.find('/', 1);; end = root.find('/', end + 1)) {
    nodes.push_back({.path = root.substr(0, end)});
    if (end == root.npos) break;
  }
  nodes.push_back({.path = root + "/rows"});
  nodes.push_back({.path = root + "/journal"});
  nodes.push_back({.path = root + "/epoch", .data = to_text(ZooKeeperEpoch{.writer = "none"})});
  return nodes;
}

}  // namespace

ZooKeeperLeadership::ZooKeeperLeadership(Loop& loop, ZooKeeperOptions options, std::string writer,
                                         int64_t epoch_at_least)
    : loop_(loop),
      options_(std::move(options)),
      writer_(std::move(writer)),
      epoch_at_least_(epoch_at_least),
      probe_timer_(loop, [this] { probe(); }),
      deadline_timer_(loop, [this] { check_deadline(); }) {}

ZooKeeperLeadership::~ZooKeeperLeadership() = default;

void ZooKeeperLeadership::campaign(MasterPlace here, Events events) {
  here_ = std::move(here);
  events_ = std::move(events);
  begin_session();
}

void ZooKeeperLeadership::begin_session() {
  store_.reset();
  ++sessions_;
  is_connected_ = false;
  has_nodes_ = false;
  knows_leader_ = false;
  session_ = std::make_unique<ZooKeeperSession>(
      loop_, options_,
      ZooKeeperSession::Events{.on_connected =
                                   [this] {
                                     is_connected_ = true;
                                     if (!std::exchange(has_nodes_, true)) return make_nodes();
                                     if (knows_leader_ && store_ == nullptr) learn_leader();
                                   },
                               .on_disconnected =
                                   [this] {
                                     is_connected_ = false;
                                     if (!leads_) follow(std::nullopt);
                                   },
                               .on_ended = [this] { session_ended(); }});
}

void ZooKeeperLeadership::session_ended() {
  if (is_over_) return;
  if (leads_) return lose(Error::unavailable("the session with ZooKeeper has expired"));
  follow(std::nullopt);
  begin_session();
}

void ZooKeeperLeadership::make_nodes() {
  session_->get(options_.root + "/epoch", [this](const ZooKeeperSession::Node& node) {
    if (node.status == Status::kNoAuth) return lose(wrong_zookeeper_secret(options_.root));
    if (node.status == Status::kOk) return elect();
    make_node(0);
  });
}

void ZooKeeperLeadership::make_node(size_t next) {
  std::vector<ZooKeeperSession::Write> nodes = nodes_below(options_.root);
  if (next == nodes.size()) return elect();
  session_->write({nodes[next]}, [this, next](const ZooKeeperSession::Written& written) {
    if (written.status == Status::kNoAuth) return lose(wrong_zookeeper_secret(options_.root));
    if (written.status != Status::kOk && written.status != Status::kNodeExists) {
      return lose(Error::unavailable(
          text("ZooKeeper refused to create ", quoted(options_.root), ": ", written.error)));
    }
    make_node(next + 1);
  });
}

void ZooKeeperLeadership::elect() {
  if (is_over_ || store_ != nullptr) return;
  session_->write(
      {{.kind = Kind::kCreateEphemeral,
        .path = options_.root + "/leader",
        .data = to_zookeeper_leader(here_)}},
      [this](const ZooKeeperSession::Written& written) {
        if (written.status == Status::kOk) return elected();
        if (written.status == Status::kNodeExists) return learn_leader();
        if (written.status == Status::kNoAuth) return lose(wrong_zookeeper_secret(options_.root));
        lose(Error::unavailable(text("ZooKeeper refused the election: ", written.error)));
      });
}

void ZooKeeperLeadership::learn_leader() {
  session_->get(options_.root + "/leader", [this](const ZooKeeperSession::Node& node) {
    if (node.status == Status::kNoNode) return elect();
    if (node.is_mine) return elected();  // An earlier attempt succeeded, but its answer was lost.
    knows_leader_ = true;
    follow(parse_zookeeper_leader(node.data));
    session_->watch_gone(options_.root + "/leader", [this, session = sessions_] {
      if (session == sessions_) elect();
    });
  });
}

void ZooKeeperLeadership::elected() {
  if (is_over_ || store_ != nullptr) return;
  other_.reset();
  store_ = std::make_unique<ZooKeeperStore>(loop_, *session_, options_.root,
                                            text(writer_, "-", sessions_));
  store_->take_over(
      [this](Result<ZooKeeperStore::TakenOver> taken) {
        if (is_over_) return;
        if (!taken) return lose(std::move(taken).error());
        leads_ = true;
        probe();
        check_deadline();
        if (leads_) events_.gained(taken->epoch, std::move(taken->rows));
      },
      epoch_at_least_);
}

void ZooKeeperLeadership::follow(std::optional<MasterPlace> leader) {
  if (is_over_ || leads_) return;
  other_ = std::move(leader);
  if (events_.follows) events_.follows(other_);
}

Lease ZooKeeperLeadership::lease() const {
  return {.session_timeout = session_->timeout(), .answered = session_->last_answered()};
}

bool ZooKeeperLeadership::may_serve(Time now) const { return leads_ && lease().holds(now); }

Store& ZooKeeperLeadership::store() {
  CHECK(store_ != nullptr) << "only a leader has a store";
  return *store_;
}

void ZooKeeperLeadership::probe() {
  if (!leads_ || is_over_) return;
  probe_timer_.arm(loop_.now() + lease().probe_every());
  if (std::exchange(is_probing_, true)) return;
  session_->sync(options_.root + "/epoch", [this] { is_probing_ = false; });
}

void ZooKeeperLeadership::check_deadline() {
  if (!leads_ || is_over_) return;
  if (lease().holds(loop_.now())) return deadline_timer_.arm(lease().ends());
  lose(Error::unavailable(text("ZooKeeper has not answered for ",
                               to_text(session_->timeout() * 9 / 10),
                               ": the session may have expired, and another master may lead"))
           .with_hint("restart this master: it waits as a standby until ZooKeeper answers"));
}

void ZooKeeperLeadership::lose(Error why) {
  if (std::exchange(is_over_, true)) return;
  leads_ = false;
  probe_timer_.arm(std::nullopt);
  deadline_timer_.arm(std::nullopt);
  events_.lost(std::move(why));
}

}  // namespace proffer
