// SPDX-License-Identifier: Apache-2.0
// What is known of UCX in a pod. Pure.
#pragma once

#include "fabric/facts/facts.h"

namespace muster {

// The user's UCX_TLS leaves it TCP and no adapter.
bool ucx_on_tcp(const PodFabric& pod);
// What somebody wrote of UCX shows that it is there.
bool has_ucx(const PodFabric& pod);

}  // namespace muster
