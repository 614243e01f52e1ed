// SPDX-License-Identifier: Apache-2.0
// The variables of a rank for its PMIx server. libpmix would set the same
// (PMIx_server_setup_fork), but only once it runs, and it does not run before a
// rank connects. Pure.
#pragma once

#include <string>
#include <utility>

#include "base/spawn.h"
#include "pmi/world.h"

namespace muster {

// For server and ranks alike: "hash" alone serves every client and is the
// cheapest up to some 4,000 ranks; pods lack munge, which Debian's library
// would offer.
inline constexpr std::pair<const char*, const char*> kPmixSettings[] = {
    {"PMIX_MCA_gds", "hash"}, {"PMIX_MCA_psec", "native"}};

// Nodes that share one machine: Open MPI 4 takes ranks of one host name for
// neighbours, and its shared memory then crashes. They talk over loopback.
inline constexpr std::pair<const char*, const char*> kPmixEmulated[] = {
    {"OMPI_MCA_btl", "self,tcp"},
    {"OMPI_MCA_pml", "ob1"},
    {"OMPI_MCA_btl_tcp_if_include", "lo"}};

// `port`: the server's port for ranks. `directory`: of its files. `crowded`:
// this node has more ranks than CPUs.
Environment pmix_rank_env(const World& world, int rank, int port,
                          const std::string& directory, bool crowded);
// The port in libpmix' own URI; 0: none.
int pmix_port(const Environment& env);
// The ranks' name for a node's server.
std::string pmix_server_nspace(const World& world);

}  // namespace muster
