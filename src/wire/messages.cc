// SPDX-License-Identifier: Apache-2.0
// The JSON form of every control message: one list of fields per message, read
// and written alike. `shown` is text for people, which a hostile peer may have
// written. A message means nothing without its `required` fields; an older peer
// may omit all others. Pure.
#include "wire/messages.h"

#include "base/is.h"
#include "job/json_fields.h"

namespace muster::wire {

namespace {

// JSON word of a ProcessKind; "" never occurs.
const char* kind_word(ProcessKind kind) {
  switch (kind) {
    case ProcessKind::kRank:
      return "rank";
    case ProcessKind::kDaemon:
      return "daemon";
    case ProcessKind::kTool:
      return "tool";
  }
  return "";
}

void visit_kind(JsonWriter& writer, const ProcessKind& kind) {
  writer.required("kind", std::string(kind_word(kind)));
}

void visit_kind(JsonReader& reader, ProcessKind& kind) {
  std::string word;
  reader.required("kind", word);
  for (const ProcessKind known :
       {ProcessKind::kRank, ProcessKind::kDaemon, ProcessKind::kTool}) {
    if (word != kind_word(known)) continue;
    kind = known;
    return;
  }
  reader.reject("kind", "rank, daemon or tool");
}

void visit_cpus(JsonWriter& writer, const std::vector<int>& cpus) {
  writer.field("cpus", cpus);
}

void visit_cpus(JsonReader& reader, std::vector<int>& cpus) {
  constexpr int kHighest = 65'535;  // as of a list of CPUs
  reader.field("cpus", cpus);
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu > kHighest) reader.reject("cpus", "a list of CPUs");
  }
}

template <class Visitor>
void visit(Visitor& visitor, Is<Hello> auto& message) {
  visitor.required("protocol_min", message.protocol_min);
  visitor.required("protocol_max", message.protocol_max);
  visitor.field("version", message.version);
  visitor.required("launch_id", message.launch_id);
  visitor.field("job", message.job);
  visitor.field("incarnation", message.incarnation);
  visitor.field("node", message.node);
  visitor.field("host", message.host);
  visitor.field("worker", message.worker);
  visitor.field("heartbeat_ms", message.heartbeat_ms);
  visitor.field("silence_ms", message.silence_ms);
  visitor.field("grace_ms", message.grace_ms);
}

template <class Visitor>
void visit(Visitor& visitor, Is<HelloReply> auto& message) {
  visitor.required("protocol", message.protocol);
  visitor.shown("version", message.version);
  visitor.shown("hostname", message.hostname);
  visitor.field("pid", message.pid);
  visitor.field("realtime_ns", message.realtime_ns);
  visitor.field("meeting_port", message.meeting_port);
}

template <class Visitor>
void visit(Visitor& visitor, Is<Refused> auto& message) {
  visitor.required("code", message.code);
  visitor.shown("code", message.code);
  visitor.shown("text", message.text);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ProbeTarget> auto& target) {
  visitor.required("host", target.host);
  visitor.required("port", target.port);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ProbeRequest> auto& message) {
  visitor.field("names", message.names);
  visitor.objects("targets", message.targets,
                  [](auto& inner, auto& target) { visit(inner, target); });
  visitor.field("timeout_ms", message.timeout_ms);
  visitor.field("listen", message.listen);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ProbeResult> auto& result) {
  visitor.required("subject", result.subject);
  visitor.shown("subject", result.subject);
  visitor.required("outcome", result.outcome);
  visitor.shown("outcome", result.outcome);
  visitor.shown("detail", result.detail);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ProbeReply> auto& message) {
  visitor.objects("results", message.results,
                  [](auto& inner, auto& result) { visit(inner, result); });
  visitor.field("listen_port", message.listen_port);
}

template <class Visitor>
void visit(Visitor& visitor, Is<StartRequest> auto& message) {
  visit_kind(visitor, message.kind);
  visitor.required("argv", message.argv);
  visitor.field("program", message.program);
  visitor.field("env", message.env);
  visitor.field("unset", message.unset);
  visitor.field("cwd", message.cwd);
  visitor.field("cwd_if_there", message.cwd_if_there);
  visitor.field("stdin_open", message.stdin_open);
  visitor.field("rank", message.rank);
  visitor.field("credit", message.credit);
  visit_cpus(visitor, message.cpus);
  visitor.field("rank_env", message.rank_env);
  visitor.objects("local_rank_env", message.local_rank_env,
                  [](auto& inner, auto& env) { inner.field("env", env); });
}

template <class Visitor>
void visit(Visitor& visitor, Is<Started> auto& message) {
  visitor.required("pid", message.pid);
}

template <class Visitor>
void visit(Visitor& visitor, Is<StartFailed> auto& message) {
  visitor.required("code", message.error.code);
  visitor.shown("code", message.error.code);
  visitor.shown("text", message.error.what);
  visitor.shown("why", message.error.why);
  visitor.shown("where", message.error.where);
  visitor.shown("hint", message.error.hint);
  visitor.field("exit_code", message.exit_code);
}

template <class Visitor>
void visit(Visitor& visitor, Is<Attached> auto& message) {
  visitor.required("rank", message.rank);
  visitor.field("size", message.size);
  visitor.field("local_rank", message.local_rank);
  visitor.field("local_size", message.local_size);
  visitor.field("pid", message.pid);
  visitor.field("parent_id", message.parent_id);
  visitor.shown("program", message.program);
  visitor.field("pmix", message.pmix);
  visitor.field("pmi", message.pmi);
}

