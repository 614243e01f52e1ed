// SPDX-License-Identifier: Apache-2.0
// Any bytes as each message by which natively started ranks find each other;
// what decodes must encode to a fixed point, maps must make a world or an
// error, and a node's client must survive any frame. The first byte picks.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pmi/modex_client.h"
#include "pmi/participants.h"
#include "pmi/world.h"
#include "wire/modex_messages.h"

namespace {

using namespace muster;
using namespace muster::wire;

template <class Message>
void check(std::string_view text) {
  const auto message = modex_from_json<Message>(text);
  if (!message) return;
  const std::string once = to_json(*message);
  const auto again = modex_from_json<Message>(once);
  if (!again || to_json(*again) != once) std::abort();
}

void check_map(std::string_view text) {
  check<JobMap>(text);
  const auto map = modex_from_json<JobMap>(text);
  const auto world = map ? World::from(*map) : Result<World>(World());
  if (!world) return;
  for (int rank = 0; rank < world->size(); ++rank) {
    if (world->node_of(rank) >= world->nodes()) std::abort();
    static_cast<void>(world->app_of(rank));
  }
}

void check_ranks(std::string_view text) {
  constexpr int kSize = 64;
  const auto ranks = parse_rank_ranges(text, kSize);
  if (ranks) {
    const auto again = parse_rank_ranges(rank_ranges(*ranks), kSize);
    if (!again || *again != *ranks) std::abort();
  }
  const auto some = participant_ranks(text, kSize);
  if (some && some->empty()) std::abort();
}

// One fence and one get are under way.
void check_client(std::string_view text) {
  ModexClient client([](FrameType, uint8_t, uint32_t, std::string_view) {});
  client.set_serve_get([](int, const ModexClient::Data& answer) {
    answer(std::string("data"));
  });
  client.fence("pmix:*", "mine", [](const Result<std::string>&) {});
  client.get(1, [](const Result<std::string>&) {});
  client.names({"lookup", 0, {"key"}, {}, false, 0}, [](const NamesReply&) {});
  constexpr FrameType kTypes[] = {FrameType::kModexReply, FrameType::kModexData,
                                  FrameType::kModexGet, FrameType::kNamesReply};
  while (text.size() >= 3) {
    const auto byte = [&text](size_t i) {
      return static_cast<unsigned char>(text[i]);
    };
    Frame frame;
    frame.type = kTypes[byte(0) % std::size(kTypes)];
    frame.id = byte(1) % 4U;
    const size_t length = byte(2);
    text.remove_prefix(3);
    frame.payload = std::string(text.substr(0, length));
    text.remove_prefix(std::min(length, text.size()));
    static_cast<void>(client.frame(frame));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1),
                              size - 1);
  constexpr void (*kChecks[])(std::string_view) = {
      check_map,        check<FenceCall>,    check<ModexReply>,
      check<ModexGet>,  check<NamesRequest>, check<NamesReply>,
      check<RankState>, check_ranks,         check_client};
  kChecks[data[0] % std::size(kChecks)](text);
  return 0;
}
