#pragma once

// Writes the parts of messages and records into the builders of the schema: fields, resources,
// asks, offers and tasks. For the codec only.

#include <string>
#include <vector>

#include "proto/messages.h"
#include "wire.capnp.h"

namespace proffer::proto {

template <class Wire, class Enum>
Wire same(Enum value) {
  return static_cast<Wire>(static_cast<uint16_t>(value));
}

inline kj::StringPtr text_of(const std::string& value) { return {value.c_str(), value.size()}; }

template <class Tag>
kj::StringPtr text_of(const Id<Tag>& id) {
  return text_of(id.str());
}

inline capnp::Data::Reader data_of(const std::string& value) {
  return {reinterpret_cast<const capnp::byte*>(value.data()), value.size()};
}

template <class List, class Values>
void fill_texts(List out, const Values& values) {
  unsigned i = 0;
  for (const auto& value : values) out.set(i++, text_of(value));
}

template <class List>
void fill_offer_ids(List out, const std::vector<OfferId>& offers) {
  unsigned i = 0;
  for (const OfferId offer : offers) out.set(i++, offer.value());
}

// The number of bytes of a text for people that are sent: all, or up to the last whole character
// that fits.
size_t words_size(const std::string& words);
// Writes the first bytes of `words`, as many as `out` has.
void fill(capnp::Text::Builder out, const std::string& words);
// Writes at most as many ranges as `out` has.
void fill_ports(capnp::List<wire::PortRange>::Builder out, const PortSet& ports);
inline unsigned ranges_count(const PortSet& ports) {
  return static_cast<unsigned>(ports.ranges().size());
}

void write(const ResourceVector& amounts, wire::Amounts::Builder out);
void write(const Resources& resources, wire::Resources::Builder out);
void write(const Slice& slice, wire::Slice::Builder out);
void write(const Constraint& constraint, wire::Constraint::Builder out);
void write(const Preference& prefer, wire::Preference::Builder out);
void write(const Ask& ask, wire::Ask::Builder out);
void write(const Offer& offer, wire::Offer::Builder out);
void write(const Refusal& refusal, wire::Refusal::Builder out);
void write(const HealthCheck& check, wire::HealthCheck::Builder out);
void write(const FetchedFile& file, wire::FetchedFile::Builder out);
void write(const TaskSpec& spec, wire::TaskSpec::Builder out);
void write(const TaskClaim& claim, wire::TaskClaim::Builder out);
void write(const Assignment& assignment, wire::Assignment::Builder out);
void write(const TaskUsage& usage, wire::TaskUsage::Builder out);
void write(const TaskStatus& status, wire::TaskStatus::Builder out);
void write(const AgentTask& task, wire::AgentTask::Builder out);

// For offers and agents, which have lists of attributes and slices.
template <class Value, class Builder>
void write_agent_parts(const Value& value, Builder out) {
  if (!value.attributes.empty()) {
    auto attributes = out.initAttributes(static_cast<unsigned>(value.attributes.size()));
    unsigned i = 0;
    for (const auto& [name, text] : value.attributes) {
      attributes[i].setName(text_of(name));
      attributes[i++].setValue(text_of(text));
    }
  }
  if (!value.slices.empty()) {
    auto slices = out.initSlices(static_cast<unsigned>(value.slices.size()));
    for (unsigned i = 0; i < slices.size(); ++i) write(value.slices[i], slices[i]);
  }
}

}  // namespace proffer::proto
