// SPDX-License-Identifier: Apache-2.0
// Sources: libfabric's fi_efa(7), fi_cxi(7), fi_opx(7), fi_psm2(7) and
// fi_provider(7); Open MPI ompi/mca/mtl/ofi, which takes every provider except
// those that Open MPI replaces itself (tcp, udp, shm, sockets).
#include "fabric/policy/network/libfabric.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/gpu_names.h"

namespace muster {

namespace {

bool is_omni_path(const PortView& view) {
  return view.hca->driver == "hfi1" || view.hca->name.starts_with("hfi1");
}

std::vector<std::string> providers_of(const PortView& view) {
  if (view.kind == LinkKind::kEfa) return {"efa"};
  if (view.kind == LinkKind::kSlingshot) return {"cxi"};
  if (is_omni_path(view)) return {"opx", "psm2"};
  // Intel and Chelsio: verbs by rdmacm. The kernel's RDMA over TCP (siw) is as
  // slow as TCP.
  const bool verbs = view.role == "not for NCCL" && view.hca->driver != "siw";
  return verbs ? std::vector<std::string>{"verbs;ofi_rxm"}
               : std::vector<std::string>{};
}

// "verbs;ofi_rxm" and "shm+cxi:lnx" -> the providers that are layered.
std::vector<std::string> layers_of(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '+' || c == ':'; },
      ';');
  std::vector<std::string> out;
  for (const auto part : split(text, ';')) out.push_back(to_lower(trim(part)));
  return out;
}

// "verbs" is of "verbs;ofi_rxm", and "ofi_rxm;verbs" the same.
bool is_of(const std::string& wanted, const std::string& provider) {
  const auto has = layers_of(provider);
  const auto parts = layers_of(wanted);
  return std::all_of(parts.begin(), parts.end(), [&](auto& part) {
    return std::find(has.begin(), has.end(), part) != has.end();
  });
}

bool offers(const PodFabric& pod, const std::string& wanted) {
  const auto& list = *pod.libfabric.providers;
  return std::any_of(list.begin(), list.end(),
                     [&](auto& one) { return is_of(wanted, one.name); });
}

// The user's FI_PROVIDER leaves it.
bool is_admitted(const PodFabric& pod, const std::string& provider) {
  const auto users = effective(pod, "FI_PROVIDER");
  if (!users) return true;
  // libfabric compares by strcasecmp (src/fabric.c, ofi_find_name).
  const bool named = to_lower(users->value).find(provider) != std::string::npos;
  return users->value.starts_with('^') != named;
}

// The providers by which this pod reaches a network that NCCL cannot; "" if
// none.
std::string provider_here(const FabricPodState& pod) {
  for (const PortView& view : pod.ports) {
    if (!pod.facts->libfabric.providers) continue;
    if (!view.usable && view.role != "not for NCCL") continue;
    for (const std::string& name : providers_of(view)) {
      if (offers(*pod.facts, name) && is_admitted(*pod.facts, name)) {
        return name;
      }
    }
  }
  return "";
}

void report_missing(FabricJob& job, const FabricPodState& pod,
                    const PortView& view) {
  const bool nccl = job.uses_libfabric() && !pod.mpi_only();
  const bool verbs = is_omni_path(view);
  // NCCL goes over verbs there; MPI alone is several times slower by them.
  const Severity severity =
      verbs ? (pod.mpi_only() ? Severity::kWarning : Severity::kInfo)
      : nccl && job.profile == Profile::kRdma ? Severity::kError
                                              : Severity::kWarning;
  report(job, &pod,
         {severity, "provider_missing",
          without_provider(*pod.facts, view) +
              (verbs  ? ": MPI is left with verbs or TCP"
               : nccl ? ": aws-ofi-nccl finds no network, and NCCL uses TCP "
                        "silently"
                      : ": MPI goes over TCP, unless it brings its own"),
          "fi_getinfo", "put a libfabric with this provider into the image"});
}

// Intel MPI, and oneCCL with it, have only libfabric.
bool lives_on_libfabric(const PodFabric& pod) {
  return pod.mpi.family == "intel" || has_intel_gpus(pod);
}

void report_none(FabricJob& job, const FabricPodState& pod) {
  report(job, &pod,
         {Severity::kWarning, "provider_missing",
          "libfabric finds no provider, not even tcp: Intel MPI and oneCCL "
          "stop at start (fi_getinfo: -61)",
          "fi_getinfo; llm-d/llm-d#2270",
          "FI_PROVIDER_PATH=DIRECTORY of the providers (Intel MPI has its own "
          "in opt/mpi/libfabric/lib/prov), and FI_PROVIDER=tcp"});
}

}  // namespace

Known has_provider(const PodFabric& pod, const PortView& view) {
  const auto names = providers_of(view);
  if (names.empty() || !pod.libfabric.providers) return std::nullopt;
  return std::any_of(names.begin(), names.end(),
                     [&](auto& name) { return offers(pod, name); });
}

std::string provider_names(const PodFabric& pod) {
  std::vector<std::string> names;
  for (const FabricProvider& one :
       pod.libfabric.providers.value_or(std::vector<FabricProvider>{})) {
    const std::string core = one.name.substr(0, one.name.find(';'));
    if (std::find(names.begin(), names.end(), core) == names.end()) {
      names.push_back(core);
    }
  }
  return names.empty() ? "none at all" : "only " + join(names, ", ");
}

std::string without_provider(const PodFabric& pod, const PortView& view) {
  const std::string& version = pod.libfabric.version;
  return "libfabric" + (version.empty() ? "" : " " + version) +
         " has no provider for " +
         (is_omni_path(view) ? "Omni-Path"
                             : std::string(link_kind_name(view.kind))) +
         " (" + join(providers_of(view), ", ") + "), " + provider_names(pod);
}

Known has_named_provider(const PodFabric& pod, const std::string& value) {
  if (!pod.libfabric.providers || value.starts_with('^')) return std::nullopt;
  bool any = false;
  for (const auto entry : split(value, ',')) {
    if (trim(entry).empty()) continue;
    if (offers(pod, std::string(entry))) return true;
    any = true;
  }
  return any ? Known(false) : std::nullopt;
}

std::string provider_for_mpi(const FabricJob& job) {
  if (job.transport != FabricTransport::kTcp || job.mpi_on_tcp ||
      job.profile == Profile::kTcp || job.pods.empty()) {
    return "";
  }
  const std::string first = provider_here(job.pods.front());
  const bool all =
      std::all_of(job.pods.begin(), job.pods.end(),
                  [&](auto& pod) { return provider_here(pod) == first; });
  return all ? first : "";
}

Known providers_agree(const FabricJob& job) {
  bool some = false;
  bool missing = false;
  for (const FabricPodState& pod : job.pods) {
    for (const PortView& view : pod.ports) {
      if (!view.chosen) continue;
      some = some || yes(has_provider(*pod.facts, view));
      missing = missing || no(has_provider(*pod.facts, view));
    }
  }
  return missing ? Known(!some) : std::nullopt;
}

void check_providers(FabricJob& job) {
  for (const FabricPodState& pod : job.pods) {
    const auto lacking =
        std::find_if(pod.ports.begin(), pod.ports.end(), [&](auto& view) {
          return view.usable && no(has_provider(*pod.facts, view));
        });
    const auto& providers = pod.facts->libfabric.providers;
    if (lacking != pod.ports.end()) {
      report_missing(job, pod, *lacking);
    } else if (providers && providers->empty() &&
               lives_on_libfabric(*pod.facts)) {
      report_none(job, pod);
    }
  }
}

}  // namespace muster
