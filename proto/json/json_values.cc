// The values and rows that several documents hold.

#include "proto/json/json_values.h"

namespace proffer::proto {

Json print(const ResourceVector& amounts) {
  Json out = Json::object();
  for (const ResourceKind kind : kResourceKinds) out[to_text(kind)] = print_number(amounts[kind]);
  return out;
}

void read(const JsonFields& in, ResourceVector& out) {
  for (const ResourceKind kind : kResourceKinds) {
    in.milli(to_text(kind), -kAmountMax, kAmountMax, out[kind]);
  }
}

Json print(const Resources& resources) {
  Json out = print(resources.amounts);
  if (!resources.gpus.empty()) {
    Json devices = Json::array();
    for (const GpuDevice& device : resources.gpus) {
      devices.push_back({{"index", device.index}, {"amount", print_number(device.milli)}});
    }
    out["gpu_devices"] = std::move(devices);
  }
  if (!resources.ports.empty()) out["ports"] = to_text(resources.ports);
  return out;
}

void read(const JsonFields& in, Resources& out) {
  read(in, out.amounts);
  in.list("gpu_devices", [&](const JsonFields& device) {
    int64_t index = 0;
    int64_t milli = 0;
    device.whole("index", 0, static_cast<int64_t>(kGpuDevicesMax) - 1, index);
    device.require("amount");  // No device has zero of itself.
    device.milli("amount", 1, 1000, milli);
    out.gpus.push_back({static_cast<int32_t>(index), static_cast<int32_t>(milli)});
  });
  std::string ports;
  in.text("ports", ports);
  if (ports.empty()) return;
  Result<Resources> parsed = parse_resources("ports:" + ports);
  if (!parsed) return in.refuse("ports", parsed.error().message());
  out.ports = std::move(parsed->ports);
}

// Only the kinds that it names.
Json print(const Quota& quota) {
  Json out = Json::object();
  for (const ResourceKind kind : kResourceKinds) {
    if (quota[kind]) out[to_text(kind)] = print_number(*quota[kind]);
  }
  return out;
}

void read(const JsonFields& in, Quota& out) {
  for (const ResourceKind kind : kResourceKinds) {
    if (!in.has(to_text(kind))) continue;
    int64_t milli = 0;
    in.milli(to_text(kind), 0, kAmountMax, milli);
    out.set(kind, milli);
  }
}

Json print(const Attributes& attributes) {
  Json out = Json::object();
  for (const auto& [name, value] : attributes) out[name] = value;
  return out;
}

Json print(const std::map<std::string, uint16_t>& ports) {
  Json out = Json::object();
  for (const auto& [name, port] : ports) out[name] = port;
  return out;
}

std::string_view to_text(OfferMode mode) { return mode == OfferMode::kAsks ? "asks" : "open"; }

std::optional<OfferMode> parse_offer_mode(std::string_view text) {
  if (text == "asks") return OfferMode::kAsks;
  if (text == "open") return OfferMode::kOpen;
  return std::nullopt;
}

// --- tasks -------------------------------------------------------------------------------------

Json print(const TaskRow& row) {
  Json out = {{"framework", row.framework.str()}, {"task", row.task.str()},
              {"agent", row.agent.str()},         {"state", to_text(row.state)},
              {"reason", to_text(row.reason)},    {"message", row.message},
              {"command", row.command},           {"resources", print(row.resources)},
              {"ports", print(row.ports)}};
  if (row.exit_code) out["exit_code"] = *row.exit_code;
  if (row.signal) out["signal"] = *row.signal;
  if (row.healthy) out["healthy"] = *row.healthy;
  out["http_address"] = row.http_address;
  out["launched_at_s"] = print_seconds(row.launched_at);
  out["changed_at_s"] = print_seconds(row.changed_at);
  return out;
}

void read(const JsonFields& in, TaskRow& out) {
  in.text("framework", out.framework);
  in.text("task", out.task);
  in.text("agent", out.agent);
  in.word("state", parse_task_state, out.state);
  in.word("reason", parse_task_reason, out.reason);
  in.text("message", out.message);
  in.text("command", out.command);
  in.object("resources", [&](const JsonFields& resources) { read(resources, out.resources); });
  in.each_whole("ports", 1, 65535, [&](const std::string& name, int64_t port) {
    out.ports.emplace(name, static_cast<uint16_t>(port));
  });
  in.optional_whole("exit_code", out.exit_code);
  in.optional_whole("signal", out.signal);
  if (in.has("healthy")) in.truth("healthy", out.healthy.emplace());
  in.text("http_address", out.http_address);
  in.seconds("launched_at_s", out.launched_at);
  in.seconds("changed_at_s", out.changed_at);
}

// --- offers ------------------------------------------------------------------------------------

Json print(const OfferRow& row) {
  return {{"offer", row.offer.value()},        {"framework", row.framework.str()},
          {"agent", row.agent.str()},          {"resources", print(row.resources)},
          {"made_s", print_seconds(row.made)}, {"expires_s", print_seconds(row.expires)}};
}

void read(const JsonFields& in, OfferRow& out) {
  in.number("offer", out.offer);
  in.text("framework", out.framework);
  in.text("agent", out.agent);
  in.object("resources", [&](const JsonFields& resources) { read(resources, out.resources); });
  in.seconds("made_s", out.made);
  in.seconds("expires_s", out.expires);
}

}  // namespace proffer::proto