template <class Visitor>
void visit(Visitor& visitor, Is<Exited> auto& message) {
  visitor.required("wait_status", message.wait_status);
  visitor.field("user_us", message.user_us);
  visitor.field("system_us", message.system_us);
  visitor.field("max_rss_kib", message.max_rss_kib);
  visitor.field("loaded_mpi", message.loaded_mpi);
  visitor.field("lonely_mpi", message.lonely_mpi);
  visitor.field("oom_killed", message.oom_killed);
  visitor.field("bytes_lost", message.bytes_lost);
  visitor.field("mpi_attached", message.mpi_attached);
  visitor.field("mpi_finalized", message.mpi_finalized);
  visitor.field("by_pmix", message.by_pmix);
  visitor.field("aborted", message.aborted);
  visitor.field("ended_ms_ago", message.ended_ms_ago);
  visitor.field("draining", message.draining);
}

template <class Visitor>
void visit(Visitor& visitor, Is<SignalRequest> auto& message) {
  visitor.required("signal", message.signal);
}

template <class Visitor>
void visit(Visitor& visitor, Is<StopRequest> auto& message) {
  visitor.field("grace_ms", message.grace_ms);
  visitor.field("now", message.now);
  visitor.field("tool_delay_ms", message.tool_delay_ms);
  visitor.field("ranks_first", message.ranks_first);
}

template <class Visitor>
void visit(Visitor& visitor, Is<HealthSample> auto& message) {
  visitor.field("memory_bytes", message.memory_bytes);
  visitor.field("memory_limit", message.memory_limit);
  visitor.field("memory_peak", message.memory_peak);
  visitor.field("oom_kills", message.oom_kills);
  visitor.field("shm_free", message.shm_free);
  visitor.field("processes", message.processes);
  visitor.field("realtime_ns", message.realtime_ns);
}

template <class Visitor>
void visit(Visitor& visitor, Is<LogLine> auto& message) {
  visitor.required("level", message.level);
  visitor.required("text", message.text);
  visitor.shown("text", message.text);
  visitor.field("leaving", message.leaving);
  visitor.field("gave_up", message.gave_up);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ByeMessage> auto& message) {
  visitor.field("success", message.success);
}

template <class Message>
std::string encode_message(const Message& message) {
  JsonWriter writer;
  visit(writer, message);
  return writer.text();
}

template <class Message>
constexpr const char* kMessageName = "";
template <>
constexpr const char* kMessageName<Hello> = "Hello";
template <>
constexpr const char* kMessageName<HelloReply> = "HelloReply";
template <>
constexpr const char* kMessageName<Refused> = "Refused";
template <>
constexpr const char* kMessageName<ProbeRequest> = "ProbeRequest";
template <>
constexpr const char* kMessageName<ProbeReply> = "ProbeReply";
template <>
constexpr const char* kMessageName<StartRequest> = "StartRequest";
template <>
constexpr const char* kMessageName<Started> = "Started";
template <>
constexpr const char* kMessageName<StartFailed> = "StartFailed";
template <>
constexpr const char* kMessageName<Attached> = "Attached";
template <>
constexpr const char* kMessageName<Exited> = "Exited";
template <>
constexpr const char* kMessageName<SignalRequest> = "SignalRequest";
template <>
constexpr const char* kMessageName<StopRequest> = "StopRequest";
template <>
constexpr const char* kMessageName<HealthSample> = "HealthSample";
template <>
constexpr const char* kMessageName<LogLine> = "LogLine";
template <>
constexpr const char* kMessageName<ByeMessage> = "ByeMessage";

}  // namespace

std::string to_json(const Hello& message) { return encode_message(message); }
std::string to_json(const HelloReply& message) {
  return encode_message(message);
}
std::string to_json(const Refused& message) { return encode_message(message); }
std::string to_json(const ProbeRequest& message) {
  return encode_message(message);
}
std::string to_json(const ProbeReply& message) {
  return encode_message(message);
}
std::string to_json(const StartRequest& message) {
  return encode_message(message);
}
std::string to_json(const Started& message) { return encode_message(message); }
std::string to_json(const StartFailed& message) {
  return encode_message(message);
}
std::string to_json(const Attached& message) { return encode_message(message); }
std::string to_json(const Exited& message) { return encode_message(message); }
std::string to_json(const SignalRequest& message) {
  return encode_message(message);
}
std::string to_json(const StopRequest& message) {
  return encode_message(message);
}
std::string to_json(const HealthSample& message) {
  return encode_message(message);
}
std::string to_json(const LogLine& message) { return encode_message(message); }
std::string to_json(const ByeMessage& message) {
  return encode_message(message);
}

template <class Message>
Result<Message> from_json(std::string_view text) {
  JsonReader reader(text, std::string("message ") + kMessageName<Message>);
  Message message;
  visit(reader, message);
  if (Status status = reader.status(); !status) return fail(status.error());
  return message;
}

template Result<Hello> from_json(std::string_view);
template Result<HelloReply> from_json(std::string_view);
template Result<Refused> from_json(std::string_view);
template Result<ProbeRequest> from_json(std::string_view);
template Result<ProbeReply> from_json(std::string_view);
template Result<StartRequest> from_json(std::string_view);
template Result<Started> from_json(std::string_view);
template Result<StartFailed> from_json(std::string_view);
template Result<Attached> from_json(std::string_view);
template Result<Exited> from_json(std::string_view);
template Result<SignalRequest> from_json(std::string_view);
template Result<StopRequest> from_json(std::string_view);
template Result<HealthSample> from_json(std::string_view);
template Result<LogLine> from_json(std::string_view);
template Result<ByeMessage> from_json(std::string_view);

}  // namespace muster::wire
