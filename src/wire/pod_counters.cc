// SPDX-License-Identifier: Apache-2.0
#include "wire/pod_counters.h"

#include "base/is.h"
#include "job/json_fields.h"

namespace muster::wire {

namespace {

template <class Visitor>
void visit(Visitor& visitor, Is<GpuXid> auto& xid) {
  visitor.field("xid", xid.xid);
  visitor.field("gpu", xid.gpu);
  visitor.shown("pci", xid.pci);
  visitor.shown("uuid", xid.uuid);
  visitor.field("mig", xid.mig);
  visitor.field("count", xid.count);
  visitor.field("first_ms", xid.first_ms);
  visitor.field("last_ms", xid.last_ms);
}

template <class Visitor>
void visit(Visitor& visitor, Is<RankUse> auto& rank) {
  visitor.required("id", rank.id);
  visitor.field("cpu_us", rank.cpu_us);
  visitor.field("memory", rank.memory_bytes);
}

template <class Visitor>
void visit(Visitor& visitor, Is<GpuNow> auto& gpu) {
  visitor.shown("id", gpu.id);
  visitor.field("percent", gpu.percent);
  visitor.field("memory_used", gpu.memory_used);
  visitor.field("memory_total", gpu.memory_total);
}

template <class Visitor>
void visit(Visitor& visitor, Is<PodCounters> auto& counters) {
  visitor.field("cpu_us", counters.cpu_us);
  visitor.field("cpu_periods", counters.cpu_periods);
  visitor.field("cpu_throttled", counters.cpu_throttled);
  visitor.field("cpu_stall_us", counters.cpu_stall_us);
  visitor.field("memory_stall_us", counters.memory_stall_us);
  visitor.field("io_stall_us", counters.io_stall_us);
  visitor.field("network_received", counters.network_received);
  visitor.field("network_sent", counters.network_sent);
  visitor.field("rdma_received", counters.rdma_received);
  visitor.field("rdma_sent", counters.rdma_sent);
  visitor.field("rdma_errors", counters.rdma_errors);
  visitor.field("rdma_port_gbps", counters.rdma_port_gbps);
  visitor.field("gpu_busy_us", counters.gpu_busy_us);
  visitor.field("gpu_slowed_us", counters.gpu_slowed_us);
  visitor.field("gpus", counters.gpus);
  visitor.field("gpu_percent", counters.gpu_percent);
  visitor.field("gpu_memory_used", counters.gpu_memory_used);
  visitor.field("gpu_memory_total", counters.gpu_memory_total);
  visitor.shown("gpu_ids", counters.gpu_ids);
  visitor.field("grown", counters.grown);
  visitor.objects("xids", counters.xids,
                  [](auto& inner, auto& xid) { visit(inner, xid); });
  visitor.objects("gpu_list", counters.gpu_list,
                  [](auto& inner, auto& gpu) { visit(inner, gpu); });
  visitor.objects("ranks", counters.ranks,
                  [](auto& inner, auto& rank) { visit(inner, rank); });
  visitor.field("ranks_at_ms", counters.ranks_at_ms);
  visitor.shown("nccl_version", counters.nccl_version);
  visitor.shown("nccl_path", counters.nccl_path);
  visitor.field("nccl_rank", counters.nccl_rank);
}

}  // namespace

std::string heartbeat_payload(const HealthSample& health,
                              const PodCounters& counters) {
  std::string out = to_json(health);
  JsonWriter writer;
  visit(writer, counters);
  const std::string more = writer.text();
  out.pop_back();  // "}", and more's "{"
  return out + "," + more.substr(1);
}

Result<PodCounters> pod_counters_from_json(std::string_view heartbeat) {
  JsonReader reader(heartbeat, "message PodCounters");
  PodCounters counters;
  visit(reader, counters);
  if (Status status = reader.status(); !status) return fail(status.error());
  return counters;
}

}  // namespace muster::wire
