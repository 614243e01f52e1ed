// SPDX-License-Identifier: Apache-2.0
// The JSON form of Evidence: one list of fields per struct, read and written
// alike; nothing but the version is required. Pure.
#include "diagnosis/evidence.h"

#include <array>

#include "base/is.h"
#include "job/json_fields.h"

namespace muster {

namespace {

template <class Value>
struct Word {
  Value value;
  const char* word;
};

constexpr std::array<Word<RankOutcome>, 6> kRankOutcomes = {{
    {RankOutcome::kUnknown, "unknown"},
    {RankOutcome::kNeverStarted, "never_started"},
    {RankOutcome::kRefused, "refused"},
    {RankOutcome::kRunning, "running"},
    {RankOutcome::kExited, "exited"},
    {RankOutcome::kLost, "lost"},
}};
constexpr std::array<Word<NodeOutcome>, 4> kNodeOutcomes = {{
    {NodeOutcome::kUnknown, "unknown"},
    {NodeOutcome::kConnected, "connected"},
    {NodeOutcome::kNeverReady, "never_ready"},
    {NodeOutcome::kLost, "lost"},
}};
constexpr std::array<Word<Severity>, 3> kSeverities = {{
    {Severity::kInfo, "info"},
    {Severity::kWarning, "warning"},
    {Severity::kError, "error"},
}};

template <class Value, size_t kCount>
void visit_word(JsonWriter& writer, const char* name, const Value& value,
                const std::array<Word<Value>, kCount>& words) {
  for (const Word<Value>& known : words) {
    if (known.value == value) writer.field(name, std::string(known.word));
  }
}

template <class Value, size_t kCount>
void visit_word(JsonReader& reader, const char* name, Value& value,
                const std::array<Word<Value>, kCount>& words) {
  std::string word;
  reader.field(name, word);
  if (word.empty()) return;
  for (const Word<Value>& known : words) {
    if (word != known.word) continue;
    value = known.value;
    return;
  }
  reader.reject(name, "a known word");
}

template <class Visitor>
void visit(Visitor& visitor, Is<Error> auto& error) {
  visitor.field("code", error.code);
  visitor.field("what", error.what);
  visitor.field("why", error.why);
  visitor.field("where", error.where);
  visitor.field("hint", error.hint);
}

template <class Visitor>
void visit(Visitor& visitor, Is<LineEvidence> auto& line) {
  visitor.field("time_ns", line.time_ns);
  visitor.field("stderr", line.stderr_stream);
  visitor.field("text", line.text);
}

template <class Visitor>
void visit(Visitor& visitor, Is<MemorySample> auto& sample) {
  visitor.field("time_ns", sample.time_ns);
  visitor.field("bytes", sample.bytes);
  visitor.field("limit", sample.limit);
  visitor.field("peak", sample.peak);
  visitor.field("oom_kills", sample.oom_kills);
}

template <class Visitor>
void visit(Visitor& visitor, Is<XidEvidence> auto& xid) {
  visitor.field("xid", xid.xid);
  visitor.field("gpu", xid.gpu);
  visitor.field("pci", xid.pci);
  visitor.field("uuid", xid.uuid);
  visitor.field("mig", xid.mig);
  visitor.field("count", xid.count);
  visitor.field("first_ns", xid.first_ns);
  visitor.field("last_ns", xid.last_ns);
}

template <class Visitor>
void visit(Visitor& visitor, Is<StrainShares> auto& shares) {
  visitor.field("throttled", shares.throttled);
  visitor.field("cpu_stall", shares.cpu_stall);
  visitor.field("memory_stall", shares.memory_stall);
  visitor.field("io_stall", shares.io_stall);
}

template <class Visitor>
void visit(Visitor& visitor, Is<NodeStrain> auto& strain) {
  const auto each = [](auto& inner, auto& shares) { visit(inner, shares); };
  visitor.object("job", strain.job, each);
  visitor.object("recent", strain.recent, each);
  visitor.field("recent_ms", strain.recent_ms);
  visitor.field("rdma_gbps", strain.rdma_gbps);
  visitor.field("rdma_port_gbps", strain.rdma_port_gbps);
  visitor.field("network_gbps", strain.network_gbps);
  visitor.field("grown", strain.grown);
  visitor.field("gpus", strain.gpus);
  visitor.field("gpu_ids", strain.gpu_ids);
  visitor.field("gpu_use", strain.gpu_use);
  visitor.field("gpu_slowed", strain.gpu_slowed);
}

template <class Visitor>
void visit(Visitor& visitor, Is<DiskEvidence> auto& disk) {
  visitor.field("path", disk.path);
  visitor.field("size", disk.size);
  visitor.field("free", disk.free);
}

constexpr auto visit_leaf = [](auto& visitor, auto& item) {
  visit(visitor, item);
};

template <class Visitor>
void visit(Visitor& visitor, Is<RankEvidence> auto& rank) {
  visitor.field("rank", rank.rank);
  visitor.field("node", rank.node);
  visitor.field("host", rank.host);
  visitor.field("pid", rank.pid);
  visit_word(visitor, "outcome", rank.outcome, kRankOutcomes);
  visitor.field("wait_status", rank.wait_status);
  visitor.field("exit_ns", rank.exit_ns);
  visitor.field("stopped_by_us", rank.stopped_by_us);
  visitor.field("oom_killed", rank.oom_killed);
  visitor.field("loaded_mpi", rank.loaded_mpi);
  visitor.field("lonely_mpi", rank.lonely_mpi);
  visitor.field("mpi_attached", rank.mpi_attached);
  visitor.field("mpi_finalized", rank.mpi_finalized);
  visitor.field("max_rss_kib", rank.max_rss_kib);
  visitor.field("world_size", rank.world_size);
  visitor.object("refusal", rank.refusal, visit_leaf);
  visitor.field("refusal_exit_code", rank.refusal_exit_code);
  visitor.field("gpus", rank.gpus);
  visitor.objects("lines", rank.lines, visit_leaf);
}

template <class Visitor>
void visit(Visitor& visitor, Is<NodeEvidence> auto& node) {
  visitor.field("node", node.node);
  visitor.field("host", node.host);
  visit_word(visitor, "outcome", node.outcome, kNodeOutcomes);
  visitor.field("step", node.step);
  visitor.object("error", node.error, visit_leaf);
  visitor.field("lost_ns", node.lost_ns);
  visitor.field("told_to_leave", node.told_to_leave);
  visitor.field("oom_kills_at_start", node.oom_kills_at_start);
  visitor.objects("memory", node.memory, visit_leaf);
  visitor.object("strain", node.strain, visit_leaf);
  visitor.objects("disks", node.disks, visit_leaf);
  visitor.objects("xids", node.xids, visit_leaf);
  visitor.field("gpus", node.gpus);
  visitor.field("gpu_driver", node.gpu_driver);
  visitor.field("gpus_hidden_by", node.gpus_hidden_by);
}

template <class Visitor>
void visit(Visitor& visitor, Is<JobEvidence> auto& job) {
  visitor.field("backend", job.backend);
  visitor.field("phase", job.phase);
  visitor.field("argv", job.argv);
  visitor.field("world_size", job.world_size);
  visitor.field("not_executable", job.not_executable);
  visitor.field("namespace", job.name_space);
  visitor.field("no_log", job.no_log);
  visitor.field("lone_worlds", job.lone_worlds);
  visitor.field("local_failure", job.local_failure);
  visitor.field("rank_hosts", job.rank_hosts);
  visitor.field("workers", job.workers);
  visitor.field("bare_log", job.bare_log);
  visitor.field("stop_signal", job.stop_signal);
  visitor.field("preempted", job.preempted);
  visitor.field("preempted_ns", job.preempted_ns);
  visitor.field("time_limit_hit", job.time_limit_hit);
  visitor.field("time_limit_ms", job.time_limit_ms);
  visitor.field("start_deadline_hit", job.start_deadline_hit);
  visitor.field("start_deadline_ms", job.start_deadline_ms);
  visitor.field("connect_deadline_ms", job.connect_deadline_ms);
  visitor.field("stop_ns", job.stop_ns);
  visitor.field("progress", job.progress);
  visitor.field("mpi_abort", job.mpi_abort);
  visitor.field("mpi_abort_code", job.mpi_abort_code);
  visitor.field("mpi_abort_rank", job.mpi_abort_rank);
  visitor.field("tool_ended", job.tool_ended);
  visitor.field("tool_status", job.tool_status);
  visitor.field("tool_killed", job.tool_killed);
  visitor.field("tool_stopped_by_us", job.tool_stopped_by_us);
  visitor.objects("tool_lines", job.tool_lines, visit_leaf);
}

template <class Visitor>
void visit(Visitor& visitor, Is<Finding> auto& finding) {
  visit_word(visitor, "severity", finding.severity, kSeverities);
  visitor.field("code", finding.code);
  visitor.field("text", finding.text);
  visitor.field("evidence", finding.evidence);
  visitor.field("remedy", finding.remedy);
  visitor.field("rank", finding.rank);
}

template <class Visitor>
void visit(Visitor& visitor, Is<CollectiveEvidence> auto& collective) {
  visitor.field("text", collective.text);
  visitor.field("ranks", collective.ranks);
  visitor.field("waits", collective.waits);
  visitor.field("differs", collective.differs);
}

constexpr auto visit_item = [](auto& visitor, auto& item) {
  visit(visitor, item);
};

template <class Visitor>
void visit(Visitor& visitor, Is<Evidence> auto& evidence) {
  visitor.object("job", evidence.job, visit_item);
  visitor.objects("ranks", evidence.ranks, visit_item);
  visitor.objects("nodes", evidence.nodes, visit_item);
  visitor.objects("findings", evidence.findings, visit_item);
  visitor.objects("collectives", evidence.collectives, visit_item);
}

}  // namespace

std::string to_json(const Evidence& evidence) {
  JsonWriter writer;
  writer.field("evidence", kEvidenceVersion);
  visit(writer, evidence);
  return writer.text();
}

Result<Evidence> evidence_from_json(std::string_view text) {
  JsonReader reader(text, "evidence file");
  int version = -1;
  reader.required("evidence", version);
  if (!reader.status()) {
    return fail(Error{"evidence", "cannot read the evidence",
                      reader.status().error().text(), "", ""});
  }
  if (version != kEvidenceVersion) {
    return fail(Error{"evidence", "cannot read the evidence",
                      "it has version " + std::to_string(version) +
                          ", this muster knows " +
                          std::to_string(kEvidenceVersion),
                      "", "use the muster that wrote it"});
  }
  Evidence evidence;
  visit(reader, evidence);
  if (Status status = reader.status(); !status) {
    return fail(Error{"evidence", "cannot read the evidence",
                      status.error().text(), "", ""});
  }
  return evidence;
}

}  // namespace muster
