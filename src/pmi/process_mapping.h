// SPDX-License-Identifier: Apache-2.0
// The value of PMI_process_mapping, by which MPICH and MVAPICH2 learn which
// ranks share a node: "(vector,(first node,nodes,ranks each),…)", which the
// reader repeats until every rank has a node (pmodels/mpich
// src/pmi/maint/pmi-1.1.txt). Pure.
#pragma once

#include <string>

#include "pmi/world.h"

namespace muster {

// "" if it does not fit into `limit` characters: the rank order is so irregular
// that readers must do without.
std::string process_mapping(const World& world, size_t limit);

}  // namespace muster
