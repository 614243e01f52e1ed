// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/mesh_wait.h"

#include "base/log.h"

namespace muster {

namespace {

constexpr Milliseconds kInterval{250};
constexpr Milliseconds kAnswer{1'000};

}  // namespace

void MeshWait::start(Mesh mesh, Milliseconds limit,
                     std::function<void(Status)> done) {
  if (mesh == Mesh::kNone) {
    done({});
    return;
  }
  mesh_ = mesh;
  until_ = Clock::now() + limit;
  done_ = std::move(done);
  log::info("waiting for the mesh's proxy in this pod (--mesh)");
  ask();
}

void MeshWait::ask() {
  const auto status = mesh_ask(mesh_ready_call(mesh_), kAnswer);
  if (status && *status == 200) {
    done_({});
    return;
  }
  if (Clock::now() >= until_) {
    done_(fail(status ? Error{"mesh",
                              "the mesh's proxy is not ready",
                              "it still answers " + std::to_string(*status),
                              {},
                              "look at the proxy's own log in this pod"}
                      : status.error()));
    return;
  }
  timer_.start(kInterval, [this] { ask(); });
}

}  // namespace muster
