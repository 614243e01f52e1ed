// SPDX-License-Identifier: Apache-2.0
// The data of a fence reaches each node whole and in order, at its own pace,
// and the launcher never holds more of it for a node than a mark and a piece.
#include "launcher/start/fence_delivery.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "catch.h"
#include "launcher/connect/transport.h"
#include "wire/modex_messages.h"

using namespace muster;

namespace {

struct Nodes {
  // Takes what waits for `node` off the wire.
  void read(int node) {
    queued[node] = 0;
    delivery.go_on(node);
  }
  void read_all(int node) {
    for (int i = 0; i < 100 && queued[node] > 0; ++i) read(node);
  }

  std::map<int, size_t> queued;
  std::map<int, size_t> most;
  std::map<int, std::vector<uint32_t>> heads;
  std::map<std::pair<int, uint32_t>, std::string> got;
  FenceDelivery delivery{[this](int node, wire::FrameType type, uint32_t id,
                                std::string_view payload) {
                           queued[node] += payload.size();
                           most[node] = std::max(most[node], queued[node]);
                           if (type == wire::FrameType::kModexReply) {
                             heads[node].push_back(id);
                           } else {
                             CHECK(payload.size() <= wire::kModexPiece);
                             got[{node, id}] += payload;
                           }
                         },
                         [this](int node) { return queued[node]; }};
};

std::string much(size_t size, char first) {
  std::string out(size, first);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(first + i % 23);
  return out;
}

}  // namespace

TEST_CASE("a node that does not read holds up nobody and costs a mark") {
  Nodes nodes;
  const std::string data = much(5 << 20, 'a');
  nodes.delivery.add({{{0, 7}, {1, 8}, {2, 9}}, data});
  nodes.read_all(0);
  nodes.read_all(2);
  CHECK(nodes.got[{0, 7}] == data);
  CHECK(nodes.got[{2, 9}] == data);
  CHECK(nodes.got[{1, 8}].size() < data.size());
  CHECK(nodes.delivery.behind() == 1);
  constexpr size_t kHead = 64;
  for (const int node : {0, 1, 2}) {
    CHECK(nodes.most[node] < kQueueMark + wire::kModexPiece + kHead);
  }
  nodes.read_all(1);
  CHECK(nodes.got[{1, 8}] == data);
  CHECK(nodes.delivery.behind() == 0);
}

TEST_CASE("fences that meet on one node come one after the other") {
  Nodes nodes;
  const std::string first = much(3 << 20, 'a');
  const std::string second = much(2 << 20, 'A');
  nodes.delivery.add({{{0, 1}}, first});
  nodes.delivery.add({{{0, 2}, {1, 5}}, second});
  CHECK(nodes.heads[0] == std::vector<uint32_t>{1, 2});
  CHECK(nodes.got[{0, 2}].empty());
  nodes.read_all(1);
  CHECK(nodes.got[{1, 5}] == second);  // whatever node 0 still has before it
  nodes.read_all(0);
  CHECK(nodes.got[{0, 1}] == first);
  CHECK(nodes.got[{0, 2}] == second);
}

TEST_CASE("a fence without data is its answer alone") {
  Nodes nodes;
  nodes.delivery.add({{{0, 3}, {1, 4}}, ""});
  CHECK(nodes.heads[0] == std::vector<uint32_t>{3});
  CHECK(nodes.heads[1] == std::vector<uint32_t>{4});
  CHECK(nodes.got.empty());
  CHECK(nodes.delivery.behind() == 0);
}
