// SPDX-License-Identifier: Apache-2.0
// The verbs probe. libibverbs is opened at run time in a forked child, which
// writes one line per result and may crash or hang without harm. A step that
// was begun and not ended is what it died of, or where it was given up.
// Lines: "begin HCA STEP", "fail HCA STEP ERRNO", "mtu HCA PORT BYTES", "gid
// HCA PORT INDEX 0|1", "ok HCA".

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/forked_probe.h"
#include "fabric/collect/verbs_library.h"

namespace muster {

namespace {

#ifdef MUSTER_HAS_VERBS

// An address handle to itself tells whether a GID works in this namespace.
void try_gids(const VerbsLibrary& verbs, ibv_context* context, ibv_pd* pd,
              const FabricHca& hca, int out) {
  for (const FabricPort& port : hca.ports) {
    if (!port.gids) continue;
    for (const FabricGid& gid : *port.gids) {
      ibv_ah_attr attributes{};
      const auto number = static_cast<uint8_t>(port.number);
      attributes.port_num = number;
      attributes.is_global = 1;
      attributes.grh.sgid_index = static_cast<uint8_t>(gid.index);
      attributes.grh.hop_limit = 64;
      const bool made = verbs.query_gid(context, number, gid.index,
                                        &attributes.grh.dgid) == 0 &&
                        verbs.create_ah(pd, &attributes) != nullptr;
      probe_says(out, "gid " + hca.name + " " + std::to_string(port.number) +
                          " " + std::to_string(gid.index) +
                          (made ? " 1" : " 0"));
    }
  }
}

// sysfs does not have the active MTU.
void ask_ports(const VerbsLibrary& verbs, ibv_context* context,
               const FabricHca& hca, int out) {
  for (const FabricPort& port : hca.ports) {
    ibv_port_attr answer{};
    const auto number = static_cast<uint8_t>(port.number);
    if (verbs.query_port(context, number, &answer) != 0) continue;
    if (answer.active_mtu < IBV_MTU_256 || answer.active_mtu > IBV_MTU_4096) {
      continue;
    }
    probe_says(out, "mtu " + hca.name + " " + std::to_string(port.number) +
                        " " + std::to_string(128 << answer.active_mtu));
  }
}

// The name of the first failing step; empty if all work. errno says why.
std::string try_steps(const VerbsLibrary& verbs, ibv_device* device,
                      const FabricHca& hca, int out) {
  const auto begin = [&](const char* step) {
    probe_says(out, "begin " + hca.name + " " + step);
  };
  begin("open");
  ibv_context* context = verbs.open_device(device);
  if (context == nullptr) return "open";
  ask_ports(verbs, context, hca, out);
  begin("pd");
  ibv_pd* pd = verbs.alloc_pd(context);
  if (pd == nullptr) return "pd";
  begin("cq");
  ibv_cq* cq = verbs.create_cq(context, 16, nullptr, nullptr, 0);
  if (cq == nullptr) return "cq";
  static char page[4096];
  begin("mr");
  if (verbs.reg_mr(pd, page, sizeof page,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) ==
      nullptr) {
    return "mr";
  }
  if (hca.driver == "efa") return "";  // no RC queue pairs there
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = cq;
  wanted.cap = {16, 16, 1, 1, 0};
  wanted.qp_type = IBV_QPT_RC;
  begin("qp");
  ibv_qp* qp = verbs.create_qp(pd, &wanted);
  if (qp == nullptr) return "qp";
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  begin("init");
  const int wrong = verbs.modify_qp(
      qp, &init,
      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (wrong != 0) {
    errno = wrong;
    return "init";
  }
  begin("ah");
  try_gids(verbs, context, pd, hca, out);
  return "";
}

void child(const PodFabric& pod, int out) {
  VerbsLibrary verbs{};
  if (!load_verbs(verbs)) return;
  int count = 0;
  ibv_device** devices = verbs.get_device_list(&count);
  for (int i = 0; devices != nullptr && i < count; ++i) {
    const std::string name = verbs.get_device_name(devices[i]);
    for (const FabricHca& hca : *pod.hcas) {
      if (hca.name != name || no(hca.device)) continue;
      errno = 0;
      const std::string failed = try_steps(verbs, devices[i], hca, out);
      const int error = errno;
      probe_says(out, failed.empty() ? "ok " + name
                                     : "fail " + name + " " + failed + " " +
                                           std::to_string(error));
    }
  }
}

#else

void child(const PodFabric&, int) {}

#endif

FabricHca* find_hca(PodFabric& pod, std::string_view name) {
  for (FabricHca& hca : *pod.hcas) {
    if (hca.name == name) return &hca;
  }
  return nullptr;
}

void set_gid(FabricHca& hca, int64_t number, int64_t index, bool usable) {
  for (FabricPort& port : hca.ports) {
    if (port.number != number || !port.gids) continue;
    for (FabricGid& gid : *port.gids) {
      if (gid.index == index) gid.usable = usable;
    }
  }
}

void set_mtu(FabricHca& hca, int64_t number, int64_t bytes) {
  for (FabricPort& port : hca.ports) {
    if (port.number == number) port.mtu = static_cast<int>(bytes);
  }
}

// `unfinished`: what is true of a step that no later line ends.
void apply(PodFabric& pod, std::string_view line,
           const std::string& unfinished) {
  const auto words = split_words(line);
  FabricHca* hca = words.size() < 2 ? nullptr : find_hca(pod, words[1]);
  if (hca == nullptr) return;
  if (words[0] == "begin" && words.size() == 3) {
    hca->error = "the probe " + unfinished + ": " + std::string(words[2]);
  } else if (words[0] == "ok") {
    hca->error.clear();
    hca->usable = true;
  } else if (words[0] == "fail" && words.size() == 4) {
    hca->usable = false;
    hca->fails_at = words[2];
    const auto number = parse_int(words[3]);
    const char* name = number ? ::strerrorname_np(*number) : nullptr;
    hca->error = name == nullptr ? std::string(words[3]) : name;
  } else if (words[0] == "mtu" && words.size() == 4) {
    set_mtu(*hca, parse_integer(words[2]).value_or(-1),
            parse_integer(words[3]).value_or(-1));
  } else if (words[0] == "gid" && words.size() == 5) {
    set_gid(*hca, parse_integer(words[2]).value_or(-1),
            parse_integer(words[3]).value_or(-1), words[4] == "1");
  }
}

}  // namespace

void probe_verbs(ProbeEnd end, PodFabric& pod) {
  if (!yes(pod.uverbs) || !pod.hcas || pod.hcas->empty()) return;
  const ForkedResult result =
      probe_in_child(patience_until(end), [&](int out) { child(pod, out); });
  const std::string unfinished = probe_failure_text(result);
  for (const auto line : split(result.text, '\n')) {
    apply(pod, line, unfinished);
  }
}

}  // namespace muster
