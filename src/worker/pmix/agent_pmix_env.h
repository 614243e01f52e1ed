// SPDX-License-Identifier: Apache-2.0
// What a rank's environment says of its PMIx server. libpmix would say the
// same (PMIx_server_setup_fork), but only once it runs, and it does not run
// before a rank asks for it. Pure.
#pragma once

#include <string>
#include <utility>

#include "base/spawn.h"
#include "pmi/world.h"

namespace muster {

// For server and ranks alike: "hash" alone serves every client and is the
// cheapest up to some 4,000 ranks; munge, which Debian's library would offer,
// is not in pods.
inline constexpr std::pair<const char*, const char*> kPmixSettings[] = {
    {"PMIX_MCA_gds", "hash"}, {"PMIX_MCA_psec", "native"}};

// Nodes that share one machine: Open MPI 4 takes ranks of one host name for
// neighbours, and its shared memory then crashes. They talk over loopback.
inline constexpr std::pair<const char*, const char*> kPmixEmulated[] = {
    {"OMPI_MCA_btl", "self,tcp"},
    {"OMPI_MCA_pml", "ob1"},
    {"OMPI_MCA_btl_tcp_if_include", "lo"}};

// `port`: of the server as the rank is to find it. `directory`: of its files.
// `crowded`: this node has more ranks than CPUs.
Environment pmix_rank_env(const World& world, int rank, int port,
                          const std::string& directory, bool crowded);
// The port in what libpmix says of itself; 0: none.
int pmix_port(const Environment& env);
// The name under which a node's server is known to its ranks.
std::string pmix_server_nspace(const World& world);

}  // namespace muster
