#pragma once

// Values that several documents contain. For proto/json only.

#include <string_view>

#include "common/offers.h"
#include "common/roles.h"
#include "proto/json/json_text.h"
#include "proto/status.h"

// Argument-dependent lookup finds them in this namespace, since JsonWriter and JsonFields belong to
// it.
namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<ResourceVector>& amounts) {
  for (const ResourceKind kind : kResourceKinds) {
    f.milli(to_text(kind), -kAmountMax, kAmountMax, amounts[kind]);
  }
}

// Sets only the resource kinds that are named.
template <class F>
void fields(F& f, typename F::template Of<Quota>& quota) {
  for (const ResourceKind kind : kResourceKinds) {
    if constexpr (F::kReads) {
      if (!f.has(to_text(kind))) continue;
      int64_t milli = 0;
      f.milli(to_text(kind), 0, kAmountMax, milli);
      quota.set(kind, milli);
    } else {
      if (quota[kind]) f.milli(to_text(kind), 0, kAmountMax, *quota[kind]);
    }
  }
}

template <class F>
void fields(F& f, typename F::template Of<GpuDevice>& device) {
  f.whole("index", 0, static_cast<int64_t>(kGpuDevicesMax) - 1, device.index);
  f.require("amount");  // a device with an amount of zero is not allowed
  f.milli("amount", 1, 1000, device.milli);
}

template <class F>
void fields(F& f, typename F::template Of<Resources>& resources) {
  fields(f, resources.amounts);
  f.rows_if_any("gpu_devices", resources.gpus);
  if constexpr (F::kReads) {
    std::string ports;
    f.text("ports", ports);
    if (ports.empty()) return;
    Result<Resources> parsed = parse_resources("ports:" + ports);
    if (!parsed) return f.refuse("ports", parsed.error().message());
    resources.ports = std::move(parsed->ports);
  } else {
    if (!resources.ports.empty()) f.text("ports", to_text(resources.ports));
  }
}

template <class F>
void fields(F& f, typename F::template Of<TaskUsage>& usage) {
  f.whole("cpu_nanos", usage.cpu_nanos);
  f.whole("throttled_nanos", usage.throttled_nanos);
  f.whole("memory_peak_bytes", usage.memory_peak_bytes);
  f.whole("out_of_memory", usage.out_of_memory);
  f.whole("read_bytes", usage.read_bytes);
  f.whole("written_bytes", usage.written_bytes);
}

template <class F>
void fields(F& f, typename F::template Of<MasterRow>& row) {
  f.text("master", row.name);
  f.text("id", row.id);
  f.word("role", parse_master_role, row.role);
  f.seconds("since_s", row.since);
  f.number("first_epoch", row.first);
  f.number("last_epoch", row.last);
  f.seconds("led_since_s", row.led_since);
  f.seconds("led_until_s", row.led_until);
  f.truth("keeps_history", row.keeps_history);
  f.whole("events_behind", row.events_behind);
}

template <class F>
void fields(F& f, typename F::template Of<WaitSpan>& span) {
  f.word("reason", parse_wait_reason, span.reason);
  int64_t nanos = span.spent.nanos();
  f.whole("nanos", nanos);
  if constexpr (F::kReads) span.spent = Duration::nanos(nanos);
}

template <class F>
void fields(F& f, typename F::template Of<WaitSum>& sum) {
  f.word("reason", parse_wait_reason, sum.reason);
  f.whole("millis", sum.millis);
  f.whole("tasks", sum.tasks);
}

template <class F>
void fields(F& f, typename F::template Of<TaskRow>& row) {
  f.text("framework", row.framework);
  f.text("task", row.task);
  f.text("agent", row.agent);
  f.word("state", parse_task_state, row.state);
  f.word("reason", parse_task_reason, row.reason);
  f.text("message", row.message);
  f.text("command", row.command);
  f.text_if_any("user", row.user);
  f.text_if_any("role", row.role);
  f.text_if_any("ask", row.ask);
  f.text_if_any("executor", row.executor);
  f.texts_if_any("labels", row.labels);
  f.value("resources", row.resources);
  f.ports("ports", row.ports);
  f.whole("exit_code", row.exit_code);
  f.whole("signal", row.signal);
  f.truth("healthy", row.healthy);
  f.truth("ready", row.ready);
  f.value("usage", row.usage);
  f.text("http_address", row.http_address);
  f.text_if_any("https_address", row.https_address);
  f.rows_if_any("waited", row.waited);
  f.seconds("launched_at_s", row.launched_at);
  f.seconds("changed_at_s", row.changed_at);
}

template <class F>
void fields(F& f, typename F::template Of<OfferRow>& row) {
  f.number("offer", row.offer);
  f.text("framework", row.framework);
  f.text("agent", row.agent);
  f.value("resources", row.resources);
  f.seconds("made_s", row.made);
  f.seconds("expires_s", row.expires);
}

}  // namespace proffer::proto
