// Virtual time. Read run_until first: it takes the next instant, handles all its events, ticks the
// nodes that are due, and repeats.

#include "sim/world.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/check.h"
#include "common/text.h"
#include "sim/trace.h"

namespace proffer::sim {
namespace {

// Later events, such as the end of a task, may be far behind others.
constexpr Duration kSoon = milliseconds(100);
// A core that wants this many ticks at one instant will want them forever.
constexpr int kTicksPerInstantMax = 200;

}  // namespace

Prng World::chance(std::string_view purpose) const {
  uint64_t mixed = seed_ * 0x9E3779B97F4A7C15u + 1;
  for (const char c : purpose) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return Prng(mixed);
}

void World::at(Time at, std::function<void()> what) {
  CHECK(at >= now_) << "planned for the past";
  Event event{at, ++numbers_, std::move(what)};
  if (at - now_ <= kSoon && (in_order_.empty() || in_order_.back().at <= at)) {
    in_order_.push_back(std::move(event));
    return;
  }
  queue_.push_back(std::move(event));
  std::push_heap(queue_.begin(), queue_.end(), Later());
}

const World::Event* World::first_event() const {
  if (in_order_.empty()) return queue_.empty() ? nullptr : &queue_.front();
  if (queue_.empty() || Later()(queue_.front(), in_order_.front())) return &in_order_.front();
  return &queue_.front();
}

World::Event World::take_first_event() {
  if (!in_order_.empty() && first_event() == &in_order_.front()) {
    Event event = std::move(in_order_.front());
    in_order_.pop_front();
    return event;
  }
  std::pop_heap(queue_.begin(), queue_.end(), Later());
  Event event = std::move(queue_.back());
  queue_.pop_back();
  return event;
}

std::optional<Time> World::next() {
  std::optional<Time> next;
  if (const Event* event = first_event()) next = event->at;
  if (const auto first = first_due()) {
    const Time due = std::max(first->first, now_);
    if (!next || due < *next) next = due;
  }
  return next;
}

void World::queue_deadline(size_t index, Time at) {
  if (queued_[index] && *queued_[index] <= at) return;
  queued_[index] = at;
  due_.emplace_back(at, index);
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
}

std::optional<std::pair<Time, size_t>> World::first_due() {
  while (!due_.empty()) {
    const auto [at, index] = due_.front();
    const std::optional<Time> deadline = deadlines_[index];
    const bool stale = queued_[index] != at;
    if (!stale && deadline == at) return std::pair(at, index);
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    due_.pop_back();
    if (stale) continue;
    queued_[index].reset();
    if (deadline) queue_deadline(index, *deadline);
  }
  return std::nullopt;
}

bool World::run_until(Time until, const std::function<bool()>& done) {
  while (violations_.empty()) {
    if (done && done()) return true;
    const std::optional<Time> at = next();
    if (!at || *at > until) {
      now_ = until;
      return false;
    }
    now_ = *at;
    handle_instant();
    tick_instant();
  }
  return false;
}

void World::handle_instant() {
  while (violations_.empty()) {
    const Event* first = first_event();
    if (first == nullptr || first->at > now_) return;
    const Event event = take_first_event();
    event.what();
  }
}

// Ticks each node that is due at most once, in order; the consequences are handled before any node
// is ticked again.
void World::tick_instant() {
  std::vector<size_t> ready;
  for (auto first = first_due(); first && first->first <= now_; first = first_due()) {
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    due_.pop_back();
    queued_[first->second].reset();
    ready.push_back(first->second);
  }
  std::sort(ready.begin(), ready.end());
  tick(ready);
  // nodes that are still due are ticked again
  for (const size_t index : ready) {
    if (deadlines_[index]) queue_deadline(index, *deadlines_[index]);
  }
}

void World::tick(const std::vector<size_t>& ready) {
  for (const size_t index : ready) {
    Node& node = *nodes_[index];
    if (!violations_.empty()) return;
    if (!node.up_ || node.frozen_ || !deadlines_[index] || *deadlines_[index] > now_) continue;
    if (node.ticked_at_ != now_) node.ticks_ = 0;
    node.ticked_at_ = now_;
    if (++node.ticks_ > kTicksPerInstantMax) {
      violated(node.name_, Violation{"asks for ticks again and again at one instant"});
      return;
    }
    node.tick();
  }
}

void World::violated(const std::string& who, const Violation& violation) {
  note(who, LawBroken{violation.what});
  violations_.push_back(Violation{text(who, ": ", violation.what)});
}

size_t World::add(Node* node) {
  nodes_.push_back(node);
  deadlines_.emplace_back();
  queued_.emplace_back();
  return nodes_.size() - 1;
}

void World::arm(Node& node) {
  std::optional<Time>& deadline = deadlines_[node.index_];
  const std::optional<Time> wanted =
      node.up_ && !node.frozen_ ? node.next_deadline() : std::nullopt;
  deadline = wanted;
  if (deadline) queue_deadline(node.index_, *deadline);
}

void World::stepped(Node& node) {
  ++steps_;
  arm(node);
  if (node.up_ && ++node.steps_ % check_every_ == 0) {
    for (const Violation& violation : node.violations()) violated(node.name_, violation);
  }
}

Node::Node(World& world, std::string name)
    : world_(world), name_(std::move(name)), index_(world.add(this)) {}

void Node::begin_life() {
  CHECK(!up_) << name_ << " lives already";
  up_ = true;
  ++life_;
  crash_in_ = 0;
}

void Node::end_life() {
  up_ = false;
  frozen_ = false;
  waiting_.clear();
  world_.arm(*this);
}

void Node::later(Duration duration, std::function<void()> what) {
  world_.after(duration, [this, life = life_, what = std::move(what)]() mutable {
    if (up_ && life == life_) when_awake(std::move(what));
  });
}

void Node::when_awake(std::function<void()> what) {
  if (!frozen_) return what();
  waiting_.push_back(std::move(what));
}

void Node::freeze() {
  if (!up_ || frozen_) return;
  frozen_ = true;
  world_.arm(*this);
}

void Node::thaw(bool late) {
  if (!frozen_) return;
  frozen_ = false;
  const uint64_t life = life_;
  if (const std::optional<Time> due = next_deadline(); late && due && *due <= now()) tick();
  if (!up_ || life != life_) return;
  for (const auto& what : std::exchange(waiting_, {})) {
    if (up_ && life == life_) what();
  }
  if (up_) world_.arm(*this);
}

void Node::note(std::vector<TraceEvent>& trace) {
  for (TraceEvent& event : trace) note(std::move(event));
  trace.clear();
}

Secret random_secret(Prng& prng) {
  const uint64_t second = prng.next();
  const uint64_t first = prng.next();
  return Secret(fmt::format("{:016x}{:016x}", first, second));
}

}  // namespace proffer::sim
