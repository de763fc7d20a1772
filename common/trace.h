#pragma once

// The only typed trace of events. Cores emit it; shells turn it into log lines, metrics and the
// event log; the simulator hashes it; golden tests compare it. So they cannot disagree.
//
// Each kind of event is a struct with its level, its text and its fields:
//
//   struct AgentLost {
//     AgentId agent;
//     size_t tasks = 0;
//     static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent lost"}; }
//     void fields(TraceFields& f) const { f("agent", agent)("tasks", tasks); }
//   };
//
// An event is printed only when it is read, so an event that is only counted costs one allocation.

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace proffer {

// How a shell logs an event (STYLE: logs, traces, metrics).
enum class TraceLevel : uint8_t {
  kLongLived,   // INFO: an agent, framework, role or master changed its state
  kShortLived,  // VLOG(1): an offer or task changed its state
  kMessage,     // VLOG(2): a message passed
  kMisbehaved,  // WARNING: another party misbehaved, and this was handled
  kOperator,    // ERROR: an operator must act; `what` names the remedy
};

struct TraceKind {
  TraceLevel level = TraceLevel::kMessage;
  std::string_view what = {};  // a literal: the event in words, also the name of its counter
};

// Visits the fields of an event in order. Keys are literals.
class TraceFields {
 public:
  virtual ~TraceFields() = default;
  // A checked name or id, a literal, or an amount as text.
  virtual void word(std::string_view key, std::string_view value) = 0;
  virtual void number(std::string_view key, int64_t value) = 0;
  // Text that a peer or a person wrote, or that may have spaces.
  virtual void free_text(std::string_view key, std::string_view value) = 0;

  TraceFields& operator()(std::string_view key, std::string_view value) {
    word(key, value);
    return *this;
  }
  TraceFields& operator()(std::string_view key, std::integral auto value) {
    if (std::in_range<int64_t>(value)) {
      number(key, static_cast<int64_t>(value));
    } else {
      word(key, std::to_string(value));
    }
    return *this;
  }
  TraceFields& operator()(std::string_view key, Duration value) {
    word(key, to_text(value));
    return *this;
  }
  template <class Tag>
  TraceFields& operator()(std::string_view key, const Id<Tag>& value) {
    word(key, value.str());
    return *this;
  }
  template <class Tag>
  TraceFields& operator()(std::string_view key, Number<Tag> value) {
    return (*this)(key, value.value());
  }
};

template <class T>
concept Traced = requires(const T& happened, TraceFields& fields) {
  { happened.kind() } -> std::convertible_to<TraceKind>;
  happened.fields(fields);
};

// One event of any kind. Copies share it.
class TraceEvent {
 public:
  template <Traced T>
  TraceEvent(T happened)  // NOLINT(google-explicit-constructor): an event of a kind is an event
      : held_(std::make_shared<const HeldAs<T>>(std::move(happened))) {}

  TraceKind kind() const { return held_->kind(); }
  TraceLevel level() const { return kind().level; }
  std::string_view what() const { return kind().what; }
  void fields(TraceFields& fields) const { held_->fields(fields); }
  // nullptr if the event is of another kind.
  template <Traced T>
  const T* as() const {
    if (held_->type != &kType<T>) return nullptr;
    return &static_cast<const HeldAs<T>&>(*held_).happened;
  }

 private:
  // Its address identifies the type; comparing std::type_info would compare names.
  template <class T>
  static constexpr char kType = 0;

  struct Held {
    explicit Held(const char* type_of_it) : type(type_of_it) {}
    virtual ~Held() = default;
    virtual TraceKind kind() const = 0;
    virtual void fields(TraceFields& fields) const = 0;
    const char* const type;
  };
  template <class T>
  struct HeldAs final : Held {
    explicit HeldAs(T value) : Held(&kType<T>), happened(std::move(value)) {}
    TraceKind kind() const override { return happened.kind(); }
    void fields(TraceFields& fields) const override { happened.fields(fields); }
    T happened;
  };

  std::shared_ptr<const Held> held_;
};

// "agent lost agent=a17 reason=heartbeat tasks=12".
std::string to_text(const TraceEvent& event);

// The fields as text, in order. Text of peers and people is unchanged.
std::vector<std::pair<std::string_view, std::string>> fields_of(const TraceEvent& event);

}  // namespace proffer
