// SPDX-License-Identifier: Apache-2.0
// Counts the GPUs that the container was given, by their device nodes: no
// driver library is loaded, so it works in images without one and never hangs
// on a sick GPU. `root` is put before every absolute path.
#pragma once

#include <string>

#include "job/node_facts.h"

namespace muster {

// `nvidia_visible` is NVIDIA_VISIBLE_DEVICES: with MIG the slices are named
// there and nowhere in /dev. Vendors are tried in the order nvidia, amd, intel.
GpuFacts find_gpus(const std::string& root, const std::string& nvidia_visible);

// "550.54.15", or "" without the driver.
std::string nvidia_driver_version(const std::string& root);

}  // namespace muster
