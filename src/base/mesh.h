// SPDX-License-Identifier: Apache-2.0
// A service mesh's proxy beside the program in its pod: waits for it, and stops
// it. Calls it on loopback, as the meshes document it (Istio: 15021
// /healthz/ready and 15020 /quitquitquit; Linkerd: 4191 /ready and /shutdown).
// Only if the user names the mesh: it calls no other ports. Each call blocks
// for at most its limit.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace muster {

enum class Mesh { kNone, kIstio, kLinkerd };

// "none", "istio", "linkerd"; anything else is kNone.
Mesh mesh_of(const std::string& name);

struct MeshCall {
  int port = 0;
  std::string request;  // of HTTP/1.1, whole
};
MeshCall mesh_ready_call(Mesh mesh);
MeshCall mesh_quit_call(Mesh mesh);

// The HTTP status on 127.0.0.1, or why there is none ("mesh").
Result<int> mesh_ask(const MeshCall& call, std::chrono::milliseconds limit);

// Stops the proxy, so that the pod can complete; logs the result. Does nothing
// for kNone.
void mesh_quit(Mesh mesh);

}  // namespace muster
