// SPDX-License-Identifier: Apache-2.0
// The collector's parts, one file each. Internal to collect.cc and the tests.
#pragma once

#include <string>

#include "fabric/facts.h"

namespace muster {

void collect_hcas(const std::string& root, PodFabric& pod);
void collect_netdevs(const std::string& root, PodFabric& pod);
void collect_gpus(const std::string& root, PodFabric& pod);
void collect_software(const std::string& root, PodFabric& pod);
// Opens every adapter, makes PD, CQ, MR, QP and an address handle per GID, in
// a forked child with a deadline. The running system only.
void probe_verbs(PodFabric& pod);

}  // namespace muster
