// SPDX-License-Identifier: Apache-2.0
// The JSON form of NodeFacts: one list of fields, read and written alike. Pure.
#include "job/node_facts.h"

#include "base/is.h"
#include "job/json_fields.h"

namespace muster {

namespace {

template <class Visitor>
void visit(Visitor& visitor, Is<NetInterface> auto& interface) {
  visitor.required("name", interface.name);
  visitor.shown("name", interface.name);
  visitor.shown("addresses", interface.addresses);
  visitor.field("up", interface.up);
  visitor.field("mtu", interface.mtu);
}

template <class Visitor>
void visit(Visitor& visitor, Is<CpuCore> auto& core) {
  visitor.required("cpus", core.cpus);
  visitor.field("numa", core.numa);
  visitor.field("package", core.package);
}

template <class Visitor>
void visit(Visitor& visitor, Is<GpuPlace> auto& place) {
  visitor.required("id", place.id);
  visitor.field("pci", place.pci);
  visitor.field("numa", place.numa);
}

template <class Visitor>
void visit(Visitor& visitor, Is<GpuFacts> auto& gpu) {
  const auto nested = [](auto& inner, auto& value) { visit(inner, value); };
  visitor.shown("vendor", gpu.vendor);
  visitor.field("count", gpu.count);
  visitor.field("devices", gpu.devices);
  visitor.objects("places", gpu.places, nested);
}

template <class Visitor>
void visit(Visitor& visitor, Is<MpiFacts> auto& mpi) {
  visitor.shown("family", mpi.family);
  visitor.shown("version", mpi.version);
  visitor.field("launcher", mpi.launcher);
  visitor.field("silent", mpi.silent);
}

template <class Visitor>
void visit(Visitor& visitor, Is<ProgramNccl> auto& program) {
  visitor.shown("program", program.program);
  visitor.shown("version", program.version);
  visitor.shown("path", program.path);
}

template <class Visitor>
void visit(Visitor& visitor, Is<NodeFacts> auto& facts) {
  const auto nested = [](auto& inner, auto& value) { visit(inner, value); };
  visitor.required("hostname", facts.hostname);
  visitor.shown("hostname", facts.hostname);
  visitor.field("uid", facts.uid);
  visitor.field("gid", facts.gid);
  visitor.field("has_passwd_entry", facts.has_passwd_entry);
  visitor.field("cpus_allowed", facts.cpus_allowed);
  visitor.objects("cores", facts.cores, nested);
  visitor.field("cpu_quota", facts.cpu_quota);
  visitor.field("memory_limit", facts.memory_limit);
  visitor.field("memory_usage", facts.memory_usage);
  visitor.field("huge_pages", facts.huge_pages);
  visitor.field("huge_pages_limit", facts.huge_pages_limit);
  visitor.field("cgroup_version", facts.cgroup_version);
  visitor.field("memlock_soft", facts.memlock_soft);
  visitor.field("memlock_hard", facts.memlock_hard);
  visitor.field("nofile_hard", facts.nofile_hard);
  visitor.field("shm_total", facts.shm_total);
  visitor.field("shm_free", facts.shm_free);
  visitor.field("writable", facts.writable);
  visitor.object("gpu", facts.gpu, nested);
  visitor.object("mpi", facts.mpi, nested);
  visitor.field("serves_pmix", facts.serves_pmix);
  visitor.shown("nccl_version", facts.nccl_version);
  visitor.objects("programs", facts.programs, nested);
  visitor.shown("cuda_runtime", facts.cuda_runtime);
  visitor.shown("cuda_driver", facts.cuda_driver);
  visitor.shown("image_id", facts.image_id);
  visitor.shown("muster_version", facts.muster_version);
  visitor.objects("interfaces", facts.interfaces, nested);
  visitor.field("environment", facts.environment);
  visitor.field("left_out", facts.left_out);
  visitor.field("drivers_age_ms", facts.drivers_age_ms);
  visitor.text_or_json("fabric", facts.fabric);
}

}  // namespace

std::string to_json(const NodeFacts& facts) {
  JsonWriter writer;
  visit(writer, facts);
  return writer.text();
}

std::string to_readable_json(const NodeFacts& facts) {
  JsonWriter writer;
  visit(writer, facts);
  writer.object_text("fabric", facts.fabric);
  return writer.text();
}

Result<NodeFacts> node_facts_from_json(std::string_view text) {
  JsonReader reader(text, "facts of a pod");
  NodeFacts facts;
  visit(reader, facts);
  if (Status status = reader.status(); !status) return fail(status.error());
  return facts;
}

}  // namespace muster
