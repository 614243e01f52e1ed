// SPDX-License-Identifier: Apache-2.0
// Any bytes from two MPICH ranks of one node, in turns, as cut by the first
// byte of each: whatever they say, replies are whole lines, and contributions
// to barriers can be read back.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pmi/pmi1_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  wire::JobMap map;
  map.nspace = "fuzz";
  map.size = 3;
  map.nodes = {{"a", "0-1"}, {"b", "2"}};
  const World world = World::from(map).value();
  Pmi1Server* running = nullptr;
  Pmi1Server::Actions actions;
  actions.reply = [](int, std::string_view line) {
    if (!line.ends_with('\n')) std::abort();
  };
  actions.barrier = [&running](const std::string& contribution) {
    std::map<std::string, std::string> pairs;
    if (!read_pmi1_pairs(contribution, pairs)) std::abort();
    running->release(contribution);
  };
  actions.connected = [](int) {};
  actions.finalized = [](int) {};
  actions.abort = [](int, int, const std::string&) {};
  actions.names = [&running](int rank, const wire::NamesRequest& request) {
    wire::NamesReply reply;
    reply.keys = request.keys;
    reply.values = request.values;
    running->names_reply(rank, reply);
  };
  actions.complain = [](int, const std::string&) {};
  Pmi1Server server(world, std::move(actions));
  running = &server;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (int rank = 0; !text.empty(); rank = 1 - rank) {
    const size_t length = static_cast<unsigned char>(text[0]);
    text.remove_prefix(1);
    if (!server.receive(rank, text.substr(0, length))) break;
    text.remove_prefix(std::min(length, text.size()));
  }
  // The same bytes as what another node contributed.
  server.release(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
