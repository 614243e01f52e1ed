// SPDX-License-Identifier: Apache-2.0
// One list of fields per message, read and written alike. Pure.
#include "wire/modex_messages.h"

#include "base/is.h"
#include "job/json_fields.h"

namespace muster::wire {

namespace {

template <class Visitor>
void visit(Visitor& visitor, Is<JobMapNode> auto& node) {
  visitor.required("host", node.host);
  visitor.field("ranks", node.ranks);
}

template <class Visitor>
void visit(Visitor& visitor, Is<JobMapProgram> auto& program) {
  visitor.required("ranks", program.ranks);
  visitor.field("command", program.command);
  visitor.field("cwd", program.cwd);
}

template <class Visitor>
void visit(Visitor& visitor, Is<JobMap> auto& message) {
  visitor.required("nspace", message.nspace);
  visitor.required("size", message.size);
  visitor.required("node", message.node);
  visitor.objects("nodes", message.nodes,
                  [](auto& inner, auto& node) { visit(inner, node); });
  visitor.objects("programs", message.programs,
                  [](auto& inner, auto& program) { visit(inner, program); });
  visitor.field("cwd_if_there", message.cwd_if_there);
  visitor.field("cpus", message.cpus);
  visitor.field("emulated", message.emulated);
}

template <class Visitor>
void visit(Visitor& visitor, Is<FenceCall> auto& message) {
  visitor.required("participants", message.participants);
  visitor.required("sequence", message.sequence);
  visitor.required("size", message.size);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ModexReply> auto& message) {
  visitor.field("error", message.error);
  visitor.field("size", message.size);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ModexGet> auto& message) {
  visitor.required("rank", message.rank);
}

template <class Visitor>
void visit(Visitor& visitor, Is<NamesRequest> auto& message) {
  visitor.required("operation", message.operation);
  visitor.field("owner", message.owner);
  visitor.required("keys", message.keys);
  visitor.field("values", message.values);
  visitor.field("wait", message.wait);
  visitor.field("timeout_ms", message.timeout_ms);
}

template <class Visitor>
void visit(Visitor& visitor, Is<NamesReply> auto& message) {
  visitor.field("error", message.error);
  visitor.field("keys", message.keys);
  visitor.field("values", message.values);
  visitor.field("owners", message.owners);
}

template <class Visitor>
void visit(Visitor& visitor, Is<RankState> auto& message) {
  visitor.required("rank", message.rank);
  visitor.required("state", message.state);
  visitor.field("code", message.code);
  visitor.shown("message", message.message);
}

template <class Visitor>
void visit(Visitor& visitor, Is<RankEnd> auto& end) {
  visitor.required("rank", end.rank);
  visitor.field("wait_status", end.wait_status);
}

template <class Visitor>
void visit(Visitor& visitor, Is<RanksEnded> auto& message) {
  visitor.objects("ranks", message.ranks,
                  [](auto& inner, auto& end) { visit(inner, end); });
}

template <class Visitor>
void visit(Visitor& visitor, Is<Arrivals> auto& message) {
  visitor.field("ranks", message.ranks);
}

template <class Message>
std::string encode_message(const Message& message) {
  JsonWriter writer;
  visit(writer, message);
  return writer.text();
}

}  // namespace

std::string to_json(const JobMap& message) { return encode_message(message); }
std::string to_json(const FenceCall& message) {
  return encode_message(message);
}
std::string to_json(const ModexReply& message) {
  return encode_message(message);
}
std::string to_json(const ModexGet& message) { return encode_message(message); }
std::string to_json(const NamesRequest& message) {
  return encode_message(message);
}
std::string to_json(const NamesReply& message) {
  return encode_message(message);
}
std::string to_json(const RankState& message) {
  return encode_message(message);
}
std::string to_json(const RanksEnded& message) {
  return encode_message(message);
}
std::string to_json(const Arrivals& message) { return encode_message(message); }

template <class Message>
Result<Message> modex_from_json(std::string_view text) {
  JsonReader reader(text, "message about the job's ranks");
  Message message;
  visit(reader, message);
  if (Status status = reader.status(); !status) return fail(status.error());
  return message;
}

template Result<JobMap> modex_from_json(std::string_view);
template Result<FenceCall> modex_from_json(std::string_view);
template Result<ModexReply> modex_from_json(std::string_view);
template Result<ModexGet> modex_from_json(std::string_view);
template Result<NamesRequest> modex_from_json(std::string_view);
template Result<NamesReply> modex_from_json(std::string_view);
template Result<RankState> modex_from_json(std::string_view);
template Result<RanksEnded> modex_from_json(std::string_view);
template Result<Arrivals> modex_from_json(std::string_view);

}  // namespace muster::wire
