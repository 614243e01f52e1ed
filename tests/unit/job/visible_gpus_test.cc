// SPDX-License-Identifier: Apache-2.0
#include "job/visible_gpus.h"

#include <list>

#include "catch.h"

namespace muster {
namespace {

struct Bed {
  std::list<NodeFacts> facts;  // nodes point to them
  std::vector<PlacedRanks> nodes;

  NodeFacts& add(int gpus, const std::string& visible) {
    NodeFacts& node = facts.emplace_back();
    node.gpu.vendor = gpus > 0 ? "nvidia" : "";
    node.gpu.count = gpus;
    for (int i = 0; i < gpus; ++i) {
      node.gpu.devices.push_back("/dev/nvidia" + std::to_string(i));
      node.gpu.places.push_back(
          {"GPU-" + std::to_string(i) + "0000000-1111", "", -1});
    }
    nodes.push_back({"w-" + std::to_string(nodes.size()),
                     2,
                     &node,
                     {{"CUDA_VISIBLE_DEVICES", visible}}});
    return node;
  }
  // "error code: text", a line each.
  [[nodiscard]] std::string said() const {
    std::string out;
    for (const Finding& one : visible_gpu_findings(nodes)) {
      out += std::string(severity_name(one.severity)) + " " + one.code + ": " +
             one.text + "\n";
    }
    return out;
  }
};

std::string alone(int gpus, const std::string& visible) {
  Bed bed;
  bed.add(gpus, visible);
  return bed.said();
}

TEST_CASE("lists of GPUs that are there say nothing") {
  for (const char* fine : {"0", "0,1", " 1 , 0", "GPU-1", "GPU-00000000-1111",
                           "MIG-7", "GPU-0,1"}) {
    INFO(fine);
    CHECK(alone(2, fine).empty());
  }
  CHECK(alone(0, "0").empty());  // a pod without GPUs, an image's variable
}

TEST_CASE("a list that begins with a GPU that no pod has ends the launch") {
  CHECK(alone(1, "1") ==
        "error gpu_not_there: CUDA_VISIBLE_DEVICES=1: there is no GPU 1, and "
        "ranks see no GPU: w-0 has 1 GPU\n");
  CHECK(alone(2, "GPU-7,0").starts_with("error gpu_not_there"));
  CHECK(alone(2, "1,2").starts_with(
      "warning gpu_not_there: CUDA_VISIBLE_DEVICES=1,2: there is no GPU 2, and "
      "ranks see only those before it"));
}

TEST_CASE("one pod that lacks the GPU is named") {
  Bed bed;
  bed.add(8, "4,5,6,7");
  bed.add(4, "4,5,6,7");
  CHECK(bed.said() ==
        "warning gpu_not_there: CUDA_VISIBLE_DEVICES=4,5,6,7: there is no GPU "
        "4, and ranks see no GPU: w-1 has 4 GPUs\n");
}

TEST_CASE("GPUs that somebody hides are told, and are no mistake") {
  for (const char* hidden : {"", "-1", "NoDevFiles"}) {
    INFO(hidden);
    CHECK(alone(2, hidden).starts_with("info gpus_hidden: "));
  }
}

TEST_CASE("parts of GPUs are looked for where the pod lists its own") {
  Bed bed;
  NodeFacts& node = bed.add(1, "MIG-b");
  node.gpu.devices = {"MIG-a"};
  CHECK(bed.said().starts_with("error gpu_not_there"));
}

}  // namespace
}  // namespace muster
